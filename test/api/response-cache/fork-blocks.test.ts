import { expect, test } from 'vitest'
import { createForkBlocks } from '../../../src/api/response-cache/fork-blocks.ts'
import { type BlockRef, blockRefOf } from '../../../src/api/response-cache/tags.ts'
import type { Chain } from '../../../src/chain/chain.ts'
import type { Block } from '../../../src/chain/rpc/requests.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { resourceOf } from '../../../src/reads/cache/resources.ts'
import { blockAt, createFakeChanges, reachedAt } from '../../support/fake-changes.ts'

type Outcome = { readonly ok: true; readonly value: Block | null } | { readonly ok: false }
type Asked = { readonly params: readonly unknown[] }

const found = (value: Block | null): Outcome => ({ ok: true, value })
const numberOf = ({ params: [number] }: Asked): number => Number(number)
const otherFork = (number: number): Block => ({ ...blockAt(number), hash: blockAt(number + 1_000).hash })

/** A chain whose node answers with the blocks of `blockOf`, and an index that has reached block 100. */
const open = (maxBlocks?: number) => {
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
    async send({ indexed, read }: { readonly indexed: Asked; readonly read: Asked }) {
      node.requested.push([indexed, read].map(numberOf))
      await node.before()
      return { indexed: node.indexedOf(numberOf(indexed)), read: node.blockOf(numberOf(read)) }
    },
  } as unknown as Chain
  const blocks = createForkBlocks({
    chains: new Map([[8453, chain]]),
    changes: index.changes,
    ...(maxBlocks && { maxBlocks }),
  })
  const confirm = (number: number) => blocks.confirm(8453, blockRefOf(blockAt(number)))
  const isConfirmed = (number: number) => blocks.isConfirmed(8453, blockRefOf(blockAt(number)))
  return { index, node, blocks, confirm, isConfirmed }
}

test('a block is confirmed by a node on the fork of the index, once the index has reached it, and asked for once', async () => {
  const { blocks, confirm, isConfirmed, index, node } = open()
  for (const number of [100, 101]) blocks.add(8453, blockAt(number))
  expect([isConfirmed(100), node.requested]).toEqual([false, []])
  for (const number of [100, 101, 100]) await confirm(number)
  expect([isConfirmed(100), isConfirmed(101)]).toEqual([true, false])
  expect(node.requested).toEqual([[100, 100]])
  index.reach(reachedAt(8453, 102))
  await confirm(101)
  expect([isConfirmed(100), isConfirmed(101)]).toEqual([true, true])
  expect(node.requested).toEqual([
    [100, 100],
    [102, 101],
  ])
})

const faults: [string, Partial<ReturnType<typeof open>['node']>][] = [
  ['the node has another newest block', { indexedOf: (number) => found(otherFork(number)) }],
  ['the node lacks the newest block', { indexedOf: () => found(null) }],
  ['the node refuses the newest block', { indexedOf: () => ({ ok: false }) }],
  ['the node has another block', { blockOf: (number) => found(otherFork(number)) }],
  ['the node lacks the block', { blockOf: () => found(null) }],
  ['the node refuses the block', { blockOf: () => ({ ok: false }) }],
  ['no node answers', { before: () => Promise.reject(unavailable('no node answers')) }],
]

test.each(faults)('a block is not confirmed when %s, and is requested again', async (_, fault) => {
  const { blocks, confirm, isConfirmed, node } = open()
  const { indexedOf, blockOf, before } = node
  blocks.add(8453, blockAt(90))
  Object.assign(node, fault)
  await confirm(90)
  expect([isConfirmed(90), node.requested.length]).toEqual([false, 1])
  Object.assign(node, { indexedOf, blockOf, before })
  await confirm(90)
  expect([isConfirmed(90), node.requested.length]).toEqual([true, 2])
})

test('a fault that is no outage is thrown', async () => {
  const { blocks, confirm, node } = open()
  blocks.add(8453, blockAt(90))
  node.before = () => Promise.reject(new Error('a bug'))
  await expect(confirm(90)).rejects.toThrow('a bug')
})

test('a rollback makes earlier confirmations void, also one during a request', async () => {
  const { blocks, confirm, isConfirmed, index, node } = open()
  blocks.add(8453, blockAt(90))
  await confirm(90)
  index.change(2, resourceOf([8453]))
  expect(isConfirmed(90)).toBe(false)
  node.before = async () => index.change(3, resourceOf([8453]))
  await confirm(90)
  expect([node.requested.length, isConfirmed(90)]).toEqual([2, false])
})

test('the same block is added once, and a block of another fork replaces it', async () => {
  const { blocks, confirm, isConfirmed, node } = open()
  blocks.add(8453, blockAt(90))
  await confirm(90)
  blocks.add(8453, blockAt(90))
  expect(isConfirmed(90)).toBe(true)
  blocks.add(8453, otherFork(90))
  const other = blockRefOf(otherFork(90))
  expect([isConfirmed(90), blocks.isConfirmed(8453, other)]).toEqual([false, false])
  node.blockOf = (number) => found(otherFork(number))
  await blocks.confirm(8453, other)
  expect(blocks.isConfirmed(8453, other)).toBe(true)
})

test('a reference is confirmed with its number and its hash only', async () => {
  const { blocks, confirm, node } = open()
  blocks.add(8453, blockAt(90))
  const reference = blockRefOf(blockAt(90))
  const others: [number, BlockRef][] = [
    [8453, { ...reference, number: 91 }],
    [8453, { ...reference, hashPrefix: 'ab' }],
    [1, reference],
  ]
  for (const other of others) await blocks.confirm(...other)
  expect(node.requested).toEqual([])
  await confirm(90)
  expect(blocks.isConfirmed(8453, reference)).toBe(true)
  for (const other of others) expect(blocks.isConfirmed(...other)).toBe(false)
})

test('nothing is requested without an index', async () => {
  const chains = new Map([[8453, { chainId: 8453, send: () => expect.unreachable() } as unknown as Chain]])
  const blocks = createForkBlocks({ chains, changes: createFakeChanges().changes })
  blocks.add(8453, blockAt(1))
  await blocks.confirm(8453, blockRefOf(blockAt(1)))
})

test('concurrent readers of a block share a request, and different blocks have their own', async () => {
  const { blocks, confirm, isConfirmed, node } = open()
  for (const number of [90, 91]) blocks.add(8453, blockAt(number))
  await Promise.all([90, 90, 91].map(confirm))
  expect(node.requested).toEqual([
    [100, 90],
    [100, 91],
  ])
  expect([90, 91].map(isConfirmed)).toEqual([true, true])
})

test('a bounded number of blocks is remembered', async () => {
  const { blocks, confirm, isConfirmed, node } = open(2)
  for (const number of [90, 91, 92]) blocks.add(8453, blockAt(number))
  for (const number of [90, 91, 92]) await confirm(number)
  expect([90, 91, 92].map(isConfirmed)).toEqual([false, true, true])
  expect(node.requested).toHaveLength(2)
})
