import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { formatUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createChain } from '../../src/chain/chain.ts'
import { dayOf, endOf, startOf } from '../../src/export/days.ts'
import { type ExportOptions, type ExportReport, exportChain } from '../../src/export/export.ts'
import { type TableName, tableNames } from '../../src/export/tables.ts'
import { Settlement } from '../../src/reads/feeds/settlements.ts'
import { createFinality } from '../../src/reads/freshness/finality.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import type { openApp } from '../support/app.ts'
import { builtCommand } from '../support/built.ts'
import { openDuckDb } from '../support/duckdb.ts'
import { startIndexed, type World } from '../support/indexing.ts'

/* Exports of the index of two chains, read back by DuckDB. */

const USDC = 10n ** 6n
const DAY = 86_400
const log = pino({ level: 'silent' })
/** Blocks that a chain of the tests needs after one for it to be final. */
const FINAL_AFTER = 200
const NAME = '=NUL \0, 🌍 and "quotes"'

let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>
let folders: string
/** The export of all final days of both chains, which no test changes. */
let whole: string
let reports: readonly ExportReport[]
const duck = await openDuckDb()

/** Every kind of payment, on several days; event 2 was settled by `startWorld`. */
const live = async ({ actions, creator, lp, hedger, owner, upward }: World): Promise<void> => {
  await actions.claimPayout(hedger, 4n)
  await actions.withdrawCapital(creator, 2n)
  await actions.claimPremiums(creator, 1n)
  await actions.withdrawCreatorEarnings(creator, 1n)
  await actions.warp((await actions.now()) + DAY)
  await actions.buy(hedger, 1n, 321n * USDC)
  await actions.deposit(lp, 1n, 777n * USDC)
  await actions.createEvent(creator, { ...upward, name: NAME, expiry: (await actions.now()) + DAY })
  await actions.setPool(creator, 4n, true, true)
  await actions.deposit(lp, 4n, 1_000n * USDC)
  await actions.buy(hedger, 4n, 55_555_555n)
  // A day without a log is between.
  await actions.warp((await actions.now()) + 2 * DAY)
  await actions.settle(owner, 4n, 12_500_000n)
  await actions.claimPayout(hedger, 6n)
  await actions.withdrawCapital(lp, 7n)
}

/** Makes all blocks of a chain final, and begins a day. */
const passDay = async ({ actions }: World): Promise<void> => {
  await actions.warp(Number(endOf(dayOf(BigInt(await actions.now())))) + 60)
  await actions.node.mine({ blocks: FINAL_AFTER })
}

beforeAll(async () => {
  folders = await mkdtemp(join(tmpdir(), 'fx-exports-'))
  indexed = await startIndexed([8453, 56])
  api = await indexed.open()
  for (const world of indexed.worlds) {
    await live(world)
    await passDay(world)
    // Of a day that is not over.
    await world.actions.createEvent(world.creator, { ...world.upward, expiry: (await world.actions.now()) + 90 * DAY })
  }
  await indexed.quiet()
  whole = join(folders, 'whole')
  reports = await Promise.all(indexed.worlds.map((world) => run(world, whole)))
})
afterAll(async () => {
  duck.close()
  await indexed?.close()
  await rm(folders, { recursive: true })
})

/** Exports a chain in small pages and groups. */
const run = (world: World, folder: string, options: Partial<ExportOptions> = {}): Promise<ExportReport> => {
  const { chains, lists } = api.sources
  const chain = chains.get(world.deployment.chainId)
  if (chain === undefined) throw new Error('the chain is not configured')
  const finality = createFinality(chains)
  return exportChain({
    ...{ chain, sources: { chains, lists, finality, maxLagSeconds: 60 }, database: indexed.database, folder },
    ...{ tables: tableNames, mode: 'export', log, pageRows: 2, groupRows: 3, ...options },
  })
}

const Manifest = z.object({
  chainId: z.number(),
  diamond: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      table: z.enum(tableNames),
      day: z.string(),
      rows: z.number(),
      bytes: z.number(),
      sha256: z.string(),
      firstBlock: z.number().nullable(),
      lastBlock: z.number().nullable(),
      format: z.string(),
    }),
  ),
})

