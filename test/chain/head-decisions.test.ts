import { expect, test } from 'vitest'
import { createHead } from '../../src/chain/head.ts'
import type { Node } from '../../src/chain/pool/failover.ts'
import { blockOf } from '../support/seed-index.ts'

/* Which block is the head, by a node and a clock that a test sets. */

/** A head of nodes that report what `says` returns; by default one block for ever. */
const open = ({ isAlone = false, maxAgeMs = 200 } = {}) => {
  const at = { now: 1_000_000, height: 100, fork: 0, endpoint: 0 }
  const penalized: number[] = []
  const asked: (bigint | null)[] = []
  const block = (height: number | bigint, fork = at.fork) => blockOf(BigInt(height), fork)
  const node = {
    sendBy: async (batch: { readonly past: { readonly params: readonly unknown[] } | undefined }) => {
      const past = batch.past === undefined ? null : BigInt(String(batch.past.params[0]))
      asked.push(past)
      return {
        endpoint: at.endpoint,
        outcomes: {
          latest: { ok: true, value: block(at.height) },
          past: past === null ? undefined : { ok: true, value: block(past) },
        },
      }
    },
  } as unknown as Pick<Node, 'sendBy'>
  const head = createHead({
    ...{ node, isAlone, maxAgeMs, now: () => at.now },
    penalize: (endpoint) => penalized.push(endpoint),
  })
  const number = async (atLeast?: bigint) => Number((await head.latest(atLeast)).number)
  return { at, head, asked, penalized, block, number }
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
  ['of one endpoint within a second', 999, 0, [0]],
  ['of one endpoint within more than a second', 1_000, 0, []],
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
