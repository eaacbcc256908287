import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LogsPruned } from '../../src/chain/rpc/errors.ts'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import type { Lease } from '../../src/db/index/work/lease.ts'
import { readLogGaps } from '../../src/db/index/work/log-gaps.ts'
import type { Database } from '../../src/db/pool.ts'
import { createLogGaps } from '../../src/indexer/log-gaps.ts'
import { createStep, type StepResult } from '../../src/indexer/step.ts'
import { upstream } from '../../src/lib/errors.ts'
import { createFakeChain, type FakeChain, UNKNOWN } from '../support/fake-log-chain.ts'
import { CHAIN, leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'

/* Rows that were read without their log, and the job that reads the log later, over a chain in memory. */

const log = pino({ level: 'silent' })
const rates = { hedgerFeeRate: 1n, hedgerPayoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let lease: Lease
let fake: FakeChain
let clock: { now: number }
let step: () => Promise<StepResult>
let gaps: ReturnType<typeof createLogGaps>

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())

const now = () => clock.now
const openGaps = () => createLogGaps({ chain: fake.chain, database, log, now })
beforeEach(async () => {
  await index.empty()
  lease = await leaseOf(database)
  fake = createFakeChain()
  clock = { now: 50_000 }
  const take = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log, now, proveEveryMs: 0 })
  step = () => take(lease)
  gaps = openGaps()
})

/** Steps until the index is at the head, as time passes. */
const reachHead = async (everyMs = 250): Promise<void> => {
  for (let steps = 0; steps < 40; steps += 1) {
    await step()
    const [row] = await rowsOf(database, 'SELECT block_number AS at FROM cursors')
    if (String(row?.at) === String(fake.head().number)) return
    clock.now += everyMs
  }
  throw new Error('the index does not reach the head')
}
/** Runs the job with every gap due. */
const fill = async (run = gaps, signal = new AbortController().signal): Promise<void> => {
  await rowsOf(database, 'UPDATE log_gaps SET next_at = now()')
  await run.fill(signal)
}
const hide = (...names: readonly string[]) => {
  fake.state.hides = ({ name }) => names.includes(name)
}
const hideIds = (...ids: readonly number[]) => {
  fake.state.hides = ({ name, topics }) => name === 'PositionCreated' && ids.includes(Number(topics[2]))
}
/** Positions as id and block; those without a log end with a question mark. */
const positions = async () =>
  (await rowsOf(database, 'SELECT id, block_number, tx_hash, log_index FROM positions ORDER BY id')).map(
    (row) => `${row.id} in ${row.block_number}${row.tx_hash === null || row.log_index === null ? '?' : ''}`,
  )
const stored = async () =>
  (await rowsOf(database, 'SELECT from_block, to_block, unread_to, state FROM log_gaps ORDER BY from_block')).map(
    (row) => `${row.from_block}..${row.to_block} to ${row.unread_to} ${row.state}`,
  )
const complete = async () => (await rowsOf(database, 'SELECT fees_number::integer AS at FROM cursors'))[0]?.at
const counts = () => database.run((handle) => readLogGaps(handle, CHAIN))
const requests = () => fake.sent().flatMap(([first]) => (first?.startsWith('logs') ? first : []))
/** Nodes have no logs below a block. */
const prune = (below: bigint) => {
  const { logs } = fake.chain
  Object.assign(fake.chain, {
    logs: (span: Parameters<typeof logs>[0]) =>
      span.from < below ? Promise.reject(new LogsPruned('pruned', null)) : logs(span),
  })
}

