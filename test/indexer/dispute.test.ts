import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { EndpointAnswer } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { createDispute } from '../../src/indexer/dispute.ts'
import { partOfChain } from '../support/fake-log-chain.ts'
import { blockOf } from '../support/seed-index.ts'

const block = blockOf(7n)
const NOW = 1_800_000_100

/**
 * What an endpoint answers: the fork of its block 7 (0 has the disputed block; null: none), the number and the time of
 * its newest block, and its chain id.
 */
type Answer = { readonly fork: number | null; readonly head?: number; readonly at?: number; readonly id?: number }

let clock: { now: number }
let answers: readonly (Answer | null)[]
let penalized: string[]
let asked: string[][]
let lines: string[]

beforeEach(() => {
  clock = { now: NOW * 1_000 }
  penalized = []
  asked = []
  lines = []
})

/** A dispute among endpoints, of which `null` does not answer. */
const open = (...first: readonly (Answer | null)[]) => {
  answers = first
  const all = () =>
    answers.flatMap((answer, endpoint) => {
      if (answer === null) return []
      const { fork, head: number = 9, at = NOW, id = 8453 } = answer
      const value = fork === null ? null : blockOf(7n, fork)
      const head = { ...blockOf(BigInt(number)), timestamp: BigInt(at) }
      const outcomes = { block: { ok: true, value }, head: { ok: true, value: head }, id: { ok: true, value: id } }
      return [{ endpoint, outcomes }]
    })
  const chain = partOfChain({
    chainId: 8453,
    status: () => ({ endpoints: answers.map(() => ({})), halted: false, hasLogs: true }) as never,
    queryAllEndpoints: async <B extends object>(batch: B) => {
      asked.push(Object.keys(batch))
      return all() as unknown as EndpointAnswer<B & Record<string, never>>[]
    },
    penalize: (endpoint, why) => void penalized.push(`${endpoint}: ${why}`),
  })
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  return createDispute({ chain, log, now: () => clock.now })
}
const ours: Answer = { fork: 0 }
const theirs: Answer = { fork: 1 }
const others: Answer = { fork: 2 }
const penalty = (endpoint: number) => `${endpoint}: its hash of block 7 differs from other nodes`

test.each<[string, (Answer | null)[], number[] | null, number[]]>([
  ['all have it', [ours, ours], null, []],
  ['one of two denies it', [theirs, ours], null, [0]],
  ['two of four deny it', [theirs, theirs, ours, ours], null, [0, 1]],
  ['two of three agree on another block', [theirs, ours, theirs], [0, 2], []],
  ['three of five agree on another block', [theirs, ours, theirs, ours, theirs], [0, 2, 4], []],
  ['two of three deny it with different blocks', [theirs, ours, others], null, [0, 2]],
  [
    'of six two agree on another block, and three on a third',
    [ours, theirs, theirs, others, others, others],
    [3, 4, 5],
    [],
  ],
  ['of four two agree on another block, and one has a third', [theirs, ours, others, theirs], [0, 3], []],
  ['two that answer deny it, with the same block', [theirs, null, theirs], [0, 2], []],
  ['two that answer deny it, with different blocks', [theirs, null, others], [0, 2], []],
  ['one has no such block', [{ fork: null }, ours], null, []],
])('of the endpoints %s', async (_, given, trusted, doubted) => {
  expect(await open(...given).resolve(block)).toEqual(trusted)
  expect(penalized).toEqual(doubted.map(penalty))
  expect(lines).toEqual(doubted.length > 0 ? ['nodes disagree about block 7'] : [])
})

test('the newest block is asked for before the block, which a node may get in between', async () => {
  await open(ours).resolve(block)
  expect(asked).toEqual([['head', 'block', 'id']])
})

