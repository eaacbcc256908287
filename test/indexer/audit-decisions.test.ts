import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import type { EndpointAnswer } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { DatedFact } from '../../src/db/index/write.ts'
import type { AuditReport } from '../../src/indexer/audit/audit.ts'
import { repeatIfDifferent } from '../../src/indexer/audit/confirm.ts'
import { formatAudit } from '../../src/indexer/audit/format.ts'
import type { Pasts } from '../../src/indexer/audit/pasts.ts'
import { createConfirm, verdictOf } from '../../src/indexer/audit/repair.ts'
import type { ComparedSums } from '../../src/indexer/audit/sums.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { blockAt, fakeChain, hashAt } from '../support/fake-chain.ts'
import { SENDER } from '../support/fake-lookup.ts'

/* What the audit decides, without an index. */

const entity = { kind: 'deposit', id: 3n } as const
const fact = (amount: bigint): DatedFact => ({
  ...{ kind: 'deposit', id: 3n, eventId: 1n, lp: SENDER, amount, shares: 5n, txHash: null, logIndex: null },
  ...{ blockNumber: 1_000n, blockHash: hashAt(1_000), blockTimestamp: 1_001_000n },
})
const row = (amount: bigint) => ({ ...fact(amount), txHash: hashAt(9), blockNumber: 7n })

test.each([
  ['no second answer', row(1n), fact(2n), undefined, 'open'],
  ['a second answer that agrees with the index', row(1n), fact(2n), fact(1n), 'withdrawn'],
  ['two equal answers', row(1n), fact(2n), fact(2n), 'repairable'],
  ['two different answers', row(1n), fact(2n), fact(3n), 'open'],
  ['two answers without the row', row(1n), null, null, 'open'],
  ['a first answer without the row', row(1n), null, fact(2n), 'open'],
  ['a second answer without the row', row(1n), fact(2n), null, 'open'],
  ['a row that the index lacks', null, fact(2n), fact(2n), 'repairable'],
  ['a row that only the first answer has', null, fact(2n), null, 'withdrawn'],
] as const)('the verdict on %s', (_, inIndex, record, second, verdict) => {
  expect(verdictOf({ entity, row: inIndex, record }, second)).toBe(verdict)
})

describe('a second answer', () => {
  const value = (amount: bigint, lp: string = SENDER) => ({
    ...{ id: 3n, eventId: 1n, lp, amount, shares: 5n, premiumsEarned: 0n, premiumsClaimed: 0n, withdrawn: false },
  })
  const ok = (amount: bigint, lp?: string) => ({ ok: true, value: value(amount, lp) })
  const revert = { ok: false, error: new NodeError({ code: 3, message: 'execution reverted' }) }
  const refusal = { ok: false, error: new NodeError({ code: -32_000, message: 'rate limit' }) }

  /** The second answer by those of the endpoints, of which so many are configured. */
  const confirmed = (answers: readonly object[] | Error, configured: number) => {
    const queryAllEndpoints = async () => {
      if (answers instanceof Error) throw answers
      return answers.map((record, endpoint) => ({ endpoint, outcomes: { record } }) as EndpointAnswer<never>)
    }
    const endpoints = Array.from({ length: configured }, () => ({}))
    const status = () => ({ endpoints, halted: false, hasLogs: true }) as unknown as ReturnType<Chain['status']>
    const { chain } = fakeChain(undefined, { status })
    return createConfirm({ ...chain, queryAllEndpoints: queryAllEndpoints as never })(entity)
  }

  test.each<[string, readonly object[] | Error, number, DatedFact | null | undefined]>([
    ['one answer of one node', [ok(2n)], 1, fact(2n)],
    ['one answer of two nodes', [ok(2n)], 2, undefined],
    ['two equal answers of three nodes', [ok(2n), ok(2n)], 3, fact(2n)],
    ['two different answers', [ok(2n), ok(1n)], 2, undefined],
    ['two equal answers and another one', [ok(2n), ok(2n), ok(1n)], 3, undefined],
    ['two answers that it does not exist', [revert, ok(0n, zeroAddress)], 2, null],
    ['answers that it exists and that it does not', [ok(2n), revert], 2, undefined],
    ['an answer and a refusal', [ok(2n), refusal], 2, undefined],
    ['refusals', [refusal, refusal], 2, undefined],
    ['no answer', [], 1, undefined],
    ['nodes that are out of reach', unavailable('no node answers'), 1, undefined],
  ])('by %s', async (_, answers, configured, expected) => {
    expect(await confirmed(answers, configured)).toEqual(expected)
  })

  test('throws an error that is not expected', async () => {
    await expect(confirmed(new TypeError('not expected'), 1)).rejects.toThrow('not expected')
  })
})

