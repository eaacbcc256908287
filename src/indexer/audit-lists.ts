import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { memberIds, ownedIds } from '../db/facts.ts'
import type { Database } from '../db/pool.ts'
import { readProgress } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import { unavailable } from '../lib/errors.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { call } from '../protocol/outputs.ts'

type Deps = { readonly chain: Chain; readonly database: Database }

type Ids = readonly bigint[]

/** The ids of an event's members, as a view that may stop at so many lists them. */
const members = {
  deposit: { view: 'getEventDepositIds', most: 200 },
  position: { view: 'getEventPositionIds', most: 500 },
} as const

const walletViews = {
  event: 'getCreatorEventIds',
  deposit: 'getLpDepositIds',
  position: 'getHedgerPositionIds',
} as const satisfies Record<Kind, string>

/** Nothing is listed for what does not exist; some deployments revert there. */
const listed = (outcome: Outcome<Ids>): Ids => {
  if (outcome.ok) return outcome.value
  if (isRevert(outcome.error)) return []
  throw toServiceError(outcome.error)
}

const ascending = (ids: Ids): Ids => [...ids].sort((a, b) => (a < b ? -1 : 1))

const unequal = (what: string, mine: Ids, theirs: Ids): string[] =>
  mine.join() === theirs.join() ? [] : [`${what}: [${mine}] in the index, [${theirs}] on the chain`]

/** The block that the index has reached, where its lists are complete. */
const reached = async ({ chain, database }: Deps): Promise<StoredBlock> => {
  const { cursor } = await readProgress(database, chain.chainId)
  if (cursor === null) throw unavailable(`chain ${chain.chainId} is not indexed yet`)
  return cursor
}

/** How many lists were compared, and what differs in them, in words. */
type ComparedLists = { readonly lists: number; readonly differences: readonly string[] }

/** Compares which deposits and positions events have at the block of the index, by the events' own lists. */
export const compareMembers = async ({ chain, database }: Deps, eventIds: Ids): Promise<ComparedLists> => {
  const block = await reached({ chain, database })
  const found = (['deposit', 'position'] as const).map(async (kind) => {
    const { view, most } = members[kind]
    const mine = await database.run((handle) => memberIds(handle, chain.chainId, kind, eventIds, block.number))
    const lists = eventIds.map(async (eventId) => {
      const [outcome] = await chain.readAt(block, [call(view, [eventId])])
      const theirs = ascending(listed(outcome))
      const all = mine.get(eventId) ?? []
      return unequal(`${view} of ${eventId}`, theirs.length === most ? all.slice(0, most) : all, theirs)
    })
    return (await Promise.all(lists)).flat()
  })
  return { lists: 2 * eventIds.length, differences: (await Promise.all(found)).flat() }
}

/** Where a walk through all wallets goes on; null before the first. */
export type WalletMark = { readonly kind: Kind; readonly after: Address | null }

/** Compares the next wallets' lists at the block of the index. `next` is null after the last. */
export const compareWallets = async (
  { chain, database }: Deps,
  { kind, after }: WalletMark,
  limit: number,
): Promise<ComparedLists & { readonly next: WalletMark | null }> => {
  const block = await reached({ chain, database })
  const { number } = block
  const owned = await database.run((handle) => ownedIds(handle, chain.chainId, kind, { after, limit, number }))
  const view = walletViews[kind]
  const lists = [...owned].map(async ([wallet, ids]) => {
    const [outcome] = await chain.readAt(block, [call(view, [wallet])])
    return unequal(`${view} of ${wallet}`, ids, ascending(listed(outcome)))
  })
  const differences = (await Promise.all(lists)).flat()
  const last = [...owned.keys()].at(-1)
  const nextKind = kinds[kinds.indexOf(kind) + 1]
  const next =
    owned.size === limit && last !== undefined ? { kind, after: last } : nextKind && { kind: nextKind, after: null }
  return { lists: owned.size, differences, next: next ?? null }
}