test.each<[string, Answer[]]>([
  ['the only endpoint', [{ fork: 1, id: 1 }]],
  [
    'all endpoints',
    [
      { fork: 1, id: 1 },
      { fork: 1, id: 1 },
    ],
  ],
])('no block is orphaned because %s began to serve another chain', async (_, given) => {
  const dispute = open(...given)
  expect([await dispute.resolve(block), await dispute.resolve(block)]).toEqual([null, null])
  expect(new Set(penalized)).toEqual(new Set(given.map((_each, endpoint) => `${endpoint}: it serves another chain`)))
})

describe('endpoints that have stopped', () => {
  const behind = (seconds: number): Answer => ({ fork: 0, at: NOW - seconds })

  test.each([
    [5, null],
    [6, [0]],
  ])('do not count from %i seconds behind', async (seconds, trusted) => {
    expect(await open(theirs, behind(seconds)).resolve(block)).toEqual(trusted)
  })

  test.each<[string, number, number, number[] | null]>([
    ['at the clock and 15 s ahead of it', 0, 15, null],
    ['5 s behind the clock and 15 s ahead of it', -5, 15, null],
    ['6 s behind the clock and 15 s ahead of it', -6, 15, [0]],
    ['1 s and 15 s ahead of the clock', 1, 15, null],
    ['15 s and 21 s ahead of the clock', 15, 21, null],
    ['16 s and 22 s ahead of the clock', 16, 22, [0]],
    ['both ahead of the clock, 5 s apart', 60, 65, null],
    ['both ahead of the clock, 6 s apart', 60, 66, [0]],
  ])('are not shown by a time that a node may invent: %s', async (_each, holder, denier, trusted) => {
    const answers = [
      { fork: 1, at: NOW + denier },
      { fork: 0, at: NOW + holder },
      { fork: 0, at: NOW + holder },
    ]
    expect(await open(...answers).resolve(block)).toEqual(trusted)
  })

  test('count if one of them has not stopped', async () => {
    expect(await open(theirs, behind(60), ours).resolve(block)).toBeNull()
    expect(penalized).toEqual([penalty(0)])
  })

  test('are not shown by a head in the future', async () => {
    expect(await open({ fork: 1, at: NOW + 900 }, ours).resolve(block)).toBeNull()
    expect(await open({ fork: 1, at: NOW + 900 }, behind(10)).resolve(block)).toBeNull()
    expect(penalized).toEqual([penalty(0), penalty(0)])
  })

  test.each([
    [15, null],
    [16, [0, 1]],
  ])(
    'are not shown by heads in the future while their own are at most 15 s ahead of the clock: %i s',
    async (ahead, trusted) => {
      const at = (fork: number, seconds: number): Answer => ({ fork, at: NOW + seconds })
      const answers = [at(1, ahead + 6), at(2, ahead + 6), at(0, ahead), at(0, ahead)]
      expect(await open(...answers).resolve(block)).toEqual(trusted)
    },
  )

  test('are shown by several heads in the future', async () => {
    const ahead: Answer = { fork: 1, at: NOW + 20 }
    expect(await open(ahead, ahead, behind(10), behind(10)).resolve(block)).toEqual([0, 1])
  })

  test('are shown by one of several that deny the block', async () => {
    expect(await open({ fork: 1, at: NOW - 60 }, others, behind(60), behind(61)).resolve(block)).toEqual([0, 1])
  })
})