describe('a log that is late', () => {
  beforeEach(async () => {
    fake.create('event', 1)
    await reachHead()
    hide('EventCreated', 'FeesInitialized', 'EventSettled')
    fake.mine(['FeesInitialized', rates], fake.created('event', 2), ['EventSettled', { eventId: 1n }])
  })
  const event = async () => (await rowsOf(database, 'SELECT * FROM events WHERE id = 2'))[0]

  test('by 1.5 s: the row is indexed with it, and no gap remains', async () => {
    await step()
    clock.now += 1_500
    expect((await step()).problem).toMatch(/^event 2 is missing since \d{4}-.*Z$/)
    hide()
    await reachHead()
    expect(await event()).toMatchObject({ tx_hash: expect.any(Buffer), log_index: 1, block_number: '2' })
    expect([await stored(), await complete()]).toEqual([[], 2])
  })

  test('by 5 s: the row is shown without it, and then completed with all that the block has', async () => {
    await reachHead()
    expect(clock.now).toBe(52_000)
    expect(await event()).toMatchObject({ tx_hash: null, log_index: null, initial_liquidity: null })
    expect([await stored(), await complete()]).toEqual([['1..2 to 2 open'], 1])
    expect(await counts()).toMatchObject({ pending: 1, absent: 0, pruned: 0, oldestSeconds: expect.any(Number) })
    clock.now += 3_000
    hide()
    await rowsOf(
      database,
      "DELETE FROM refresh_queue; INSERT INTO feed_floors VALUES (8453, 0, 'backfill') ON CONFLICT DO NOTHING",
    )
    const since = await database.run(newestChange)
    await gaps.fill(new AbortController().signal)
    const { hash } = fake.head()
    expect(await event()).toMatchObject({
      ...{ log_index: 1, initial_liquidity: expect.any(String), block_number: '2' },
      ...{ block_hash: Buffer.from(hash.slice(2), 'hex'), tx_hash: expect.any(Buffer) },
    })
    expect([await stored(), await complete()]).toEqual([[], 2])
    expect(await counts()).toEqual({ pending: 0, absent: 0, pruned: 0, oldestSeconds: null })
    expect(await rowsOf(database, 'SELECT block_number::integer AS at FROM fee_rates')).toEqual([{ at: 2 }])
    expect(await rowsOf(database, 'SELECT event_id::integer AS id FROM settlement_logs')).toEqual([{ id: 1 }])
    expect(await rowsOf(database, "SELECT from_block FROM refresh_queue WHERE subject = 'event' AND id = 1")).toEqual([
      { from_block: null },
    ])
    expect(await database.run((handle) => changesAfter(handle, since))).toHaveLength(1)
    // The settlement of event 1 has its transaction now.
    expect(await rowsOf(database, `SELECT key FROM feed WHERE type = 'event' AND seq > ${since} ORDER BY key`)).toEqual(
      [{ key: '1' }, { key: '2' }],
    )
  })
})

test('a settlement that was observed without its log gets the transaction of the newest log up to its block', async () => {
  fake.create('event', 1)
  await reachHead()
  hide('EventCreated', 'EventSettled')
  fake.mine(fake.created('event', 2), ['EventSettled', { eventId: 1n }])
  fake.mine(['EventSettled', { eventId: 1n }])
  await reachHead()
  const observed = [1, 2, 3].map((block) => `(8453, ${block}, 'settled', 1, 1, true, 5, ${block}, '\\x00')`)
  await rowsOf(
    database,
    `INSERT INTO settlements (chain_id, seq, type, event_id, settled_at, triggered, settlement_price, block_number, block_hash)
      VALUES ${observed.join()}`,
  )
  // The fee rates stay incomplete: otherwise everything would change.
  prune(2n)
  const since = await database.run(newestChange)
  hide()
  await fill()
  const hashOf = async (table: string) =>
    (await rowsOf(database, `SELECT encode(tx_hash, 'hex') AS tx FROM ${table} ORDER BY block_number`)).map(
      ({ tx }) => tx,
    )
  const logged = await hashOf('settlement_logs')
  expect(logged).toHaveLength(2)
  expect(await hashOf('settlements')).toEqual([null, ...logged])
  const changes = await database.run((handle) => changesAfter(handle, since))
  expect(changes.flatMap(({ scopes }) => scopes)).toContain('settlements')
})

test('the block of a row becomes that of its log', async () => {
  hideIds(1, 2)
  const { number } = fake.create('position', 1)
  fake.pass(2)
  fake.create('position', 2)
  fake.pass(1)
  fake.create('position', 3)
  await reachHead()
  expect(await positions()).toEqual(['1 in 6?', '2 in 6?', '3 in 6'])
  hide()
  await fill()
  expect([number, await positions(), await stored()]).toEqual([1n, ['1 in 1', '2 in 4', '3 in 6'], []])
})

