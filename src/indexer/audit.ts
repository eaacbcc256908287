import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { toServiceError } from '../chain/errors.ts'
import type { Database } from '../db/pool.ts'
import { readFacts } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { ChainId } from '../protocol/chains.ts'
import { call } from '../protocol/outputs.ts'

/** What an audit found: rows on both sides by kind, and each difference in words. */
export type AuditReport = {
  readonly chainId: ChainId
  readonly block: StoredBlock
  readonly counts: readonly { readonly what: string; readonly index: number; readonly chain: number }[]
  readonly differences: readonly string[]
}

type Facts = NonNullable<Awaited<ReturnType<typeof readFacts>>>

/** The index moves on while it is audited; a node may by then have dropped the state of the block, or a reorg the block. */
const ATTEMPTS = 10
const RETRY_AFTER_MS = 500

/**
 * Compares every fact of a chain's index (ids, owners, amounts, wallets' lists) with the chain at the very block the index has
 * reached. Throws `service_unavailable` when nothing is indexed or node or database is out of reach.
 */
export const audit = async (deps: { readonly chain: Chain; readonly database: Database }): Promise<AuditReport> => {
  for (let attempt = 1; ; attempt += 1) {
    const facts = await readFacts(deps.database, deps.chain.chainId)
    if (facts === null) throw unavailable(`chain ${deps.chain.chainId} is not indexed yet`)
    try {
      return await compare(deps.chain, facts)
    } catch (fault) {
      if (attempt === ATTEMPTS || !isUnavailable(fault)) throw fault
      await sleep(RETRY_AFTER_MS)
    }
  }
}

const answer = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value
  throw toServiceError(outcome.error)
}

const compare = async (chain: Chain, facts: Facts): Promise<AuditReport> => {
  const at = facts.cursor
  const [total] = await chain.readAt(at, [call('getTotalHedgeEvents')])
  const events = await onChainEvents(chain, at, answer(total))
  const memberIds = await Promise.all(events.map(({ id }) => membersOf(chain, at, id)))
  const deposits = await Promise.all(memberIds.flatMap((it) => it.deposits).map((id) => readDeposit(chain, at, id)))
  const positions = await Promise.all(memberIds.flatMap((it) => it.positions).map((id) => readPosition(chain, at, id)))
  const wallets = await compareWallets(chain, facts)
  return {
    chainId: chain.chainId,
    block: at,
    counts: [
      { what: 'events', index: facts.events.length, chain: events.length },
      { what: 'deposits', index: facts.deposits.length, chain: deposits.length },
      { what: 'positions', index: facts.positions.length, chain: positions.length },
      { what: 'wallet lists', index: wallets.lists, chain: wallets.lists },
    ],
    differences: [
      ...differ('event', facts.events, events),
      ...differ('deposit', facts.deposits, deposits),
      ...differ('position', facts.positions, positions),
      ...wallets.differences,
    ],
  }
}

const onChainEvents = async (chain: Chain, at: StoredBlock, total: bigint) => {
  // Whether ids begin at 0 or 1 is the deployment's affair: 0 is asked for and left out where it does not exist.
  const ids = Array.from({ length: Number(total) + 1 }, (_, id) => BigInt(id))
  const cores = await Promise.all(ids.map((id) => chain.readAt(at, [call('getHedgeEventCore', [id])])))
  return cores.flatMap(([core], id) =>
    core.ok && BigInt(core.value.creator) !== 0n ? [{ ...core.value, id: BigInt(id) }] : [],
  )
}

const membersOf = async (chain: Chain, at: StoredBlock, eventId: bigint) => {
  const [deposits, positions] = await chain.readAt(at, [
    call('getEventDepositIds', [eventId]),
    call('getEventPositionIds', [eventId]),
  ])
  return { deposits: answer(deposits), positions: answer(positions) }
}

const readDeposit = async (chain: Chain, at: StoredBlock, id: bigint) => {
  const [deposit] = await chain.readAt(at, [call('getHedgeLpDeposit', [id])])
  return answer(deposit)
}

const readPosition = async (chain: Chain, at: StoredBlock, id: bigint) => {
  const [position] = await chain.readAt(at, [call('getHedgePosition', [id])])
  const { platformFeePaid, ...rest } = answer(position)
  return { ...rest, platformFee: platformFeePaid }
}

/** The fields each kind has on both sides. */
const compared = {
  event: ['creator', 'underlying', 'strike', 'premiumRate', 'expiryDate'],
  deposit: ['eventId', 'lp', 'amount', 'shares'],
  position: ['eventId', 'hedger', 'notional', 'premiumPaid', 'platformFee'],
} as const

type Row = { readonly id: bigint } & Readonly<Record<string, unknown>>

const differ = (kind: keyof typeof compared, index: readonly Row[], chain: readonly Row[]): string[] => {
  const stored = new Map(index.map((row) => [row.id, row]))
  const found = chain.flatMap((row) => {
    const mine = stored.get(row.id)
    stored.delete(row.id)
    if (mine === undefined) return [`${kind} ${row.id} is missing in the index`]
    return compared[kind].flatMap((field) =>
      mine[field] === row[field]
        ? []
        : [`${kind} ${row.id}: ${field} is ${mine[field]} in the index, ${row[field]} on the chain`],
    )
  })
  return [...found, ...[...stored.keys()].map((id) => `${kind} ${id} is not on the chain`)]
}

/** Each wallet's three lists, in the order the chain gives them. */
const compareWallets = async (
  chain: Chain,
  { cursor, events, deposits, positions }: Facts,
): Promise<{ lists: number; differences: string[] }> => {
  const lists = [
    { name: 'getCreatorEventIds', owned: group(events.map(({ creator, id }) => [creator, id])) },
    { name: 'getLpDepositIds', owned: group(deposits.map(({ lp, id }) => [lp, id])) },
    { name: 'getHedgerPositionIds', owned: group(positions.map(({ hedger, id }) => [hedger, id])) },
  ] as const
  const checks = lists.flatMap(({ name, owned }) =>
    [...owned].map(async ([wallet, ids]) => {
      const [onChain] = await chain.readAt(cursor, [call(name, [wallet])])
      const theirs = [...answer(onChain)].sort((a, b) => (a < b ? -1 : 1))
      return theirs.join() === ids.join()
        ? []
        : [`${name} of ${wallet}: [${ids}] in the index, [${theirs}] on the chain`]
    }),
  )
  return { lists: checks.length, differences: (await Promise.all(checks)).flat() }
}

const group = (pairs: readonly (readonly [Address, bigint])[]): Map<Address, bigint[]> => {
  const groups = new Map<Address, bigint[]>()
  for (const [wallet, id] of pairs) groups.set(wallet, [...(groups.get(wallet) ?? []), id])
  return groups
}

/** Differences printed; the count is of all. */
const PRINTED = 20

/** The report as lines for a terminal. */
export const formatAudit = ({ chainId, block, counts, differences }: AuditReport): string =>
  [
    `chain ${chainId} at block ${block.number} (${block.hash})`,
    `  ${'what'.padEnd(14)}${'index'.padStart(8)}${'chain'.padStart(8)}`,
    ...counts.map(
      ({ what, index, chain }) => `  ${what.padEnd(14)}${String(index).padStart(8)}${String(chain).padStart(8)}`,
    ),
    `  ${differences.length === 0 ? 'no differences' : `${differences.length} differences`}`,
    ...differences.slice(0, PRINTED).map((difference) => `    ${difference}`),
  ].join('\n')
