import { pino } from 'pino'
import { getAddress, numberToHex, pad } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { LogsPruned, NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { changesAfter, newestChange } from '../../src/db/changes/changes.ts'
import { numberRows } from '../../src/db/index/ledger.ts'
import { readLedgerState } from '../../src/db/index/ledger-state.ts'
import type { Lease } from '../../src/db/index/work/lease.ts'
import type { Database } from '../../src/db/pool.ts'
import { ledger } from '../../src/db/schema/ledger.ts'
import { auditLedger, compareLedger } from '../../src/indexer/audit/ledger.ts'
import { createLogGaps } from '../../src/indexer/log-gaps.ts'
import { createStep } from '../../src/indexer/step.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { ledgerTypeNames, ledgerTypes } from '../../src/protocol/ledger.ts'
import { createFakeChain, type FakeChain, UNKNOWN } from '../support/fake-log-chain.ts'
import { CHAIN, leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'

/* The ledger of the index, over a chain in memory whose blocks a test mines and replaces. */

const log = pino({ level: 'silent' })
const WALLET = getAddress(`0x${'5a'.repeat(20)}`)

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let lease: Lease
let fake: FakeChain
let clock: { now: number }
let step: () => Promise<unknown>

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  lease = await leaseOf(database)
  fake = createFakeChain()
  clock = { now: 50_000 }
  const now = () => clock.now
  const take = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log, now, proveEveryMs: 0 })
  step = () => take(lease)
})

const cursor = async () => (await rowsOf(database, 'SELECT * FROM cursors'))[0]

const reachHead = async (): Promise<void> => {
  for (let steps = 0; steps < 60; steps += 1) {
    await step()
    if (Object((await cursor())?.block_hash).toString('hex') === fake.head().hash.slice(2)) return
    clock.now += 250
  }
  throw new Error('the index does not reach the head')
}

const fill = async (): Promise<void> => {
  await rowsOf(database, 'UPDATE log_gaps SET next_at = now()')
  await createLogGaps({ chain: fake.chain, database, log, now: () => clock.now }).fill(new AbortController().signal)
}

/** Rows as block, log index and type. */
const rows = async () =>
  (await rowsOf(database, 'SELECT block_number, log_index, type FROM ledger ORDER BY block_number, log_index')).map(
    (row) => `${row.block_number} ${row.log_index} ${row.type}`,
  )
const gaps = async () =>
  (await rowsOf(database, 'SELECT from_block, to_block, unread_to, ledger_only FROM log_gaps ORDER BY from_block')).map(
    (row) => `${row.from_block}..${row.to_block} to ${row.unread_to}${row.ledger_only === true ? ' ledger only' : ''}`,
  )
/** The block up to which each log is in the ledger or in a gap. */
const knownTo = async () => {
  const number = (await cursor())?.ledger_number
  return number === null ? null : Number(number)
}
const differences = async () => (await compareLedger({ chain: fake.chain, database }, 0n)).differences

/** Every log of the ABIs. */
const names = [...protocolAbi, ...deployedLogsAbi].flatMap((item) => (item.type === 'event' ? item.name : []))

/** The arguments of logs that are not zero or empty. */
const given = {
  ...{ eventId: 1n, depositId: 1n, positionId: 1n, amount: 7n, proposalId: pad('0x1') },
  ...{ _diamondCut: [], _init: WALLET, _calldata: '0x' },
}

/** One log of each name, after an event, a deposit and a position that they can be about. */
const mineEveryLog = (): void => {
  fake.create('event', 1)
  fake.create('deposit', 1)
  fake.create('position', 1)
  const creations = ['HedgeEventCreated', 'LiquidityDeposited', 'ProtectionPurchased']
  const ids: Readonly<Record<string, object>> = {
    HedgeEventCreated: fake.created('event', 2)[1],
    LiquidityDeposited: fake.created('deposit', 2)[1],
    ProtectionPurchased: fake.created('position', 2)[1],
  }
  for (const name of creations) fake.mine([name, { ...ids[name] }])
  const others = names.filter((name) => !/Created$|^LiquidityDeposited$|^ProtectionPurchased$/.test(name))
  fake.mine(...others.map((name) => [name, given] as const), [UNKNOWN, { words: [1n] }])
}

