import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/chain/endpoints/endpoint.ts'
import type { EndpointStatus } from '../../src/chain/endpoints/status.ts'
import { fetchLogs } from '../../src/chain/logs.ts'
import type { EndpointRegistry } from '../../src/chain/pool/registry.ts'
import { LogsPruned, NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { isUnavailable } from '../../src/lib/errors.ts'
import { fakeDeployment } from '../support/fake-chain.ts'
import { type Answer, createFakeEndpoints, type Sent } from '../support/fake-endpoint.ts'

/* What is asked of each endpoint for the logs of a range, and which answers are used. */

const deployment = fakeDeployment(8453)
const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })
const failed = (message: string, code = -32_000): Outcome<unknown> => ({
  ok: false,
  error: new NodeError({ code, message }),
})
const blockOf = (tag: unknown) => ({ number: BigInt(String(tag)), hash: '0x1', timestamp: 1n })

/** The range of a batch, and the blocks it names. */
const askedOf = ({ endpoint, requests }: Sent) => {
  const [{ fromBlock, toBlock, address } = {}] = (requests[0]?.params ?? []) as Readonly<Record<string, Hex>>[]
  const blocks = requests.slice(1).map(({ params }) => Number(params[0]))
  return { endpoint, from: Number(fromBlock), to: Number(toBlock), address, blocks }
}

/** Answers with these logs, or what replaces the outcomes of the logs and of the two blocks. */
const answers =
  (logs: number | Outcome<unknown>, last?: Outcome<unknown>, before?: Outcome<unknown>): Answer =>
  ({ requests: [, one, other] }) => [
    typeof logs === 'number' ? ok(Array(logs).fill('log')) : logs,
    last ?? ok(blockOf(one?.params[0])),
    before ?? ok(blockOf(other?.params[0])),
  ]
const refusing = (text: string): Answer => answers(failed(text))
const unreachable =
  (fault: NodeUnreachable['fault'], text = 'no answer'): Answer =>
  () => {
    throw new NodeUnreachable(text, fault)
  }
/** Gives one answer after the other; the last one again and again. */
const inTurn = (...all: readonly Answer[]): Answer => {
  let nth = -1
  return (sent) => {
    nth += 1
    return (all[nth] ?? all.at(-1) ?? expect.unreachable())(sent)
  }
}

const open = (...replies: readonly Answer[]) => openWith(100n, ...replies)

const openWith = (logWidth: bigint, ...replies: readonly Answer[]) => {
  const fakes = createFakeEndpoints(replies)
  for (const [index] of replies.entries())
    fakes.open({ chainId: 8453, url: '', index, timeoutMs: 1, logWidth, log: expect.unreachable } as never)
  const needs: unknown[] = []
  const ranks: string[] = []
  let hasLogs = true
  const statuses: object[] = []
  const registry = {
    async ranked(needed: readonly string[]) {
      needs.push(needed)
      return fakes.endpoints.map((endpoint) => ({ endpoint, rank: ranks[endpoint.index] ?? 'ok' }))
    },
    status: () => ({ endpoints: statuses, halted: false, hasLogs }),
  } as unknown as EndpointRegistry
  return {
    ...fakes,
    needs,
    ranks,
    statuses,
    endpoint: (at: number): Endpoint => fakes.endpoints[at] ?? expect.unreachable(),
    logs: (from = 1_000n, upTo = 9_000n, askedLast?: ReadonlySet<number>) =>
      fetchLogs({ registry, deployment }, { from, upTo, askedLast }),
    batches: () => fakes.sent().map(askedOf),
    withoutLogs: () => {
      hasLogs = false
    },
  }
}

