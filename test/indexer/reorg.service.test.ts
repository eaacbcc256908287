import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { findAncestor, isBelowFinal } from '../../src/indexer/reorg.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFakeChain, type FakeChain, partOfChain } from '../support/fake-log-chain.ts'
import { openIndexDatabase, openWrites } from '../support/index-writes.ts'
import { blockOf } from '../support/seed-index.ts'

/* The search for the newest block that the index and the chain have in common. */

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(() => index.empty())

/** A chain and an index with an anchor at each of its blocks after the first. */
const anchored = async (count: number): Promise<FakeChain> => {
  const fake = createFakeChain()
  const { write } = await openWrites(database)
  for (let at = 0; at < count; at += 1) await write(fake.pass(1))
  return fake
}
const find = ({ chain }: Pick<FakeChain, 'chain'>, top: StoredBlock, trusted: readonly number[] = [0]) =>
  findAncestor({ chain, database }, top.number, trusted)

test.each([
  [3n, 3n],
  [1n, 1n],
  [0n, null],
])('of a chain that was replaced above block %i the ancestor is %s', async (above, ancestor) => {
  const fake = await anchored(5)
  const [top, expected] = [fake.head(), ancestor === null ? null : fake.block(ancestor)]
  fake.reorg(above)
  fake.pass(5)
  expect(await find(fake, top)).toEqual(expected)
})

test('anchors above the denied block are not considered', async () => {
  const fake = await anchored(5)
  expect(await find(fake, fake.block(3n))).toEqual(fake.block(3n))
})

test.each([
  [50, 1],
  [51, 2],
])('of %i replaced anchors, 50 are checked in one request', async (count, requests) => {
  const fake = await anchored(count)
  const top = fake.head()
  fake.reorg(0n)
  fake.pass(count)
  fake.sent()
  expect(await find(fake, top)).toBeNull()
  expect(fake.sent()).toHaveLength(requests)
})

test('the ancestor may be in a later batch', async () => {
  const fake = await anchored(60)
  const [top, ancestor] = [fake.head(), fake.block(9n)]
  fake.reorg(9n)
  fake.pass(51)
  expect(await find(fake, top)).toEqual(ancestor)
})

test('only trusted endpoints count, each of them', async () => {
  const ours = await anchored(5)
  const other = createFakeChain()
  other.pass(5)
  const [top, ancestor] = [ours.head(), ours.block(2n)]
  other.reorg(2n)
  other.pass(4)
  const chain = partOfChain({
    chainId: 8453,
    queryAllEndpoints: async (batch) => {
      const [first] = await ours.chain.queryAllEndpoints(batch)
      const [second] = await other.chain.queryAllEndpoints(batch)
      if (first === undefined || second === undefined) throw new Error('both answer')
      return [second, { ...first, endpoint: 1 }]
    },
  })
  expect(await find({ chain }, top, [0])).toEqual(ancestor)
  expect(await find({ chain }, top, [1])).toEqual(top)
  expect(await find({ chain }, top, [1, 0])).toEqual(top)
  await expect(find({ chain }, top, [7])).rejects.toMatchObject({ code: 'service_unavailable' })
})

test('an endpoint without these blocks gives no ancestor', async () => {
  const fake = await anchored(3)
  const top = fake.head()
  fake.reorg(0n)
  await expect(find(fake, top)).rejects.toMatchObject({ code: 'service_unavailable' })
})

test.each<[string, bigint, StoredBlock | null, boolean]>([
  ['a block below', 3n, blockOf(2n), true],
  ['the same block', 3n, blockOf(3n), false],
  ['an empty index', 0n, null, true],
  ['no finalized block', 9n, blockOf(0n), false],
])('%s is below the finalized block', async (_, finalized, block, isBelow) => {
  const fake = createFakeChain()
  fake.pass(5)
  fake.state.finalized = finalized
  expect(await isBelowFinal(fake.chain, block)).toBe(isBelow)
})

test('no block is below the finalized one while no node answers, and other faults are thrown', async () => {
  const failing = (fault: Error) => partOfChain({ send: () => Promise.reject(fault) })
  expect(await isBelowFinal(failing(unavailable('no node')), blockOf(0n))).toBe(false)
  await expect(isBelowFinal(failing(new TypeError('a defect')), blockOf(0n))).rejects.toThrow('a defect')
})
