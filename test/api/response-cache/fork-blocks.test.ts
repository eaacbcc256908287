import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createForkBlocks } from '../../../src/api/response-cache/fork-blocks.ts'
import { blockRefOf } from '../../../src/api/response-cache/tags.ts'
import type { Chain } from '../../../src/chain/chain.ts'
import type { Block } from '../../../src/chain/rpc/requests.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { resourceOf } from '../../../src/reads/cache/resources.ts'
import { blockAt, createFakeChanges, reachedAt } from '../../support/fake-changes.ts'

type Outcome = { readonly ok: true; readonly value: Block | null } | { readonly ok: false }
type Requests = {
  readonly indexed: { readonly params: readonly unknown[] }
  readonly outcomes: readonly { readonly params: readonly unknown[] }[]
}

const found = (value: Block | null): Outcome => ({ ok: true, value })
const numberOf = ({ params: [number] }: { readonly params: readonly unknown[] }): number => Number(number)
const otherFork = (number: number): Block => ({ ...blockAt(number), hash: blockAt(number + 1_000).hash })

/** A chain whose node answers with the blocks of `blockOf`, and an index that has reached block 100. */
const open = (options: { readonly maxBlocks?: number; readonly maxRequested?: number } = {}) => {
  const index = createFakeChanges()
  index.change(1, resourceOf([8453]))
  index.reach(reachedAt(8453, 100))
  const node = {
    requested: [] as (readonly number[])[],
    indexedOf: (number: number): Outcome => found(blockAt(number)),
    blockOf: (number: number): Outcome => found(blockAt(number)),
    before: async (): Promise<void> => {},
  }
  const chain = {
    chainId: 8453,
    async send({ indexed, outcomes }: Requests) {
      node.requested.push([indexed, ...outcomes].map(numberOf))
      await node.before()
      return {
        indexed: node.indexedOf(numberOf(indexed)),
        outcomes: outcomes.map((request) => node.blockOf(numberOf(request))),
      }
    },
  } as unknown as Chain
  const logged: unknown[] = []
  const log = { error: (fields: unknown) => void logged.push(fields) } as never
  const chains = new Map([[8453, chain]])
  const blocks = createForkBlocks({ chains, changes: index.changes, log, ...options })
  const commit = async () => {
    index.commit()
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
  const isConfirmed = (number: number) => blocks.isConfirmed(8453, blockRefOf(blockAt(number)))
  return { index, node, blocks, logged, commit, isConfirmed }
}

test('a block is confirmed by a node on the fork of the index, once the index has reached it', async () => {
  const { blocks, commit, isConfirmed, index, node } = open()
  blocks.add(8453, blockAt(100))
  blocks.add(8453, blockAt(101))
  expect(isConfirmed(100)).toBe(false)
  await commit()
  expect([isConfirmed(100), isConfirmed(101)]).toEqual([true, false])
  expect(node.requested).toEqual([[100, 100]])
  index.reach(reachedAt(8453, 101))
  await commit()
  expect([isConfirmed(100), isConfirmed(101)]).toEqual([true, true])
  expect(node.requested).toEqual([
    [100, 100],
    [101, 101],
  ])
})

test.each<[string, (opened: ReturnType<typeof open>) => void]>([
  [
    'the node has another newest block',
    ({ node }) => {
      node.indexedOf = (number) => found(otherFork(number))
    },
  ],
  [
    'the node lacks the newest block',
    ({ node }) => {
      node.indexedOf = () => found(null)
    },
  ],
  [
    'the node refuses the newest block',
    ({ node }) => {
      node.indexedOf = () => ({ ok: false })
    },
  ],
  [
    'the node lacks the block',
    ({ node }) => {
      node.blockOf = () => found(null)
    },
  ],
  [
    'the node refuses the block',
    ({ node }) => {
      node.blockOf = () => ({ ok: false })
    },
  ],
])('a block is not confirmed when %s, and is requested again', async (_, change) => {
  const opened = open()
  const { blocks, commit, isConfirmed, node } = opened
  const { indexedOf, blockOf } = node
  blocks.add(8453, blockAt(90))
  change(opened)
  await commit()
  expect([isConfirmed(90), node.requested.length]).toEqual([false, 1])
  Object.assign(node, { indexedOf, blockOf })
  await commit()
  expect([isConfirmed(90), node.requested.length]).toEqual([true, 2])
})

test('a block of another fork is forgotten', async () => {
  const { blocks, commit, isConfirmed, node } = open()
  node.blockOf = (number) => found(otherFork(number))
  blocks.add(8453, blockAt(90))
  await commit()
  await commit()
  expect([isConfirmed(90), node.requested]).toEqual([false, [[100, 90]]])
})

test('the answers belong to the blocks in their order', async () => {
  const { blocks, commit, isConfirmed, node } = open()
  node.blockOf = (number) => (number === 91 ? { ok: false } : found(number === 92 ? otherFork(92) : blockAt(number)))
  for (const number of [90, 91, 92, 93]) blocks.add(8453, blockAt(number))
  await commit()
  expect([90, 91, 92, 93].map(isConfirmed)).toEqual([true, false, false, true])
  await commit()
  expect(node.requested.at(-1)).toEqual([100, 91])
})

test('a rollback makes earlier confirmations void, also one during a request', async () => {
  const { blocks, commit, isConfirmed, index, node } = open()
  blocks.add(8453, blockAt(90))
  await commit()
  index.change(2, resourceOf([8453]))
  expect(isConfirmed(90)).toBe(false)
  blocks.add(8453, blockAt(91))
  node.before = async () => index.change(3, resourceOf([8453]))
  await commit()
  expect(node.requested.at(-1)).toEqual([100, 91])
  expect(isConfirmed(91)).toBe(false)
})

test('the same block is added once, and a block of another fork replaces it', async () => {
  const { blocks, commit, isConfirmed, node } = open()
  blocks.add(8453, blockAt(90))
  await commit()
  blocks.add(8453, blockAt(90))
  expect(isConfirmed(90)).toBe(true)
  blocks.add(8453, otherFork(90))
  expect(isConfirmed(90)).toBe(false)
  expect(blocks.isConfirmed(8453, blockRefOf(otherFork(90)))).toBe(false)
  node.blockOf = (number) => found(otherFork(number))
  await commit()
  expect(blocks.isConfirmed(8453, blockRefOf(otherFork(90)))).toBe(true)
})

test('a reference is confirmed with its number and its hash only', async () => {
  const { blocks, commit } = open()
  blocks.add(8453, blockAt(90))
  await commit()
  const reference = blockRefOf(blockAt(90))
  expect(blocks.isConfirmed(8453, reference)).toBe(true)
  expect(blocks.isConfirmed(8453, { ...reference, number: 91 })).toBe(false)
  expect(blocks.isConfirmed(8453, { ...reference, hashPrefix: 'ab' })).toBe(false)
  expect(blocks.isConfirmed(1, reference)).toBe(false)
})

test('no request is sent without a block to confirm, without an index, and while one is in flight', async () => {
  const { blocks, commit, index, node } = open()
  await commit()
  blocks.add(8453, blockAt(101))
  await commit()
  expect(node.requested).toEqual([])
  const empty = createFakeChanges()
  const chains = new Map([[8453, { chainId: 8453, send: () => expect.unreachable() } as unknown as Chain]])
  const other = createForkBlocks({
    chains,
    changes: empty.changes,
    log: { error: () => expect.unreachable() } as never,
  })
  other.add(8453, blockAt(1))
  empty.commit()

  let end = (): void => {}
  node.before = () =>
    new Promise((resolve) => {
      end = resolve
    })
  blocks.add(8453, blockAt(90))
  await commit()
  blocks.add(8453, blockAt(91))
  await commit()
  expect(node.requested).toEqual([[100, 90]])
  end()
  await turn()
  index.commit()
  expect(node.requested).toEqual([
    [100, 90],
    [100, 91],
  ])
})

test('a request has a bounded number of blocks, the oldest first, and a bounded number is remembered', async () => {
  const { blocks, commit, isConfirmed, node } = open({ maxRequested: 2, maxBlocks: 4 })
  for (const number of [90, 91, 92, 93, 94]) blocks.add(8453, blockAt(number))
  await commit()
  expect(node.requested).toHaveLength(1)
  expect(node.requested[0]).toHaveLength(3)
  await commit()
  expect([90, 91, 92, 93, 94].map(isConfirmed)).toEqual([false, true, true, true, true])
})

test.each([
  ['no node in reach is not logged', unavailable('no node answers'), []],
  ['another fault is logged', new Error('a bug'), [{ chainId: 8453, fault: 'a bug' }]],
])('%s, and the blocks are requested again', async (_, fault, lines) => {
  const { blocks, commit, isConfirmed, node, logged } = open()
  blocks.add(8453, blockAt(90))
  node.before = () => Promise.reject(fault)
  await commit()
  expect([isConfirmed(90), logged]).toEqual([false, lines])
  node.before = async () => {}
  await commit()
  expect(isConfirmed(90)).toBe(true)
})

test('a closed registry no longer follows the index', async () => {
  const { blocks, commit, index, node } = open()
  blocks.add(8453, blockAt(90))
  expect(index.listeners()).toBe(1)
  blocks.close()
  await commit()
  expect([index.listeners(), node.requested]).toEqual([0, []])
})