test('a gap is requested again by time, as long as it has waited, between 2 and 60 seconds', async () => {
  hideIds(1)
  fake.create('position', 1)
  await reachHead()
  const wait = async () => {
    const [row] = await rowsOf(database, 'SELECT round(extract(epoch FROM next_at - now())) AS s FROM log_gaps')
    return Number(row?.s)
  }
  for (const [later, seconds] of [
    ...[
      [0, 2],
      [1_000, 2],
      [4_000, 5],
      [25_000, 30],
      [100_000, 60],
    ],
  ] as const) {
    clock.now += later
    await fill()
    expect([await wait(), await stored()]).toEqual([seconds, ['0..1 to 1 open']])
  }
  // Not before its time.
  fake.sent()
  hide()
  await gaps.fill(new AbortController().signal)
  expect([requests(), await positions()]).toEqual([[], ['1 in 1?']])
})

test('a log is absent once all nodes have returned the range without it for ten minutes, and a restart tries again', async () => {
  const { logs, status } = fake.chain
  let endpoint = 0
  Object.assign(fake.chain, {
    logs: async (span: Parameters<typeof logs>[0]) => ({ ...(await logs(span)), endpoint }),
    status: () => {
      const [first, ...others] = status().endpoints
      return {
        ...status(),
        endpoints: [
          first,
          { ...first, index: 1 },
          { ...first, index: 2, missing: ['logs'] },
          { ...first, index: 3, rank: 'paused' },
          ...others,
        ],
      }
    },
  })
  hideIds(2)
  fake.create('position', 1, 2)
  await reachHead()
  await fill()
  clock.now += 600_000
  await fill()
  expect([await stored(), await complete()]).toEqual([['1..1 to 1 open'], null])
  endpoint = 1
  await fill()
  expect([await stored(), await complete()]).toEqual([['1..1 to 1 absent'], 1])
  expect(await counts()).toEqual({ pending: 0, absent: 1, pruned: 0, oldestSeconds: null })
  hide()
  await gaps.fill(new AbortController().signal)
  expect(await positions()).toEqual(['1 in 1', '2 in 1?'])
  await openGaps().fill(new AbortController().signal)
  expect([await positions(), await stored()]).toEqual([['1 in 1', '2 in 1'], []])
})

describe('a log that no node had for ten minutes', () => {
  /** Configures a second endpoint; the endpoints in `without` leave the log of position 2 out. */
  const configureTwo = (without = [0, 1]) => {
    const two = { without, asked: [] as number[], isSecondOk: true }
    const { logs, status } = fake.chain
    Object.assign(fake.chain, {
      logs: async (span: Parameters<typeof logs>[0]) => {
        const endpoint = two.isSecondOk && span.askedLast?.has(0) && !span.askedLast.has(1) ? 1 : 0
        two.asked.push(endpoint)
        hideIds(...(two.without.includes(endpoint) ? [2] : []))
        return { ...(await logs(span)), endpoint }
      },
      status: () => {
        const second = { ...status().endpoints[0], index: 1, rank: two.isSecondOk ? 'ok' : 'paused' }
        return { ...status(), endpoints: [...status().endpoints, second] }
      },
    })
    return two
  }
  const giveUp = async () => {
    fake.create('position', 1, 2)
    await reachHead()
    for (const later of [0, 0, 600_000]) {
      clock.now += later
      await fill()
    }
    expect([await stored(), await positions()]).toEqual([['1..1 to 1 absent'], ['1 in 1', '2 in 1?']])
    fake.faults()
  }
  const waits = async () => {
    const [row] = await rowsOf(database, 'SELECT round(extract(epoch FROM next_at - now())) AS s FROM log_gaps')
    return Number(row?.s)
  }

  test('is requested again once an hour, from each node once, and stays absent without blame meanwhile', async () => {
    const two = configureTwo()
    await giveUp()
    for (let hours = 0; hours < 3; hours += 1) {
      expect(await waits()).toBe(3_600)
      two.asked.splice(0)
      clock.now += 3_600_000
      await fill()
      expect([two.asked, await waits(), await counts()]).toMatchObject([[0], 2, { pending: 0, absent: 1 }])
      await fill()
      expect([two.asked, await stored(), fake.faults()]).toEqual([[0, 1], ['1..1 to 1 absent'], []])
    }
    two.without = []
    await fill()
    expect([await positions(), await stored()]).toEqual([['1 in 1', '2 in 1'], []])
  })

  test('is found on a node that was out of reach', async () => {
    const two = configureTwo([0])
    two.isSecondOk = false
    await giveUp()
    two.isSecondOk = true
    for (let runs = 0; runs < 2; runs += 1) await fill()
    expect([await positions(), await stored()]).toEqual([['1 in 1', '2 in 1'], []])
  })

  test('is requested for ten minutes at most while a node does not answer, and not before an hour after a fault', async () => {
    const two = configureTwo()
    await giveUp()
    // The second node does not return the range, and counts as one that could.
    Object.assign(two, { isSecondOk: false })
    const { status, logs } = fake.chain
    Object.assign(fake.chain, {
      status: () => ({ ...status(), endpoints: status().endpoints.map((each) => ({ ...each, rank: 'ok' })) }),
    })
    await fill()
    clock.now += 599_999
    await fill()
    expect(await waits()).toBe(60)
    clock.now += 1
    await fill()
    expect(await waits()).toBe(3_600)
    for (const fault of [upstream('refused'), new LogsPruned('pruned', null)]) {
      Object.assign(fake.chain, { logs: () => Promise.reject(fault) })
      await fill()
      expect([await waits(), await stored()]).toEqual([3_600, ['1..1 to 1 absent']])
    }
    Object.assign(fake.chain, { logs })
  })
})

