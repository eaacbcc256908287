import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import { readProgress } from '../../src/db/index/work/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { createCommits } from '../../src/indexer/commit.ts'
import type { Hint } from '../../src/protocol/abi/logs.ts'
import {
  CHAIN,
  hintAt,
  leaseOf,
  openIndexDatabase,
  openWrites,
  rowsOf,
  txOf,
  whileQueueIsLocked,
  writtenAt,
} from '../support/index-writes.ts'
import { blockOf, type Plan, seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 7, events: 2 }
const [event, deposit, position] = [seedEvent(1, plan), seedDeposit(2, plan), seedPosition(2, plan)]
const facts = [event.fact, deposit.fact, position.fact]

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let writes: Awaited<ReturnType<typeof openWrites>>

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  writes = await openWrites(database, { backfillFacts: 2 })
})

/** The refresh queue: subject, id, number of ids and block of each request. */
const queued = async () =>
  (
    await rowsOf(
      database,
      'SELECT subject, id::integer, many, from_block::integer AS block FROM refresh_queue ORDER BY subject, id',
    )
  ).map(({ subject, id, many, block }) => `${subject} ${id}${many === 1 ? '' : `+${many}`} of ${block}`)

const emptyQueue = () => rowsOf(database, 'DELETE FROM refresh_queue')

/** The scopes of each change since a number, and the feed's rows. */
const announced = async (since: number) => {
  const changes = await database.run((handle) => changesAfter(handle, since))
  const fed = await rowsOf(database, `SELECT type, key FROM feed WHERE seq > ${since} ORDER BY type, key`)
  return {
    scopes: changes.map(({ scopes }) => scopes && [...scopes].sort()),
    feed: fed.map(({ type, key }) => `${type} ${key}`),
  }
}

const scopesOf = (...owners: readonly string[]) => owners.map((owner) => `wallet:${owner.toLowerCase()}`)

test('facts are stored with their block as anchor and cursor, and requested to be observed', async () => {
  await writes.write(blockOf(3n), { facts })
  const last = { event: 1n, deposit: 2n, position: 2n }
  expect(await readProgress(database, CHAIN)).toEqual({ cursor: blockOf(3n), anchor: blockOf(3n), last })
  expect(await rowsOf(database, 'SELECT complete FROM anchors')).toEqual([{ complete: true }])
  expect(await queued()).toEqual(['chain 0 of 3', 'deposit 2 of 3', 'event 1 of 3', 'position 2 of 3'])
})

test('an incomplete write has an anchor, which is not complete, and does not move the cursor', async () => {
  await writes.write(blockOf(3n), { facts, complete: false })
  expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: null, anchor: blockOf(3n) })
  expect(await rowsOf(database, 'SELECT complete FROM anchors')).toEqual([{ complete: false }])
})

test('a deposit or position requests its event once, a created event only with its range', async () => {
  const bought = seedPosition(3, plan).fact
  await writes.write(blockOf(3n), { facts: [...[1, 2, 3].map((id) => seedEvent(id, plan).fact), bought] })
  expect(await queued()).toEqual(['chain 0 of 3', 'event 1+3 of 3', 'position 3 of 3'])
  await emptyQueue()
  await writes.write(blockOf(4n), { facts: [4, 5].map((id) => seedPosition(id, plan).fact) })
  expect(await queued()).toEqual(['event 1 of 4', 'event 2 of 4', 'position 4+2 of 4'])
  await emptyQueue()
  await writes.write(blockOf(5n), { facts: [seedDeposit(3, plan).fact] })
  expect(await queued()).toEqual(['deposit 3 of 5', 'event 2 of 5'])
})

