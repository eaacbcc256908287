import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeTokens } from '../../../src/db/index/tokens.ts'
import type { Database } from '../../../src/db/pool.ts'
import { createPortfolios, figureNames, type Holding } from '../../../src/db/queries/portfolios.ts'
import { type Kind, kinds } from '../../../src/protocol/entities.ts'
import { entityRecord } from '../../../src/protocol/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'
import { walletOf } from '../../support/seed-index.ts'
import { furtherToken, ownerOf, owners, states, statesTip, writeStates } from '../../support/seed-states.ts'

/* The rows, figures and sums of portfolios as the database returns them, compared with a calculation. */

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeStates(database)
  await database.transaction((handle) =>
    storeTokens(handle, 8453, [{ token: furtherToken, symbol: 'FUR', decimals: 9 }]),
  )
  await database.transaction((handle) => storeTokens(handle, 56, [{ token: furtherToken, symbol: null, decimals: 9 }]))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

type Chain = 8453 | 56
type Shown = { readonly row: Pick<Holding['row'], 'chainId' | 'id' | 'token'> }
type Query = Parameters<ReturnType<typeof createPortfolios>['of']>[0]

const chainOf = (chainId: number, roundsCapitalUp = chainId === 56) => ({
  ...{ chainId, roundsCapitalUp },
})

const read = async (query: Partial<Query> = {}) => {
  const found = await createPortfolios(database).of({
    ...{ wallets: owners, chains: [chainOf(8453), chainOf(56)], activeOnly: false, include: [] },
    ...{ limit: 1_000, sums: false },
    ...query,
  })
  const of = (kind: Kind): Holding[] => found.holdings[kind].map((cells) => found.parse(kind, cells))
  return { ...found, holdings: { event: of('event'), deposit: of('deposit'), position: of('position') } }
}

/** What a portfolio has to have of an entity, by its observation and that of its event. */
const expectedOf = (chainId: Chain, kind: Kind, id: bigint) => {
  const { events, deposits, positions } = states[chainId]
  const find = <T extends { readonly fact: { readonly id: bigint } }>(rows: readonly T[], of: bigint): T => {
    const row = rows.find(({ fact }) => fact.id === of)
    if (row === undefined) throw new Error(`no row ${of}`)
    return row
  }
  const row = find<(typeof events | typeof deposits | typeof positions)[number]>(states[chainId][`${kind}s`], id)
  const event = find(events, 'eventId' in row.fact ? row.fact.eventId : id).seen
  const { settledAt, triggered, creatorEarnings, totalLiquidity, totalMaxPayout } = event.stats
  const isSettled = settledAt > 0n
  const own = (): { figures: bigint[]; isClaimable: boolean; isActive: boolean } => {
    if ('core' in row.seen) {
      const isClaimable = creatorEarnings > 0n
      return { figures: [creatorEarnings], isClaimable, isActive: !isSettled || isClaimable }
    }
    if ('deposit' in row.seen) {
      const { deposit, pending } = row.seen
      const ofEvent = deposits.filter(({ fact }) => fact.eventId === deposit.eventId)
      const shares = ofEvent.reduce((sum, { fact }) => sum + fact.shares, 0n)
      const isDue = isSettled && !deposit.withdrawn
      const whole =
        chainId === 56
          ? deposit.amount - (totalMaxPayout * deposit.amount) / totalLiquidity
          : ((totalLiquidity - totalMaxPayout) * deposit.shares) / shares
      return {
        figures: [deposit.withdrawn ? 0n : deposit.amount, pending, isDue ? whole : 0n],
        isClaimable: pending > 0n || isDue,
        isActive: !deposit.withdrawn || pending > 0n,
      }
    }
    const { notional, premiumPaid, claimed, payoutAmount, status } = row.seen.position
    const isClaimable = !claimed && payoutAmount > 0n && status !== 0 && triggered && isSettled
    return {
      figures: [notional, premiumPaid, isClaimable ? payoutAmount : 0n],
      isClaimable,
      isActive: !claimed && (!isSettled || isClaimable),
    }
  }
  return { ...own(), token: event.paymentToken, wallet: owners.indexOf(ownerOf(row.fact)), fact: row.fact }
}

