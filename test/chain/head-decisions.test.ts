import { describe, expect, test } from 'vitest'
import { createHead, type StoredHead } from '../../src/chain/head/head.ts'
import type { Node } from '../../src/chain/pool/failover.ts'
import { type Batch, flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import { Preconfirmed } from '../../src/chain/rpc/errors.ts'
import { getBlock, type Request } from '../../src/chain/rpc/requests.ts'
import { blockOf } from '../support/seed-index.ts'

/* Which block is the head, by a node and a clock that a test sets. */

/** A head of nodes that report what `says` returns; by default one block for ever. */
const open = ({
  isAlone = false,
  maxAgeMs = 200,
  storedHead = async (): Promise<StoredHead | null> => null,
  /** Whether blocks have the times at which they appear. */
  isLive = false,
} = {}) => {
  const times = new Map<string, bigint>()
  const at = { now: 1_800_100_000_000, height: 100, fork: 0, endpoint: 0, isEarly: false }
  const penalized: string[] = []
  const asked: (bigint | null)[] = []
  const block = (height: number | bigint, fork = at.fork) => {
    const made = blockOf(BigInt(height), fork)
    if (!isLive) return made
    const timestamp = times.get(made.hash) ?? BigInt(Math.floor(at.now / 1_000))
    times.set(made.hash, timestamp)
    return { ...made, timestamp }
  }
  const node = {
    sendBy: async (batch: {
      readonly past?: { readonly params: readonly unknown[] }
      readonly block?: { readonly params: readonly unknown[] }
    }) => {
      if (batch.block !== undefined) {
        const outcomes = { block: { ok: true, value: block(BigInt(String(batch.block.params[0]))) } }
        return { endpoint: at.endpoint, outcomes }
      }
      const past = batch.past === undefined ? null : BigInt(String(batch.past.params[0]))
      asked.push(past)
      return {
        endpoint: at.endpoint,
        outcomes: {
          latest: at.isEarly
            ? { ok: false, error: new Preconfirmed(BigInt(at.height)) }
            : { ok: true, value: block(at.height) },
          past: past === null ? undefined : { ok: true, value: block(past) },
        },
      }
    },
  } as unknown as Pick<Node, 'sendBy'>
  /** The chains of the endpoints, as the heights and the forks of their heads; by default that of the first one. */
  const endpoints: { height: number; fork: number; lacks?: number }[] = []
  let queries = 0
  const queryAll = async (batch: Batch) => {
    queries += 1
    const answer = ({ height, fork, lacks }: (typeof endpoints)[number], endpoint: number) => ({
      endpoint,
      outcomes: unflatten(
        batch,
        flatten<Request<unknown>>(batch).map(({ params: [tag] }) => {
          const asNumber = tag === 'latest' ? height : Number(tag)
          const isMissing = asNumber > height || asNumber === lacks
          return { ok: true, value: isMissing ? null : block(asNumber, fork) } as const
        }),
      ),
    })
    return (endpoints.length > 0 ? endpoints : [{ height: at.height, fork: at.fork }]).map(answer) as never
  }
  const head = createHead({
    ...{ node, queryAll, isAlone, maxAgeMs, stored: storedHead, now: () => at.now },
    penalize: (endpoint, why) => penalized.push(`${endpoint}: ${why}`),
  })
  const number = async (atLeast?: bigint) => Number((await head.latest(atLeast)).number)
  return { at, head, asked, penalized, block, number, endpoints, queries: () => queries }
}

test('a block is the head until it is too old, or too low for its reader', async () => {
  const { at, head, asked, number } = open()
  expect([await number(), await number(100n), asked.length]).toEqual([100, 100, 1])
  expect([await number(101n), asked.length]).toEqual([100, 2])
  at.now += 200
  expect([await number(), asked.length]).toEqual([100, 2])
  at.now += 1
  expect([await number(), asked.length]).toEqual([100, 3])
  await head.fresh()
  expect(asked).toHaveLength(4)
})

test('no block is shared for longer than its greatest age', async () => {
  const { at, asked, number } = open({ maxAgeMs: 100 })
  await number()
  at.now += 100
  expect([await number(), asked.length]).toEqual([100, 1])
  at.now += 1
  expect([await number(), asked.length]).toEqual([100, 2])
})

test('a lower block is the head once it was reported for ten seconds, and is asked for no more often than others', async () => {
  const { at, asked, number } = open()
  await number()
  at.height = 90
  at.now += 9_999
  expect([await number(), await number(), asked.length]).toEqual([100, 100, 2])
  at.now += 1
  expect([await number(), asked.length]).toEqual([100, 2])
  at.now += 201
  expect([await number(), asked.length]).toEqual([90, 3])
})

test('after the clock was set back, the head is asked for again, also a lower one', async () => {
  const { at, asked, number } = open()
  expect([await number(), asked.length]).toEqual([100, 1])
  at.now -= 1
  at.height = 90
  expect([await number(), await number(), asked.length]).toEqual([90, 90, 2])
})

test('a head that was polled before the clock was set back is unknown', async () => {
  const { at, head, asked, number } = open()
  await head.poll({})
  at.now -= 600_000
  at.height = 90
  await head.poll({})
  expect([await number(), asked.length]).toEqual([90, 2])
})

test('a dropped block is asked for again, and another one is not dropped with it', async () => {
  const { at, head, asked, block, number } = open()
  await number()
  head.drop(block(100, 1))
  expect([await number(), asked.length]).toEqual([100, 1])
  at.height = 95
  head.drop(block(100))
  expect([await number(), asked.length]).toEqual([95, 2])
})

test.each([
  ['of one endpoint within ten seconds', 9_999, 0, ['0: no node has its newest blocks']],
  ['of one endpoint within more than ten seconds', 10_000, 0, []],
  ['of two endpoints', 1, 1, []],
])('two dropped blocks %s', async (_, ms, second, penalties) => {
  const { at, head, penalized } = open()
  head.drop(await head.latest())
  expect(penalized).toEqual([])
  Object.assign(at, { now: at.now + ms, endpoint: second, height: 101 })
  head.drop(await head.latest())
  expect(penalized).toEqual(penalties)
})

test('a fork is the chain once it was reported for two seconds without another answer, each time', async () => {
  const { at, head, asked, number } = open()
  // Blocks that are old enough to compare with.
  for (let times = 0; times < 3; times += 1) {
    await head.fresh()
    at.now += 2_000
    at.height += 10
  }
  expect(asked).toEqual([null, null, 100n])
  const refused = 'the nodes report another fork: retry after 1 s'
  const reported = async (fork: number): Promise<unknown> => {
    at.fork = fork
    return head.fresh().then(
      ({ number: height }) => Number(height),
      ({ message }: Error) => message,
    )
  }
  expect(await reported(1)).toBe(refused)
  at.now += 1_999
  expect([await reported(1), await reported(0), await reported(1)]).toEqual([refused, 130, refused])
  // The clock is set back.
  at.now -= 3_600_000
  expect(await reported(1)).toBe(refused)
  at.now += 2_000
  at.height = 120
  expect([await reported(1), await number()]).toEqual([120, 120])
  // Nothing of the fork before is compared with.
  expect(asked.at(-1)).not.toBe(null)
  at.now += 1
  expect([await reported(1), asked.at(-1)]).toEqual([120, null])
  for (let times = 0; times < 3; times += 1) {
    at.now += 2_000
    await reported(1)
  }
  expect(await reported(2)).toBe(refused)
})

test('a single node has nothing to be compared with', async () => {
  const { at, head, asked } = open({ isAlone: true })
  for (let times = 0; times < 4; times += 1) {
    await head.fresh()
    at.now += 2_000
  }
  expect(asked).toEqual([null, null, null, null])
})

describe('what a node calls its newest block', () => {
  const poll = async ({ head }: Pick<ReturnType<typeof open>, 'head'>): Promise<number | string> =>
    head.poll({}).then(
      (polled) => Number(polled.head.number),
      ({ message }: Error) => message,
    )

  test('is checked at first, and then taken for it as long as the chain can have made so many blocks', async () => {
    const opened = open({ isLive: true })
    const { at, queries, penalized } = opened
    expect([await poll(opened), queries()]).toEqual([100, 2])
    // Two seconds later: twice as many blocks as the fastest chains make in six seconds.
    Object.assign(at, { now: at.now + 2_000, height: 100 + 2 * 60 })
    expect([await poll(opened), queries()]).toEqual([220, 2])
    Object.assign(at, { now: at.now + 2_000, height: 220 + 2 * 60 + 1 })
    expect([await poll(opened), queries()]).toEqual([341, 4])
    expect(penalized).toEqual([])
  })

  test('is compared with the pace between blocks that nodes agreed on: after ten seconds, and then less often', async () => {
    const opened = open({ isLive: true })
    const { at, queries } = opened
    await poll(opened)
    const agreedAfter: number[] = []
    for (let second = 1; second <= 1_000; second += 1) {
      const before = queries()
      Object.assign(at, { now: at.now + 1_000, height: at.height + 5 })
      await poll(opened)
      if (queries() > before) agreedAfter.push(second)
    }
    expect(agreedAfter).toEqual([10, 30, 70, 150, 310, 610, 910])
    // Five blocks a second, for twice as long as the five seconds since the last one and before.
    const before = queries()
    Object.assign(at, { now: at.now + 1_000, height: at.height + 2 * 5 * 5 })
    expect([await poll(opened), queries()]).toEqual([5_150, before])
    Object.assign(at, { now: at.now + 1_000, height: at.height + 2 * 5 * 5 + 1 })
    expect([await poll(opened), queries()]).toEqual([5_201, before + 2])
  })

  test('cannot run ahead of the chain: a node that adds too many blocks with each answer is penalized', async () => {
    const opened = open({ isLive: true })
    const { at, endpoints, penalized } = opened
    await poll(opened)
    const honest = { height: 100, fork: 0 }
    for (let second = 1; second <= 30; second += 1) {
      honest.height += 1
      Object.assign(at, { now: at.now + 1_000, height: at.height + 1 })
      await poll(opened)
    }
    endpoints.push({ height: 1_000, fork: 7 }, honest, honest)
    at.fork = 7
    let ahead = 0
    for (let second = 1; second <= 300 && penalized.length === 0; second += 1) {
      ahead = at.height - honest.height
      honest.height += 1
      Object.assign(at, { now: at.now + 1_000, height: at.height + 2 })
      Object.assign(endpoints[0] ?? {}, { height: at.height })
      await poll(opened)
    }
    expect(ahead).toBeLessThan(41)
    expect(penalized).toEqual([
      `0: no other node has its newest block ${at.height}, and it is ${ahead + 1} blocks above the last one`,
    ])
  })

  test('is checked again and again when nodes do not agree, but no more often', async () => {
    const opened = open({ isLive: true })
    const { at, endpoints, queries, penalized } = opened
    await poll(opened)
    endpoints.push({ height: 1_000, fork: 7 }, { height: 1_000, fork: 8 })
    for (let second = 1; second <= 30; second += 1) {
      Object.assign(at, { now: at.now + 1_000, height: at.height + 1 })
      await poll(opened)
    }
    expect([queries(), penalized]).toEqual([6, []])
  })

  test.each([1, 2])(
    'does not count when no other one of %i nodes has it, and its node is penalized',
    async (others) => {
      const opened = open({ isLive: true })
      const { at, block, head, number, endpoints, penalized } = opened
      await poll(opened)
      at.now += 1_000
      endpoints.push({ height: 1_000_100, fork: 7 }, ...Array(others).fill({ height: 104, fork: 0 }))
      Object.assign(at, { height: 1_000_100, fork: 7 })
      if (others === 1) {
        // Two nodes of which one is wrong cannot agree, and nothing is read at either one's head.
        expect(await poll(opened)).toBe('a node claims block 1000100: no other node has it')
        await expect(head.fresh()).rejects.toThrow('the nodes do not agree on the newest block: retry after 1 s')
      } else {
        expect(await poll(opened)).toBe('a node claims block 1000100: no other node has it')
        expect(await head.fresh()).toEqual(block(104, 0))
      }
      expect(penalized[0]).toBe(
        `0: no other node has its newest block 1000100, and it is ${others === 1 ? 1_000_000 : 999_996} blocks above the last one`,
      )
      // The next endpoint is asked.
      Object.assign(at, { height: 105, fork: 0, endpoint: 1, now: at.now + 1_000 })
      expect([await poll(opened), await number()]).toEqual([105, 105])
    },
  )

  test.each([0, 20, 86_400])('counts when every other node has stood still, %i s behind at first', async (behind) => {
    const opened = open({ isLive: true })
    const { at, endpoints, penalized } = opened
    const end = at.now
    // Two blocks a second, of which each node has the time.
    for (at.now = end - behind * 1_000; at.now < end; at.now += 60_000) opened.block((at.now / 1_000) * 2)
    const still = { height: ((end - behind * 1_000) / 1_000) * 2, fork: 0 }
    at.now = end
    const first = { height: 0, fork: 0 }
    endpoints.push(first, still)
    for (let second = 0; second <= 1_000; second += 1) {
      at.height = (at.now / 1_000) * 2
      first.height = at.height
      expect(await poll(opened)).toBe(at.height)
      at.now += 1_000
    }
    expect(penalized).toEqual([])
  })

  test.each([1, 2, 5])(
    'does not count when two other nodes have other blocks of its chain, %i blocks below it',
    async (lead) => {
      const opened = open({ isLive: true })
      const { at, endpoints, penalized } = opened
      const others = { height: 100, fork: 0 }
      for (let second = 0; second < 60; second += 1) {
        Object.assign(at, { now: at.now + 1_000, height: at.height + 1 })
        await poll(opened)
      }
      endpoints.push({ height: at.height, fork: 7 }, others, others)
      at.fork = 7
      const answers = []
      for (let second = 0; second < 1_000; second += 1) {
        Object.assign(at, { now: at.now + 1_000, height: at.height + 1 })
        others.height = at.height - lead
        opened.block(others.height, 0)
        Object.assign(endpoints[0] ?? {}, { height: at.height })
        answers.push(await poll(opened))
      }
      const refused = answers.findIndex((answer) => typeof answer === 'string')
      expect(refused).toBeLessThan(300)
      expect(answers.slice(refused).every((answer) => typeof answer === 'string')).toBe(true)
      expect(penalized[0]).toBe('0: no node has its newest blocks')
    },
  )

  test.each([
    ['has not the block that two others have', { height: 101, fork: 0, lacks: 100 }, 0],
    ['has another block than two others that stand still', { height: 150, fork: 7 }, 50],
  ])('counts when its node %s', async (_, own, seconds) => {
    const opened = open({ isLive: true })
    const { at, endpoints, penalized } = opened
    const still = { height: 100, fork: 0 }
    opened.block(still.height, still.fork)
    Object.assign(at, { now: at.now + seconds * 1_000, ...own })
    endpoints.push(own, still, still)
    expect(await poll(opened)).toBe(own.height)
    expect(penalized).toEqual([])
  })

  test('does not count when two others, which stand still, have another block of its number', async () => {
    const opened = open({ isLive: true })
    const still = { height: 100, fork: 0 }
    opened.block(still.height, still.fork)
    Object.assign(opened.at, { now: opened.at.now + 50_000, height: 100, fork: 7 })
    opened.endpoints.push({ height: 100, fork: 7 }, still, still)
    expect(await poll(opened)).toBe('a node claims block 100: no other node has it')
  })

  const ours = { height: 100, fork: 0 }
  const theirs = { height: 100, fork: 7 }
  const claims = { height: 101, fork: 0 }
  test.each([
    [0, [claims, ours, theirs, theirs]],
    [2, [theirs, theirs, claims, ours]],
  ])('counts from node %i of four when one of three others is on its fork', async (endpoint, nodes) => {
    const opened = open({ isLive: true })
    opened.endpoints.push(...nodes)
    Object.assign(opened.at, { endpoint, height: 101, fork: 0 })
    expect(await poll(opened)).toBe(101)
    expect(opened.penalized).toEqual([])
  })

  test('is followed after a start if the stored head allows it, although the other one of two nodes is on a fork', async () => {
    const forks = [
      { height: 300, fork: 0 },
      { height: 300, fork: 7 },
    ]
    const opened = open({ isLive: true })
    const before = { block: opened.block(90), ageMs: 10_000 }
    const start = (storedHead?: () => Promise<StoredHead>) => {
      const started = open({ isLive: true, ...(storedHead && { storedHead }) })
      started.endpoints.push(...forks)
      Object.assign(started.at, { now: opened.at.now + before.ageMs, height: 300 })
      return started
    }
    expect(await poll(start())).toBe('a node claims block 300: no other node has it')
    const started = start(async () => before)
    expect(await poll(started)).toBe(300)
    Object.assign(started.at, { height: 1_000_300 })
    expect(await poll(started)).toBe('a node claims block 1000300: no other node has it')
  })

  test('does not count when two other nodes have another block of its number, and its node is penalized after two seconds', async () => {
    const opened = open({ isLive: true })
    const { at, block, head, endpoints, penalized } = opened
    endpoints.push({ height: 100, fork: 7 }, { height: 101, fork: 0 }, { height: 102, fork: 0 })
    at.fork = 7
    expect(await poll(opened)).toBe('a node claims block 100: no other node has it')
    expect(await head.fresh()).toEqual(block(101, 0))
    at.now += 1_999
    expect(await poll(opened)).toBe('a node claims block 100: no other node has it')
    expect(penalized).toEqual([])
    at.now += 1
    expect(await poll(opened)).toBe('a node claims block 100: no other node has it')
    expect(penalized).toEqual(['0: no node has its newest blocks'])
    // Half of the nodes prove nothing.
    endpoints[1] = { height: 100, fork: 7 }
    endpoints.unshift({ height: 102, fork: 0 })
    expect(await poll(opened)).toBe(100)
  })

  test('counts when another node has it, also if that one is behind by now', async () => {
    const opened = open()
    const { at, endpoints, penalized } = opened
    endpoints.push({ height: 100, fork: 0 }, { height: 98, fork: 0 })
    expect(await poll(opened)).toBe(100)
    at.now += 1_000
    endpoints.splice(0, 2, { height: 9_000, fork: 0 }, { height: 9_001, fork: 0 })
    at.height = 9_000
    expect(await poll(opened)).toBe(9_000)
    expect(penalized).toEqual([])
  })

  test('is replaced by the highest block that two other nodes have', async () => {
    const opened = open()
    const { at, block, head, endpoints } = opened
    await poll(opened)
    at.now += 1_000
    Object.assign(at, { height: 1_000_100, fork: 7 })
    endpoints.push({ height: 102, fork: 0 }, { height: 104, fork: 0 }, { height: 104, fork: 0 })
    expect(await head.fresh()).toEqual(block(104, 0))
  })

  test.each([
    ['that block', { height: 1_000_099, fork: 0 }],
    ['the block before it', { height: 1_000_100, fork: 0, lacks: 1_000_099 }],
    ['the same block', { height: 1_000_100, fork: 7 }],
  ])('of the only node does not count when it does not return %s', async (_, endpoint) => {
    const opened = open({ isAlone: true })
    await poll(opened)
    opened.at.height = 1_000_100
    opened.endpoints.push(endpoint)
    expect(await poll(opened)).toBe('a node claims block 1000100: it does not return it')
  })

  test('of the only node counts when it returns it by its number', async () => {
    const opened = open({ isAlone: true })
    const { at, endpoints, queries } = opened
    expect([await poll(opened), queries()]).toEqual([100, 1])
    at.now += 1_000
    endpoints.push({ height: 101, fork: 0 })
    at.height = 1_000_100
    expect(await poll(opened)).toBe('a node claims block 1000100: it does not return it')
    endpoints.splice(0, 1)
    expect(await poll(opened)).toBe(1_000_100)
  })

  test('is not more than 15 seconds further ahead of the clock than the last one was', async () => {
    const opened = open()
    const { at, queries } = opened
    at.now = Number(blockOf(100n).timestamp) * 1_000 - 4_000
    await poll(opened)
    // Blocks are two seconds apart: this one is 20 s ahead of the clock.
    at.height = 108
    expect([await poll(opened), queries()]).toEqual([108, 4])
    at.height = 115
    expect([await poll(opened), queries()]).toEqual([115, 4])
  })
})

test('a newest block without a hash does not count yet: the head is the block before it', async () => {
  const { at, head, number } = open()
  Object.assign(at, { isEarly: true, height: 101 })
  expect(await number()).toBe(100)
  expect(await head.poll({})).toMatchObject({ head: { number: 100n } })
})

test('a chain whose first block has no hash yet has no head', async () => {
  const { at, head } = open()
  Object.assign(at, { isEarly: true, height: 0 })
  await expect(head.latest()).rejects.toThrow('the node has no block with a hash yet')
  at.height = 1
  expect((await head.latest()).number).toBe(0n)
})

describe('a head that the worker has stored', () => {
  const openStored = (ageMs = 0, maxAgeMs = 5_000) => {
    const stored = { block: blockOf(100n), ageMs }
    return { stored, ...open({ maxAgeMs, storedHead: async () => ({ ...stored }) }) }
  }

  test.each([
    [5_000, 0],
    [5_001, 1],
  ])('is used at an age of %i ms, with %i requests', async (ageMs, requests) => {
    const { asked, number } = openStored(ageMs)
    expect([await number(), asked.length]).toEqual([100, requests])
  })

  test('is not enough for a reader of a later block, and readers do not go back to it', async () => {
    const { at, stored, asked, number } = openStored()
    at.height = 103
    expect([await number(103n), await number(), asked.length]).toEqual([103, 103, 1])
    at.now += 4_000
    expect([await number(), asked.length]).toEqual([103, 1])
    at.now += 1_001
    expect([await number(), asked.length]).toEqual([100, 1])
    stored.block = blockOf(110n)
    expect([await number(), asked.length]).toEqual([110, 1])
  })

  test('that no node has does not excuse the endpoint whose own blocks are dropped before and after it', async () => {
    const { at, stored, head, penalized } = openStored()
    const dropOwn = async (height: number) => {
      at.height = height
      head.drop(await head.latest(BigInt(height)))
    }
    await dropOwn(101)
    stored.block = blockOf(102n)
    head.drop(await head.latest())
    expect(penalized).toEqual([])
    await dropOwn(103)
    expect(penalized).toEqual(['0: no node has its newest blocks'])
  })

  test('is not used any more once no node has it', async () => {
    const { at, stored, head, asked, number } = openStored()
    head.drop(await head.latest())
    expect([await number(), asked.length]).toEqual([100, 1])
    stored.block = blockOf(101n)
    at.now += 201
    expect(await number()).toBe(101)
  })

  test('is what a claim is compared with', async () => {
    const { at, queries, number } = openStored()
    await number()
    at.height = 110
    expect([await number(110n), queries()]).toEqual([110, 0])
    at.height = 9_000
    expect([await number(9_000n), queries()]).toEqual([9_000, 2])
  })

  test('is not asked for by a process that polls', async () => {
    const { at, head, number } = openStored()
    at.height = 90
    await head.poll({ other: getBlock(1n) })
    at.now += 5_000
    expect(await number()).toBe(90)
    at.now += 1
    expect(await number()).toBe(100)
  })
})