test('each log of the protocol has a type, and each of them one code', () => {
  const typed = ledgerTypeNames.flatMap((name): readonly string[] => ledgerTypes[name].logs)
  expect(typed.toSorted()).toEqual([...new Set(names)].toSorted())
  const codes = ledgerTypeNames.map((name) => ledgerTypes[name].code)
  expect(new Set(codes).size).toBe(codes.length)
})

test('every log becomes one row, with the event of a claim and the creator who changed a pool', async () => {
  mineEveryLog()
  await reachHead()
  expect(await rows()).toHaveLength(names.length + 1)
  expect(await differences()).toEqual([])
  const ofType = (type: keyof typeof ledgerTypes) =>
    rowsOf(
      database,
      `SELECT event_id::integer, deposit_id::integer, position_id::integer, encode(wallet, 'hex') AS wallet, amount::integer
        FROM ledger WHERE type = ${ledgerTypes[type].code}`,
    )
  const eventOf = async (table: string) =>
    (await rowsOf(database, `SELECT event_id::integer AS id FROM ${table} WHERE id = 1`))[0]?.id
  expect(await ofType('payout.claimed')).toMatchObject([
    { event_id: await eventOf('positions'), deposit_id: null, position_id: 1 },
  ])
  expect(await ofType('capital.withdrawn')).toMatchObject([
    { event_id: await eventOf('deposits'), deposit_id: 1, position_id: null, amount: 7 },
  ])
  const [event] = await rowsOf(database, "SELECT encode(creator, 'hex') AS creator FROM events WHERE id = 1")
  expect(await ofType('pool.updated')).toMatchObject([{ event_id: 1, wallet: event?.creator }])
  expect(await ofType('unknown')).toEqual([
    { event_id: null, deposit_id: null, position_id: null, wallet: null, amount: null },
  ])
})

test('a reorg removes the rows of orphaned blocks and of no other one, and those of the new blocks follow', async () => {
  fake.create('event', 1)
  fake.mine(['PoolSettingsUpdated', { eventId: 1n }], ['Paused', { by: WALLET }])
  fake.mine(['RateSubmitted', { eventId: 1n }])
  await reachHead()
  const all = await rows()
  expect(all).toHaveLength(4)
  fake.reorg(2n)
  fake.pass(1)
  fake.mine(['Unpaused', { by: WALLET }])
  await reachHead()
  expect(await rows()).toEqual([...all.slice(0, 3), `4 0 ${ledgerTypes['protocol.unpaused'].code}`])
  expect(await knownTo()).toBe(4)
  expect(await differences()).toEqual([])
})

/** What the feed has since a number, with `activity` where the activity changed. */
const fedSince = async (since: number) =>
  (
    await rowsOf(
      database,
      `SELECT concat_ws(' ', type, nullif(key, ''), CASE WHEN activity > ${since} THEN 'activity' END) AS it FROM feed WHERE seq > ${since} ORDER BY type, key`,
    )
  ).map(({ it }) => it)
/** The rows that are news of a wallet, or whose removal is, in the order of their numbers. */
const numbered = async (table: 'ledger' | 'ledger_reversals') =>
  (
    await rowsOf(
      database,
      `SELECT concat_ws(' ', block_number, log_index) AS it FROM ${table} WHERE seq IS NOT NULL ORDER BY seq`,
    )
  ).map(({ it }) => it)
const ofWallet = (wallet: string) => `wallet ${wallet.toLowerCase()} activity`
const creatorOf = async (event: number) =>
  `0x${(await rowsOf(database, `SELECT encode(creator, 'hex') AS it FROM events WHERE id = ${event}`))[0]?.it}`

test('the feed names whose activity a new row or a reorg changes', async () => {
  fake.create('event', 1)
  await reachHead()
  const created = await database.run(newestChange)
  fake.mine(['Paused', { by: WALLET }], ['SubmissionsCleared', { eventId: 1n }], [UNKNOWN, { words: [1n] }])
  await reachHead()
  const changed = ['event 1 activity', 'protocol activity', ofWallet(WALLET)].toSorted()
  expect(await fedSince(created)).toEqual(expect.arrayContaining(changed))
  fake.create('position', 1)
  await reachHead()
  const ofLog = await database.run(newestChange)
  fake.mine(['PayoutClaimed', { positionId: 1n, hedger: WALLET }])
  await reachHead()
  const eventOf = (await rowsOf(database, 'SELECT event_id FROM positions'))[0]?.event_id
  expect(await fedSince(ofLog)).toEqual(expect.arrayContaining([`event ${eventOf} activity`, ofWallet(WALLET)]))
  const indexed = await database.run(newestChange)
  // The row of the first step is of a reset, and logs of no wallet have no number.
  const news = await numbered('ledger')
  expect(news).toEqual(['2 0', '3 0', '4 0'])
  fake.reorg(1n)
  fake.pass(3)
  await reachHead()
  expect(await numbered('ledger_reversals')).toEqual(news.toReversed())
  expect(await rows()).toHaveLength(1)
  expect(await fedSince(indexed)).toEqual(expect.arrayContaining(changed))
})

