import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { forgetSums, sumSomeRows } from '../../src/db/index/totals.ts'
import { lockRefreshQueue } from '../../src/db/index/work/refresh-queue.ts'
import { rollBack } from '../../src/db/index/write.ts'
import { compareSums } from '../../src/indexer/audit/sums.ts'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

const DAY = 86_400

const protocol = await useProtocol()
const life = startLife(protocol, createRandom(seed))

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

const index = () => indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })

beforeAll(async () => {
  store = await createTestDatabase()
  const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
  api = await openApp({ nodes, databaseUrl: store.url, headMaxAgeMs: 0 })
  await life.complete({ recovers: false })
  await life.live(byForm(30, 200))
  await index()
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const Row = z.looseObject({
  ...{ type: z.string(), blockTimestamp: z.number(), eventId: z.number().nullable(), token: z.string().nullable() },
  depositId: z.number().nullable(),
  ...{
    amount: z.string().nullable(),
    fee: z.string().nullable(),
    args: z.looseObject({ notional: z.string().optional() }),
  },
})

const allActivity = async () => {
  const rows: z.output<typeof Row>[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `/activity?chainId=8453&order=asc&limit=200${cursor && `&cursor=${cursor}`}`
    const { data, meta } = await api.get(query)
    rows.push(...z.array(Row).parse(data))
    cursor = z.looseObject({ nextCursor: z.string().nullable() }).parse(meta).nextCursor
  }
  return rows
}

const seriesOf = async (query = ''): Promise<Record<string, unknown>[]> => {
  const { status, error, data } = await api.get(`/series?chainId=8453${query}`)
  expect([status, error]).toEqual([200, undefined])
  return Object(data)
}

/** The points by adding up the activity row by row. */
const expectedAt = (rows: Awaited<ReturnType<typeof allActivity>>, time: number, token: string) => {
  const until = rows.filter((row) => row.blockTimestamp <= time && row.token === token)
  const sum = (type: string, of: 'amount' | 'fee') =>
    until.reduce((total, row) => (row.type === type ? total + BigInt(row[of] ?? 0) : total), 0n)
  const count = (type: string) => until.filter((row) => row.type === type).length
  const settled = new Set(until.flatMap(({ type, eventId }) => (type === 'event.settled' ? [eventId] : [])))
  const exposure = until.reduce(
    (total, { type, eventId, args }) =>
      type === 'position.created' && !settled.has(eventId) ? total + BigInt(args.notional ?? 0) : total,
    0n,
  )
  const withdrawn = new Set(until.flatMap(({ type, depositId }) => (type === 'capital.withdrawn' ? [depositId] : [])))
  const liquidity = until.reduce(
    (total, { type, depositId, amount }) =>
      type === 'deposit.created' && !withdrawn.has(depositId) ? total + BigInt(amount ?? 0) : total,
    0n,
  )
  return {
    ...{ events: count('event.created'), settlements: count('event.settled'), deposits: count('deposit.created') },
    ...{ positions: count('position.created'), claims: count('payout.claimed') },
    deposited: `${sum('deposit.created', 'amount')}`,
    withdrawn: `${sum('capital.withdrawn', 'amount')}`,
    liquidity: `${liquidity}`,
    exposure: `${exposure}`,
    premiums: `${sum('position.created', 'amount')}`,
    premiumsClaimed: `${sum('premiums.claimed', 'amount')}`,
    payouts: `${sum('payout.claimed', 'amount')}`,
    recovered: `${sum('payouts.recovered', 'amount')}`,
    earnings: `${sum('earnings.withdrawn', 'amount')}`,
    fees: `${sum('position.created', 'fee') + sum('premiums.claimed', 'fee') + sum('payout.claimed', 'fee')}`,
  }
}

const expectRight = async (query = ''): Promise<void> => {
  const rows = await allActivity()
  const points = await seriesOf(query)
  expect(points.length).toBeGreaterThan(0)
  for (const { chainId, symbol, decimals, time, token, ...figures } of points)
    expect([time, token, figures]).toEqual([time, token, expectedAt(rows, Number(time), String(token))])
}

const sumAll = async (batch: number): Promise<void> => {
  while (await sumSomeRows(api.database, 8453, { batch, afterSeconds: -100 * 365 * DAY }));
}

const stored = async () => {
  const { rows } = await api.database.run((handle) =>
    handle.execute(
      sql`SELECT day, type, encode(token, 'hex') AS token, rows, amount, fee, notional FROM ledger_days ORDER BY 1, 2, 3`,
    ),
  )
  return rows
}

const marked = async () => {
  const { rows } = await api.database.run((handle) => handle.execute(sql`SELECT totals_number AS number FROM cursors`))
  return rows[0]?.number
}

test(`points are the sums of the activity, whether its rows are summed already or not (seed ${seed})`, async () => {
  await expectRight()
  await sumSomeRows(api.database, 8453, { batch: 30, afterSeconds: -100 * 365 * DAY })
  expect((await stored()).length).toBeGreaterThan(0)
  await expectRight()
  await sumAll(25)
  const summed = await stored()
  await expectRight()
  await expectRight('&interval=week')
  // In one batch the sums are the same.
  await api.database.run((handle) => handle.execute(sql`UPDATE cursors SET totals_number = NULL`))
  await sumAll(1_000_000)
  expect(await stored()).toEqual(summed)
})

test('a series that ends in the past has no sums of what came later', async () => {
  await sumAll(1_000)
  const rows = await allActivity()
  const times = [...new Set(rows.flatMap(({ token, blockTimestamp }) => (token === null ? [] : [blockTimestamp])))]
  expect(times.length).toBeGreaterThan(1)
  // Not the first, before which there are no sums.
  const middle = times[Math.floor(times.length / 2)] ?? 0
  for (const to of [middle, middle - 1, rows.at(-1)?.blockTimestamp ?? 0]) {
    const points = await seriesOf(`&to=${to}`)
    const last = points.filter(({ token }) => token === points[0]?.token).at(-1)
    expect(last?.time).toBe(to)
    expect(last).toMatchObject(expectedAt(rows, to, String(last?.token)))
  }
})

test('the audit finds each sum that is not that of its rows, and a difference of one moment is none', async () => {
  await sumAll(1_000)
  const compare = () => compareSums(api.database, 8453, 0)
  const right = await compare()
  expect(right).toEqual({ days: expect.any(Number), differences: [] })
  expect(right.days).toBeGreaterThanOrEqual(new Set((await stored()).map(({ day }) => day)).size)
  const summed = await stored()
  const one = `WHERE ctid = (SELECT ctid FROM ledger_days WHERE type = 4 ORDER BY day LIMIT 1)`
  const faults = [
    ...['rows', 'amount', 'fee', 'notional'].map((name) => `UPDATE ledger_days SET ${name} = ${name} + 1 ${one}`),
    `DELETE FROM ledger_days ${one}`,
    `INSERT INTO ledger_days SELECT chain_id, day - 30, token, type, rows, amount, fee, notional FROM ledger_days ${one}`,
    `INSERT INTO ledger_days SELECT chain_id, (SELECT max(day) + 1 FROM ledger_days), token, type, rows, amount, fee, notional
      FROM ledger_days ${one}`,
  ]
  for (const fault of faults) {
    await api.database.run((handle) => handle.execute(fault))
    const { differences } = await compare()
    expect([fault, differences]).toEqual([
      fault,
      [
        expect.stringMatching(
          /^ledger_days \d{4}-\d\d-\d\d 0x[\da-f]{40} deposit.created: .* stored, .* in the ledger$/,
        ),
      ],
    ])
    await api.database.run((handle) => handle.execute('UPDATE cursors SET totals_number = NULL'))
    await sumAll(1_000)
    expect(await stored()).toEqual(summed)
  }
  // Rows that are not summed yet are none that the sums lack.
  await api.database.run((handle) => handle.execute('DELETE FROM ledger_days; UPDATE cursors SET totals_number = NULL'))
  expect(await compare()).toEqual({ days: 0, differences: [] })
  await sumSomeRows(api.database, 8453, { batch: 1, afterSeconds: -100 * 365 * DAY })
  expect(await compare()).toEqual({ days: 1, differences: [] })
})

test('what is not final enough is not summed, and nothing while the ledger lacks logs', async () => {
  const clear = sql`DELETE FROM ledger_days; UPDATE cursors SET totals_number = NULL`
  await api.database.run((handle) => handle.execute(clear))
  const [first] = await allActivity()
  const age = Math.floor(Date.now() / 1_000) - (first?.blockTimestamp ?? 0)
  expect(await sumSomeRows(api.database, 8453, { afterSeconds: age + 1_000 })).toBe(false)
  expect([await stored(), await marked()]).toEqual([[], null])
  const gap = sql`INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, ledger_only) VALUES (8453, 1, 5, 5, true)`
  await api.database.run((handle) => handle.execute(gap))
  await sumAll(1_000)
  expect(await stored()).toEqual([])
  const refused = await api.get('/series?chainId=8453')
  expect([refused.status, refused.error?.message]).toEqual([503, expect.stringContaining('not complete')])
  await api.database.run((handle) => handle.execute(sql`DELETE FROM log_gaps`))
  await sumAll(1_000)
  expect((await stored()).length).toBeGreaterThan(0)
})

test('the past of an event is known while only logs from before its creation are lacking', async () => {
  const id = life.eventIds().at(-1) ?? 1n
  const event = async () => (await api.sources.history.events(8453, [id]))[0]
  const { fact, completeTo } = (await event()) ?? {}
  const created = fact?.blockNumber ?? 0n
  const isKnown = async (unreadTo: bigint, isOfLedger: boolean) => {
    const gap = sql`INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, ledger_only)
      VALUES (8453, 0, ${created}, ${unreadTo}, ${isOfLedger})`
    await api.database.run((handle) => handle.execute(gap))
    const known = (await event())?.completeTo === completeTo
    await api.database.run((handle) => handle.execute(sql`DELETE FROM log_gaps`))
    return known
  }
  expect([await isKnown(created - 1n, true), await isKnown(created, true)]).toEqual([true, false])
  // Above the unread blocks of another gap, rows may still lack their log.
  expect(await isKnown(created - 1n, false)).toBe(false)
})

test('a reorg above the rows that are summed keeps the sums of its day', async () => {
  await sumAll(1_000)
  const all = await stored()
  const { rows } = await api.database.run((handle) =>
    handle.execute<{ number: bigint; rows: number; next: bigint }>(sql`SELECT number, rows, next FROM (
        SELECT block_number AS number, block_timestamp / ${DAY} AS day, (row_number() OVER places)::integer AS rows,
          lead(block_number) OVER places AS next, lead(block_timestamp / ${DAY}) OVER places AS day_of_next
        FROM ledger WINDOW places AS (ORDER BY block_number, log_index)) AS pairs
      WHERE number < next AND day = day_of_next AND day IN (SELECT day FROM ledger_days) ORDER BY number DESC LIMIT 1`),
  )
  const [last] = rows
  if (last === undefined) throw new Error('no day with sums has rows of two blocks')
  const forget = (from: bigint) =>
    api.database.transaction(async (handle) => {
      await lockRefreshQueue(handle, 8453)
      await forgetSums(handle, 8453, from)
    })
  await api.database.run((handle) => handle.execute(sql`UPDATE cursors SET totals_number = NULL`))
  // Sums up to the first of the two blocks.
  await sumSomeRows(api.database, 8453, { batch: last.rows, afterSeconds: -100 * 365 * DAY })
  expect(await marked()).toBe(String(last.number))
  const summed = await stored()
  await forget(BigInt(last.next))
  expect([await stored(), await marked()]).toEqual([summed, String(last.number)])
  await sumAll(1_000)
  expect(await stored()).toEqual(all)
  await forget(BigInt(last.number))
  expect((await stored()).length).toBeLessThan(all.length)
  await sumAll(1_000)
  expect(await stored()).toEqual(all)
})

test('a repair makes the sums of its day and of later ones again, and a rollback undoes them exactly', async () => {
  await sumAll(1_000)
  const summed = await stored()
  const { rows } = await api.database.run((handle) =>
    handle.execute<{ number: string; hash: Buffer; timestamp: string }>(
      sql`SELECT block_number AS number, block_hash AS hash, block_timestamp AS timestamp FROM ledger ORDER BY block_number`,
    ),
  )
  const middle = rows[Math.floor(rows.length / 2)]
  if (middle === undefined) throw new Error('the ledger is empty')
  await api.database.transaction(async (handle) => {
    await lockRefreshQueue(handle, 8453)
    await forgetSums(handle, 8453, BigInt(middle.number))
  })
  const day = Math.floor(Number(middle.timestamp) / DAY)
  expect(await stored()).toEqual(summed.filter((row) => Number(row.day) < day))
  await sumAll(10)
  expect(await stored()).toEqual(summed)

  const block = {
    number: BigInt(middle.number),
    hash: `0x${middle.hash.toString('hex')}`,
    timestamp: BigInt(middle.timestamp),
  } as const
  await api.database.transaction(async (handle) => {
    await handle.execute(sql`INSERT INTO anchors (chain_id, block_number, block_hash, block_timestamp, complete)
      VALUES (8453, ${middle.number}, ${middle.hash}, ${middle.timestamp}, true) ON CONFLICT DO NOTHING`)
    await rollBack(handle, 8453, block)
  })
  expect(Number(await marked())).toBeLessThanOrEqual(Number(middle.number))
  await sumAll(10)
  const { rows: after } = await api.database.run((handle) =>
    handle.execute(sql`SELECT sum(rows)::integer AS rows FROM ledger_days`),
  )
  const types = sql.raw('1, 3, 4, 5, 6, 7, 8, 9, 10')
  const { rows: left } = await api.database.run((handle) =>
    handle.execute(sql`SELECT count(*)::integer AS rows FROM ledger WHERE type IN (${types})`),
  )
  expect(after).toEqual(left)
  await index()
  await sumAll(10)
  expect(await stored()).toEqual(summed)
})
