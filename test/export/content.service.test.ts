import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { formatUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sumSomeRows } from '../../src/db/index/totals.ts'
import { dayOf, endOf, startOf } from '../../src/export/days.ts'
import { type TableName, tableNames } from '../../src/export/tables.ts'
import { Settlement } from '../../src/reads/feeds/settlements.ts'
import { openDuckDb } from '../support/duckdb.ts'
import { type Exports, manifestOf, manifestText, NAME, startExports } from '../support/exports.ts'
import { blocksOf } from '../support/guide.ts'

/* What the files of exports have, read back by DuckDB. */

const duck = await openDuckDb()
let exports: Exports
let indexed: Exports['indexed']
let api: Exports['api']
let run: Exports['run']
let folders: Exports['folders']
let whole: Exports['whole']
let reports: Exports['reports']

beforeAll(async () => {
  exports = await startExports()
  ;({ indexed, api, run, folders, whole, reports } = exports)
})
afterAll(async () => {
  duck.close()
  await exports?.close()
})

const DAY = 86_400

type Json = Record<string, unknown>
const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** All rows of a list of the API, as JSON. */
const jsonRows = async (path: string): Promise<Json[]> => {
  const rows: Json[] = []
  for (let cursor = ''; ; ) {
    const { data, meta } = await api.get(`${path}&limit=200${cursor && `&cursor=${cursor}`}`)
    rows.push(...z.array(z.record(z.string(), z.unknown())).parse(data))
    const { nextCursor } = z.looseObject({ nextCursor: z.string().nullable() }).parse(meta)
    if (nextCursor === null) return rows
    cursor = nextCursor
  }
}

const digits = (value: unknown, decimals: number, scale: number): string => {
  const [units = '', rest = ''] = formatUnits(BigInt(String(value)), decimals).split('.')
  return `${units}.${rest.padEnd(scale, '0')}`
}

/** What DuckDB has to show of a column by the JSON row, from the name of the column and the values alone. */
const expected = (row: Json, name: string): string | null => {
  const [, base = name, suffix] = /^(.*?)(Units|Decimal|Utc)?$/.exec(name) ?? []
  const value = row[base]
  if (value === null || value === undefined) return null
  if (suffix === 'Units') return typeof row.decimals === 'number' ? digits(value, row.decimals, 18) : null
  if (suffix === 'Decimal') return base === 'utilization' ? digits(value, 8, 8) : digits(value, 6, 6)
  if (suffix === 'Utc') return new Date(Number(value) * 1_000).toISOString().replace('T', ' ').replace('.000Z', '+00')
  return isRecord(value) ? JSON.stringify(value) : String(value)
}

/** The rows of a table of a chain, with the day of their folder. */
const exported = (folder: string, table: TableName, order: string, chainId = 8453) =>
  duck.rows(
    `SELECT * EXCLUDE (chain) FROM read_parquet('${folder}/${table}/*/*/*.parquet', hive_partitioning = true)
     WHERE chain = ${chainId} ORDER BY ${order}`,
  )

describe.each([
  ['activity', 'activity?', 'blockNumber, logIndex', 'blockTimestamp', 'netAmountUnits'],
  ['events', 'hedge/events?', 'id', 'createdAt', 'strikeDecimal'],
  ['deposits', 'hedge/deposits?', 'id', 'createdAt', 'amountUnits'],
  ['positions', 'hedge/positions?', 'id', 'createdAt', 'premiumPaidUnits'],
] as const)('the table %s', (table, path, order, time, column) => {
  test('has every row of the final days as the API returns it, cell by cell, in the file of its day', async () => {
    for (const [at, { deployment }] of indexed.worlds.entries()) {
      const { chainId } = deployment
      const last = reports[at]?.lastFinal ?? ''
      const all = await jsonRows(`/${path}chainId=${chainId}&order=asc`)
      const rows = all.filter((row) => dayOf(BigInt(Number(row[time]))) <= last)
      // The event of the day that is not over is left out.
      expect(all.length - rows.length).toBeGreaterThan(table === 'positions' ? -1 : 0)
      const found = await exported(whole, table, order, chainId)
      expect(found).toHaveLength(rows.length)
      expect(Object.keys(found[0] ?? {})).toEqual(expect.arrayContaining([column, `${time}Utc`, 'chainId', 'day']))
      for (const [nth, { day, ...cells }] of found.entries()) {
        const row = rows[nth] ?? {}
        expect(cells).toEqual(Object.fromEntries(Object.keys(cells).map((name) => [name, expected(row, name)])))
        expect(day).toBe(dayOf(BigInt(Number(row[time]))))
      }
    }
  })
})

