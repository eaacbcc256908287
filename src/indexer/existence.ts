import { zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { type Kind, kinds, type LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { type Call, call, type Output } from '../protocol/outputs.ts'

/** The id of one entity of each kind. */
export type Ids = Readonly<Record<Kind, bigint>>

/** The view of an entity that names its owner. */
export type View = Output<'getHedgeEventCore'> | Output<'getHedgeLpDeposit'> | Output<'getHedgePosition'>

const views: Readonly<Record<Kind, (id: bigint) => Call<View>>> = {
  event: (id) => call('getHedgeEventCore', [id]),
  deposit: (id) => call('getHedgeLpDeposit', [id]),
  position: (id) => call('getHedgePosition', [id]),
}

const ownerOf = (view: View): string => {
  if ('creator' in view) return view.creator
  return 'lp' in view ? view.lp : view.hedger
}

/** The call that tells whether an entity exists, for `exists`. */
export const existenceOf = (kind: Kind, id: bigint): Call<View> => views[kind](id)

/** An unknown id reverts on some deployments and answers zeros on others; whatever exists belongs to somebody. */
export const exists = (outcome: Outcome<View> | undefined): boolean =>
  outcome?.ok === true && ownerOf(outcome.value) !== zeroAddress

const record = <T>(of: (kind: Kind) => T): Readonly<Record<Kind, T>> => ({
  event: of('event'),
  deposit: of('deposit'),
  position: of('position'),
})

/** Whether an event, a deposit and a position of these ids exist at a block. Throws as `Chain.readAt` does. */
export const existAt = async (
  chain: Chain,
  block: Pick<StoredBlock, 'hash'>,
  ids: Ids,
): Promise<Readonly<Record<Kind, boolean>>> => {
  const calls = kinds.map((kind) => existenceOf(kind, ids[kind]))
  const outcomes = await chain.readAt(block, calls)
  return record((kind) => exists(outcomes[kinds.indexOf(kind)]))
}

/**
 * The next id of each kind. Where the index holds none yet, the chain says whether ids begin at 0 or at 1: the first id that a log
 * names need not be the first there is.
 */
export const nextIds = async (chain: Chain, block: Pick<StoredBlock, 'hash'>, last: LastIds): Promise<Ids> => {
  const none = kinds.some((kind) => last[kind] === null)
  const zero = none ? await existAt(chain, block, { event: 0n, deposit: 0n, position: 0n }) : undefined
  return record((kind) => (last[kind] ?? (zero?.[kind] ? -1n : 0n)) + 1n)
}