describe('the only answer', () => {
  test('of the only endpoint is trusted when it is repeated', async () => {
    const dispute = open(theirs)
    expect(await dispute.resolve(block)).toBeNull()
    expect(await dispute.resolve(block)).toEqual([0])
    expect([lines, dispute.problem()]).toEqual([[], null])
  })

  test.each<[string, (dispute: ReturnType<typeof open>) => Promise<unknown> | undefined]>([
    ['another block was denied', (dispute) => dispute.resolve(blockOf(8n))],
    [
      'it was another hash',
      (dispute) => {
        answers = [others]
        return dispute.resolve(block)
      },
    ],
    ['the block was confirmed', (dispute) => dispute.confirm() as undefined],
    [
      'an endpoint has the block',
      (dispute) => {
        answers = [ours, theirs]
        return dispute.resolve(block)
      },
    ],
    [
      'the clock was set back',
      () => {
        clock.now -= 1
        return undefined
      },
    ],
  ])('is not trusted on its second time if %s in between', async (_, between) => {
    const dispute = open(theirs)
    await dispute.resolve(block)
    await between(dispute)
    answers = [theirs]
    expect(await dispute.resolve(block)).toBeNull()
    expect(await dispute.resolve(block)).toEqual([0])
  })

  test('of several endpoints is trusted after ten seconds', async () => {
    const dispute = open(theirs, null)
    expect(await dispute.resolve(block)).toBeNull()
    expect(dispute.problem()).toBe('only one node has a block 7, and with another hash')
    clock.now += 9_999
    expect(await dispute.resolve(block)).toBeNull()
    clock.now += 1
    expect(await dispute.resolve(block)).toEqual([0])
    expect(penalized).toEqual([])
  })

  test('of several endpoints is not trusted after ten seconds in which another one had the block', async () => {
    const dispute = open(theirs, null)
    await dispute.resolve(block)
    answers = [theirs, ours]
    await dispute.resolve(block)
    answers = [theirs, null]
    const resolved = async (ms: number) => {
      clock.now += ms
      return dispute.resolve(block)
    }
    expect([await resolved(5_000), await resolved(5_000), await resolved(4_999)]).toEqual([null, null, null])
    expect(await resolved(1)).toEqual([0])
    expect(penalized).toEqual([penalty(0)])
  })
})

describe('a block that no endpoint has', () => {
  const below = [
    { fork: null, head: 5 },
    { fork: null, head: 6 },
  ]

  test('is a gap of an endpoint whose newest block is not below it', async () => {
    const dispute = open({ fork: null, head: 6 }, { fork: null, head: 7 })
    expect(await dispute.resolve(block)).toBeNull()
    expect(penalized).toEqual(['1: it has no block 7, below its newest block'])
    expect(dispute.problem()).toBe('a node with block 7 has no block 7')
    expect(dispute.isWaiting()).toBe(false)
  })

  test('is orphaned in spite of an endpoint that claims a higher newest block, once two others are below it', async () => {
    const dispute = open({ fork: null, head: 1_000_006 }, ...below)
    expect(await dispute.resolve(block)).toBeNull()
    expect(penalized).toEqual(['0: it has no block 7, below its newest block'])
    expect(dispute.problem()).toBe('the index is at block 7, above the newest block of every node, 6')
    clock.now += 5_000
    expect(await dispute.resolve(block)).toBeNull()
    clock.now += 5_000
    expect(await dispute.resolve(block)).toEqual([1, 2])
  })

  test('is orphaned once every newest block has been below it for ten seconds', async () => {
    const dispute = open(...below)
    expect(dispute.isWaiting()).toBe(false)
    expect(await dispute.resolve(block)).toBeNull()
    expect(dispute.isWaiting()).toBe(true)
    expect(dispute.problem()).toBe('the index is at block 7, above the newest block of every node, 6')
    clock.now += 9_999
    expect(await dispute.resolve(block)).toBeNull()
    clock.now += 1
    expect(await dispute.resolve(block)).toEqual([0, 1])
    expect(penalized).toEqual([])
  })

  test.each<[string, (dispute: ReturnType<typeof open>) => Promise<unknown> | undefined]>([
    ['another hash was asked about', (dispute) => dispute.resolve(blockOf(7n, 1))],
    [
      'an endpoint had it',
      (dispute) => {
        answers = [ours]
        return dispute.resolve(block)
      },
    ],
    [
      'an endpoint claimed a higher one',
      (dispute) => {
        answers = [{ fork: null, head: 8 }]
        return dispute.resolve(block)
      },
    ],
    ['it was confirmed', (dispute) => dispute.confirm() as undefined],
    [
      'it was not asked about for ten seconds',
      () => {
        clock.now += 5_000
        return undefined
      },
    ],
    [
      'the clock was set back',
      () => {
        clock.now -= 5_001
        return undefined
      },
    ],
  ])('is waited for again if %s in between', async (_, between) => {
    const dispute = open(...below)
    await dispute.resolve(block)
    await between(dispute)
    answers = below
    const resolved = async () => {
      clock.now += 5_000
      return dispute.resolve(block)
    }
    expect([await resolved(), await resolved()]).toEqual([null, null])
    expect(await resolved()).toEqual([0, 1])
  })
})