describe('the state at the end of each day', () => {
  const Point = z.looseObject({ time: z.number() })
  type Point = z.output<typeof Point>

  /** The points of a series by the day at the end of a final day. */
  const pointsOf = async (path: string, last: string): Promise<Point[]> => {
    const { data } = await api.get(path)
    return z
      .array(Point)
      .parse(data)
      .filter(({ time }) => BigInt(time) === endOf(dayOf(BigInt(time))) - 1n && dayOf(BigInt(time)) <= last)
  }

  const expectRows = async (table: TableName, order: string, points: readonly Point[], chainId: number) => {
    const found = await exported(whole, table, order, chainId)
    expect(found).toEqual(
      points.map((point) => ({
        ...Object.fromEntries(Object.keys(found[0] ?? {}).map((name) => [name, expected(point, name)])),
        day: dayOf(BigInt(point.time)),
      })),
    )
    // No figure of the series is left out.
    expect(Object.keys(found[0] ?? {})).toEqual(expect.arrayContaining(Object.keys(points[0] ?? {})))
  }

  test('of an event is that of its series, until the day of its settlement and on later days with a log', async () => {
    for (const [at, { deployment }] of indexed.worlds.entries()) {
      const { chainId } = deployment
      const last = reports[at]?.lastFinal ?? ''
      const activity = await jsonRows(`/activity?chainId=${chainId}&order=asc`)
      const points: (Point & { readonly eventId: number })[] = []
      let left = 0
      for (const { id } of await jsonRows(`/hedge/events?chainId=${chainId}&order=asc`)) {
        const logs = activity.filter((row) => row.eventId === id)
        const dayOfLog = ({ blockTimestamp }: Json) => dayOf(BigInt(Number(blockTimestamp)))
        const settled = logs.filter(({ type }) => type === 'event.settled').map(dayOfLog)[0] ?? last
        const all = await pointsOf(`/hedge/events/${chainId}/${id}/series`, last)
        const own = all.filter(({ time }) => {
          const day = dayOf(BigInt(time))
          return day <= settled || logs.some((log) => dayOfLog(log) === day)
        })
        left += all.length - own.length
        points.push(...own.map((point) => ({ ...point, eventId: Number(id) })))
      }
      points.sort((a, b) => a.time - b.time || a.eventId - b.eventId)
      await expectRows('event_days', 'time, eventId', points, chainId)
      // Event 2 has a day without a row between its settlement and its last log.
      const ofSettled = points.filter(({ eventId }) => eventId === 2).map(({ time }) => dayOf(BigInt(time)))
      expect([left > 0, ofSettled.at(-1)]).toEqual([true, last])
      // The state of a day without a log is that of the day before.
      const [one, two] = points.filter(({ eventId }) => eventId === 1)
      expect({ ...two, time: 0 }).toEqual({ ...one, time: 0 })
    }
  })

  test('of a token is that of the series of the protocol', async () => {
    for (const [at, { deployment }] of indexed.worlds.entries()) {
      const { chainId } = deployment
      const last = reports[at]?.lastFinal ?? ''
      const points = await pointsOf(`/series?chainId=${chainId}`, last)
      expect(points.at(-1)).toMatchObject({ events: 4, settlements: 2, claims: 2 })
      await expectRows('token_days', 'time, token', points, chainId)
    }
  })

  test('has the same bytes when the sums of the days are stored', async () => {
    const { chainId } = indexed.world.deployment
    while (await sumSomeRows(indexed.database, chainId, { afterSeconds: -DAY * 1_000 }));
    const { rows } = await indexed.database.run((handle) =>
      handle.execute<{ many: number }>(sql`SELECT count(*)::integer AS many FROM ledger_days`),
    )
    expect(rows[0]?.many).toBeGreaterThan(0)
    const report = await run(indexed.world, whole, { mode: 'verify', tables: ['token_days'] })
    expect(report).toMatchObject({ different: [], incomplete: [] })
    expect(report.kept).toBeGreaterThan(4)
  })
})

