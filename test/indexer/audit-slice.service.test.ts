import { eq, sql } from 'drizzle-orm'
import { type Logger, pino } from 'pino'
import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { readAudit } from '../../src/db/index/audit/runs.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { newestAnchor } from '../../src/db/index/work/progress.ts'
import { rollBack } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { anchors, cursors, refreshQueue } from '../../src/db/schema/index-state.ts'
import { audits } from '../../src/db/schema/work.ts'
import { audit } from '../../src/indexer/audit/audit.ts'
import { type Confirm, createConfirm } from '../../src/indexer/audit/repair.ts'
import { auditSlice } from '../../src/indexer/audit/slice.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { readAllFacts } from '../support/read-facts.ts'
import { byForm } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

const silent = pino({ level: 'silent' })

let world: Awaited<ReturnType<typeof startWorld>>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let snapshot: Hex
let chain: Chain
let indexed: TestDatabase
let store: TestDatabase
let database: Database

const openChain = () =>
  createChain({ deployment: world.deployment, rpcUrls: [proxy.url], timeoutMs: 15_000, headMaxAgeMs: 1, log: silent })

const connect = (of: TestDatabase): void => {
  chain = openChain()
  database = openDatabase(of.url)
}
const disconnect = () => Promise.all([database.close(), chain.close()])

beforeAll(async () => {
  world = await startWorld()
  proxy = await startNodeProxy(world.anvil.url)
  indexed = await createTestDatabase()
  connect(indexed)
  await indexAll({ chain, database })
  await prove()
  await disconnect()
})
afterAll(async () => {
  await proxy?.close()
  await world?.close()
  await indexed?.close()
})
beforeEach(async () => {
  proxy.honest()
  snapshot = await world.actions.node.snapshot()
  store = await createTestDatabase(indexed)
  connect(store)
})
afterEach(async () => {
  await disconnect()
  await store.close()
  await world.actions.node.revert({ id: snapshot })
})

/** Stores a proof, as the follower does after it has compared all ids. */
const prove = async (): Promise<void> => {
  const proven = await database.run((handle) => newestAnchor(handle, 8453))
  if (proven === null) throw new Error('nothing is indexed')
  const heartbeat = {
    head: proven,
    proven,
    isQuiet: false,
    source: 'logs',
    problem: null,
    nodes: chain.status(),
  } as const
  await database.run((handle) => saveHeartbeat(handle, 8453, heartbeat))
}

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))

/** One run of the audit in a new process; returns its log lines by level. */
const runOnce = async (confirm: Confirm = createConfirm(chain)) => {
  const warn = vi.fn()
  const error = vi.fn()
  const log: Logger = Object.assign(pino({ level: 'silent' }), { warn, error })
  await auditSlice({ chain, database, confirm, log })
  return { warned: warn.mock.calls.map(([fields]) => fields), alarmed: error.mock.calls.map(([fields]) => fields) }
}

/** A round over the three kinds, each of which fits one slice. */
const round = async (confirm?: Confirm) => {
  const runs = [await runOnce(confirm), await runOnce(confirm), await runOnce(confirm)]
  return { warned: runs.flatMap(({ warned }) => warned), alarmed: runs.flatMap(({ alarmed }) => alarmed) }
}

const state = async () => {
  const audited = await database.run((handle) => readAudit(handle, 8453))
  if (audited === null) throw new Error('nothing was audited')
  const { compared, rounds, differences, repaired, last } = audited
  return { compared, rounds, differences, repaired, last: last?.difference ?? null }
}

const facts = async (kind: 'event' | 'deposit' | 'position') =>
  (await readAllFacts(database, 8453))[`${kind}s` as const]

const differences = async () => (await audit({ chain, database, log: silent, pauseMs: 1 })).differences

test('the token of an event that differs from the chain is reported, and is right once the event is observed again', async () => {
  await run(`UPDATE events SET payment_token = NULL WHERE id = 1`)
  const { alarmed } = await round()
  const difference = expect.stringMatching(/^events 1: paymentToken is null in the index, 0x\w+ on the chain$/)
  expect(alarmed).toEqual([{ chainId: 8453, difference, repaired: 'queued to be observed again' }])
  await createObserver({ chain, database, log: silent }).observeAll(new AbortController().signal)
  expect(await round()).toEqual({ warned: [], alarmed: [] })
  expect(await differences()).toEqual([])
})