describe('a block that most heads are below', () => {
  const low: Answer = { fork: null, head: 6 }
  const problem = 'the index is at block 7, above the newest block of most nodes'

  test('is a problem after ten seconds, and is not orphaned', async () => {
    const dispute = open(ours, low, low)
    const resolved = async (ms: number) => {
      clock.now += ms
      return [await dispute.resolve(block), dispute.problem()]
    }
    expect(await resolved(0)).toEqual([null, null])
    expect(await resolved(9_999)).toEqual([null, null])
    expect(await resolved(1)).toEqual([null, problem])
    expect(await resolved(9_999)).toEqual([null, problem])
    expect(penalized).toEqual([])
  })

  test('is a problem also if it is asked about rarely, but not after a minute', async () => {
    for (const [ms, expected] of [
      [59_999, problem],
      [60_000, null],
    ] as const) {
      const dispute = open(ours, low, low)
      await dispute.resolve(block)
      clock.now += ms
      await dispute.resolve(block)
      expect(dispute.problem()).toBe(expected)
    }
  })

  test.each<[string, (dispute: ReturnType<typeof open>) => Promise<unknown>]>([
    [
      'half of them had it',
      (dispute) => {
        answers = [ours, ours, low, low]
        return dispute.resolve(block)
      },
    ],
    [
      'another hash was asked about',
      (dispute) => {
        answers = [theirs, low, low]
        return dispute.resolve(blockOf(7n, 1))
      },
    ],
    ['it was confirmed', async (dispute) => dispute.confirm()],
    [
      'the clock was set back',
      async () => {
        clock.now -= 10_001
      },
    ],
  ])('is none if %s in between', async (_, between) => {
    const dispute = open(ours, low, low)
    await dispute.resolve(block)
    clock.now += 5_000
    await between(dispute)
    answers = [ours, low, low]
    await dispute.resolve(block)
    clock.now += 9_999
    await dispute.resolve(block)
    expect(dispute.problem()).toBeNull()
  })
})

test('a disagreement is reported for a minute, and logged once while it lasts', async () => {
  const dispute = open(theirs, ours)
  expect(dispute.problem()).toBeNull()
  await dispute.resolve(block)
  clock.now += 59_999
  expect(dispute.problem()).toBe('nodes disagree about block 7')
  await dispute.resolve(block)
  expect(lines).toHaveLength(1)
  clock.now += 59_999
  expect(dispute.problem()).not.toBeNull()
  clock.now += 1
  expect(dispute.problem()).toBeNull()
  await dispute.resolve({ ...block, number: 8n })
  expect(lines).toEqual(['nodes disagree about block 7', 'nodes disagree about block 8'])
})

test('an endpoint that answers only a part does not count', async () => {
  const dispute = open(theirs)
  const error = new NodeError({ code: -32_000, message: 'header not found' })
  const good = { ok: true, value: blockOf(7n, 1) }
  const answer = (endpoint: number, first: unknown, second: unknown) => ({
    endpoint,
    outcomes: { block: first, head: second, id: { ok: false, error } },
  })
  const chain = partOfChain({
    queryAllEndpoints: async () =>
      [
        answer(0, good, { ok: false, error }),
        answer(1, { ok: false, error }, good),
        answer(2, good, { ok: true, value: null }),
      ] as never,
  })
  expect(await createDispute({ chain, log: pino({ level: 'silent' }) }).resolve(block)).toBeNull()
  expect(dispute.problem()).toBeNull()
})