test.each([
  [false, ['deposit 2 of 4', 'event 1 of 4', 'position 5 of 4']],
  // In a backfill the observations that follow find which events changed.
  [true, ['event 1 of 4', 'position 5 of 4']],
])(
  'a position requests the deposits that earn its premium, unless the write is behind (%s)',
  async (isBehind, requests) => {
    await writes.write(blockOf(3n), { facts })
    await emptyQueue()
    const { fact } = seedPosition(5, plan)
    await writes.write(blockOf(4n), { facts: [{ ...fact, eventId: 1n }], isBehind })
    expect(await queued()).toEqual(requests)
  },
)

test.each<[string, (at: ReturnType<typeof blockOf>) => Hint, string[]]>([
  [
    'a log of an event',
    (at) => hintAt(at, { subject: 'event', id: 1n, members: [], settles: false }),
    ['event 1 of 4'],
  ],
  [
    'a log that changes all positions of an event',
    (at) => hintAt(at, { subject: 'event', id: 1n, members: ['position'], settles: false }),
    ['event 1 of 4', 'position 2 of 4'],
  ],
  [
    'a log that changes all deposits of an event',
    (at) => hintAt(at, { subject: 'event', id: 1n, members: ['deposit'], settles: false }),
    ['deposit 2 of 4', 'event 1 of 4'],
  ],
  ['a log of a position', (at) => hintAt(at, { subject: 'position', id: 2n }), ['event 1 of 4', 'position 2 of 4']],
  ['a log of a deposit', (at) => hintAt(at, { subject: 'deposit', id: 2n }), ['deposit 2 of 4', 'event 1 of 4']],
  ['a log of the protocol', (at) => hintAt(at, { subject: 'chain' }), ['chain 0 of 4']],
])('%s requests what it may have changed', async (_, hint, requests) => {
  await writes.write(blockOf(3n), { facts })
  await emptyQueue()
  await writes.write(blockOf(4n), { hints: [hint(blockOf(4n))] })
  expect(await queued()).toEqual(requests)
})

test('a write may request the protocol itself', async () => {
  await writes.write(blockOf(3n))
  expect(await queued()).toEqual([])
  await writes.write(blockOf(4n), { protocol: true })
  expect(await queued()).toEqual(['chain 0 of 4'])
})

test('an upgrade is recorded with its transaction, and everything is requested', async () => {
  await writes.write(blockOf(3n), { facts })
  await emptyQueue()
  await writes.write(blockOf(4n), { hints: [hintAt(blockOf(4n), { subject: 'code' })] })
  expect(await queued()).toEqual(['chain 0 of 4', 'deposit 2 of 4', 'event 1 of 4', 'position 2 of 4'])
  expect(await rowsOf(database, "SELECT block_number AS at, encode(tx_hash, 'hex') AS tx FROM upgrades")).toEqual([
    { at: '4', tx: txOf(blockOf(4n)).slice(2) },
  ])
})