describe('an index that equals the chain', () => {
  test('is compared kind by kind and round by round, by any process', async () => {
    expect(await round()).toEqual({ warned: [], alarmed: [] })
    expect(await state()).toEqual({ compared: 11n, rounds: 1n, differences: 0n, repaired: 0n, last: null })
    await runOnce()
    const [row] = await database.run((handle) => handle.select().from(audits))
    expect([row?.kind, row?.nextId, row?.compared]).toEqual(['deposit', 0n, 14n])
    const anchor = await database.run((handle) => newestAnchor(handle, 8453))
    expect([row?.blockNumber, row?.blockHash]).toEqual([anchor?.number, anchor?.hash])
  })

  const sizes = [
    [2n, [2n, 4n, 0n]],
    // The ids 0 to 5: the one after the last must not exist.
    [5n, [5n, 0n]],
    [6n, [0n]],
    [1n, [1n, 2n, 3n, 4n, 0n]],
  ] as const
  /** `audit-findings` has the other sizes over a chain in memory. */
  test.each(sizes.slice(0, byForm(2, sizes.length)))(
    'in slices of %i ids is compared in the order of ids, and each process continues where another one stopped',
    async (size, marks) => {
      await runOnce()
      const found = []
      for (const _ of size === 1n ? [...marks, 5n] : marks) {
        await auditSlice({ chain, database, confirm: async () => undefined, size, log: silent })
        const [row] = await database.run((handle) => handle.select().from(audits))
        found.push([row?.kind, row?.nextId])
      }
      const inside = size === 1n ? [1n, 2n, 3n, 4n, 5n] : marks.slice(0, -1)
      expect(found).toEqual([...inside.map((mark) => ['deposit', mark]), ['position', 0n]])
      // Every row was compared once.
      expect((await state()).compared).toBe(7n)
    },
  )

  test('counts a slice once when two processes compare it at once', async () => {
    await Promise.all([runOnce(), runOnce()])
    const { compared } = await state()
    expect([3n, 7n]).toContain(compared)
    const [row] = await database.run((handle) => handle.select().from(audits))
    expect(row?.kind).toBe(compared === 3n ? 'deposit' : 'position')
  })
})

describe('a wrong fact is found, logged as an error and repaired', () => {
  test.each([
    [
      'of a wrong value',
      [
        ['UPDATE events SET strike = strike + 1 WHERE id = 2', 'events 2: strike is'],
        [
          "UPDATE events SET underlying = 'USD/XXX' WHERE id = 1",
          'events 1: underlying is USD/XXX in the index, USD/GHS',
        ],
        ['UPDATE deposits SET amount = amount - 1 WHERE id = 4', 'deposits 4: amount is 4999999999 in the index'],
        [
          'UPDATE positions SET event_id = 2, notional = 1 WHERE id = 1',
          'positions 1: eventId is 2 in the index, 1 on',
        ],
      ],
    ],
    [
      'of a lost row',
      [
        ['DELETE FROM events WHERE id = 1', 'events 1 is missing in the index'],
        ['DELETE FROM deposits WHERE id = 4', 'deposits 4 is missing in the index'],
        ['DELETE FROM positions WHERE id = 2', 'positions 2 is missing in the index'],
      ],
    ],
  ] as const)('%s', async (_, damages) => {
    for (const [damage] of damages) await run(damage)
    const { alarmed } = await round()
    const expected = damages.map(([, words]) => ({
      ...{ chainId: 8453, difference: expect.stringContaining(words), repaired: true },
    }))
    expect(alarmed).toHaveLength(expected.length)
    expect(alarmed).toEqual(expect.arrayContaining(expected))
    expect(await differences()).toEqual([])
    const count = BigInt(damages.length)
    const last = expect.stringContaining(damages.at(-1)?.[1] ?? '')
    expect(await state()).toMatchObject({ differences: count, repaired: count, last })
    expect((await round()).alarmed).toEqual([])
  })

  test('the repair of a field keeps the log and the block of the row', async () => {
    const [before] = await facts('deposit')
    await run('UPDATE deposits SET shares = 1 WHERE id = 1')
    await round()
    expect((await facts('deposit'))[0]).toEqual(before)
  })

  test('a restored row is dated by the row after it, the last one by the block of the audit, and has no log', async () => {
    const [, , third] = await facts('position')
    await run('DELETE FROM positions WHERE id IN (1, 2, 4)')
    await round()
    const [first, second, , fourth] = await facts('position')
    const anchor = await database.run((handle) => newestAnchor(handle, 8453))
    const none = { txHash: null, logIndex: null }
    expect(first).toMatchObject({ id: 1n, blockNumber: third?.blockNumber, blockHash: third?.blockHash, ...none })
    expect(second).toMatchObject({ id: 2n, blockNumber: third?.blockNumber, blockHash: third?.blockHash, ...none })
    expect(fourth).toMatchObject({ id: 4n, blockNumber: anchor?.number, blockHash: anchor?.hash, ...none })
    await run('DELETE FROM events WHERE id = 2')
    await round()
    expect((await facts('event'))[1]).toMatchObject({ id: 2n, initialLiquidity: null, ...none })
  })

  test('a repair requests a refresh of the entities that depend on the row', async () => {
    await database.run((handle) => handle.delete(refreshQueue))
    await run('DELETE FROM deposits WHERE id = 4')
    await round()
    const notes = await database.run((handle) => handle.select().from(refreshQueue))
    expect(notes.map(({ subject, id }) => [subject, id]).sort()).toEqual([
      ['deposit', 4n],
      ['event', 1n],
    ])
  })
})

