import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { announce } from '../../src/db/changes/changes.ts'
import { resumeFeed, suspendFeed } from '../../src/db/changes/feed.ts'
import { aspects, MOST_SCOPES, type Touched, touching, touchingAll, union } from '../../src/db/changes/scopes.ts'
import { moveCursor } from '../../src/db/index/write.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { Database } from '../../src/db/pool.ts'
import { createFeedQueries, type FeedCursor, type FeedFilter, subjectTypes } from '../../src/db/queries/feed.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { blockOf } from '../support/seed-index.ts'

const chainId = 8453
const ALL = { chainIds: [chainId, 56], types: subjectTypes }
const END = Number.MAX_SAFE_INTEGER

type Opened = { readonly store: TestDatabase; readonly database: Database }

const open = async (from?: TestDatabase): Promise<Opened> => {
  const store = await createTestDatabase(from)
  return { store, database: openDatabase(store.url) }
}

const close = async ({ store, database }: Opened): Promise<void> => {
  await database.close()
  await store.close()
}

let origin: Opened
beforeEach(async () => {
  origin = await open()
})
afterEach(() => close(origin))

/** What a change of the positions of a wallet and of its event touches. */
const positionOf = (wallet: string, event = 1): Touched => ({
  ...touching(),
  scopes: new Map([
    [`wallet:${wallet}`, aspects.positions | aspects.claimables],
    [`event:${event}`, aspects.positions],
    ['positions', 0],
  ]),
})

const commit = ({ database }: Pick<Opened, 'database'>, touched: Touched, chain = chainId): Promise<void> =>
  database.transaction(async (handle) => {
    await moveCursor(handle, chain, blockOf(1n))
    await announce(handle, chain, touched)
  })

/** Begins the feed of a chain, as the first write near the head does. */
const begin = ({ database }: Pick<Opened, 'database'>, chain = chainId): Promise<void> =>
  database.transaction(async (handle) => {
    await moveCursor(handle, chain, blockOf(1n))
    const reset = await resumeFeed(handle, chain)
    await announce(handle, chain, reset === null ? touching() : touchingAll(reset))
  })

const page = (
  { database }: Pick<Opened, 'database'>,
  since: FeedCursor | 'now' | null,
  limit = 100,
  filter: FeedFilter = ALL,
  upTo = END,
) => createFeedQueries(database).page(since, filter, limit, upTo)

const keysOf = ({ items }: Awaited<ReturnType<typeof page>>): string[] =>
  items.map(({ type, key, changed }) => `${type} ${key} ${changed.join('+')}`)

const resetsOf = ({ resets }: Awaited<ReturnType<typeof page>>): string[] =>
  resets.map((reset) => `${reset.chainId} ${reset.reason}`)

test('each aspect of a subject appears once, at its newest change', async () => {
  await begin(origin)
  const { next: start } = await page(origin, 'now')
  await commit(origin, positionOf('0xaa'))
  const { next: middle } = await page(origin, start)
  await commit(origin, { ...touching(), scopes: new Map([['wallet:0xaa', aspects.deposits]]) })
  await commit(origin, positionOf('0xbb', 2))
  expect(keysOf(await page(origin, start))).toEqual([
    'wallet 0xaa positions+claimables',
    'event 1 positions',
    'wallet 0xaa deposits',
    'wallet 0xbb positions+claimables',
    'event 2 positions',
  ])
  expect(keysOf(await page(origin, middle))).toEqual([
    'wallet 0xaa deposits',
    'wallet 0xbb positions+claimables',
    'event 2 positions',
  ])
})

test('pages of any size have every subject once, also those of one commit', async () => {
  await begin(origin)
  const { next: start } = await page(origin, 'now')
  await commit(origin, union(Array.from({ length: 25 }, (_, at) => positionOf(`0x${at}`, at))))
  for (const limit of [1, 2, 7, 50, 100]) {
    const seen: string[] = []
    for (let cursor = start, hasMore = true; hasMore; ) {
      const found = await page(origin, cursor, limit)
      expect(found.items.length).toBeLessThanOrEqual(limit)
      seen.push(...keysOf(found))
      ;({ next: cursor, hasMore } = found)
    }
    expect([limit, seen.length, new Set(seen).size]).toEqual([limit, 50, 50])
  }
})