/** The holdings of a kind in the order of a portfolio: by wallet, the newest block first, then by chain and id. */
const expectedHoldings = (kind: Kind, isActive: boolean, chainIds: readonly Chain[] = [8453, 56]) =>
  chainIds
    .flatMap((chainId) =>
      states[chainId][`${kind}s`].map(({ fact }: { readonly fact: { readonly id: bigint } }) => ({
        chainId,
        ...expectedOf(chainId, kind, fact.id),
      })),
    )
    .filter((it) => !isActive || it.isActive)
    .sort(
      (a, b) =>
        a.wallet - b.wallet ||
        Number(b.fact.blockNumber - a.fact.blockNumber) ||
        a.chainId - b.chainId ||
        Number(b.fact.id - a.fact.id),
    )

const shown = ({ wallet, isClaimable, figures, row }: Pick<Holding, 'wallet' | 'isClaimable' | 'figures'> & Shown) =>
  [wallet, row.chainId, row.id, row.token, isClaimable, ...figures].join(' ')

/** Those of entities with an observation. */
const observed = (holdings: readonly Holding[]): readonly Holding[] => holdings.filter(({ row }) => row.id !== '100')

describe.each(kinds)('holdings of kind %s', (kind) => {
  test.each([true, false])('have their owner, token and figures; only active ones: %s', async (activeOnly) => {
    const { holdings } = await read({ activeOnly })
    const expected = expectedHoldings(kind, activeOnly)
    expect(expected.length).toBeGreaterThan(4)
    expect(observed(holdings[kind]).map(shown)).toEqual(
      expected.map(({ fact, chainId, token, ...it }) => shown({ ...it, row: { chainId, token, id: String(fact.id) } })),
    )
    // Without an observation an entity counts as unchanged since its creation.
    expect(holdings[kind].filter(({ row }) => row.id === '100')).toMatchObject([
      { isClaimable: false, row: { chainId: 8453, token: null, views: null } },
    ])
  })

  test('are those of one wallet on one chain', async () => {
    const { holdings, tips, sums } = await read({ wallets: owners.slice(1, 2), chains: [chainOf(56)], sums: true })
    const ofKind = sums.filter((sum) => sum.kind === kind)
    expect(new Set(ofKind.map(({ wallet, chainId }) => `${wallet} ${chainId}`))).toEqual(new Set(['0 56']))
    const expected = expectedHoldings(kind, false, [56]).filter(({ wallet }) => wallet === 1)
    expect(holdings[kind].map(({ wallet, row }) => [wallet, row.chainId, row.id])).toEqual(
      expected.map(({ fact }) => [0, 56, String(fact.id)]),
    )
    expect(tips.map(({ chainId, block }) => [chainId, block])).toEqual([[56, statesTip]])
  })

  test.each([1, 2, 5])(
    'are the claimable ones, then the newest, at most %i of each wallet and chain',
    async (limit) => {
      const { holdings } = await read({ limit, wallets: [...owners, walletOf(9)] })
      for (const [wallet] of owners.entries()) {
        for (const chainId of [8453, 56] as const) {
          const all = expectedHoldings(kind, false, [chainId]).filter((it) => it.wallet === wallet)
          const first = all
            .sort((a, b) => Number(b.isClaimable) - Number(a.isClaimable) || Number(b.fact.id - a.fact.id))
            .slice(0, limit)
            .map(({ fact }) => String(fact.id))
          const found = holdings[kind].filter((it) => it.wallet === wallet && it.row.chainId === chainId)
          // The row without an observation is the newest of those that cannot be claimed, so it is in place of another.
          const isWithUnseen = found.some(({ row }) => row.id === '100')
          const expected = isWithUnseen ? first.filter((id) => observed(found).some(({ row }) => row.id === id)) : first
          expect(
            found
              .map(({ row }) => row.id)
              .filter((id) => id !== '100')
              .sort(),
          ).toEqual(expected.sort())
          expect(found.length).toBe(Math.min(limit, all.length + Number(isWithUnseen)))
        }
      }
    },
  )

  test.each([true, false])(
    'have sums per wallet, chain and token over all; only active ones: %s',
    async (activeOnly) => {
      const { sums, holdings } = await read({ activeOnly, sums: true, limit: 1 })
      expect(holdings[kind].length).toBeLessThanOrEqual(6)
      const groups = new Map<string, { claims: number; figures: bigint[] }>()
      for (const it of expectedHoldings(kind, activeOnly)) {
        const key = `${it.wallet} ${it.chainId} ${it.token}`
        const group = groups.get(key) ?? { claims: 0, figures: it.figures.map(() => 0n) }
        groups.set(key, {
          claims: group.claims + Number(it.isClaimable),
          figures: group.figures.map((figure, at) => figure + (it.figures[at] ?? 0n)),
        })
      }
      const own = sums.filter((sum) => sum.kind === kind && sum.token !== null)
      const found = own.map(({ wallet, chainId, token, claims, figures }) => [
        `${wallet} ${chainId} ${token}`,
        { claims, figures: [...figures] },
      ])
      expect(found.toSorted()).toEqual([...groups].toSorted())
      for (const { chainId, token, symbol, decimals } of own) {
        // A token may have no symbol. The configured one is not stored.
        const stored = token === furtherToken ? [chainId === 8453 ? 'FUR' : null, 9] : [null, null]
        expect([symbol, decimals]).toEqual(stored)
      }
    },
  )
})