test('a log is absent also in a gap of more blocks than a node returns at once', async () => {
  hideIds(2)
  fake.create('position', 1)
  fake.pass(3)
  fake.create('position', 2)
  await reachHead()
  fake.state.width = 2n
  await fill()
  clock.now += 600_000
  await fill()
  expect(await stored()).toEqual(['1..5 to 5 absent'])
})

test('a row whose log this release may not know is absent at once, what the log names is read again, and no node is blamed', async () => {
  fake.create('event', 1)
  await reachHead()
  hideIds(1)
  fake.mine(fake.created('position', 1), [UNKNOWN, { words: [1n] }])
  await step()
  expect(await positions()).toEqual(['1 in 2?'])
  await rowsOf(database, 'DELETE FROM refresh_queue')
  await fill()
  expect([await stored(), await complete(), fake.faults()]).toEqual([['0..2 to 2 absent'], 2, []])
  // Also the event of the named position.
  const requested = await rowsOf(database, "SELECT subject || ' ' || id AS at FROM refresh_queue ORDER BY 1")
  expect(requested.map(({ at }) => at)).toEqual(['chain 0', 'event 1', 'event 2', 'position 1'])
})

test('a row whose log one node may not know is absent only after the other node was asked, without blame', async () => {
  fake.create('event', 1)
  await reachHead()
  const { logs, status } = fake.chain
  const asked: number[] = []
  Object.assign(fake.chain, {
    logs: async (span: Parameters<typeof logs>[0]) => {
      const endpoint = span.askedLast?.has(0) && !span.askedLast.has(1) ? 1 : 0
      asked.push(endpoint)
      if (endpoint === 1) hide()
      return { ...(await logs(span)), endpoint }
    },
    status: () => {
      const [first] = status().endpoints
      return { ...status(), endpoints: [first, { ...first, index: 1 }] }
    },
  })
  hideIds(1)
  fake.mine(fake.created('position', 1), [UNKNOWN, { words: [1n] }])
  await step()
  await fill()
  expect([asked, await positions(), await stored()]).toEqual([[0], ['1 in 2?'], ['0..2 to 2 open']])
  await fill()
  expect([asked, await positions(), await stored(), fake.faults()]).toEqual([[0, 1], ['1 in 2'], [], []])
})

test('a log is not absent before ten minutes', async () => {
  hideIds(1)
  fake.create('position', 1)
  await reachHead()
  await fill()
  clock.now += 599_999
  await fill()
  expect(await stored()).toEqual(['0..1 to 1 open'])
  clock.now += 1
  await fill()
  expect(await stored()).toEqual(['0..1 to 1 absent'])
})