test('a row has no number while the feed of its chain is suspended', async () => {
  fake.create('event', 1)
  await reachHead()
  const give = async (floor: string) => {
    await rowsOf(database, `UPDATE feed_floors SET seq = ${floor}`)
    await database.run(async (handle) => numberRows(handle, CHAIN, await handle.select().from(ledger), 5))
    return numbered('ledger')
  }
  expect([await give('NULL'), await give('0')]).toEqual([[], ['1 0']])
})

test('logs that a node left out with that of an event are rows once they are read', async () => {
  fake.create('event', 1)
  await reachHead()
  fake.state.hides = ({ name }) => name !== 'Paused'
  fake.mine(fake.created('event', 2), ['Paused', { by: WALLET }], ['RateSubmitted', { eventId: 1n }])
  for (let waits = 0; waits < 12; waits += 1) {
    await step()
    clock.now += 500
  }
  expect(await rows()).toEqual([`1 0 1`, `2 1 ${ledgerTypes['protocol.paused'].code}`])
  expect([await gaps(), await knownTo()]).toEqual([['1..2 to 2'], 2])
  fake.state.hides = () => false
  const since = await database.run(newestChange)
  await fill()
  expect(await rows()).toHaveLength(4)
  const found = ['event 1 activity', 'event 2 activity', ofWallet(await creatorOf(2))]
  expect(await fedSince(since)).toEqual(expect.arrayContaining(found))
  expect(await numbered('ledger')).toEqual(expect.arrayContaining(['2 0', '2 1']))
  expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 2, []])
})

