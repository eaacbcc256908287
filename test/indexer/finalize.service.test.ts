import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import type { EndpointStatus } from '../../src/chain/endpoints/status.ts'
import type { Batch } from '../../src/chain/rpc/batch.ts'
import type { Database } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import { reportFinalSettlements } from '../../src/indexer/finalize.ts'
import { fakeChain } from '../support/fake-chain.ts'
import { partOfChain } from '../support/fake-log-chain.ts'
import { CHAIN, hintAt, openIndexDatabase, openWrites, rowsOf } from '../support/index-writes.ts'
import { Failure } from '../support/script.ts'
import { blockOf, type Plan, seedEvent, seedToken } from '../support/seed-index.ts'

/* Which settlements are reported as final, by what a node returns for its blocks. */

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 3, events: 9 }
let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let writes: Awaited<ReturnType<typeof openWrites>>

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  writes = await openWrites(database)
})

const settle = async (id: number, block: StoredBlock): Promise<void> => {
  const event = seedEvent(id, plan)
  await writes.write(block, {
    facts: [event.fact],
    hints: [hintAt(block, { subject: 'event', id: BigInt(id), members: [], settles: true })],
  })
  await writes.observe(block, event, { settledAt: block.timestamp, settlementPrice: 5n })
}

type Node = ReturnType<typeof nodeOf>

/** A node whose final block is of this number, and whose other blocks are those of a fork. */
const nodeOf = (finalized: bigint | null | Failure, fork = 0, failing: bigint | null = null) =>
  fakeChain(({ method, params: [tag] }) => {
    if (method !== 'eth_getBlockByNumber') return undefined
    if (finalized instanceof Failure && tag === 'finalized') return finalized
    if (finalized === null && tag === 'finalized') return null
    const number = tag === 'finalized' ? (finalized as bigint) : BigInt(String(tag))
    if (number === failing) return new Failure(-32_000, 'header not found')
    const { hash, timestamp } = blockOf(number, fork)
    return { number: `0x${number.toString(16)}`, hash, timestamp: `0x${timestamp.toString(16)}` }
  })

/** A chain with these nodes as its endpoints; undefined is one that does not answer. */
const chainOf = (...nodes: readonly (Node | undefined)[]): Chain =>
  partOfChain({
    chainId: CHAIN,
    status: () => ({ endpoints: nodes.map((_, index) => ({ index }) as EndpointStatus), halted: false, hasLogs: true }),
    async queryAllEndpoints(batch) {
      const answers = nodes.map(
        async (node, endpoint) => node && { endpoint, outcomes: await node.chain.send(batch as Batch) },
      )
      return (await Promise.all(answers)).filter((answer) => answer !== undefined) as never
    },
  })

const reportBy = (chain: Chain, most?: number, signal = new AbortController().signal) =>
  reportFinalSettlements({ chain, database, ...(most !== undefined && { most }) }, signal)
const report = (node: Node, ...more: [most?: number, signal?: AbortSignal]) => reportBy(chainOf(node), ...more)

const final = async () => {
  const rows = await rowsOf(
    database,
    'SELECT event_id::integer AS id FROM settlements WHERE finalized_seq IS NOT NULL ORDER BY finalized_seq',
  )
  return rows.map(({ id }) => id)
}
const tags = (node: Node) => node.calls('eth_getBlockByNumber').map(({ params: [tag] }) => tag)

test('the settlements up to the final block are reported, the others later, and nothing is asked when all are', async () => {
  for (const [id, number] of [1n, 5n, 7n, 9n].entries()) await settle(id + 1, blockOf(number))
  const node = nodeOf(7n)
  await report(node)
  expect([await final(), tags(node)]).toEqual([
    [1, 2, 3],
    ['finalized', '0x7'],
  ])
  const next = nodeOf(8n)
  await report(next)
  // None of the others is final yet.
  expect([await final(), tags(next)]).toEqual([[1, 2, 3], ['finalized']])
  await report(nodeOf(9n))
  expect(await final()).toEqual([1, 2, 3, 4])
  const last = nodeOf(20n)
  await report(last)
  expect(tags(last)).toEqual([])
})

test('many are reported in several transactions, and the rest after a stop by the next run', async () => {
  for (const [at] of [1, 2, 3, 4, 5].entries()) await settle(at + 1, blockOf(BigInt(at + 1)))
  await report(nodeOf(9n), 1)
  expect(await final()).toEqual([1, 2, 3, 4, 5])
  await index.empty()
  writes = await openWrites(database)
  await settle(1, blockOf(1n))
  await report(nodeOf(9n), 2, AbortSignal.abort())
  expect(await final()).toEqual([])
  await report(nodeOf(9n), 2)
  expect(await final()).toEqual([1])
})

test('nothing is reported by a node of another fork, or without a final block', async () => {
  await settle(1, blockOf(5n))
  const other = nodeOf(7n, 1)
  await report(other)
  expect(tags(other)).toEqual(['finalized', '0x5'])
  await report(nodeOf(null))
  expect(await final()).toEqual([])
})

describe('with several endpoints', () => {
  beforeEach(async () => {
    for (const [at, number] of [1n, 5n, 9n].entries()) await settle(at + 1, blockOf(number))
  })

  test('the second-highest final block counts: one node that calls its newest block final is not believed', async () => {
    await reportBy(chainOf(nodeOf(9n), nodeOf(5n)))
    expect(await final()).toEqual([1, 2])
    await reportBy(chainOf(nodeOf(4n), nodeOf(20n), nodeOf(8n)))
    expect(await final()).toEqual([1, 2])
    await reportBy(chainOf(nodeOf(4n), nodeOf(20n), nodeOf(9n)))
    expect(await final()).toEqual([1, 2, 3])
  })

  test.each([
    ['does not answer', undefined],
    ['refuses the tag', () => nodeOf(new Failure(-32_000, 'finalized block not found'))],
    ['has no final block', () => nodeOf(null)],
  ])('nothing is reported while the other one %s, and the next run is by both', async (_, other) => {
    await reportBy(chainOf(nodeOf(9n), other?.()))
    expect(await final()).toEqual([])
    await reportBy(chainOf(nodeOf(9n), nodeOf(9n)))
    expect(await final()).toEqual([1, 2, 3])
  })

  test('two of those that call the block of the index final must have it', async () => {
    await reportBy(chainOf(nodeOf(9n), nodeOf(9n, 1)))
    // The third one has the block, and does not call it final.
    await reportBy(chainOf(nodeOf(9n), nodeOf(9n, 1), nodeOf(8n)))
    await reportBy(chainOf(nodeOf(9n), nodeOf(9n, 0, 9n)))
    expect(await final()).toEqual([])
    await reportBy(chainOf(nodeOf(9n), nodeOf(9n, 1), nodeOf(9n)))
    expect(await final()).toEqual([1, 2, 3])
  })

  test('nothing is asked twice of nodes that call no settlement final', async () => {
    const nodes = [nodeOf(0n), nodeOf(9n)]
    await reportBy(chainOf(...nodes))
    expect(nodes.map(tags)).toEqual([['finalized'], ['finalized']])
  })
})

test('a node that refuses is waited for', async () => {
  await settle(1, blockOf(5n))
  await report(nodeOf(new Failure(-32_000, 'finalized block not found')))
  await report(nodeOf(7n, 0, 5n))
  expect(await final()).toEqual([])
})
