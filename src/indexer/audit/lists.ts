import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isRevert, toServiceError } from '../../chain/rpc/errors.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { memberIds, ownedIds } from '../../db/index/facts.ts'
import { readProgress } from '../../db/index/work/progress.ts'
import type { Database } from '../../db/pool.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { unavailable } from '../../lib/errors.ts'
import { call } from '../../protocol/abi/outputs.ts'
import { entities, type Kind, kinds, memberKinds } from '../../protocol/entities.ts'

type Deps = { readonly chain: Chain; readonly database: Database }

type Ids = readonly bigint[]

/** The list of something that does not exist is empty; some deployments revert instead. */
const listed = (outcome: Outcome<Ids>): Ids => {
  if (outcome.ok) return outcome.value
  if (isRevert(outcome.error)) return []
  throw toServiceError(outcome.error)
}

const ascending = (ids: Ids): Ids => [...ids].sort((a, b) => (a < b ? -1 : 1))

const unequal = (what: string, mine: Ids, theirs: Ids): string[] =>
  mine.join() === theirs.join() ? [] : [`${what}: [${mine}] in the index, [${theirs}] on the chain`]

/** The block of the cursor, up to which the lists of the index are complete. */
const reached = async ({ chain, database }: Deps): Promise<StoredBlock> => {
  const { cursor } = await readProgress(database, chain.chainId)
  if (cursor === null) throw unavailable(`chain ${chain.chainId} is not indexed yet`)
  return cursor
}

/** The number of compared lists, and descriptions of their differences. */
type ComparedLists = { readonly lists: number; readonly differences: readonly string[] }

/** Compares the deposits and positions of events, at the block of the index, with the lists that the chain returns. */
export const compareMembers = async ({ chain, database }: Deps, eventIds: Ids): Promise<ComparedLists> => {
  const block = await reached({ chain, database })
  const found = memberKinds.map(async (kind) => {
    const { view, most } = entities[kind].memberIds
    const mine = await database.run((handle) => memberIds(handle, chain.chainId, kind, eventIds, block.number))
    const lists = eventIds.map(async (eventId) => {
      const [outcome] = await chain.readAt(block, [call(view, [eventId])])
      const theirs = ascending(listed(outcome))
      const all = mine.get(eventId) ?? []
      return unequal(`${view} of ${eventId}`, theirs.length === most ? all.slice(0, most) : all, theirs)
    })
    return (await Promise.all(lists)).flat()
  })
  return { lists: memberKinds.length * eventIds.length, differences: (await Promise.all(found)).flat() }
}

/**
 * The position from which the comparison of all wallets continues; `after` is null before the first wallet of a kind.
 */
export type WalletPosition = { readonly kind: Kind; readonly after: Address | null }

/** Compares the lists of the next wallets at the block of the index. `next` is null after the last wallet. */
export const compareWallets = async (
  { chain, database }: Deps,
  { kind, after }: WalletPosition,
  limit: number,
): Promise<ComparedLists & { readonly next: WalletPosition | null }> => {
  const block = await reached({ chain, database })
  const { number } = block
  const owned = await database.run((handle) => ownedIds(handle, chain.chainId, kind, { after, limit, number }))
  const view = entities[kind].ownerIds
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