test('activity and the texts of the chain are exported as they are', async () => {
  const [found] = await duck.rows(
    `SELECT name FROM '${whole}/events/*/*/*.parquet' WHERE name LIKE '=NUL%' AND chainId = 8453`,
  )
  expect(found?.name).toBe(NAME)
  const types = await duck.rows(`SELECT DISTINCT type FROM '${whole}/activity/*/*/*.parquet'`)
  expect(types.map(({ type }) => type)).toEqual(
    expect.arrayContaining([
      'payout.claimed',
      'premiums.claimed',
      'capital.withdrawn',
      'earnings.withdrawn',
      'fees.set',
    ]),
  )
})

test('a settlement is that of the feed, with the block and the log that settled the event', async () => {
  for (const { deployment, actions } of indexed.worlds) {
    const { chainId } = deployment
    const { data } = (await api.app.inject(`/v1/hedge/settlements?chainId=${chainId}`)).json()
    const feed = z.array(Settlement).parse(data)
    expect(feed.map(({ type }) => type)).toEqual(['settled', 'settled'])
    const settled = await Promise.all(
      feed.map(async ({ transactionHash, eventId, settledAt, triggered, settlementPrice }) => {
        const hash = z.templateLiteral(['0x', z.string()]).parse(transactionHash)
        const { blockNumber, blockHash, logs } = await actions.client.getTransactionReceipt({ hash })
        const ofEvent = { chainId, eventId, settledAt, triggered, settlementPrice, txHash: hash }
        return { ...ofEvent, blockNumber: Number(blockNumber), blockHash, logIndex: logs.at(-1)?.logIndex }
      }),
    )
    const found = await exported(whole, 'settlements', 'blockNumber', chainId)
    expect(found).toEqual(
      settled.map((row) => ({
        ...Object.fromEntries(Object.keys(found[0] ?? {}).map((name) => [name, expected(row, name)])),
        day: dayOf(BigInt(Number(row.settledAt))),
      })),
    )
  }
})

describe('the SQL of docs/operations/export.md', () => {
  const page = 'docs/operations/export.md'
  const blocks = blocksOf(page).filter(({ kind }) => kind === 'sql')
  const result = (about: string) => {
    const found = blocks.filter(({ text }) => text.startsWith(`-- ${about}`))
    expect(found).toHaveLength(1)
    return duck.rows(found[0]?.text.replaceAll("'export/", `'${whole}/`) ?? '')
  }
  const finalActivity = async () => {
    const chains = indexed.worlds.map(
      ({ deployment }, at) => [deployment.chainId, reports[at]?.lastFinal ?? ''] as const,
    )
    const rows = await Promise.all(
      chains.map(async ([chainId, last]) => {
        const all = await jsonRows(`/activity?chainId=${chainId}&order=asc`)
        return all.filter(({ blockTimestamp }) => dayOf(BigInt(Number(blockTimestamp))) <= last)
      }),
    )
    return rows.flat()
  }

  test('has four statements, which a test runs', () => {
    expect(blocks).toHaveLength(4)
  })

  test('sums what each wallet paid and received in each month', async () => {
    const sums = new Map<string, { paid: bigint | null; received: bigint | null }>()
    const WIDE = 18
    for (const row of await finalActivity()) {
      if (row.direction === null) continue
      const month = new Date(Number(row.blockTimestamp) * 1_000).toISOString().slice(0, 7)
      const key = [month, row.wallet, row.chainId, row.token, row.symbol].join(' ')
      const sum = sums.get(key) ?? { paid: null, received: null }
      const to = row.direction === 'out' ? 'paid' : 'received'
      const net = BigInt(String(row.netAmount)) * 10n ** BigInt(WIDE - Number(row.decimals))
      sums.set(key, { ...sum, [to]: (sum[to] ?? 0n) + net })
    }
    const shown = (sum: bigint | null) => (sum === null ? null : digits(sum, WIDE, WIDE))
    const found = await result('What did each wallet')
    expect(
      Object.fromEntries(
        found.map(({ month, wallet, chainId, token, symbol, paid, received }) => [
          [month?.slice(0, 7), wallet, chainId, token, symbol].join(' '),
          [paid, received],
        ]),
      ),
    ).toEqual(Object.fromEntries([...sums].map(([key, it]) => [key, [shown(it.paid), shown(it.received)]])))
    expect(sums.size).toBeGreaterThan(3)
  })

  test('finds when positions were paid out', async () => {
    const paid = (await finalActivity()).filter(({ type }) => type === 'payout.claimed')
    const found = await result('Which positions were paid out')
    expect(found.map(({ chainId, id, hedger, payout }) => [chainId, id, hedger, payout].join(' ')).sort()).toEqual(
      paid
        .map((row) =>
          [row.chainId, row.positionId, row.wallet, digits(row.netAmount, Number(row.decimals), 18)].join(' '),
        )
        .sort(),
    )
    expect(found.map(({ name }) => name)).toContain(NAME)
    expect(paid).toHaveLength(4)
  })

  test('shows the totals of tokens by day, with their fullest pool', async () => {
    const found = await result('What were the totals of each token')
    const [tokens, events] = await Promise.all(
      (['token_days', 'event_days'] as const).map((table) =>
        duck.rows(`FROM read_parquet('${whole}/${table}/*/*/*.parquet') ORDER BY chainId, time`),
      ),
    )
    expect(found).toEqual(
      tokens?.map(({ chainId, day, symbol, time, liquidityUnits, exposureUnits }) => {
        const pools = events?.filter((event) => event.chainId === chainId && event.time === time) ?? []
        const fullest = pools.map(({ utilizationDecimal }) => utilizationDecimal).sort()
        return {
          ...{ chainId, day, symbol, liquidity: liquidityUnits, exposure: exposureUnits },
          ...{ pools: String(pools.length), fullest: fullest.at(-1) },
        }
      }),
    )
    expect(found.length).toBeGreaterThan(8)
  })

  test('counts the rows that the manifests list', async () => {
    const found = await result('Is every row that')
    expect(found).toHaveLength(2 * tableNames.length)
    expect(found.filter(({ rows, found: many }) => rows !== many)).toEqual([])
  })
})