describe('a wrong observation is queued to be observed again, which repairs it', () => {
  const queued = 'queued to be observed again'
  const observe = () => createObserver({ chain, database, log: silent }).observeAll(new AbortController().signal)

  test.each([
    [
      'of a wrong value',
      [
        ['UPDATE chain_observations SET paused = NOT paused', 'chain_observations 8453: paused is true'],
        [
          'UPDATE event_observations SET total_premiums = total_premiums + 1 WHERE id = 1',
          'event_observations 1: totalPremiums',
        ],
        ['UPDATE settlements SET settlement_price = 1', 'settlements 2: settlementPrice is 1'],
      ],
    ],
    [
      // Those of an event are known to be outdated while the event waits.
      'of a wrong value of a deposit and a position',
      [
        [
          'UPDATE deposit_observations SET withdrawn = NOT withdrawn WHERE id = 4',
          'deposit_observations 4: withdrawn is true',
        ],
        [
          'UPDATE position_observations SET claimed = NOT claimed WHERE id = 2',
          'position_observations 2: claimed is true',
        ],
      ],
    ],
    [
      'of a lost row',
      [
        ['DELETE FROM settlements', 'settlements 2 is missing in the index'],
        ['DELETE FROM position_observations WHERE id = 3', 'position_observations 3 is missing in the index'],
      ],
    ],
  ] as const)('%s', async (_, damages) => {
    for (const [damage] of damages) await run(damage)
    const { alarmed } = await round()
    const expected = damages.map(([, words]) => ({
      ...{ chainId: 8453, difference: expect.stringContaining(words), repaired: queued },
    }))
    expect(alarmed).toHaveLength(expected.length)
    expect(alarmed).toEqual(expect.arrayContaining(expected))
    const count = BigInt(damages.length)
    expect(await state()).toMatchObject({ differences: count, repaired: count })
    await observe()
    expect((await round()).alarmed).toEqual([])
    expect(await differences()).toEqual([])
  })

  test('an entity in the refresh queue is no difference, because its observation is known to be outdated', async () => {
    await run('UPDATE deposit_observations SET pending = pending + 1 WHERE id = 4')
    await run(`INSERT INTO refresh_queue (chain_id, subject, id) VALUES (8453, 'event', 1)`)
    expect((await round()).alarmed).toEqual([])
    const report = await audit({ chain, database, log: silent, waitBudgetMs: 0 })
    expect(report.differences).toEqual([])
    expect(report.unconfirmed).toEqual([
      '1 entities still wait to be read again: check that a worker runs, and repeat the audit',
    ])
    await run('DELETE FROM refresh_queue')
    expect((await round()).alarmed).toMatchObject([{ repaired: queued }])
  })
})