describe('without logs', () => {
  beforeEach(async () => {
    fake.state.hasLogs = false
    for (const id of [1, 2, 3, 4, 5, 6]) {
      fake.create('position', id)
      fake.pass(1)
    }
    await reachHead()
    expect(await stored()).toEqual(['0..12 to 12 open'])
  })

  test('gaps wait, and grow with the index', async () => {
    await fill()
    expect(requests()).toEqual([])
    fake.create('position', 7)
    await reachHead()
    expect(await stored()).toEqual(['0..13 to 13 open'])
  })

  test('all rows get their logs once a node serves them, the newest first, a request at a time', async () => {
    fake.state.hasLogs = true
    fake.state.width = 5n
    fake.sent()
    await fill()
    expect(requests()).toEqual(['logs 8..12', 'logs 3..7', 'logs 0..2'])
    expect(await positions()).toEqual([1, 2, 3, 4, 5, 6].map((id) => `${id} in ${id * 2 - 1}`))
    expect([await stored(), await complete()]).toEqual([[], 12])
  })

  test('rows above a pruned block have their logs, and the others are counted', async () => {
    fake.state.hasLogs = true
    prune(6n)
    await fill()
    expect(await positions()).toEqual(['1 in 12?', '2 in 12?', '3 in 12?', '4 in 7', '5 in 9', '6 in 11'])
    expect([await stored(), await complete()]).toEqual([['0..12 to 5 pruned'], null])
    expect(await counts()).toEqual({ pending: 0, absent: 0, pruned: 3, oldestSeconds: null })
  })

  test('pruned blocks are requested again each hour, one at first, and read once a node has their logs', async () => {
    fake.state.hasLogs = true
    const { logs } = fake.chain
    let oldest = 6n
    const spans: string[] = []
    Object.assign(fake.chain, {
      logs: (span: Parameters<typeof logs>[0]) => {
        spans.push(`${span.from}..${span.upTo}`)
        return span.from < oldest ? Promise.reject(new LogsPruned('pruned', null)) : logs(span)
      },
    })
    await fill()
    expect(await stored()).toEqual(['0..12 to 5 pruned'])
    spans.length = 0
    clock.now += 3_599_999
    await fill()
    expect(spans).toEqual([])
    clock.now += 1
    await fill()
    expect([spans.splice(0), await stored()]).toEqual([['5..5'], ['0..12 to 5 pruned']])
    // A node has older logs now, but not all.
    oldest = 2n
    clock.now += 3_600_000
    await fill()
    expect([spans.splice(0).slice(0, 2), await stored()]).toEqual([['5..5', '0..4'], ['0..12 to 1 pruned']])
    oldest = 0n
    clock.now += 3_600_000
    await fill()
    expect([spans, await stored(), await complete()]).toEqual([['1..1', '0..0'], [], 12])
    expect((await positions())[0]).toBe('1 in 1')
  })

  test('a kill between two parts loses nothing, and the next run continues', async () => {
    fake.state.hasLogs = true
    fake.state.width = 5n
    const { logs } = fake.chain
    let answers = 0
    Object.assign(fake.chain, {
      logs: (span: Parameters<typeof logs>[0]) => {
        answers += 1
        return answers === 2 ? Promise.reject(new TypeError('killed')) : logs(span)
      },
    })
    await expect(fill()).rejects.toThrow('killed')
    expect([await stored(), await complete()]).toEqual([['0..12 to 7 open'], null])
    fake.sent()
    await fill()
    expect(requests()).toEqual(['logs 3..7', 'logs 0..2'])
    expect([(await positions())[0], await stored()]).toEqual(['1 in 1', []])
  })

  test('a reorg removes the part of a gap above the ancestor, with its rows', async () => {
    fake.create('position', 7)
    await reachHead()
    fake.reorg(12n)
    fake.pass(3)
    clock.now += 1_000
    await reachHead()
    expect([(await positions()).length, (await stored())[0]]).toEqual([6, '0..15 to 15 open'])
    fake.state.hasLogs = true
    await fill()
    expect([await positions(), await stored()]).toEqual([[1, 2, 3, 4, 5, 6].map((id) => `${id} in ${id * 2 - 1}`), []])
  })

  test('logs of another fork than that of the index are not stored', async () => {
    fake.state.hasLogs = true
    fake.reorg(11n)
    fake.create('position', 7)
    await fill()
    expect([(await positions())[0], await stored()]).toEqual(['1 in 12?', ['0..12 to 12 open']])
  })

  test('nothing is stored when the index is rolled back meanwhile', async () => {
    fake.state.hasLogs = true
    const { send } = fake.chain
    Object.assign(fake.chain, {
      send: async (batch: Parameters<typeof send>[0]) => {
        const answer = await send(batch)
        await rowsOf(database, 'DELETE FROM anchors')
        return answer
      },
    })
    await fill()
    expect([(await positions())[0], await stored()]).toEqual(['1 in 12?', ['0..12 to 12 open']])
  })
})