test('fee rates are complete up to the block, also when there are none, unless logs are missing', async () => {
  const complete = async () => (await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors'))[0]?.at
  const rates = { hedgerFeeRate: 1n, payoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }
  const { number: blockNumber, hash: blockHash, timestamp: blockTimestamp } = blockOf(3n)
  const fee = { blockNumber, blockHash, blockTimestamp, txHash: txOf(blockOf(3n)), logIndex: 1, ...rates }
  await writes.write(blockOf(3n), { fees: [fee] })
  expect(await rowsOf(database, 'SELECT block_number::integer AS at, payout_fee_rate AS rate FROM fee_rates')).toEqual([
    { at: 3, rate: '2' },
  ])
  expect(await complete()).toBe(3)
  await writes.write(blockOf(4n), { fees: [] })
  expect(await complete()).toBe(4)
  await writes.write(blockOf(5n), { gap: { from: 5n, to: 5n } })
  expect(await complete()).toBe(4)
  await writes.write(blockOf(6n))
  expect(await complete()).toBe(4)
})

test('blocks without their logs are recorded', async () => {
  await writes.write(blockOf(3n), { gap: { from: 1n, to: 3n } })
  await writes.write(blockOf(4n))
  expect(await rowsOf(database, 'SELECT from_block::integer AS from, to_block::integer AS to FROM log_gaps')).toEqual([
    { from: 1, to: 3 },
  ])
})

test('an event that expired since the cursor is requested, however long that was', async () => {
  const { timestamp } = blockOf(3n)
  const expiring = (id: number, expiryDate: bigint) => {
    const seeded = seedEvent(id, plan)
    return { ...seeded, fact: { ...seeded.fact, expiryDate } }
  }
  const events = [expiring(1, timestamp), expiring(2, timestamp + 1n), expiring(3, timestamp + 900_000n)]
  await writes.write(blockOf(3n), { facts: events.map(({ fact }) => fact) })
  for (const each of events) await writes.observe(blockOf(3n), each, { settledAt: 0n })
  await emptyQueue()
  // More than a week later; the first event had expired when the cursor was written.
  await writes.write({ ...blockOf(4n), timestamp: timestamp + 800_000n })
  expect(await queued()).toEqual(['event 2 of 4'])
})

describe('announcements', () => {
  beforeEach(() => writes.write(blockOf(3n), { facts }))

  test('new facts touch their kinds, events, owners, and with an event the protocol', async () => {
    const since = await database.run(newestChange)
    const [second, bought] = [seedEvent(2, plan).fact, seedPosition(3, plan).fact]
    await writes.write(blockOf(4n), { facts: [second, bought] })
    const owners = scopesOf(second.creator, bought.hedger)
    const scopes = ['event:2', 'events', 'positions', 'protocol', ...owners].sort()
    expect(await announced(since)).toEqual({
      scopes: [scopes],
      feed: ['event 2', 'protocol ', ...owners.map((owner) => owner.replace(':', ' ')).sort()],
    })
  })

  test.each<[string, Hint[], string[][] | null[]]>([
    ['nothing', [], []],
    [
      'a position',
      [hintAt(blockOf(4n), { subject: 'position', id: 2n })],
      [['event:1', 'positions', ...scopesOf(position.fact.hedger)]],
    ],
    [
      'a deposit',
      [hintAt(blockOf(4n), { subject: 'deposit', id: 2n })],
      [['deposits', 'event:1', ...scopesOf(deposit.fact.lp)]],
    ],
    [
      'an event',
      [hintAt(blockOf(4n), { subject: 'event', id: 1n, members: [], settles: false })],
      [['event:1', 'events', ...scopesOf(event.fact.creator)]],
    ],
    ['the protocol', [hintAt(blockOf(4n), { subject: 'chain' })], [['protocol']]],
    ['the code of the protocol', [hintAt(blockOf(4n), { subject: 'code' })], [null]],
  ])('a log of %s touches what its reader shows', async (_, hints, scopes) => {
    const since = await database.run(newestChange)
    await writes.write(blockOf(4n), { hints })
    expect((await announced(since)).scopes).toEqual(scopes)
  })

  test('facts that were above the cursor are announced, also to the feed, when the cursor passes them', async () => {
    const bought = seedPosition(3, plan).fact
    await writes.write(blockOf(4n), { facts: [{ ...bought, blockNumber: 4n }], complete: false })
    const since = await database.run(newestChange)
    await writes.write(blockOf(5n), { uncovers: true })
    const { scopes, feed } = await announced(since)
    expect(scopes).toEqual([null])
    expect(feed).toEqual([`event ${bought.eventId}`, `wallet ${bought.hedger.toLowerCase()}`])
  })

  test('facts at the block of the cursor are not announced a second time', async () => {
    await writes.write(blockOf(4n), { facts: [{ ...seedPosition(3, plan).fact, blockNumber: 4n }] })
    const since = await database.run(newestChange)
    await writes.write(blockOf(5n), { uncovers: true })
    expect((await announced(since)).feed).toEqual([])
  })
})

describe('the feed of changes', () => {
  const floor = async () => (await rowsOf(database, 'SELECT seq::float AS seq, reason FROM feed_floors'))[0]
  const more = (count: number) => Array.from({ length: count }, (_, at) => seedPosition(at + 10, plan).fact)

  test('begins with the first write that is not behind the head', async () => {
    await writes.write(blockOf(3n), { facts: facts.slice(0, 2), isBehind: true })
    expect(await floor()).toBeUndefined()
    await writes.write(blockOf(4n))
    expect(await floor()).toMatchObject({ seq: expect.any(Number), reason: 'backfill' })
  })

  // A backfill has more than two facts here.
  test.each([
    [2, true, false],
    [3, true, true],
    [3, false, false],
  ])('a write of %i facts, behind the head: %j, suspends it: %j', async (count, isBehind, isSuspended) => {
    await writes.write(blockOf(3n), { facts })
    const since = await database.run(newestChange)
    await writes.write(blockOf(4n), { facts: more(count), isBehind })
    expect((await floor())?.seq === null).toBe(isSuspended)
    expect((await announced(since)).scopes.includes(null)).toBe(isSuspended)
  })

  test('a suspended one is resumed near the head, with a reset', async () => {
    await writes.write(blockOf(3n), { facts: more(3), isBehind: true })
    await writes.write(blockOf(4n), { isBehind: true })
    expect(await floor()).toMatchObject({ seq: null })
    const since = await database.run(newestChange)
    await writes.write(blockOf(5n))
    expect((await floor())?.seq).toBeGreaterThan(since)
    expect((await announced(since)).scopes).toEqual([null])
  })

  test('by default, 2,000 facts are no backfill and 2,001 are', async () => {
    const { write } = await openWrites(database)
    await write(blockOf(3n), { facts: more(2_000), isBehind: true })
    expect(await floor()).toBeUndefined()
    const others = more(4_001).slice(2_000)
    await write(blockOf(4n), { facts: others, isBehind: true })
    expect(await floor()).toMatchObject({ seq: null })
  })
})

describe('the lease and the locks of a write', () => {
  test('a worker without the lease writes nothing', async () => {
    await rowsOf(database, "UPDATE leases SET holder = 'another', epoch = epoch + 1")
    await expect(writes.write(blockOf(3n), { facts })).rejects.toMatchObject({ name: 'LeaseLost' })
    expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: null, anchor: null })
  })

  test('a write extends the lease', async () => {
    await rowsOf(database, "UPDATE leases SET expires_at = now() + interval '1 second'")
    await writes.write(blockOf(3n))
    expect(await rowsOf(database, "SELECT expires_at > now() + interval '30 seconds' AS extended FROM leases")).toEqual(
      [{ extended: true }],
    )
  })

  test('a write that fails leaves nothing', async () => {
    await writes.write(blockOf(3n), { facts })
    await expect(writes.write(blockOf(4n), { facts: [event.fact] })).rejects.toThrow()
    expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: blockOf(3n), anchor: blockOf(3n) })
  })

  test('a write has only the lease while it waits for the refresh queue', async () => {
    const written = await whileQueueIsLocked(database, () => writes.write(blockOf(3n), { facts }))
    expect(written).toEqual(['leases'])
  })
})