describe('a difference that is not confirmed', () => {
  const damage = 'UPDATE deposits SET amount = amount + 1 WHERE id = 4'

  test('is only logged when the second answer differs', async () => {
    await run(damage)
    const honest = createConfirm(chain)
    const { alarmed } = await round(async (entity) => {
      const record = await honest(entity)
      return record?.kind === 'deposit' ? { ...record, amount: 7n } : record
    })
    expect(alarmed).toEqual([{ chainId: 8453, difference: expect.stringContaining('deposits 4'), repaired: false }])
    expect(await state()).toMatchObject({ differences: 1n, repaired: 0n })
    expect(await differences()).toHaveLength(1)
  })

  test('is only logged while one of two nodes is out of reach, and repaired when it is back', async () => {
    await run(damage)
    const away = await startNodeProxy(world.anvil.url)
    away.say(() => ({ status: 503, body: '' }))
    const rpcUrls = [proxy.url, away.url]
    const both = createChain({ deployment: world.deployment, rpcUrls, timeoutMs: 15_000, headMaxAgeMs: 1, log: silent })
    const confirm = createConfirm(both)
    expect((await round(confirm)).alarmed).toMatchObject([{ repaired: false }])
    expect(await differences()).toHaveLength(1)
    away.honest()
    await eventually('both are up', async () => {
      await both.head()
      return both.status().endpoints.every(({ rank }) => rank === 'ok')
    })
    expect((await round(confirm)).alarmed).toMatchObject([{ repaired: true }])
    expect(await differences()).toEqual([])
    await both.close()
    await away.close()
  })

  test('a row that the chain lacks stays, and every round reports it', async () => {
    await run(
      `INSERT INTO positions SELECT (json_populate_record(it, '{"id": 5}')).* FROM positions AS it WHERE id = 4`,
    )
    for (const count of [1n, 2n]) {
      expect((await round()).alarmed).toEqual([
        { chainId: 8453, difference: 'positions 5 is not on the chain', repaired: false },
      ])
      expect(await state()).toMatchObject({ differences: count, repaired: 0n })
    }
    expect(await facts('position')).toHaveLength(5)
  })

  test('rows after the last one are not compared while the index is not proved, because the follower reads their logs', async () => {
    await run('UPDATE heartbeats SET proven_number = proven_number - 1')
    await run('DELETE FROM positions WHERE id > 2')
    expect((await round()).alarmed).toEqual([])
    expect(await facts('position')).toHaveLength(2)
    await prove()
    expect((await round()).alarmed).toMatchObject([
      { difference: 'positions 3 is missing in the index', repaired: true },
    ])
  })

  test('rows above the cursor and ids that are not read yet are no difference', async () => {
    const [, , third] = await facts('position')
    const { blockNumber, blockHash, blockTimestamp } = third ?? {}
    await database.run((handle) =>
      handle.update(cursors).set({ blockNumber, blockHash, blockTimestamp }).where(eq(cursors.chainId, 8453)),
    )
    await run('UPDATE positions SET notional = 1 WHERE id = 4')
    expect((await round()).alarmed).toEqual([])
    await run('DELETE FROM positions WHERE id = 4')
    expect((await round()).alarmed).toEqual([])
    await run('DELETE FROM positions WHERE id = 2')
    expect((await round()).alarmed).toEqual([
      expect.objectContaining({ difference: 'positions 2 is missing in the index' }),
    ])
  })
})

describe('while a slice is compared', () => {
  test('a rollback of the index discards the run, and the next run compares the new rows', async () => {
    await run('DELETE FROM positions WHERE id = 1')
    await runOnce()
    await runOnce()
    const before = await state()
    const older = await database.run((handle) => handle.select().from(anchors).orderBy(anchors.blockNumber))
    const [first] = await facts('event')
    if (first === undefined) throw new Error('no event')
    const ancestor = { number: first.blockNumber, hash: first.blockHash, timestamp: first.blockTimestamp }
    const honest = createConfirm(chain)
    const { alarmed } = await runOnce(async (entity) => {
      await database.transaction((handle) => rollBack(handle, 8453, ancestor))
      return honest(entity)
    })
    expect(older.at(-1)?.blockNumber).toBeGreaterThan(ancestor.number)
    expect(alarmed).toEqual([])
    expect(await facts('position')).toEqual([])
    expect(await state()).toEqual(before)
  })
})
