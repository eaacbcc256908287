import { zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import type { StoredBlock } from '../db/query.ts'
import type { Kind, LastIds } from '../db/progress.ts'
import { call } from '../protocol/outputs.ts'

/** The id of one entity of each kind. */
export type Ids = Readonly<Record<Kind, bigint>>

/** An unknown id reverts on some deployments and answers zeros on others; whatever exists belongs to somebody. */
const has = <T>(outcome: Outcome<T>, owner: (view: T) => string): boolean =>
  outcome.ok && owner(outcome.value) !== zeroAddress

/** Whether an event, a deposit and a position of these ids exist at a block. Throws as `Chain.readAt` does. */
export const existAt = async (
  chain: Chain,
  block: Pick<StoredBlock, 'hash'>,
  ids: Ids,
): Promise<Readonly<Record<Kind, boolean>>> => {
  const [event, deposit, position] = await chain.readAt(block, [
    call('getHedgeEventCore', [ids.event]),
    call('getHedgeLpDeposit', [ids.deposit]),
    call('getHedgePosition', [ids.position]),
  ])
  return {
    event: has(event, ({ creator }) => creator),
    deposit: has(deposit, ({ lp }) => lp),
    position: has(position, ({ hedger }) => hedger),
  }
}

/**
 * The next id of each kind. Where the index holds none yet, the chain says whether ids begin at 0 or at 1: the first id that a log
 * names may not be the first there is.
 */
export const nextIds = async (chain: Chain, block: Pick<StoredBlock, 'hash'>, last: LastIds): Promise<Ids> => {
  const { event, deposit, position } = last
  if (event !== null && deposit !== null && position !== null) {
    return { event: event + 1n, deposit: deposit + 1n, position: position + 1n }
  }
  const zero = await existAt(chain, block, { event: 0n, deposit: 0n, position: 0n })
  const next = (kind: Kind): bigint => (last[kind] ?? (zero[kind] ? -1n : 0n)) + 1n
  return { event: next('event'), deposit: next('deposit'), position: next('position') }
}
