import type { z } from 'zod'
import type { Environment } from '../../src/config/environments.ts'
import { chainIds } from './known-chains.ts'

/** The codecs of all variables of a command by their names, for the chains of the tests. */
export const shapeOf = ({ own, ofChain }: Environment): Readonly<Record<string, z.core.$ZodType>> => {
  const ofChains = chainIds.flatMap((id, place) =>
    Object.entries(ofChain?.(id, place).shape ?? {}).map(([name, codec]) => [`${name}_${id}`, codec]),
  )
  return { ...own.shape, ...Object.fromEntries(ofChains) }
}

/** The variables of the chains of the tests, whose nodes are at `urls`, with one protocol on all of them. */
export const chainsAt = (
  urls: Readonly<Record<number, string>>,
  { diamond, usdc, startBlock }: { readonly diamond: string; readonly usdc: string; readonly startBlock: bigint },
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(urls).flatMap(([id, url]) => [
      [`RPC_URLS_${id}`, url],
      [`PUBLIC_RPC_URL_${id}`, 'https://node.example'],
      [`START_BLOCK_${id}`, `${startBlock}`],
      [`DIAMOND_ADDRESS_${id}`, diamond],
      [`USDC_ADDRESS_${id}`, usdc],
    ]),
  )