describe('a range', () => {
  test('is as wide as the endpoint serves, and is asked for with its last block and the one before it', async () => {
    const { logs, batches, needs, reports } = open(answers(7))
    expect(await logs()).toEqual({
      endpoint: 0,
      logs: Array(7).fill('log'),
      last: blockOf(1_099),
      before: blockOf(999),
    })
    const { diamond: address } = deployment
    expect(batches()).toEqual([{ endpoint: 0, from: 1_000, to: 1_099, address, blocks: [1_099, 999] }])
    expect(needs).toEqual([['logs']])
    expect(reports()).toEqual([{ is: 'range', asked: 100n, upTo: 1_099n, fault: null, logs: 7, endpoint: 0 }])
  })

  test.each<[readonly number[], readonly number[]]>([
    [[], [0, 1, 2, 3]],
    [[0], [1, 2, 0, 3]],
    [
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ],
  ])('is requested from %j last, of the endpoints that keep up', async (last, order) => {
    const fakes = open(...Array(4).fill(unreachable({ kind: 'unanswered' })))
    fakes.ranks.push('ok', 'ok', 'incomplete logs', 'lagging')
    await expect(fakes.logs(0n, 9n, new Set(last))).rejects.toThrow('no answer')
    expect(fakes.batches().map(({ endpoint }) => endpoint)).toEqual(order)
  })

  test.each([
    [1_098n, 1_098, 99n],
    [1_099n, 1_099, 100n],
    [1_100n, 1_099, 100n],
    [1_000n, 1_000, 1n],
  ])('up to block %i ends at block %i', async (upTo, to, asked) => {
    const { logs, batches, reports } = open(answers(0))
    await logs(1_000n, upTo)
    expect([batches(), reports()]).toMatchObject([[{ to }], [{ asked, upTo: BigInt(to) }]])
  })

  test.each([
    [0n, 0],
    [1n, 0],
    [2n, 1],
  ])('from block %i has block %i before it', async (from, before) => {
    const { logs, batches } = open(answers(0))
    await logs(from)
    expect(batches()).toMatchObject([{ blocks: [Number(from) + 99, before] }])
  })

  test('may have no block before it', async () => {
    const { logs } = open(answers(0, undefined, ok(null)))
    expect((await logs()).before).toBeNull()
  })
})

describe('a range that is refused', () => {
  test.each<[string, string]>([
    ['its width', 'block range too large'],
    ['its size', 'response too large'],
    ['an unknown reason', 'not today'],
  ])('for %s is asked for again, narrower', async (_, text) => {
    const { logs, batches, reports } = open(inTurn(refusing(text), answers(1)), answers(2))
    const { endpoint, last } = await logs()
    const [first, second, ...others] = batches()
    expect([endpoint, first?.to, others]).toEqual([0, 1_099, []])
    expect(second?.to).toBeLessThan(1_099)
    expect(last.number).toBe(BigInt(second?.to ?? 0))
    expect(reports()).toMatchObject([
      { asked: 100n, fault: {} },
      { fault: null, logs: 1 },
    ])
  })

  test('down to one block, and then another endpoint is asked', async () => {
    const { logs, batches } = open(refusing('response too large'), answers(2))
    expect(await logs()).toMatchObject({ endpoint: 1, last: { number: 1_099n } })
    const [last, other] = batches().slice(-2)
    expect([last, other]).toMatchObject([
      { endpoint: 0, from: 1_000, to: 1_000 },
      { endpoint: 1, from: 1_000, to: 1_099 },
    ])
  })

  test('also from two blocks to one', async () => {
    const { logs, batches } = openWith(2n, inTurn(refusing('response too large'), answers(1)))
    await logs()
    expect(batches().map(({ to }) => to)).toEqual([1_001, 1_000])
  })

  test('until the endpoint counts as one without logs', async () => {
    const { logs, batches, endpoint } = openWith(2_500n, refusing('not today'), answers(2))
    endpoint(0).learn({ is: 'head', number: 50_000n, timestamp: 1n })
    for (const missing of [false, false, false, true]) {
      expect((await logs(1_000n, 50_000n)).endpoint).toBe(1)
      expect(endpoint(0).isMissing('logs')).toBe(missing)
    }
    const refused = batches().filter(({ endpoint: of }) => of === 0)
    expect(refused.map(({ from, to }) => to - from + 1)).toEqual([2_500, 625, 39, 1, 1, 1, 1])
  })
})

describe('another endpoint is asked, and the width stays, when', () => {
  test.each<[string, Answer, string]>([
    ['there is a rate limit', refusing('rate limit'), 'rate'],
    ['it is behind', refusing('block range extends beyond current head block'), 'missing'],
    ['it has dropped old logs', refusing('pruned history unavailable'), 'pruned'],
    ['the batch has no answer', unreachable({ kind: 'unanswered' }), 'unanswered'],
    ['the last block is missing', answers(0, ok(null)), 'missing'],
    ['the last block is refused', answers(0, failed('header not found')), 'missing'],
    ['the block before is refused', answers(0, undefined, failed('slow down', 429)), 'missing'],
  ])('%s', async (_, reply, kind) => {
    const { logs, batches, reports, endpoint } = open(reply, answers(3))
    expect((await logs()).endpoint).toBe(1)
    expect(batches().map(({ endpoint: of }) => of)).toEqual([0, 1])
    expect(reports()).toMatchObject([{ asked: 100n, fault: { kind } }, { fault: null }])
    expect(endpoint(0).state().width.blocks).toBe(100n)
  })
})

test('a range that has no answer is not asked for again at once, also when the width of the endpoint is halved', async () => {
  const { logs, batches } = open(unreachable({ kind: 'unanswered' }), answers(3))
  for (let times = 0; times < 3; times += 1) await logs()
  const silent = batches().filter(({ endpoint: of }) => of === 0)
  expect(silent.map(({ from, to }) => to - from + 1)).toEqual([100, 100, 50])
})