test('a chain whose older logs are pruned is read by ids first, and followed by logs after that', async () => {
  prune(4n)
  for (const id of [1, 2, 3]) {
    fake.create('position', id)
    fake.pass(1)
  }
  await reachHead()
  await fill()
  expect(await positions()).toEqual(['1 in 6?', '2 in 6?', '3 in 5'])
  fake.create('position', 4)
  expect((await step()).source).toBe('logs')
  await reachHead()
  expect((await positions()).at(-1)).toBe('4 in 7')
})

describe('a database of a build without gaps', () => {
  beforeEach(async () => {
    fake.mine(['FeesInitialized', rates])
    for (const id of [1, 2, 3]) fake.create('position', id)
    fake.pass(2)
    await reachHead()
  })

  test.each([
    ['NULL', 'logs 0..6'],
    ['4', 'logs 5..6'],
  ])('whose fee rates are complete up to %s: the blocks after that are read', async (number, request) => {
    await rowsOf(database, `UPDATE cursors SET fees_number = ${number}`)
    fake.sent()
    await fill()
    expect([requests(), await complete(), await stored()]).toEqual([[request], 6, []])
    await fill()
    expect(requests()).toEqual([])
  })

  test('whose rows lack logs: the blocks between their neighbours are read', async () => {
    await rowsOf(database, 'UPDATE positions SET tx_hash = NULL, log_index = NULL, block_number = 5 WHERE id = 2')
    fake.sent()
    await fill()
    expect(requests()).toEqual(['logs 2..5'])
    expect([await positions(), await stored()]).toEqual([['1 in 2', '2 in 3', '3 in 4'], []])
  })
})

test('nothing is requested without a gap, while nothing is indexed, or after the signal', async () => {
  await fill()
  fake.pass(2)
  await reachHead()
  fake.sent()
  await fill()
  await rowsOf(database, 'UPDATE cursors SET fees_number = NULL')
  await fill(gaps, AbortSignal.abort())
  expect([requests(), await complete()]).toEqual([[], null])
})

test('a gap whose logs are refused waits five seconds, and does not delay the others', async () => {
  hideIds(2, 5)
  for (const id of [1, 2, 3, 4, 5]) {
    fake.create('position', id)
    await reachHead()
  }
  hide()
  expect(await stored()).toEqual(['1..2 to 2 open', '4..5 to 5 open'])
  const { logs } = fake.chain
  Object.assign(fake.chain, {
    logs: (span: Parameters<typeof logs>[0]) => (span.upTo > 2n ? Promise.reject(upstream('refused')) : logs(span)),
  })
  await fill()
  expect([await positions(), await stored()]).toEqual([
    ['1 in 1', '2 in 2', '3 in 3', '4 in 4', '5 in 5?'],
    ['4..5 to 5 open'],
  ])
  const [row] = await rowsOf(database, 'SELECT round(extract(epoch FROM next_at - now())) AS s FROM log_gaps')
  expect(row?.s).toBe('5')
})

test('a gap above the cursor waits until the rows up to its end are complete', async () => {
  await reachHead()
  hideIds(1)
  fake.create('position', 1)
  await reachHead()
  hide()
  await rowsOf(database, 'UPDATE cursors SET block_number = 0')
  await fill()
  expect(await positions()).toEqual(['1 in 1?'])
  await rowsOf(database, 'UPDATE cursors SET block_number = 1')
  await fill()
  expect(await positions()).toEqual(['1 in 1'])
})
