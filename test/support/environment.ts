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