test('a few blocks that are refused near the head for an unknown reason are asked of another endpoint', async () => {
  const { logs, batches, endpoint } = openWith(8n, refusing('not today'), answers(1))
  for (let times = 0; times < 6; times += 1) {
    expect((await logs()).endpoint).toBe(1)
    expect(batches().filter(({ endpoint: of }) => of === 0)).toMatchObject([{ from: 1_000, to: 1_007 }])
  }
  expect([endpoint(0).isMissing('logs'), endpoint(0).state().width.blocks]).toEqual([false, 8n])
})

describe('old logs', () => {
  const behind = refusing('block range extends beyond current head block')
  const pruned = refusing('pruned history unavailable')
  const failureOf = (opened: ReturnType<typeof open>) => opened.logs().catch((error: unknown) => error)

  test('that each endpoint has dropped are an error of their own, which counts as unavailable', async () => {
    const opened = open(pruned, pruned)
    const error = await failureOf(opened)
    expect(error).toBeInstanceOf(LogsPruned)
    expect(isUnavailable(error)).toBe(true)
    expect(error).toMatchObject({
      message: 'no node of chain 8453 has the logs of block 1000 any more',
      retryAfter: 1,
      cause: { message: 'pruned history unavailable' },
    })
    for (const each of opened.endpoints) {
      expect(each.state()).toMatchObject({ failures: 0, pausedUntil: 0, missing: {}, width: { blocks: 100n } })
    }
  })

  test.each([
    ['is behind', behind, { code: 'service_unavailable', cause: { fault: { kind: 'missing' } } }],
    ['refuses', refusing('response too large'), { code: 'upstream_error' }],
  ])('may be those of an endpoint that %s, in any order', async (_, other, expected) => {
    for (const replies of [
      [pruned, other],
      [other, pruned],
    ]) {
      const error = await failureOf(open(...replies))
      expect(error).not.toBeInstanceOf(LogsPruned)
      expect(error).toMatchObject(expected)
    }
  })

  test.each<[string, Partial<EndpointStatus>, boolean]>([
    ['was not probed yet', { rank: 'unknown' }, false],
    ['was available 29 seconds ago', { rank: 'paused', heightAgeSeconds: 29 }, false],
    ['was available 30 seconds ago', { rank: 'paused', heightAgeSeconds: 30 }, true],
    ['was never available', { rank: 'paused', heightAgeSeconds: null }, true],
    ['serves no logs', { rank: 'paused', heightAgeSeconds: 1, missing: ['logs'] }, true],
    ['serves another chain', { rank: 'wrong chain' }, true],
    ['was asked', { rank: 'ok', heightAgeSeconds: 1 }, true],
  ])('while another endpoint %s', async (_, status, isPruned) => {
    const opened = open(pruned)
    opened.statuses.push({ missing: [], ...status })
    const error = await failureOf(opened)
    expect(error instanceof LogsPruned).toBe(isPruned)
    expect(error).toMatchObject({ code: 'service_unavailable' })
  })

  test('are asked of the next endpoint', async () => {
    expect((await open(pruned, behind, answers(4)).logs()).logs).toHaveLength(4)
  })
})

describe('when no endpoint answers', () => {
  test.each<[string, Answer, object]>([
    ['a fault of the node', refusing('header not found'), { code: 'service_unavailable' }],
    ['a refusal', refusing('response too large'), { code: 'upstream_error', message: 'response too large' }],
    [
      'silence',
      unreachable({ kind: 'unanswered' }, 'it is silent'),
      { code: 'service_unavailable', message: 'it is silent' },
    ],
    ['a missing block', answers(0, ok(null)), { message: 'no node has block 1099' }],
  ])('the error is that of the last one: %s', async (_, reply, expected) => {
    await expect(open(refusing('rate limit'), reply).logs()).rejects.toMatchObject(expected)
  })
  test('because there is none, the error shows whether one serves logs', async () => {
    const { logs, withoutLogs } = open()
    await expect(logs()).rejects.toMatchObject({
      code: 'service_unavailable',
      message: 'no node of chain 8453 answers',
    })
    withoutLogs()
    await expect(logs()).rejects.toThrow('no node of chain 8453 serves logs')
  })
  test('by an error of the program, that is passed on at once', async () => {
    const mistake = new TypeError('a mistake')
    const { logs, asked } = open(() => {
      throw mistake
    }, answers(1))
    await expect(logs()).rejects.toBe(mistake)
    expect(asked()).toEqual([0])
  })
})
