import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { dayOf, endOf } from '../../src/export/days.ts'
import type { ExportOptions } from '../../src/export/export.ts'
import { type TableName, tableNames } from '../../src/export/tables.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { openDuckDb } from '../support/duckdb.ts'
import { type Exports, FINAL_AFTER, manifestOf, manifestText, startExports } from '../support/exports.ts'
import { byForm } from '../support/repetitions.ts'

/* What runs write, keep, leave out and find, one after the other. */

const duck = await openDuckDb()
let exports: Exports
let indexed: Exports['indexed']
let api: Exports['api']
let run: Exports['run']
let folders: Exports['folders']
let whole: Exports['whole']
let reports: Exports['reports']
const log = pino({ level: 'silent' })
const DAY = 86_400
beforeAll(async () => {
  exports = await startExports([8453])
  ;({ indexed, api, run, folders, whole, reports } = exports)
})
afterAll(async () => {
  duck.close()
  await exports?.close()
})

/** The files of an export that changed since they were listed. */
const inodes = async (folder: string) =>
  Object.fromEntries(
    await Promise.all(
      (await manifestOf(folder)).files.map(async ({ path }) => [path, (await stat(join(folder, path))).ino]),
    ),
  )

/** A folder with the export of all final days. */
const copied = async (name: string): Promise<string> => {
  const folder = join(folders, name)
  await cp(whole, folder, { recursive: true })
  return folder
}

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

test.each(byForm([7], [0, 6, 7, 8, 23]))(
  'a run that ends after %i files continues with what is not listed',
  async (many) => {
    const folder = join(folders, `ended-${many}`)
    let left = many
    const ending = {
      warn: () => {},
      info: () => {
        left -= 1
        if (left < 0) throw new Error('the end of the run')
      },
    }
    await expect(run(indexed.world, folder, { log: ending })).rejects.toThrow('the end of the run')
    const partial = join(folder, 'activity', 'chain=8453', `day=${(await manifestOf(whole)).files[0]?.day}`)
    await writeFile(join(partial, '.data.parquet.tmp'), 'a part of a file')
    const { written, kept } = await run(indexed.world, folder)
    const { length } = (await manifestOf(whole)).files
    // A day is listed when all of its tables are written.
    const listed = Math.floor(many / tableNames.length) * tableNames.length
    expect([written, kept]).toEqual([length - listed, listed])
    expect(await manifestText(folder)).toBe(await manifestText(whole))
  },
)