describe('a comparison of lists', () => {
  const run = async (results: readonly (readonly string[] | Error)[]) => {
    let runs = 0
    const work = async () => {
      const result = results[runs] ?? []
      runs += 1
      if (result instanceof Error) throw result
      return { differences: result }
    }
    const outcome = await repeatIfDifferent({ pauseMs: 0 }, work).catch((error: Error) => error.message)
    return { runs, found: typeof outcome === 'string' ? outcome : outcome.differences }
  }
  const down = unavailable('down')

  test.each([
    ['runs once without a difference', [[]], 1, []],
    ['runs again for a difference', [['a'], ['b']], 2, ['b']],
    ['forgets a difference that does not show again', [['a'], []], 2, []],
    [
      'is repeated while nodes are out of reach',
      [...Array(9).fill(down), ['a'], ...Array(9).fill(down), ['b']],
      20,
      ['b'],
    ],
    ['fails after ten attempts', Array(11).fill(down), 10, 'down'],
    ['fails at once with another error', [new TypeError('not expected')], 1, 'not expected'],
  ])('%s', async (_, results, runs, found) => {
    expect(await run(results)).toEqual({ runs, found })
  })
})

describe('a report', () => {
  const report = (changed: Partial<AuditReport> = {}): AuditReport => ({
    ...{ chainId: 8453, block: blockAt(9), firstBlock: blockAt(9), lists: 6, notCompared: [], unconfirmed: [] },
    tables: [{ table: 'deposits', rows: 11, columns: 9, values: 99 }],
    onChain: { event: 1, deposit: 2, position: 3, chain: 1 },
    ...{ differences: [], found: 0 },
    ...changed,
  })
  const none = { compared: 5, differences: [] }
  const noSums = { days: 3, differences: [] }
  const linesOf = (changed: Partial<AuditReport> = {}, pasts: Pasts = none, sums: ComparedSums = noSums) =>
    formatAudit(report(changed), pasts, sums).split('\n')

  test('has the block, the counts, and no differences', () => {
    expect(linesOf()).toEqual([
      `chain 8453 at block 9 (${hashAt(9)})`,
      '  on the chain: 1 events, 2 deposits, 3 positions',
      `  compared                      rows     columns      values differences`,
      `  deposits                        11           9          99           0`,
      '  lists of ids compared: 6',
      '  events compared with their logs: 5',
      '  days of sums compared with the ledger: 3',
      '  no differences',
    ])
  })

  test('has both blocks when the index advanced, and what was not compared', () => {
    const lines = linesOf({ firstBlock: blockAt(7), notCompared: ['a'], unconfirmed: ['b'] })
    expect(lines[0]).toBe(`chain 8453 at blocks 7 to 9 (${hashAt(9)})`)
    expect(lines.slice(7, 11)).toEqual(['  not compared', '    a', '  could not be compared', '    b'])
  })

  test.each([
    [20, 20, undefined],
    [21, 20, '    and 1 more'],
    [1_500, 20, '    and 1480 more'],
  ])('of %i differences prints %i', (found, printed, more) => {
    const differences = Array.from({ length: Math.min(found, 1_000) }, (_, at) => `deposits ${at}: amount is 1`)
    const lines = linesOf({ differences, found })
    expect(lines).toContain(`  ${found} differences`)
    expect(lines.filter((line) => line.startsWith('    deposits'))).toHaveLength(printed)
    expect(lines.at(-1)).toBe(more ?? '    deposits 19: amount is 1')
    expect(lines[3]).toMatch(new RegExp(` ${differences.length}$`))
  })

  test('has the differences of events from their logs and of sums after the others', () => {
    const lines = linesOf(
      { differences: ['deposits 1: amount is 1'], found: 1 },
      { compared: 2, differences: ['event 1: b'] },
      { days: 1, differences: ['ledger_days c'] },
    )
    expect(lines.slice(-4)).toEqual([
      ...['  3 differences', '    deposits 1: amount is 1', '    event 1: b', '    ledger_days c'],
    ])
  })

  test('counts the differences of a table by its whole name', () => {
    const lines = linesOf({ differences: ['deposits_x 1: a', 'deposits 1: b'], found: 2 })
    expect(lines[3]).toMatch(/ 1$/)
  })
})