test('figures have the names of their order', () => {
  expect(figureNames).toEqual({
    event: ['creatorEarnings'],
    deposit: ['deposited', 'premiums', 'capital'],
    position: ['notional', 'premiumPaid', 'payout'],
  })
})

test('the rounding of withdrawn capital is that of the chain, in rows and in sums', async () => {
  const capitals = async (roundsCapitalUp: boolean) => {
    const { holdings, sums } = await read({ chains: [chainOf(8453, roundsCapitalUp)], sums: true })
    const summed = sums
      .filter(({ kind, token }) => kind === 'deposit' && token !== null)
      .map(({ figures }) => figures[2])
    return {
      rows: observed(holdings.deposit).reduce((sum, { figures }) => sum + (figures[2] ?? 0n), 0n),
      sums: summed.reduce<bigint>((sum, figure) => sum + (figure ?? 0n), 0n),
    }
  }
  const [up, down] = [await capitals(true), await capitals(false)]
  expect(up.rows).toBe(up.sums)
  expect(down.rows).toBe(down.sums)
  expect(up.rows).not.toBe(down.rows)
})

test('rows of the wallets have the columns of their records and, where they show it, of their event', async () => {
  const { holdings } = await read({ include: ['event'] })
  for (const kind of kinds) {
    expect(observed(holdings[kind]).length).toBeGreaterThan(0)
    for (const { row } of observed(holdings[kind])) {
      const { [kind]: found } = {
        [kind]: states[row.chainId as Chain][`${kind}s`].find(({ fact }) => String(fact.id) === row.id),
      }
      expect(entityRecord[kind](row.views as never)).toEqual(entityRecord[kind](found?.seen as never))
      expect(row.symbol).toBe(row.token === furtherToken && row.chainId === 8453 ? 'FUR' : null)
      const event = row.event()
      // Events do not show themselves.
      if (kind === 'event') expect(event).toBeNull()
      else expect(String(event?.core.id)).toBe(row.eventId)
    }
  }
})