test('the manifest lists a file of each table for each final day, with its rows, its blocks and its hash', async () => {
  for (const [at, { deployment }] of indexed.worlds.entries()) {
    const { chainId, diamond } = deployment
    const manifest = await manifestOf(whole, chainId)
    expect([manifest.chainId, manifest.diamond]).toEqual([chainId, diamond])
    const [first] = await jsonRows(`/activity?chainId=${chainId}&order=asc`)
    const days = [...new Set(manifest.files.map(({ day }) => day))]
    expect([days[0], days.at(-1)]).toEqual([dayOf(BigInt(Number(first?.blockTimestamp))), reports[at]?.lastFinal])
    for (const [nth, day] of days.entries()) if (nth > 0) expect(startOf(day)).toBe(endOf(days[nth - 1] ?? ''))
    expect(manifest.files.map(({ day, table }) => [day, table])).toEqual(
      days.flatMap((day) => tableNames.map((table) => [day, table])),
    )
    expect(reports[at]).toMatchObject({ written: manifest.files.length, kept: 0, different: [], incomplete: [] })
    for (const { path, table, day, rows, bytes, sha256, firstBlock, lastBlock } of manifest.files) {
      expect(path).toBe(`${table}/chain=${chainId}/day=${day}/data.parquet`)
      const content = await readFile(join(whole, path))
      expect([bytes, sha256]).toEqual([content.length, createHash('sha256').update(content).digest('hex')])
      if (table === 'event_days' || table === 'token_days') {
        const [found] = await duck.rows(`SELECT count(*) AS rows FROM '${join(whole, path)}'`)
        expect([found, firstBlock, lastBlock]).toEqual([{ rows: String(rows) }, null, null])
        continue
      }
      const block = table === 'activity' || table === 'settlements' ? 'blockNumber' : 'createdBlock'
      const [found] = await duck.rows(
        `SELECT count(*) AS rows, min(${block}) AS low, max(${block}) AS high FROM '${join(whole, path)}'`,
      )
      const text = (value: number | null) => (value === null ? null : String(value))
      expect(found).toEqual({ rows: String(rows), low: text(firstBlock), high: text(lastBlock) })
    }
    // The day without a log, and one with several.
    expect(manifest.files.filter(({ table, rows }) => table === 'activity' && rows === 0).length).toBeGreaterThan(1)
    expect(manifest.files.some(({ rows }) => rows > 3)).toBe(true)
  }
})

test('the same days lead to the same bytes in another folder, by other pages, and leave no other file', async () => {
  const folder = join(folders, 'again')
  await run(indexed.world, folder, { pageRows: 200 })
  expect(await manifestText(folder)).toBe(await manifestText(whole))
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((it) => it.isFile()).map(({ name }) => name)
  expect(new Set(files)).toEqual(new Set(['data.parquet', 'manifest-8453.json']))
  expect(files).toHaveLength((await manifestOf(folder)).files.length + 1)
})