describe('anchors', () => {
  test('are thinned out by the writes', async () => {
    await rowsOf(
      database,
      `INSERT INTO anchors SELECT ${CHAIN}, n, decode(repeat('11', 32), 'hex'), n FROM generate_series(1000, 1004) n`,
    )
    await writes.write(blockOf(2_048n))
    expect(await rowsOf(database, 'SELECT block_number::integer AS at FROM anchors ORDER BY 1')).toEqual(
      [1_000, 1_002, 1_004, 2_048].map((at) => ({ at })),
    )
  })
})

describe('a rollback in several transactions', () => {
  /** Positions 0 to 4, of which all but the first were observed at block 2. */
  const fill = async (): Promise<void> => {
    const positions = [0, 1, 2, 3, 4, 5].map((id) => ({
      ...seedPosition(id, plan).fact,
      id: BigInt(id),
      blockNumber: 1n,
    }))
    await writes.write(blockOf(1n), { facts: positions })
    await writes.write(blockOf(2n))
    await emptyQueue()
    await rowsOf(
      database,
      `INSERT INTO position_observations (chain_id, id, payout_amount, status, claimed, block_number, block_hash, block_timestamp)
        SELECT chain_id, id, 0, 0, false, CASE WHEN id = 0 THEN 1 ELSE 2 END, decode(repeat('22', 32), 'hex'), 2
        FROM positions`,
    )
  }
  const backTo = async (over: Database) =>
    createCommits({ chainId: CHAIN, database: over, leaseTtlMs: 60_000, deleteBatch: 2 }).backTo(
      await leaseOf(database),
      blockOf(1n),
    )

  test('deletes a bounded number of observations in each, and requests their refresh', async () => {
    await fill()
    let transactions = 0
    await backTo({
      ...database,
      transaction: (work) => {
        transactions += 1
        return database.transaction(work)
      },
    })
    // Two, two and one of the five; then the rollback itself.
    expect(transactions).toBe(4)
    expect(await rowsOf(database, 'SELECT id::integer FROM position_observations')).toEqual([{ id: 0 }])
    expect(await queued()).toEqual(['chain 0 of 0', ...[1, 2, 3, 4, 5].map((id) => `position ${id} of 0`)])
    expect(await readProgress(database, CHAIN)).toMatchObject({ cursor: { number: 1n }, anchor: { number: 1n } })
  })

  test('that ends between them leaves no fact without an observation or a request', async () => {
    await fill()
    const dying: Database = {
      ...database,
      transaction: (work) =>
        database.transaction(work).then((result) => {
          if (result === true) throw new Error('killed after a part')
          return result
        }),
    }
    await expect(backTo(dying)).rejects.toThrow('killed after a part')
    expect(await queued()).toHaveLength(2)
    expect(
      await rowsOf(
        database,
        `SELECT id FROM positions AS fact WHERE NOT EXISTS (SELECT FROM position_observations WHERE id = fact.id)
          AND NOT EXISTS (SELECT FROM refresh_queue WHERE subject = 'position' AND id = fact.id)`,
      ),
    ).toEqual([])
  })

  test.each([
    [0, 0],
    [1, 2],
    [3, 5],
  ])('holds the lease in each of them, also in number %i', async (number, requests) => {
    await fill()
    let transactions = -1
    const losing: Database = {
      ...database,
      async transaction(work) {
        transactions += 1
        if (transactions === number) await rowsOf(database, "UPDATE leases SET holder = 'another', epoch = epoch + 1")
        return database.transaction(work)
      },
    }
    await expect(backTo(losing)).rejects.toMatchObject({ name: 'LeaseLost' })
    expect(await rowsOf(database, 'SELECT FROM rollbacks')).toEqual([])
    expect(await queued()).toHaveLength(requests)
  })
})

test('progress is read of an empty index, of an anchor without a cursor, and of both', async () => {
  const none = { event: null, deposit: null, position: null }
  expect(await readProgress(database, CHAIN)).toEqual({ cursor: null, anchor: null, last: none })
  await createCommits({ chainId: CHAIN, database, leaseTtlMs: 60_000 }).write(
    writes.lease,
    writtenAt(blockOf(2n), { facts: [position.fact], complete: false }),
  )
  await rowsOf(database, "INSERT INTO anchors VALUES (56, 7, decode(repeat('77', 32), 'hex'), 7)")
  const last = { ...none, position: 2n }
  expect(await readProgress(database, CHAIN)).toEqual({ cursor: null, anchor: blockOf(2n), last })
  await writes.write(blockOf(3n))
  expect(await readProgress(database, CHAIN)).toEqual({ cursor: blockOf(3n), anchor: blockOf(3n), last })
})