/** The aspects of every subject after a cursor, as a walk with pages of a size finds them; `between` runs between pages. */
const walk = async (
  from: FeedCursor,
  limit: number,
  filter: FeedFilter = ALL,
  between = async (): Promise<void> => {},
) => {
  const found = new Set<string>()
  for (let cursor = from, hasMore = true; hasMore; await between()) {
    const read = await page(origin, cursor, limit, filter)
    for (const { type, key, changed } of read.items) for (const aspect of changed) found.add(`${type} ${key} ${aspect}`)
    ;({ next: cursor, hasMore } = read)
  }
  return found
}

/** Changes that are written first. A walk begins after each, so that the time grows with the square. */
const CHANGES = byForm(5, 20)

test('a walk from any cursor names every aspect that changed, whatever the size of its pages and the writes meanwhile', async () => {
  const random = createRandom(seed)
  const aspectNames = Object.keys(aspects) as (keyof typeof aspects)[]
  const written: { readonly after: FeedCursor; readonly names: readonly string[] }[] = []
  const change = async (): Promise<void> => {
    const { next: after } = await page(origin, 'now')
    const scopes = new Map<string, number>()
    for (let at = random.int(1, 3); at > 0; at -= 1)
      scopes.set(`${random.pick(['wallet', 'event'])}:${random.int(1, 4)}`, random.int(1, 15))
    await commit(origin, { ...touching(), scopes })
    const names = [...scopes].flatMap(([scope, bits]) =>
      aspectNames.filter((name) => bits & aspects[name]).map((name) => `${scope.replace(':', ' ')} ${name}`),
    )
    written.push({ after, names })
  }
  await begin(origin)
  for (let at = 0; at < CHANGES; at += 1) await change()
  for (const [at, { after }] of written.slice(0, CHANGES).entries()) {
    const named = { ...ALL, types: ['wallet' as const], keys: ['1', '2'] }
    for (const limit of [1, 2, 7, 100]) {
      const expected = new Set(written.slice(at).flatMap(({ names }) => names))
      expect([at, limit, await walk(after, limit)]).toEqual([at, limit, expected])
      const some = new Set([...expected].filter((name) => /^wallet [12] /.test(name)))
      expect([at, limit, await walk(after, limit, named)]).toEqual([at, limit, some])
    }
    let pages = 0
    const found = await walk(after, 2, ALL, async () => {
      pages += 1
      if (pages < 4) await change()
    })
    for (const { names } of written.slice(at)) for (const name of names) expect([at, ...found]).toContain(name)
  }
})

test('no item and no cursor is newer than the bound', async () => {
  await begin(origin)
  const { next: start } = await page(origin, 'now')
  await commit(origin, positionOf('0xaa'))
  const first = await page(origin, start)
  await commit(origin, positionOf('0xbb', 2))
  const bounded = await page(origin, start, 100, ALL, first.next.seq)
  expect([keysOf(bounded), bounded.next]).toEqual([keysOf(first), first.next])
})

test('the beginning resets every chain, and a chain that is not indexed is not there', async () => {
  expect(await page(origin, null)).toMatchObject({ items: [], resets: [], hasMore: false })
  await begin(origin)
  await commit(origin, positionOf('0xaa'))
  expect(resetsOf(await page(origin, null))).toEqual(['8453 backfill'])
  await begin(origin, 56)
  expect(resetsOf(await page(origin, null))).toEqual(['8453 backfill', '56 backfill'])
})

test('a suspension resets its chain once it ends, and no other chain', async () => {
  await begin(origin)
  await begin(origin, 56)
  const { next: start } = await page(origin, 'now')
  await origin.database.transaction((handle) => suspendFeed(handle, chainId, 'backfill'))
  await commit(origin, positionOf('0xaa'))
  await commit(origin, touchingAll('many_changes'))
  await commit(origin, positionOf('0xbb'), 56)
  const meanwhile = await page(origin, start)
  expect([keysOf(meanwhile), resetsOf(meanwhile)]).toEqual([
    ['wallet 0xbb positions+claimables', 'event 1 positions'],
    [],
  ])
  await begin(origin)
  for (const cursor of [start, meanwhile.next]) expect(resetsOf(await page(origin, cursor))).toEqual(['8453 backfill'])
  const { next } = await page(origin, start)
  expect(resetsOf(await page(origin, next))).toEqual([])
})

test('a change of too many subjects at once resets the chain', async () => {
  await begin(origin)
  const { next: start } = await page(origin, 'now')
  await commit(origin, union(Array.from({ length: MOST_SCOPES / 2 + 1 }, (_, at) => positionOf(`0x${at}`, at))))
  expect(resetsOf(await page(origin, start))).toEqual(['8453 many_changes'])
})

