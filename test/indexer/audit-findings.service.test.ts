import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { readAudit } from '../../src/db/index/audit/runs.ts'
import { lockRefreshQueue } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { refreshQueue } from '../../src/db/schema/index-state.ts'
import { audits } from '../../src/db/schema/work.ts'
import type { Confirm } from '../../src/indexer/audit/repair.ts'
import { auditSlice } from '../../src/indexer/audit/slice.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { chainId, openAuditedIndex, rows } from '../support/audited-index.ts'
import { eventually } from '../support/process.ts'
import { seededChain } from '../support/seeded-chain.ts'

/* What a run of the audit finds and stores, over seeded rows and a chain in memory. */

let index: Awaited<ReturnType<typeof openAuditedIndex>>
let database: Database

beforeAll(async () => {
  index = await openAuditedIndex()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(() => index.reset())

const run = (statement: string) => index.run(statement)

type Options = Parameters<typeof seededChain>[1] & {
  readonly confirm?: Confirm
  readonly size?: bigint
  readonly signal?: AbortSignal
}

/** One run of the audit with its log lines. */
const runOnce = async ({ confirm = async () => undefined, size = 200n, signal, ...options }: Options = {}) => {
  const warn = vi.fn()
  const error = vi.fn()
  const log = Object.assign(pino({ level: 'silent' }), { warn, error })
  const fake = seededChain(rows, options)
  const isDone = await auditSlice({ chain: fake.chain, database, confirm, size, log, ...(signal && { signal }) })
  const [fields] = await database.run((handle) => handle.select().from(audits))
  return {
    ...{ isDone, called: fake.called, next: fields && `${fields.kind} ${fields.nextId}` },
    warned: warn.mock.calls.map(([it]) => it.difference),
    alarmed: error.mock.calls.map(([it]) => [it.difference, it.repaired]),
  }
}

const state = async () => {
  const found = await database.run((handle) => readAudit(handle, chainId))
  if (found === null) throw new Error('nothing was audited')
  return { ...found, last: found.last?.difference ?? null }
}

test('a correct index has no difference', async () => {
  for (const next of ['deposit 0', 'position 0', 'event 0'])
    expect(await runOnce()).toMatchObject({ isDone: true, next, warned: [], alarmed: [] })
  expect(await state()).toMatchObject({ compared: 9n, rounds: 1n, differences: 0n, repaired: 0n, last: null })
})

/** The record of a row as the chain has it, which confirms a first answer of the same. */
const honest: Confirm = async ({ kind, id }) =>
  rows[`${kind}s`].map(({ fact }) => fact).find((fact) => fact.id === id) ?? null

const count = async (table: string): Promise<number> => (await run(`SELECT FROM ${table}`)).rowCount ?? 0
const queued = async () => {
  const found = await database.run((handle) => handle.select().from(refreshQueue))
  return found.map(({ subject, id }) => `${subject} ${id}`).toSorted()
}
const AGAIN = 'queued to be observed again'

describe("the protocol's own state", () => {
  const damage = 'UPDATE chain_observations SET paused = true'
  const difference = 'chain_observations 8453: paused is true in the index, false on the chain'

  test('is compared with the first slice of events alone', async () => {
    expect(await runOnce({ size: 2n })).toMatchObject({ next: 'event 2', alarmed: [] })
    await run(damage)
    for (const next of ['deposit 0', 'deposit 2', 'position 0', 'position 2', 'event 0'])
      expect(await runOnce({ size: 2n })).toMatchObject({ next, alarmed: [] })
    expect(await runOnce({ size: 2n })).toMatchObject({ next: 'event 2', alarmed: [[difference, AGAIN]] })
    expect(await queued()).toEqual(['chain 0'])
    expect(await state()).toMatchObject({ compared: 10n, rounds: 1n, differences: 1n, repaired: 1n })
  })

  test('differs only if a second answer, which is no cached one, differs too', async () => {
    const { readAt } = seededChain(rows, { views: { isPaused: () => true } }).chain
    expect(await runOnce({ readAt })).toMatchObject({
      alarmed: [],
      warned: ['chain_observations 8453: paused is false in the index, true on the chain'],
    })
    expect([await queued(), await state()]).toMatchObject([[], { differences: 0n }])
  })
})

describe('a run that is aborted', () => {
  test.each([
    ['in the middle of its differences', 'UPDATE events SET strike = strike + 1', 1],
    ['at its last difference', 'UPDATE events SET strike = strike + 1 WHERE id = 3', 1],
  ])('%s stores and logs nothing', async (_, damage, most) => {
    await run(damage)
    const stop = new AbortController()
    let asked = 0
    const confirm: Confirm = async (entity) => {
      asked += 1
      stop.abort()
      return honest(entity)
    }
    const found = await runOnce({ confirm, signal: stop.signal })
    expect(found).toMatchObject({ isDone: false, next: undefined, alarmed: [], warned: [] })
    expect(asked).toBe(most)
  })
})

describe('an observation', () => {
  const later = () => runOnce().then(() => undefined)

  test('is described as the second answer has it', async () => {
    await later()
    const { readAt } = seededChain(rows, { views: { pendingPremiums: () => 7n } }).chain
    const found = await runOnce({
      readAt,
      views: { pendingPremiums: ([id]) => (id === 2n ? 8n : BigInt(Number(id) === 3 ? 3 : 0)) },
    })
    expect(found.alarmed).toEqual([['deposit_observations 2: pending is 0 in the index, 8 on the chain', AGAIN]])
    expect(found.warned).toEqual([
      'deposit_observations 1: pending is 0 in the index, 7 on the chain',
      'deposit_observations 3: pending is 3 in the index, 7 on the chain',
    ])
    expect(await queued()).toEqual(['deposit 2'])
    expect(await state()).toMatchObject({ differences: 1n, repaired: 1n, last: found.alarmed[0]?.[0] })
    // A request to observe changes nothing that clients read.
    expect(await count('changes')).toBe(0)
  })

  test('that differs together with its fact is repaired with it', async () => {
    await later()
    await run('UPDATE deposits SET amount = 1 WHERE id = 2; UPDATE deposit_observations SET pending = 5 WHERE id = 2')
    const found = await runOnce({ confirm: honest })
    expect(found.alarmed).toEqual([
      [
        'deposits 2: amount is 1 in the index, 2000 on the chain; deposit_observations 2: pending is 5 in the index, 0 on the chain',
        true,
      ],
    ])
    expect((await run('SELECT amount FROM deposits WHERE id = 2')).rows).toEqual([{ amount: '2000' }])
    expect(await state()).toMatchObject({ differences: 1n, repaired: 1n })
    expect(await count('changes')).toBe(1)
  })

  test('is decided on its own when a second answer agrees with the fact of the index', async () => {
    await later()
    await run('UPDATE deposit_observations SET pending = 5 WHERE id = 2')
    const { readAt } = seededChain(rows, {
      views: { getHedgeLpDeposit: ([id]) => ({ ...rows.deposits[Number(id) - 1]?.seen.deposit, shares: 9n }) },
    }).chain
    const found = await runOnce({ readAt, confirm: honest })
    expect(found.alarmed).toEqual([['deposit_observations 2: pending is 5 in the index, 0 on the chain', AGAIN]])
    expect(found.warned).toHaveLength(2)
    // Only its own views are called again.
    expect(found.called.toSorted()).toEqual(['getHedgeLpDeposit(2)', 'getHedgeLpDeposit(2)', 'pendingPremiums(2)'])
  })
})

describe('a slice', () => {
  test('counts the rows that the chain lacks and those that the index lacks, and keeps its last difference', async () => {
    await runOnce()
    await run('DELETE FROM deposits WHERE id = 1')
    const found = await runOnce({ confirm: honest })
    expect(found.alarmed).toEqual([['deposits 1 is missing in the index', true]])
    expect(await state()).toMatchObject({ compared: 6n, differences: 1n, repaired: 1n })
    const views = {
      getHedgePosition: ([id]: readonly unknown[]) => (id === 1n ? rows.positions[0]?.seen.position : undefined),
    }
    const lost = await runOnce({ views, confirm: async () => null })
    expect(lost.alarmed).toEqual([2, 3].map((id) => [`positions ${id} is not on the chain`, false]))
    expect(await state()).toMatchObject({
      ...{ compared: 9n, rounds: 1n, differences: 3n, repaired: 1n },
      last: 'positions 3 is not on the chain',
    })
    expect(await count('positions')).toBe(3)
  })

  test('counts what is repaired in each way, and announces repairs once', async () => {
    await runOnce()
    await run(`UPDATE deposits SET amount = 1 WHERE id = 1; UPDATE deposit_observations SET pending = 9 WHERE id = 2`)
    const found = await runOnce({ confirm: honest })
    expect(found.alarmed.map(([, repaired]) => repaired)).toEqual([true, AGAIN])
    expect(await state()).toMatchObject({ differences: 2n, repaired: 2n })
    expect(await count('changes')).toBe(1)
    // Readers of the feed begin again, and learn why.
    expect((await run('SELECT reason FROM feed_floors')).rows).toEqual([{ reason: 'repaired' }])
  })

  test('with a repair locks the refresh queue before the block, as a rollback does', async () => {
    await run('UPDATE events SET strike = strike + 1 WHERE id = 1')
    let audited: ReturnType<typeof runOnce> | undefined
    await database.transaction(async (handle) => {
      await lockRefreshQueue(handle, chainId)
      audited = runOnce({ confirm: honest })
      await eventually('the audit waits', async () => {
        const waiting = await run(
          'SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()',
        )
        return waiting.rowCount === 1
      })
      await handle.execute('DELETE FROM anchors')
    })
    expect(await audited).toMatchObject({ isDone: false, alarmed: [] })
  })

  test('is discarded, with its repairs, when another process has stored it', async () => {
    await run('UPDATE events SET strike = strike + 1 WHERE id = 1')
    const confirm: Confirm = async (entity) => {
      expect((await runOnce()).alarmed).toHaveLength(1)
      return honest(entity)
    }
    expect(await runOnce({ confirm })).toMatchObject({ isDone: false, next: 'deposit 0', alarmed: [] })
    expect(await state()).toMatchObject({ differences: 1n, repaired: 0n })
    expect((await run('SELECT FROM events WHERE strike = 12000001')).rowCount).toBe(1)
  })

  test('is discarded when a rollback removed its block, or when no node answers', async () => {
    await run('UPDATE events SET strike = strike + 1 WHERE id = 1')
    const rolledBack: Confirm = async (entity) => {
      await run('DELETE FROM anchors')
      return honest(entity)
    }
    expect(await runOnce({ confirm: rolledBack })).toMatchObject({ isDone: false, next: undefined, alarmed: [] })
    await run('INSERT INTO anchors SELECT * FROM kept_anchors')
    const isPaused = () => {
      throw unavailable('no node answers')
    }
    expect(await runOnce({ views: { isPaused } })).toMatchObject({ isDone: false, next: undefined })
    const broken = () => {
      throw new TypeError('not expected')
    }
    await expect(runOnce({ confirm: broken })).rejects.toThrow('not expected')
  })
})