const manifestText = (folder: string, chainId = 8453) => readFile(join(folder, `manifest-${chainId}.json`), 'utf8')
const manifestOf = async (folder: string, chainId = 8453) =>
  Manifest.parse(JSON.parse(await manifestText(folder, chainId)))

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
  if (suffix === 'Decimal') return digits(value, 6, 6)
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

/** The files of an export that changed since they were listed. */
const inodes = async (folder: string) =>
  Object.fromEntries(
    await Promise.all(
      (await manifestOf(folder)).files.map(async ({ path }) => [path, (await stat(join(folder, path))).ino]),
    ),
  )

test('only the wanted tables and days are written, and the next run adds the others and keeps these', async () => {
  const folder = join(folders, 'parts')
  const { files } = await manifestOf(whole)
  const [from = '', to = ''] = [files[5]?.day, files[10]?.day]
  const part = await run(indexed.world, folder, { tables: ['events'], from, to })
  expect([part.written, part.kept]).toEqual([2, 0])
  expect((await manifestOf(folder)).files).toEqual(
    files.filter(({ table, day }) => table === 'events' && day >= from && day <= to),
  )
  const before = await inodes(folder)
  const rest = await run(indexed.world, folder)
  expect([rest.written, rest.kept]).toEqual([files.length - 2, 2])
  expect(await manifestText(folder)).toBe(await manifestText(whole))
  expect(await inodes(folder)).toMatchObject(before)
})

test.each([0, 4, 5, 6, 23])('a run that ends after %i files continues with what is not listed', async (many) => {
  const folder = join(folders, `ended-${many}`)
  let left = many
  const ending = {
    warn: () => {},
    info: () => {
      left -= 1
      if (left < 0) throw new Error('ended')
    },
  }
  await expect(run(indexed.world, folder, { log: ending })).rejects.toThrow('ended')
  const partial = join(folder, 'activity', 'chain=8453', `day=${(await manifestOf(whole)).files[0]?.day}`)
  await writeFile(join(partial, '.data.parquet.tmp'), 'a part of a file')
  const { written, kept } = await run(indexed.world, folder)
  const { length } = (await manifestOf(whole)).files
  // A day is listed when all of its tables are written.
  const listed = Math.floor(many / tableNames.length) * tableNames.length
  expect([written, kept]).toEqual([length - listed, listed])
  expect(await manifestText(folder)).toBe(await manifestText(whole))
})

test('a file that is gone, shorter or of other columns is written again', async () => {
  const folder = join(folders, 'repaired')
  await run(indexed.world, folder)
  const { files, ...head } = await manifestOf(folder)
  const [gone, short, other] = files
  await rm(join(folder, gone?.path ?? ''))
  await writeFile(join(folder, short?.path ?? ''), 'PAR1')
  const changed = files.map((file) => (file === other ? { ...file, format: 'of another release' } : file))
  await writeFile(join(folder, 'manifest-8453.json'), JSON.stringify({ ...head, files: changed }))
  const { written, kept } = await run(indexed.world, folder)
  expect([written, kept]).toEqual([3, files.length - 3])
  expect(await manifestText(folder)).toBe(await manifestText(whole))
  expect((await run(indexed.world, folder, { mode: 'verify' })).different).toEqual([])
})

