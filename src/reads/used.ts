import { toFunctionSelector, zeroAddress, zeroHash } from 'viem'
import { protocolAbi } from '../abi/protocol.generated.ts'
import { type Call, call } from '../protocol/outputs.ts'
import type { Profile } from '../protocol/profiles.ts'
import * as subjects from './subjects.ts'

/** A key of everything, to see which views there are; nobody is asked. */
const anything = {
  chainId: 8453,
  id: 0,
  eventId: 0,
  addr: zeroAddress,
  proposalId: zeroHash,
  hypoSettlement: 0n,
  notional: 0n,
} as const

const views: readonly Call[] = Object.values(subjects).flatMap(({ views }) =>
  Object.values<(key: typeof anything) => Call>(views).map((view) => view(anything)),
)

/** Views that only the start-up checks read. */
const checked = ['isAllowedPaymentToken']

/** A view whose answer has a place in the proxy's storage is read from there where it is not mounted. */
const needed = new Set<string>([...views.filter(({ slot }) => slot === undefined).map(({ name }) => name), ...checked])

/** The question where the proxy mounts each function that the reads and `writes` need of a deployment. */
export const placesOf = (
  { mayLack }: Profile,
  writes: readonly string[],
): readonly { readonly name: string; readonly place: Call<`0x${string}`> }[] =>
  protocolAbi.flatMap((item) =>
    item.type === 'function' && (needed.has(item.name) || writes.includes(item.name)) && !mayLack.includes(item.name)
      ? [{ name: item.name, place: call('facetAddress', [toFunctionSelector(item)]) }]
      : [],
  )
