import { toFunctionSelector, zeroAddress, zeroHash } from 'viem'
import { protocolAbi } from '../../abi/protocol.generated.ts'
import { type Call, call } from '../../protocol/abi/outputs.ts'
import type { Profile } from '../../protocol/profiles.ts'
import * as viewSets from '../entities/view-sets.ts'

/** A key with every field, on no chain, to list the views of all sets. No view is called with it. */
const placeholderKey = {
  chainId: 0,
  id: 0,
  eventId: 0,
  addr: zeroAddress,
  proposalId: zeroHash,
  hypoSettlement: 0n,
  notional: 0n,
} as const

const views: readonly Call[] = Object.values(viewSets).flatMap(({ views }) =>
  Object.values<(key: typeof placeholderKey) => Call>(views).map((view) => view(placeholderKey)),
)

/** Views that only the start-up checks call. */
const usedByChecks = ['isAllowedPaymentToken']

/** Views that the proxy has to mount. A view with a storage slot is read from there when it is not mounted. */
const requiredViews = new Set<string>([
  ...views.filter(({ slot }) => slot === undefined).map(({ name }) => name),
  ...usedByChecks,
])

/** A function, and the loupe call that returns the facet with it: the zero address for none. */
type FunctionCall = { readonly name: string; readonly facet: Call<`0x${string}`> }

const functionsWith = (isAsked: (name: string) => boolean): readonly FunctionCall[] =>
  protocolAbi.flatMap((item) =>
    item.type === 'function' && isAsked(item.name)
      ? [{ name: item.name, facet: call('facetAddress', [toFunctionSelector(item)]) }]
      : [],
  )

/** The functions that reads and `writes` need of a deployment. */
export const requiredSelectors = ({ mayLack }: Profile, writes: readonly string[]): readonly FunctionCall[] =>
  functionsWith((name) => (requiredViews.has(name) || writes.includes(name)) && !mayLack.includes(name))

/** The functions that a deployment of a kind may lack. */
export const lackedSelectors = ({ mayLack }: Profile): readonly FunctionCall[] =>
  functionsWith((name) => mayLack.includes(name))