describe('an index that is not complete', () => {
  const blockOf = async (day: string) => {
    const { files } = await manifestOf(whole)
    return files.find((file) => file.day === day && file.table === 'activity')
  }
  /** Runs a statement for the time of a test. */
  const during = async <T>(statement: string, undo: string, work: () => Promise<T>): Promise<T> => {
    await indexed.database.run((handle) => handle.execute(sql.raw(statement)))
    try {
      return await work()
    } finally {
      await indexed.database.run((handle) => handle.execute(sql.raw(undo)))
    }
  }
  const gap = (from: number | null, to: number, unread: number | null, state: string, ledgerOnly: boolean) =>
    `INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, state, ledger_only)
     VALUES (8453, ${from}, ${to}, ${unread}, '${state}', ${ledgerOnly})`
  const noGap = 'DELETE FROM log_gaps WHERE chain_id = 8453'
  const daysOf = async (folder: string) => [...new Set((await manifestOf(folder)).files.map(({ day }) => day))]

  test.each([
    ['open', true],
    ['open', false],
    ['absent', false],
    ['pruned', false],
  ])(
    'leaves out the days of a gap that is %s (only of the ledger: %s), says which, and writes them later',
    async (state, only) => {
      const folder = join(folders, `gap-${state}-${only}`)
      const days = await daysOf(whole)
      const withLogs = (await manifestOf(whole)).files.filter(({ table, rows }) => table === 'activity' && rows > 0)
      const [{ day: before = '' } = {}, { day: left = '', firstBlock } = {}] = withLogs
      const block = firstBlock ?? 0
      const report = await during(gap(block, block, block, state, only), noGap, () => run(indexed.world, folder))
      expect(report.incomplete).toEqual([{ first: left, last: left, why: expect.stringContaining('`ledger`') }])
      expect(await daysOf(folder)).toEqual(days.filter((it) => it !== left))
      const earlier = await during(gap(block, block, block, state, only), noGap, () =>
        run(indexed.world, folder, { to: before }),
      )
      expect(earlier.incomplete).toEqual([])
      expect((await run(indexed.world, folder)).incomplete).toEqual([])
      expect(await manifestText(folder)).toBe(await manifestText(whole))
    },
  )

  test('a gap above the final blocks is none, and the read part of a gap of the ledger neither', async () => {
    const folder = join(folders, 'gap-none')
    const head = Number((await indexed.world.newest()).block)
    const tip = await during(gap(head, head, head, 'open', false), noGap, () => run(indexed.world, folder))
    expect(tip.incomplete).toEqual([])
    const first = await blockOf((await daysOf(whole))[0] ?? '')
    const begin = first?.firstBlock ?? 0
    const read = await during(gap(begin, head, begin, 'open', true), noGap, () =>
      run(indexed.world, join(folders, 'gap-read')),
    )
    expect(read.incomplete).toEqual([{ first: first?.day, last: first?.day, why: expect.any(String) }])
  })

  test('leaves out all days while a build without a ledger wrote it', async () => {
    const folder = join(folders, 'gap-all')
    const set = (value: string) => `UPDATE cursors SET ledger_number = ${value} WHERE chain_id = 8453`
    const report = await during(set('NULL'), set('block_number'), () => run(indexed.world, folder))
    const days = await daysOf(whole)
    expect(report).toMatchObject({ written: 0, incomplete: [{ first: days[0], last: days.at(-1) }] })
  })

  test('leaves out the days from an event on whose token is not read yet', async () => {
    const folder = join(folders, 'unread')
    const set = (value: string) => `UPDATE events SET payment_token = ${value} WHERE chain_id = 8453 AND id = 4`
    const token = `decode('${indexed.world.deployment.usdc.slice(2)}', 'hex')`
    const report = await during(set('NULL'), set(token), () => run(indexed.world, folder))
    const [event] = await duck.rows(`SELECT createdAt FROM '${whole}/events/chain=8453/*/*.parquet' WHERE id = 4`)
    const first = dayOf(BigInt(event?.createdAt ?? 0))
    expect(report.incomplete).toMatchObject([{ first }])
    expect(await daysOf(folder)).toEqual((await daysOf(whole)).filter((day) => day < first))
  })

  test('a chain whose nodes do not have the newest block of the index is not exported', async () => {
    const anvil = await startAnvil({ chainId: 8453 })
    const { deployment } = indexed.world
    const other = createChain({ deployment, rpcUrls: [anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })
    try {
      const chains = new Map([[8453, other]])
      const sources = { chains, lists: api.sources.lists, finality: api.sources.finality, maxLagSeconds: 60 }
      await expect(run(indexed.world, join(folders, 'fork'), { chain: other, sources })).rejects.toThrow(
        /do not have the newest block of the index/,
      )
    } finally {
      await other.close()
      await anvil.close()
    }
  })
})

describe('a difference', () => {
  const change = (statement: string) => indexed.database.run((handle) => handle.execute(sql.raw(statement)))

  test.each([
    ['activity', 'ledger', 'amount', 'type = 4 AND deposit_id = 5'],
    ['deposits', 'deposits', 'shares', 'id = 5'],
    ['positions', 'positions', 'premium_paid', 'id = 1'],
    ['events', 'events', 'strike', 'id = 4'],
    ['settlements', 'ledger', 'block_timestamp', 'type = 3 AND event_id = 4'],
  ] as const)('of a row of %s (%s.%s, %s) is found by verify, and repaired', async (table, stored, column, where) => {
    const folder = join(folders, `verified-${table}`)
    const tables = [table]
    await run(indexed.world, folder, { tables })
    const { files } = await manifestOf(folder)
    const verify = () => run(indexed.world, folder, { tables, mode: 'verify' })
    const repair = () => run(indexed.world, folder, { tables, mode: 'repair' })
    expect(await verify()).toMatchObject({ written: 0, kept: files.length, different: [] })
    const before = await manifestText(folder)
    const add = (one: number) =>
      change(`UPDATE ${stored} SET ${column} = ${column} + ${one} WHERE chain_id = 8453 AND ${where}`)
    await add(1)
    const found = await verify()
    expect([found.written, found.kept, found.different.length]).toEqual([0, files.length - 1, 1])
    expect(await manifestText(folder)).toBe(before)
    expect(await repair()).toMatchObject({ written: 1, different: found.different })
    expect((await verify()).different).toEqual([])
    await add(-1)
    expect((await repair()).different).toEqual(found.different)
    expect(await manifestText(folder)).toBe(before)
  })

  test('of a byte of a file is found by verify, and so is a file that is gone', async () => {
    const folder = join(folders, 'bytes')
    await run(indexed.world, folder)
    const { files } = await manifestOf(folder)
    const [flipped = '', gone = ''] = files.slice(2, 4).map(({ path }) => path)
    const bytes = await readFile(join(folder, flipped))
    bytes[40] = (bytes[40] ?? 0) ^ 1
    await writeFile(join(folder, flipped), bytes)
    await rm(join(folder, gone))
    expect((await run(indexed.world, folder, { mode: 'verify' })).different).toEqual([flipped, gone])
    expect((await run(indexed.world, folder, { mode: 'repair' })).written).toBe(2)
    expect((await run(indexed.world, folder, { mode: 'verify' })).different).toEqual([])
  })
})

test('a manifest of another deployment, or of none, is refused with the next step', async () => {
  const folder = join(folders, 'foreign')
  const { files } = await manifestOf(whole)
  await run(indexed.world, folder, { from: files[0]?.day, to: files[0]?.day })
  const path = join(folder, 'manifest-8453.json')
  const text = await manifestText(folder)
  await writeFile(path, text.replace(indexed.world.deployment.diamond, '0x000000000000000000000000000000000000dEaD'))
  await expect(run(indexed.world, folder)).rejects.toThrow(/files of the diamond 0x0{36}dEaD .* name another folder/)
  await writeFile(path, text.slice(0, -20))
  await expect(run(indexed.world, folder)).rejects.toThrow(/manifest-8453.json .* delete it/)
  await expect(run(indexed.world, path)).rejects.toThrow(/a file cannot be read or written/)
})

/** Runs the command of the product. `kill` ends it when it has written this many files. */
const command = async (words: readonly string[], killAfter = Number.POSITIVE_INFINITY) => {
  const env = Object.fromEntries(
    indexed.worlds.flatMap(({ deployment: { chainId, diamond, usdc, startBlock, profile }, anvil }) =>
      Object.entries({
        ...{ RPC_URLS: anvil.url, PUBLIC_RPC_URL: 'https://node.example', DIAMOND_ADDRESS: diamond },
        ...{ USDC_ADDRESS: usdc, START_BLOCK: String(startBlock), PROFILE: profile },
      }).map(([name, value]) => [`${name}_${chainId}`, value]),
    ),
  )
  const { command: program, args } = builtCommand('export', ...words)
  const child = spawn(program, args, { env: { ...env, PATH: process.env.PATH, DATABASE_URL: indexed.url } })
  let [stdout, files, errors] = ['', 0, '']
  child.stdout.on('data', (bytes) => (stdout += bytes))
  createInterface(child.stderr).on('line', (line) => {
    errors += line
    if (line.includes('"exported"')) files += 1
    if (files === killAfter) child.kill('SIGKILL')
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout, errors, files }
}

test('the command exports both chains, continues after a kill, and verifies', async () => {
  const folder = join(folders, 'command')
  const killed = await command(['--out', folder], 12)
  expect(killed.code).toBe(null)
  // The process may write some more files before the signal reaches it.
  const listed = (await manifestOf(folder)).files.length
  expect([listed >= 10, listed % tableNames.length]).toEqual([true, 0])
  const { length } = (await manifestOf(whole)).files
  const rest = await command(['--out', folder])
  expect([rest.code, rest.errors.includes('"level":50')]).toEqual([0, false])
  expect(rest.stdout).toContain(
    `chain 8453: ${length - listed} files written, ${listed} were there; the last final day`,
  )
  expect(rest.stdout).toMatch(/\nchain 56: \d+ files written, 0 were there/)
  for (const chainId of [8453, 56]) {
    const strip = async (of: string) =>
      (await manifestOf(of, chainId)).files.map(({ bytes: _, sha256: __, ...file }) => file)
    expect(await strip(folder)).toEqual(await strip(whole))
  }
  const [{ path = '' } = {}] = (await manifestOf(folder)).files
  expect(await command(['--out', folder, '--verify', '--chain', '8453'])).toMatchObject({ code: 0 })
  await rm(join(folder, path))
  const differs = await command(['--out', folder, '--verify', '--chain', '8453', '--table', 'activity'])
  expect(differs).toMatchObject({ code: 1, stdout: expect.stringContaining(`\n  differs: ${path}\n`) })
  expect(await command(['--out', folder, '--repair', '--chain', '8453'])).toMatchObject({ code: 0 })
})

test.each([
  [[], 'out: name the folder'],
  [['--out', 'x', '--chain', '1'], 'chain: expected ids of CHAINS (8453, 56), got "1"'],
  [['--out', 'x', '--table', 'rates'], 'table: expected some of activity, deposits'],
  [['--out', 'x', '--from', '2026-02-30'], 'from: expected a day'],
  [['--out', 'x', '--to', 'today'], 'to: expected a day'],
  [['--out', 'x', '--from', '2026-02-02', '--to', '2026-02-01'], 'to: expected a day from 2026-02-02 on'],
])('%j is refused with exit code 2', async (words, message) => {
  const { code, errors } = await command(words)
  expect([code, errors]).toEqual([2, expect.stringContaining(message)])
})

test('a day is written when it is final, and files that are there stay as they are', async () => {
  const folder = join(folders, 'growing')
  const { world } = indexed
  await run(world, folder)
  const before = await inodes(folder)
  expect(await manifestText(folder)).toBe(await manifestText(whole))
  const lastFinal = reports[0]?.lastFinal ?? ''
  // The blocks of the next day are over, and not all final.
  await world.actions.warp((await world.actions.now()) + DAY)
  await world.actions.node.mine({ blocks: 2 })
  await indexed.quiet()
  expect(await run(world, folder)).toMatchObject({ written: 0, lastFinal })
  await world.actions.node.mine({ blocks: FINAL_AFTER })
  await indexed.quiet()
  const next = dayOf(endOf(lastFinal))
  expect(await run(world, folder)).toMatchObject({ written: tableNames.length, lastFinal: next })
  expect(await inodes(folder)).toMatchObject(before)
  const [row] = await duck.rows(`SELECT count(*) AS many FROM '${folder}/events/chain=8453/day=${next}/data.parquet'`)
  expect(row?.many).toBe('1')
})