describe('an index that a build without a ledger', () => {
  beforeEach(async () => {
    fake.state.width = 2n
    mineEveryLog()
    fake.pass(3)
    await reachHead()
  })

  test('wrote is filled from its newest block down, without reading entities again', async () => {
    const all = await rows()
    await rowsOf(database, 'DELETE FROM ledger; UPDATE cursors SET ledger_number = NULL; DELETE FROM refresh_queue')
    const since = await database.run(newestChange)
    const stop = new AbortController()
    const { logs } = fake.chain
    const asked: bigint[] = []
    Object.assign(fake.chain, {
      logs: (span: { readonly from: bigint; readonly upTo: bigint }) => {
        asked.push(span.from)
        if (asked.length === 2) stop.abort()
        return logs(span)
      },
    })
    await createLogGaps({ chain: fake.chain, database, log, now: () => clock.now }).fill(stop.signal)
    expect(asked).toEqual([9n, 7n])
    expect([await gaps(), await knownTo()]).toEqual([['0..10 to 6 ledger only'], 10])
    const state = () => database.run((handle) => readLedgerState(handle, CHAIN))
    expect(await state()).toMatchObject({ completeFrom: 7n, unreadBlocks: 7n })
    await fill()
    expect(await rows()).toEqual(all)
    expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 10, []])
    expect(await state()).toMatchObject({ completeFrom: null, unreadBlocks: 0n })
    expect(await rowsOf(database, 'SELECT * FROM refresh_queue')).toEqual([])
    expect(await rowsOf(database, `SELECT key FROM feed WHERE seq > ${since}`)).toEqual([])
    expect(await numbered('ledger')).toEqual([])
    expect((await database.run((handle) => changesAfter(handle, since))).every(({ scopes }) => scopes === null)).toBe(
      true,
    )
  })

  test('continued lacks only the blocks that it wrote', async () => {
    await rowsOf(database, 'DELETE FROM ledger WHERE block_number > 6; UPDATE cursors SET ledger_number = 6')
    fake.mine(['RateSubmitted', { eventId: 1n }])
    await reachHead()
    expect(await knownTo()).toBe(6)
    await fill()
    expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 11, []])
    expect(
      fake
        .sent()
        .flat()
        .filter((text) => text.startsWith('logs')),
    ).not.toContain('logs 5..6')
  })

  test('continued during the fill lacks those blocks too, which become a gap of their own', async () => {
    await rowsOf(database, 'DELETE FROM ledger; UPDATE cursors SET ledger_number = NULL')
    const stop = new AbortController()
    const { logs } = fake.chain
    Object.assign(fake.chain, {
      logs: (span: { readonly from: bigint; readonly upTo: bigint }) => {
        stop.abort()
        return logs(span)
      },
    })
    await createLogGaps({ chain: fake.chain, database, log, now: () => clock.now }).fill(stop.signal)
    expect(await gaps()).toEqual(['0..10 to 8 ledger only'])
    fake.mine(['Paused', { by: WALLET }])
    fake.mine(['RateSubmitted', { eventId: 1n }])
    await reachHead()
    // Such a build writes no rows, and moves the cursor without the columns that it does not know.
    await rowsOf(database, 'DELETE FROM ledger WHERE block_number > 10; UPDATE cursors SET ledger_number = 10')
    const state = () => database.run((handle) => readLedgerState(handle, CHAIN))
    expect(await state()).toMatchObject({ completeFrom: 13n })
    await createLogGaps({ chain: fake.chain, database, log, now: () => clock.now }).fill(AbortSignal.abort())
    expect([await gaps(), await knownTo()]).toEqual([['0..10 to 8 ledger only', '11..12 to 12 ledger only'], 12])
    fake.mine(['Unpaused', { by: WALLET }])
    await reachHead()
    expect([await knownTo(), await state()]).toMatchObject([13, { completeFrom: 13n, unreadBlocks: 11n }])
    Object.assign(fake.chain, { logs })
    await fill()
    expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 13, []])
    expect(await state()).toMatchObject({ completeFrom: null, unreadBlocks: 0n })
  })

  test('rolled back before this one does is made again', async () => {
    await rowsOf(database, 'UPDATE cursors SET ledger_number = NULL')
    fake.reorg(8n)
    fake.pass(4)
    await reachHead()
    expect(await knownTo()).toBe(null)
    await fill()
    expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 12, []])
  })

  test('rolled back loses the rows of orphaned blocks, and the new ones are written meanwhile', async () => {
    // Such a build deletes the facts of the orphaned blocks, and the columns of the cursor that it does not know.
    await rowsOf(
      database,
      `UPDATE ledger SET block_hash = '\\x01', block_number = block_number + 4 WHERE block_number > 5;
        DELETE FROM positions WHERE block_number > 5; DELETE FROM anchors WHERE block_number > 5;
        UPDATE cursors SET ledger_number = NULL, block_number = 5, block_hash = anchors.block_hash FROM anchors WHERE anchors.block_number = 5`,
    )
    fake.mine(['RateSubmitted', { eventId: 1n }])
    await reachHead()
    await fill()
    expect([await gaps(), await knownTo(), await differences()]).toEqual([[], 11, []])
  })
})

test('the state of the ledger has what is left to read, the stored logs, and how late its sums are', async () => {
  mineEveryLog()
  await reachHead()
  const state = () => database.run((handle) => readLedgerState(handle, CHAIN))
  await rowsOf(database, 'ANALYZE ledger')
  expect((await state()).logs).toBe(BigInt(names.length + 1))
  const complete = { completeFrom: null, unreadBlocks: 0n, prunedBlocks: 0n, gaps: 0, logs: expect.any(BigInt) }
  const at = async (blocks: string, age: number) => {
    await rowsOf(database, `UPDATE ledger SET block_timestamp = extract(epoch FROM now()) - ${age}`)
    await rowsOf(database, `UPDATE cursors SET totals_number = ${blocks}`)
    return state()
  }
  expect(await at('NULL', 3_500)).toEqual({ ...complete, summedTo: null, sumsLagSeconds: 0 })
  const late = await at('NULL', 3_700)
  expect(late).toEqual({ ...complete, summedTo: null, sumsLagSeconds: expect.any(Number) })
  expect(Math.abs(late.sumsLagSeconds - 100)).toBeLessThan(60)
  expect(await at('block_number', 3_700)).toMatchObject({ summedTo: fake.head().number, sumsLagSeconds: 0 })
  await rowsOf(
    database,
    `INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to, state) VALUES
      (${CHAIN}, 1, 3, 2, 'open'), (${CHAIN}, 4, 4, 4, 'open'), (${CHAIN}, 0, 0, 0, 'pruned'), (${CHAIN}, 5, 6, 6, 'absent')`,
  )
  expect(await state()).toMatchObject({ completeFrom: 5n, unreadBlocks: 4n, prunedBlocks: 1n, gaps: 2 })
  await rowsOf(database, 'UPDATE cursors SET ledger_number = block_number - 3')
  expect(await state()).toMatchObject({ completeFrom: fake.head().number + 1n, unreadBlocks: 7n })
})