test('changes of a version that does not know the feed reset every chain', async () => {
  await begin(origin)
  await begin(origin, 56)
  const { next: start } = await page(origin, 'now')
  await origin.database.run((handle) => handle.execute('UPDATE change_counter SET before = last, last = last + 1'))
  await commit(origin, positionOf('0xaa'))
  expect(resetsOf(await page(origin, start))).toEqual(['8453 unannounced', '56 unannounced'])
})

test('a copy continues the cursors that it shares with its origin, and resets those that were given after it was made', async () => {
  await begin(origin)
  await commit(origin, positionOf('0xaa'))
  const { next: shared } = await page(origin, 'now')
  await origin.database.close()
  const copy = await open(origin.store)
  try {
    origin = { ...origin, database: openDatabase(origin.store.url) }
    await commit(origin, positionOf('0xbb'))
    const { next: lost } = await page(origin, 'now')
    // The copy has not written yet: it cannot know more than that these changes are missing.
    expect(await page(copy, lost)).toMatchObject({ items: [], resets: [], next: lost })
    await commit(copy, positionOf('0xcc'))
    const continued = await page(copy, shared)
    expect([keysOf(continued), resetsOf(continued)]).toEqual([
      ['wallet 0xcc positions+claimables', 'event 1 positions'],
      [],
    ])
    const reset = await page(copy, lost)
    expect([keysOf(reset), resetsOf(reset)]).toEqual([[], ['8453 other_history', '56 other_history']])
    expect(resetsOf(await page(copy, reset.next))).toEqual([])
    expect(resetsOf(await page(copy, { epoch: 'abc', seq: 1 }))).toEqual(['8453 other_history', '56 other_history'])
    // And the other way round: the origin never has the cursors of the copy.
    expect(resetsOf(await page(origin, continued.next))).toEqual(['8453 other_history', '56 other_history'])
  } finally {
    await close(copy)
  }
})

test('a backup that is restored in place resets only the cursors that were given after it', async () => {
  await begin(origin)
  await commit(origin, positionOf('0xaa'))
  const { next: shared } = await page(origin, 'now')
  const tables = ['change_counter', 'changes', 'feed', 'feed_floors', 'feed_epochs', 'cursors']
  for (const table of tables)
    await origin.database.run((handle) => handle.execute(`CREATE TABLE backup_${table} AS TABLE ${table}`))
  await commit(origin, positionOf('0xbb'))
  const { next: lost } = await page(origin, 'now')
  for (const table of tables)
    await origin.database.run((handle) =>
      handle.execute(`TRUNCATE ${table}; INSERT INTO ${table} SELECT * FROM backup_${table}`),
    )
  await commit(origin, positionOf('0xcc'))
  expect(keysOf(await page(origin, shared))).toEqual(['wallet 0xcc positions+claimables', 'event 1 positions'])
  expect(resetsOf(await page(origin, shared))).toEqual([])
  expect(resetsOf(await page(origin, lost))).toEqual(['8453 other_history', '56 other_history'])
})

test('a restart of the server resets nothing, and a copy of its files resets what was given after the copy', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fx-feed-'))
  // The account of PostgreSQL has to enter it.
  await chmod(folder, 0o711)
  const [dir, copyDir] = [join(folder, 'origin'), join(folder, 'copy')]
  const at = async <T>(path: string, work: (opened: Pick<Opened, 'database'>) => Promise<T>): Promise<T> => {
    const postgres = await startPostgres({ dir: path })
    const database = openDatabase(postgres.url)
    try {
      await migrate({ databaseUrl: postgres.url, log: pino({ level: 'silent' }) })
      return await work({ database })
    } finally {
      await database.close()
      await postgres.close()
    }
  }
  try {
    const first = await at(dir, async (server) => {
      await begin(server)
      await commit(server, positionOf('0xaa'))
      return (await page(server, 'now')).next
    })
    // Files keep their owner, as whom the server runs.
    execFileSync('cp', ['-a', dir, copyDir])
    const second = await at(dir, async (server) => {
      await commit(server, positionOf('0xbb'))
      const continued = await page(server, first)
      expect([keysOf(continued), resetsOf(continued)]).toEqual([
        ['wallet 0xbb positions+claimables', 'event 1 positions'],
        [],
      ])
      return continued.next
    })
    await at(copyDir, async (server) => {
      await commit(server, positionOf('0xcc'))
      expect(keysOf(await page(server, first))).toEqual(['wallet 0xcc positions+claimables', 'event 1 positions'])
      expect(resetsOf(await page(server, second))).toEqual(['8453 other_history', '56 other_history'])
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})