test('a file that is gone, shorter or of other columns is written again', async () => {
  const folder = await copied('repaired')
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
  /** A gap concerns all tables alike, so one of them is exported. */
  const tables = ['activity'] as const
  const listed = async (folder: string) => (await manifestOf(folder)).files.filter(({ table }) => table === 'activity')
  const daysOf = async (folder: string) => (await listed(folder)).map(({ day }) => day)

  /** The states lead to the same days: by default there is one of the ledger only, and one of all. */
  const gaps = [
    ['open', true],
    ['pruned', false],
    ['open', false],
    ['absent', false],
  ] as const
  test.each(gaps.slice(0, byForm(2, gaps.length)))(
    'leaves out the days of a gap that is %s (only of the ledger: %s), names them, and writes them later',
    async (state, only) => {
      const folder = join(folders, `gap-${state}-${only}`)
      const days = await daysOf(whole)
      const withLogs = (await listed(whole)).filter(({ rows }) => rows > 0)
      const [{ day: before = '' } = {}, { day: left = '', firstBlock } = {}] = withLogs
      const block = firstBlock ?? 0
      const report = await during(gap(block, block, block, state, only), noGap, () =>
        run(indexed.world, folder, { tables }),
      )
      expect(report.incomplete).toEqual([{ first: left, last: left, why: expect.stringContaining('`ledger`') }])
      expect(await daysOf(folder)).toEqual(days.filter((it) => it !== left))
      const earlier = await during(gap(block, block, block, state, only), noGap, () =>
        run(indexed.world, folder, { tables, to: before }),
      )
      expect(earlier.incomplete).toEqual([])
      expect((await run(indexed.world, folder, { tables })).incomplete).toEqual([])
      expect(await listed(folder)).toEqual(await listed(whole))
    },
  )

  test('a gap above the final blocks is none, and the read part of a gap of the ledger neither', async () => {
    const folder = join(folders, 'gap-none')
    const head = Number((await indexed.world.newest()).block)
    const tip = await during(gap(head, head, head, 'open', false), noGap, () => run(indexed.world, folder, { tables }))
    expect(tip.incomplete).toEqual([])
    const [first] = await listed(whole)
    const begin = first?.firstBlock ?? 0
    const read = await during(gap(begin, head, begin, 'open', true), noGap, () =>
      run(indexed.world, join(folders, 'gap-read'), { tables }),
    )
    expect(read.incomplete).toEqual([{ first: first?.day, last: first?.day, why: expect.any(String) }])
  })

  test('a gap that is being read is one to its end, because rows above what is unread can still lack their log', async () => {
    const withLogs = (await listed(whole)).filter(({ rows }) => rows > 0)
    const [first, second] = withLogs
    const begin = first?.firstBlock ?? 0
    const report = await during(gap(begin, second?.firstBlock ?? 0, begin, 'open', false), noGap, () =>
      run(indexed.world, join(folders, 'gap-begun'), { tables }),
    )
    expect(report.incomplete).toMatchObject([{ first: first?.day, last: second?.day }])
  })

  test('leaves out all days while a build without a ledger wrote it', async () => {
    const folder = join(folders, 'gap-all')
    const set = (value: string) => `UPDATE cursors SET ledger_number = ${value} WHERE chain_id = 8453`
    const report = await during(set('NULL'), set('block_number'), () => run(indexed.world, folder, { tables }))
    const days = await daysOf(whole)
    expect(report).toMatchObject({ written: 0, incomplete: [{ first: days[0], last: days.at(-1) }] })
  })

  test('leaves out the days from an event on whose token is not read yet', async () => {
    const folder = join(folders, 'unread')
    const set = (value: string) => `UPDATE events SET payment_token = ${value} WHERE chain_id = 8453 AND id = 4`
    const token = `decode('${indexed.world.deployment.usdc.slice(2)}', 'hex')`
    const report = await during(set('NULL'), set(token), () => run(indexed.world, folder, { tables }))
    const [event] = await duck.rows(`SELECT createdAt FROM '${whole}/events/chain=8453/*/*.parquet' WHERE id = 4`)
    const first = dayOf(BigInt(event?.createdAt ?? 0))
    expect(report.incomplete).toMatchObject([{ first }])
    expect(await daysOf(folder)).toEqual((await daysOf(whole)).filter((day) => day < first))
  })

  describe('of the state at the end of days', () => {
    const states = ['event_days', 'token_days'] as const
    const filesOf = async (folder: string, table: TableName) =>
      (await manifestOf(folder)).files.filter((file) => file.table === table)

    test('leaves out only the days of an event whose past is not known, and writes them later', async () => {
      const folder = join(folders, 'state-event')
      const set = (more: number) =>
        `UPDATE event_observations SET total_premiums = total_premiums + ${more} WHERE chain_id = 8453 AND id = 4`
      const days = (await filesOf(whole, 'event_days')).map(({ day }) => day)
      const [event] = await duck.rows(`SELECT createdAt FROM '${whole}/events/chain=8453/*/*.parquet' WHERE id = 4`)
      const first = dayOf(BigInt(event?.createdAt ?? 0))
      const why = expect.stringMatching(/^event_days: the past of event 4 is not known: .*totalPremiums/)
      const incomplete = [{ first, last: days.at(-1), why }]
      await during(set(1), set(-1), async () => {
        expect((await run(indexed.world, folder)).incomplete).toEqual(incomplete)
        expect((await filesOf(folder, 'event_days')).map(({ day }) => day)).toEqual(days.filter((it) => it < first))
        expect(await filesOf(folder, 'token_days')).toEqual(await filesOf(whole, 'token_days'))
        expect(await listed(folder)).toEqual(await listed(whole))
        expect((await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.tmp'))).toEqual([])
        // A file that is there stays, and is not compared with a state that is not known.
        const kept = await run(indexed.world, whole, { mode: 'verify', tables: states })
        expect(kept).toMatchObject({ different: [], incomplete })
      })
      const { written } = await run(indexed.world, folder)
      expect(written).toBe(days.filter((it) => it >= first).length)
      expect(await manifestText(folder)).toBe(await manifestText(whole))
    })

    test('waits for logs of the past, because the fee rates of its events can be in them', async () => {
      const folder = join(folders, 'state-gap')
      const [first] = await listed(whole)
      const before = (first?.firstBlock ?? 0) - 1
      const days = (await listed(whole)).map(({ day }) => day)
      const withoutRates = `${gap(1, before, before, 'open', false)}; UPDATE cursors SET fees_number = ${before} WHERE chain_id = 8453`
      const undo = `${noGap}; UPDATE cursors SET fees_number = block_number WHERE chain_id = 8453`
      const report = await during(withoutRates, undo, () => run(indexed.world, folder, { from: days[1] }))
      expect(report.incomplete.slice(-2)).toEqual([
        { first: days[1], last: days.at(-1), why: expect.stringContaining('event_days: the worker still reads logs') },
        { first: days[1], last: days.at(-1), why: expect.stringContaining('token_days: the ledger is not complete') },
      ])
      expect(await listed(folder)).toEqual((await listed(whole)).slice(1))
      expect((await manifestOf(folder)).files.filter(({ table }) => table.endsWith('_days'))).toEqual([])
      await run(indexed.world, folder)
      expect(await manifestText(folder)).toBe(await manifestText(whole))
    })

    test('has no figures of an event with too many logs, and those of the others', async () => {
      const folder = join(folders, 'state-logs')
      const many = `INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data,
          type, event_id, deposit_id, amount, fee)
        SELECT chain_id, block_number, block_hash, block_timestamp, 1000000 + n, tx_hash, topics, data, type, event_id,
          deposit_id, 0, 0 FROM generate_series(1, 20001) AS n, (SELECT * FROM ledger
            WHERE chain_id = 8453 AND type = 6 AND event_id = 1 LIMIT 1) AS claim`
      const rows = (of: string, where: string) =>
        duck.rows(
          `SELECT * EXCLUDE (chain, day) FROM '${of}/event_days/*/*/*.parquet' WHERE ${where} ORDER BY time, eventId`,
        )
      const report = await during(many, 'DELETE FROM ledger WHERE log_index >= 1000000', () =>
        run(indexed.world, folder, { tables: ['event_days'] }),
      )
      expect(report.incomplete).toEqual([])
      expect(await rows(folder, 'eventId <> 1')).toEqual(await rows(whole, 'eventId <> 1'))
      const { chainId, eventId, token, symbol, decimals, time, timeUtc, ...figures } =
        (await rows(folder, 'eventId = 1'))[0] ?? {}
      const [known] = await rows(whole, 'eventId = 1')
      expect(known).toMatchObject({ chainId, eventId, token, symbol, decimals, time, timeUtc })
      expect(new Set(Object.values(figures))).toEqual(new Set([null]))
    })
  })

  test('a run ends with an error when logs of its days are found to be missing meanwhile, and is continued later', async () => {
    const folder = join(folders, 'meanwhile')
    const files = await listed(whole)
    const block = files[0]?.firstBlock ?? 0
    let snapshots = 0
    const database: ExportOptions['database'] = {
      async snapshot(work) {
        snapshots += 1
        // The first one reads the state of the index, the second one the first day.
        if (snapshots === 3)
          await indexed.database.run((handle) => handle.execute(sql.raw(gap(block, block, block, 'open', false))))
        return indexed.database.snapshot(work)
      },
    }
    await during('SELECT', noGap, () =>
      expect(run(indexed.world, folder, { tables, database })).rejects.toThrow(
        /lacks logs again: run the export again/,
      ),
    )
    expect(await listed(folder)).toEqual(files.slice(0, 1))
    await run(indexed.world, folder, { tables })
    expect(await listed(folder)).toEqual(await listed(whole))
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

  /** By default a table of logs and a table of entities. */
  const rows = [
    ['activity', 'ledger', 'amount', 'type = 4 AND deposit_id = 5'],
    ['deposits', 'deposits', 'shares', 'id = 5'],
    ['positions', 'positions', 'premium_paid', 'id = 1'],
    ['events', 'events', 'strike', 'id = 4'],
    ['settlements', 'ledger', 'block_timestamp', 'type = 3 AND event_id = 4'],
  ] as const
  test.each(rows.slice(0, byForm(2, rows.length)))(
    'of a row of %s (%s.%s, %s) is found by verify, and repaired',
    async (table, stored, column, where) => {
      const folder = await copied(`verified-${table}`)
      const tables = [table]
      const files = (await manifestOf(folder)).files.filter((file) => file.table === table)
      const verify = (part: Partial<ExportOptions> = {}) =>
        run(indexed.world, folder, { tables, ...part, mode: 'verify' })
      expect(await verify()).toMatchObject({ written: 0, kept: files.length, different: [] })
      const before = await manifestText(folder)
      const add = (one: number) =>
        change(`UPDATE ${stored} SET ${column} = ${column} + ${one} WHERE chain_id = 8453 AND ${where}`)
      await add(1)
      const found = await verify()
      expect([found.written, found.kept, found.different.length]).toEqual([0, files.length - 1, 1])
      expect(await manifestText(folder)).toBe(before)
      const day = files.find(({ path }) => path === found.different[0])?.day
      const ofDay = { tables, from: day, to: day }
      const repair = () => run(indexed.world, folder, { ...ofDay, mode: 'repair' })
      expect(await repair()).toMatchObject({ written: 1, different: found.different })
      expect((await verify(ofDay)).different).toEqual([])
      await add(-1)
      expect((await repair()).different).toEqual(found.different)
      expect(await manifestText(folder)).toBe(before)
    },
  )

  test('of the hash in the manifest is found by verify', async () => {
    const folder = await copied('hashes')
    const options = { tables: ['events'] } as const
    const { files } = await manifestOf(folder)
    const { sha256 = '', path = '' } = files.find(({ table }) => table === 'events') ?? {}
    const text = await manifestText(folder)
    await writeFile(join(folder, 'manifest-8453.json'), text.replace(sha256, '0'.repeat(64)))
    expect((await run(indexed.world, folder, { ...options, mode: 'verify' })).different).toContain(path)
    await run(indexed.world, folder, { ...options, mode: 'repair' })
    expect(await manifestText(folder)).toBe(text)
  })

  test('of a byte of a file is found by verify, and so is a file that is gone', async () => {
    const folder = await copied('bytes')
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

test('a day is written when it is final, and files that are there stay as they are', async () => {
  const folder = await copied('growing')
  const { world } = indexed
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