describe('the audit of the ledger', () => {
  const audit = () => auditLedger({ chain: fake.chain, database, log })
  const findings = async () =>
    (await rowsOf(database, 'SELECT differences::integer, repaired::integer, last_difference FROM audits'))[0]

  beforeEach(async () => {
    mineEveryLog()
    await reachHead()
    await rowsOf(
      database,
      `INSERT INTO audits (chain_id, kind, next_id, block_number, block_hash, audited_at, compared, rounds, differences, repaired)
        VALUES (${CHAIN}, 'event', 0, 1, '\\x00', now(), 0, 0, 0, 0)`,
    )
  })

  test('finds nothing in a ledger that equals the chain, with one request', async () => {
    fake.sent()
    expect(await audit()).toBe(false)
    expect(fake.sent()).toHaveLength(1)
    expect(await findings()).toMatchObject({ differences: 0, repaired: 0 })
  })

  test('finds and repairs a removed and a changed row of each type, and finds an added one', async () => {
    const many = ledgerTypeNames.filter((name) => ledgerTypes[name].logs.length > 0 || name === 'unknown').length
    const before = await rows()
    const one = '(SELECT min(ctid) FROM ledger GROUP BY type)'
    expect(await rowsOf(database, `DELETE FROM ledger WHERE ctid IN ${one} RETURNING type`)).toHaveLength(many)
    expect(await differences()).toEqual(Array(many).fill(expect.stringMatching(/: missing in the index$/)))
    await audit()
    expect(await rows()).toEqual(before)

    await rowsOf(database, `UPDATE ledger SET data = data || '\\x00', amount = 12345 WHERE ctid IN ${one}`)
    const changed = [
      expect.stringMatching(/ data: .* in the index, .* on the chain$/),
      expect.stringMatching(/ amount: 12345 in the index, .* on the chain$/),
    ]
    expect(await differences()).toEqual(Array(many).fill(changed).flat())
    await audit()
    expect(await differences()).toEqual([])
    expect(await findings()).toMatchObject({ differences: 3 * many, repaired: 2 * many })

    await rowsOf(
      database,
      `INSERT INTO ledger SELECT chain_id, block_number, block_hash, block_timestamp, log_index + 900, tx_hash, topics, data, type
        FROM ledger WHERE ctid IN ${one}`,
    )
    await audit()
    expect(await findings()).toMatchObject({
      ...{ differences: 4 * many, repaired: 2 * many, last_difference: expect.stringMatching(/: not on the chain$/) },
    })
    expect(await rows()).toHaveLength(before.length + many)
    console.info(`of ${many} types, the audit found ${many} removed, ${many} changed and ${many} added rows`)
  })

  test.each([
    ['blockHash', () => pad('0xbad'), 'is not the block of its logs'],
    ['blockTimestamp', () => numberToHex(fake.block(0n).timestamp + 1n), ''],
  ] as const)('takes no %s from a log: it reads the block before it repairs', async (field, value, refusal) => {
    fake.pass(100)
    await reachHead()
    const before = await rows()
    fake.state.claims = (log) => ({ ...log, [field]: value() })
    expect(await audit()).toBe(false)
    expect(await rows()).toEqual(before)
    expect(await differences().catch(({ message }) => message)).toEqual(
      refusal === '' ? [] : expect.stringContaining(refusal),
    )
    expect(await findings()).toMatchObject({ differences: 0, repaired: 0 })
  })

  test('reports a repair in the feed to the old and the new wallet of a row', async () => {
    const other = `0x${'77'.repeat(20)}`
    await rowsOf(
      database,
      `UPDATE ledger SET wallet = '\\x${other.slice(2)}', event_id = 9, seq = 1 WHERE type = ${ledgerTypes['protocol.paused'].code}`,
    )
    const since = await database.run(newestChange)
    const news = await numbered('ledger')
    await audit()
    expect([news.length > 0, await numbered('ledger')]).toEqual([true, news])
    const by = `0x${'0'.repeat(40)}`
    expect(await fedSince(since)).toEqual(['event 9 activity', ofWallet(by), ofWallet(other)])
  })

  test('reports a repair of the fees to the creators of later events, whose fee it is', async () => {
    fake.mine(['FeesInitialized', { creationFee: 5n }], fake.created('event', 3))
    await reachHead()
    await rowsOf(
      database,
      `DELETE FROM ledger WHERE type = ${ledgerTypes['fees.set'].code} AND block_number = (SELECT max(block_number) FROM ledger)`,
    )
    const since = await database.run(newestChange)
    await audit()
    const found = ['event 3 activity', 'protocol activity', ofWallet(await creatorOf(3))]
    // The event has other rates, too, which its owner sees.
    expect(await fedSince(since)).toEqual([...found, expect.stringMatching(/^wallet 0x\w{40}$/)])
  })

  test('stores what follows from the logs of repaired rows: settlements, fee rates and what to read again', async () => {
    const kept = {
      settlement_logs: 'SELECT * FROM settlement_logs ORDER BY event_id, block_number',
      fee_rates: 'SELECT * FROM fee_rates ORDER BY block_number, log_index',
    }
    const stored = async () => Promise.all(Object.values(kept).map((statement) => rowsOf(database, statement)))
    const before = await stored()
    expect(before.map(({ length }) => length > 0)).toEqual([true, true])
    for (const table of Object.keys(kept)) await rowsOf(database, `DELETE FROM ${table}`)
    await rowsOf(database, 'DELETE FROM refresh_queue')
    await audit()
    // Rows that equal their logs are not made again.
    expect(await stored()).toEqual([[], []])
    await rowsOf(database, 'DELETE FROM ledger')
    await audit()
    expect(await stored()).toEqual(before)
    const queued = await rowsOf(database, 'SELECT DISTINCT subject FROM refresh_queue ORDER BY subject')
    expect(queued.map(({ subject }) => subject)).toEqual(['chain', 'deposit', 'event', 'position'])
  })

  test('goes on where it ended, begins again after the last block, and repairs nothing of a single answer', async () => {
    fake.state.width = 4n
    const next = async () => Number((await rowsOf(database, 'SELECT ledger_next AS next FROM audits'))[0]?.next)
    const seen: [boolean, number][] = []
    for (let runs = 0; runs < 3; runs += 1) seen.push([await audit(), await next()])
    expect(seen).toEqual([
      [true, 4],
      [false, 0],
      [true, 4],
    ])
    const before = await rows()
    let answers = 0
    fake.state.hides = ({ name }, by) => by === 'range' && name === 'HedgeEventCreated' && answers++ === 0
    await audit()
    expect([await rows(), (await findings())?.differences]).toEqual([before, 0])
  })

  describe('where nodes do not show everything', () => {
    const next = async () => Number((await rowsOf(database, 'SELECT ledger_next AS next FROM audits'))[0]?.next)
    const { logs } = createFakeChain().chain
    let asked: string[]
    /** The fields and the message of each log line. */
    let lines: Record<string, unknown>[]
    const warned = () => lines.filter(({ level }) => level === 40)
    const warning = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
    /** Removes the logs of blocks below one from all nodes. */
    const prune = (below: bigint): void => {
      Object.assign(fake.chain, {
        logs: (span: Parameters<typeof logs>[0]) => {
          asked.push(`${span.from}..${span.upTo}`)
          return span.from < below ? Promise.reject(new LogsPruned('pruned', null)) : all(span)
        },
      })
    }
    let all: typeof logs
    const auditAloud = () => auditLedger({ chain: fake.chain, database, log: warning })

    beforeEach(() => {
      asked = []
      lines = []
      all = fake.chain.logs
    })

    test('goes on after blocks whose logs no node has, and compares them once a node has them', async () => {
      fake.pass(1_000)
      await reachHead()
      const before = await rows()
      await rowsOf(database, 'DELETE FROM ledger WHERE block_number IN (2, 3, 4, 7)')
      fake.state.width = 4n
      prune(4n)
      expect(await auditAloud()).toBe(true)
      expect(await rows()).toEqual(before.filter((row) => !/^[23] /.test(row)))
      expect(warned()).toMatchObject([
        { from: '0', to: '3', msg: 'the audit of the ledger skips blocks whose logs no node has' },
      ])
      // Bisection finds the first block with logs, of which the repair reads the range again.
      expect(asked.length).toBeLessThan(16)
      expect([asked[0], asked.slice(-2)]).toEqual(['0..1007', ['4..1007', '4..1007']])
      expect(await next()).toBe(8)
      expect([await auditAloud(), await next(), warned().length]).toEqual([true, 12, 1])
      prune(0n)
      await rowsOf(database, 'UPDATE audits SET ledger_next = 0')
      expect([await auditAloud(), await rows()]).toEqual([true, before])
    })

    test('waits after two requests while no node has any logs', async () => {
      prune(10_000n)
      await rowsOf(database, 'UPDATE audits SET ledger_next = 2')
      expect([await auditAloud(), await next(), asked, warned()]).toEqual([false, 2, ['2..7', '7..7'], []])
    })

    test('goes on after rows without a log whose receipts no node shows, and reports only them', async () => {
      const one = `FROM ledger WHERE log_index < 900 AND type = ${ledgerTypes['protocol.unpaused'].code}`
      const [unpaused] = await rowsOf(database, `SELECT block_number, log_index, encode(tx_hash, 'hex') AS tx ${one}`)
      const [long, pruned, later] = ['a1', 'a2', 'a3'].map((byte) => byte.repeat(32))
      const add = (tx: string | undefined, at: number) =>
        rowsOf(
          database,
          `INSERT INTO ledger SELECT chain_id, block_number, block_hash, block_timestamp, ${at}, '\\x${tx}', topics, data, type ${one}`,
        )
      await add(long, 901)
      await add(pruned, 902)
      fake.state.hides = ({ name }, by) => by === 'range' && name === 'Unpaused'
      const place = { blockNumber: BigInt(String(unpaused?.block_number)), logIndex: unpaused?.log_index }
      const refused = (code: number, message: string) => ({ ok: false, error: new NodeError({ code, message }) })
      const receiptOf = ({ params: [hash] }: Request<unknown>): object => {
        if (hash === `0x${pruned}`) return refused(4444, 'pruned history unavailable')
        if (hash === `0x${later}`) return refused(429, 'rate limit')
        const logs = [{ address: fake.chain.deployment.diamond, ...place }]
        return { ok: true, value: hash === `0x${unpaused?.tx}` ? { logs } : null }
      }
      const { send } = fake.chain
      Object.assign(fake.chain, {
        send: async (batch: Readonly<Record<string, readonly Request<unknown>[]>>) => {
          const { receipts } = batch
          if (receipts === undefined) return send(batch)
          if (receipts.some(({ params: [hash] }) => hash === `0x${long}`))
            throw unavailable('too long', new NodeUnreachable('too long', { kind: 'size', usable: null }))
          return { receipts: receipts.map(receiptOf) }
        },
      })
      const unread = (at: number) =>
        `ledger block 7 log ${at}: without a log, and no node shows the receipt of its transaction`
      expect(await differences()).toEqual([unread(901), unread(902)])
      expect([await audit(), await next()]).toEqual([false, 0])
      expect(await findings()).toMatchObject({ differences: 2, repaired: 0, last_difference: unread(902) })
      await add(later, 903)
      await rowsOf(database, 'UPDATE audits SET ledger_next = 3')
      expect([await audit(), await next()]).toEqual([false, 3])
    })
  })

  describe('with a row that the best endpoint returns', () => {
    type Query = FakeChain['chain']['queryAllEndpoints']
    const refused = { ok: false, error: new NodeError({ code: 4444, message: 'pruned history unavailable' }) } as const
    /** How endpoints answer when all of them are asked for the row. */
    const ways = {
      same: {},
      without: { hides: ({ name }: { name: string }, by: string) => by === 'probe' && name === 'Unpaused' },
      'other data': { claims: (log: object) => ({ ...log, data: `0x${'77'.repeat(32)}` }) },
      'other topics': { claims: (log: { topics: string[] }) => ({ ...log, topics: log.topics.slice(0, 1) }) },
      'another transaction': { claims: (log: object) => ({ ...log, transactionHash: pad('0x77') }) },
      'another block': { claims: (log: object) => ({ ...log, blockHash: pad('0x77') }) },
      'another contract': { claims: (log: object) => ({ ...log, address: WALLET }) },
      'another hash of the block': { block: { hash: pad('0x77') } },
      'another time of the block': { block: { timestamp: 1n } },
      'no block': { block: null },
      refusal: { isRefused: true },
    } as const
    type Way = keyof typeof ways
    /** Replaces the endpoints by those that answer in these ways; null when they are out of reach. */
    const configure = (configured: number, answered: readonly Way[] | null): void => {
      const { queryAllEndpoints, status } = fake.chain
      const { hides, claims } = fake.state
      const answer = async (batch: Parameters<Query>[0], way: Way, endpoint: number) => {
        const { block = undefined, isRefused = false, ...state } = ways[way] as Record<string, unknown>
        Object.assign(fake.state, state)
        const [found = { outcomes: {} }] = await queryAllEndpoints(batch)
        Object.assign(fake.state, { hides, claims })
        const { blocks, logs } = found.outcomes as unknown as Record<string, { ok: true; value: object }[]>
        const changed = (value: object) => block && { ...value, ...block }
        return {
          endpoint,
          outcomes: {
            blocks: blocks?.map((it) => (block === undefined ? it : { ok: true, value: changed(it.value) })),
            logs: logs?.map((it) => (isRefused ? refused : it)),
          },
        }
      }
      Object.assign(fake.chain, {
        async queryAllEndpoints(batch: Parameters<Query>[0]) {
          if (answered === null) throw unavailable('no node answers')
          const answers: unknown[] = []
          for (const [at, way] of answered.entries()) answers.push(await answer(batch, way, at))
          return answers
        },
        status: () => ({ ...status(), endpoints: Array.from({ length: configured }, () => status().endpoints[0]) }),
      })
    }

    test.each<[boolean, number, readonly Way[] | null]>([
      [true, 1, ['same']],
      [true, 2, ['same', 'same']],
      [true, 3, ['same', 'same']],
      [true, 3, ['same', 'no block', 'same']],
      [true, 3, ['same', 'refusal', 'same']],
      [false, 2, ['same']],
      [false, 2, ['same', 'refusal']],
      [false, 2, ['same', 'no block']],
      [false, 3, ['same', 'same', 'without']],
      [false, 2, ['without', 'without']],
      [false, 2, null],
      ...Object.keys(ways).map((way): [boolean, number, Way[]] => [way === 'same', 2, ['same', way as Way]]),
    ])('stores it: %s, of %i endpoints that answer %j', async (isStored, configured, answered) => {
      const before = await rows()
      const [removed] = await rowsOf(
        database,
        `DELETE FROM ledger WHERE type = ${ledgerTypes['protocol.unpaused'].code} RETURNING block_number, log_index`,
      )
      const text = `ledger block ${removed?.block_number} log ${removed?.log_index}: missing in the index`
      const since = await database.run(newestChange)
      const lines: Record<string, unknown>[] = []
      configure(configured, answered)
      const errors = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) })
      await rowsOf(database, 'UPDATE audits SET ledger_next = 3')
      await auditLedger({ chain: fake.chain, database, log: errors })
      expect(lines).toMatchObject([{ difference: text, repaired: isStored }])
      expect(await findings()).toMatchObject({ differences: 1, repaired: isStored ? 1 : 0, last_difference: text })
      expect((await rowsOf(database, 'SELECT ledger_next FROM audits'))[0]).toEqual({ ledger_next: '0' })
      expect((await rows()).length).toBe(before.length - (isStored ? 0 : 1))
      if (!isStored) expect(await database.run(newestChange)).toBe(since)
    })

    test('asks all endpoints for at most 20 blocks at once', async () => {
      for (let blocks = 0; blocks < 21; blocks += 1) fake.mine(['Paused', { by: WALLET }])
      await reachHead()
      const before = await rows()
      await rowsOf(database, 'DELETE FROM ledger WHERE block_number > 7')
      fake.sent()
      await audit()
      expect(fake.sent().filter(([first]) => first === 'all endpoints')).toHaveLength(2)
      expect(await rows()).toEqual(before)
    })
  })
})