describe('the rate of a fee', () => {
  const execute = (statement: ReturnType<typeof sql>) => database.run((handle) => handle.execute(statement))
  /** Stores rates from a log on; each name has a rate of its own. */
  const setRates = (chainId: number, block: number, logIndex: number, base: number) =>
    execute(sql`INSERT INTO fee_rates (chain_id, block_number, block_hash, block_timestamp, tx_hash, log_index,
        hedger_fee_rate, payout_fee_rate, lp_profit_fee_rate, creator_loyalty_rate)
      VALUES (${chainId}, ${block}, '\\x01', 1, '\\x02', ${logIndex}, ${base + 1}, ${base + 2}, ${base + 3}, ${base + 4})`)

  const rates = async (kind: 'deposit' | 'position', chainId: Chain = 8453) => {
    const { holdings } = await read({ chains: [chainOf(chainId)], wallets: owners })
    const byEvent = new Map<string, unknown>()
    const rows: readonly { readonly fact: { readonly id: bigint; readonly eventId: bigint } }[] =
      states[chainId][`${kind}s`]
    for (const { row, feeRate, figures } of observed(holdings[kind])) {
      const event = rows.find(({ fact }) => String(fact.id) === row.id)?.fact.eventId
      const amount = kind === 'deposit' ? figures[1] : figures[2]
      if (amount !== 0n) byEvent.set(String(event), feeRate)
      // No rate is read where no amount has a fee.
      else expect(feeRate).toBe('rates_unknown')
    }
    return Object.fromEntries(byEvent)
  }

  test('is the last one before the creation of the event, of its chain', async () => {
    // Events 1 to 5 are the logs 0 to 4 of block 1, events 6 to 8 the logs 0 to 2 of block 2.
    await setRates(56, 0, 0, 9_000)
    await setRates(8453, 1, 1, 1_000)
    await setRates(8453, 1, 6, 2_000)
    await setRates(8453, 2, 9, 3_000)
    await execute(sql`UPDATE cursors SET fees_number = 2, fees_hash = '\\x01'`)
    // Event 1 is older than the rates, event 2 has the same place as the log that set them.
    expect(await rates('deposit')).toEqual({
      ...{ 1: 'rates_unknown', 2: 'rates_unknown', 3: 1_003n, 4: 1_003n, 5: 1_003n },
      ...{ 6: 2_003n, 7: 2_003n, 8: 2_003n },
    })
    expect(await rates('position')).toEqual({ 4: 1_002n, 8: 2_002n })
    expect(new Set(Object.values(await rates('deposit', 56)))).toEqual(new Set([9_003n]))
  })

  test('is unknown for an event after the block up to which the rates are complete', async () => {
    await execute(sql`UPDATE cursors SET fees_number = 1 WHERE chain_id = 8453`)
    expect(await rates('position')).toEqual({ 4: 1_002n, 8: 'rates_unknown' })
    await execute(sql`UPDATE cursors SET fees_number = NULL WHERE chain_id = 8453`)
    expect(await rates('position')).toEqual({ 4: 'rates_unknown', 8: 'rates_unknown' })
  })

  test('is contradicted where the view of the protocol contradicts it, on that chain only', async () => {
    await execute(sql`UPDATE cursors SET fees_number = 2, fees_contradiction = 'it does' WHERE chain_id = 8453`)
    expect(await rates('position')).toEqual({ 4: 'rates_contradicted', 8: 'rates_contradicted' })
    expect(new Set(Object.values(await rates('position', 56)))).toEqual(new Set([9_002n]))
    await execute(sql`UPDATE cursors SET fees_contradiction = NULL`)
  })

  test('is unknown for an event whose place in its block is unknown', async () => {
    await execute(sql`UPDATE events SET log_index = NULL, tx_hash = NULL WHERE chain_id = 8453 AND id = 4`)
    expect(await rates('position')).toEqual({ 4: 'rates_unknown', 8: 2_002n })
  })
})
