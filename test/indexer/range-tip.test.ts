import { expect, test } from 'vitest'
import type { Block } from '../../src/chain/rpc/requests.ts'
import { ChainMoved, fetchRange, fetchTip } from '../../src/indexer/reading/range.ts'
import type { RawLog } from '../../src/protocol/abi/packed-log.ts'
import { createFakeChain, type Emitted, type FakeChain } from '../support/fake-log-chain.ts'

/* Ranges over a chain in memory. */

const none = { event: null, deposit: null, position: null }
const rates = { hedgerFeeRate: 1n, hedgerPayoutFeeRate: 2n, lpProfitFeeRate: 3n, creatorLoyaltyRate: 4n }

const logsOf = async ({ chain }: FakeChain, from = 0n): Promise<readonly RawLog[]> =>
  (await chain.logs({ from, upTo: (await chain.head()).number })).logs

/** A chain with a cursor at block 1 and a position in each of the blocks 2 and 3. */
const open = () => {
  const fake = createFakeChain()
  fake.create('position', 1)
  const cursor = fake.head()
  fake.create('position', 2)
  fake.create('position', 3)
  const tip = (logs: readonly RawLog[], head: Block = fake.head(), last = { ...none, position: 1n }) =>
    fetchTip(fake.chain, { endpoint: 0, cursor, to: head, logs, last })
  return { fake, cursor, tip }
}

test('the tip has the facts of its logs with the times of their blocks, in one request', async () => {
  const { fake, tip } = open()
  const logs = await logsOf(fake, 2n)
  fake.sent()
  const { facts, block, complete, endpoint, fees } = await tip(logs)
  expect(facts.map(({ id, blockTimestamp }) => [id, blockTimestamp])).toEqual([
    [2n, fake.block(2n).timestamp],
    [3n, fake.block(3n).timestamp],
  ])
  expect([block, complete, endpoint, fees]).toEqual([fake.head(), true, 0, []])
  // Two ids of each other kind and the next position; the cursor and both blocks, one of them the head.
  expect(fake.sent().map((batch) => batch.length)).toEqual([8])
})

test('the tip is not complete when an entity exists at the head that the logs lack', async () => {
  const { fake, tip } = open()
  expect((await tip((await logsOf(fake, 2n)).slice(0, 1))).complete).toBe(false)
})

test.each<[string, (rig: ReturnType<typeof open>) => void, string]>([
  ['the cursor', ({ fake }) => fake.reorg(0n), 'block 1 changed'],
  ['the head', ({ fake }) => fake.reorg(2n), 'block 3 changed'],
  ['the block of a log', ({ fake }) => fake.reorg(1n), 'block 2 is not the block of its logs'],
])('a tip is rejected when %s was replaced', async (_, replace, reason) => {
  const rig = open()
  const [logs, head] = [await logsOf(rig.fake, 2n), rig.fake.head()]
  replace(rig)
  rig.fake.pass(3)
  const kept = reason.startsWith('block 2') ? { ...rig.fake.head(), number: 3n } : head
  const current = reason.startsWith('block 2') ? rig.fake.block(3n) : kept
  const asked = reason.startsWith('block 2') ? logs.slice(0, 1) : logs
  await expect(rig.tip(asked, current)).rejects.toThrow(reason)
})

test('a tip is rejected when a block of it does not exist any more', async () => {
  const { fake, tip } = open()
  const [logs, head] = [await logsOf(fake, 2n), fake.head()]
  fake.reorg(2n)
  await expect(tip(logs, head)).rejects.toThrow('a block of the range does not exist any more')
})

const change = async (fake: FakeChain, changed: Partial<RawLog>) => {
  const [first, ...rest] = await logsOf(fake, 2n)
  if (first === undefined) throw new Error('there are logs')
  return [{ ...first, ...changed }, ...rest]
}
const other = '0x00000000000000000000000000000000000000aa'

test.each<[string, Partial<RawLog>, string]>([
  ['of another contract', { address: other }, 'a log of another contract'],
  ['from below the range', { blockNumber: 1n }, 'a log from outside the range'],
  ['that cannot be decoded', { data: '0x' }, 'a log that cannot be decoded'],
])('a log %s is rejected, and its endpoint penalized', async (_, changed, reason) => {
  const { fake, tip } = open()
  await expect(tip(await change(fake, changed))).rejects.toThrow(new ChainMoved(reason))
  expect(fake.faults()).toEqual([`0 penalized: ${reason}`])
})

test.each<[string, boolean, Emitted, Partial<RawLog>]>([
  ['index 2^31 - 1', true, ['Paused', {}], { logIndex: 2 ** 31 - 1 }],
  ['index 2^31', false, ['Paused', {}], { logIndex: 2 ** 31 }],
  ['id 2^63 - 1', true, ['CapitalWithdrawn', { depositId: 2n ** 63n - 1n }], {}],
  ['id 2^63', false, ['CapitalWithdrawn', { depositId: 2n ** 63n }], {}],
  ['event 2^63 - 1', true, ['PositionCreated', { positionId: 2n, eventId: 2n ** 63n - 1n }], {}],
  ['event 2^63', false, ['PositionCreated', { positionId: 2n, eventId: 2n ** 63n }], {}],
])('whether the database can store a log with %s: %s', async (_, isStorable, emitted, changed) => {
  const { fake, tip } = open()
  fake.reorg(1n)
  fake.mine(emitted)
  const logs = await change(fake, changed)
  if (isStorable) expect((await tip(logs)).block).toEqual(fake.head())
  else await expect(tip(logs)).rejects.toThrow(new ChainMoved('a log that cannot be decoded'))
  expect(fake.faults()).toEqual(isStorable ? [] : ['0 penalized: a log that cannot be decoded'])
})

test('logs are put in the order of the chain, each once', async () => {
  const { fake, tip } = open()
  const logs = await logsOf(fake, 2n)
  const { facts, ledger } = await tip([...logs.toReversed(), ...logs])
  expect([facts.map(({ id }) => id), ledger.length]).toEqual([[2n, 3n], logs.length])
})

test('a log that the index does not follow is a row of the ledger, and not an unknown one', async () => {
  const { fake, tip } = open()
  fake.reorg(1n)
  fake.mine(['OwnershipTransferred', {}])
  const { facts, hints, unknown, ledger } = await tip(await logsOf(fake, 2n))
  expect([facts, hints, unknown, ledger.length]).toEqual([[], [], [], 1])
})

test('a log whose inputs are indexed in another way is one that this release does not know', async () => {
  const { fake, tip } = open()
  const [first, ...others] = await logsOf(fake, 2n)
  if (first === undefined) throw new Error('there are logs')
  const changed: RawLog = { ...first, topics: first.topics.slice(0, 1), data: `0x${'00'.repeat(320)}` }
  const { facts, unknown, ledger } = await tip([changed, ...others])
  expect([facts.length, unknown, ledger.map(({ type }) => type === 0)]).toEqual([
    others.length,
    [changed],
    [true, false],
  ])
  expect(fake.faults()).toEqual([])
})

test('a range rejects a log from above it, and one of its last block on another fork', async () => {
  const { fake } = open()
  const range = async (changed: Partial<RawLog>) => {
    const answer = await fake.chain.logs({ from: 2n, upTo: 3n })
    const logs = answer.logs.map((log, at) => (at === 1 ? { ...log, ...changed } : log))
    Object.assign(fake.chain, { logs: async () => ({ ...answer, logs }) })
    return fetchRange(fake.chain, { from: 2n, upTo: 3n, head: fake.head() })
  }
  await expect(range({ blockNumber: 4n })).rejects.toThrow('a log from outside the range')
  fake.faults()
  await expect(range({ blockNumber: 3n, blockHash: fake.block(2n).hash })).rejects.toThrow('logs of another fork')
  expect(fake.faults()).toEqual([])
})

test('a log that the index does not follow is left out', async () => {
  const { fake, tip } = open()
  const [first] = await logsOf(fake, 2n)
  const logs = await change(fake, {
    topics: ['0x'.padEnd(66, '1') as `0x${string}`, ...(first?.topics.slice(1) ?? [])],
  })
  expect((await tip(logs)).facts.map(({ id }) => id)).toEqual([3n])
})

test('hints and fee rates are read from the logs, the rates with the time of their block', async () => {
  const { fake, tip } = open()
  const fees: Emitted = ['FeesInitialized', rates]
  fake.mine(fees, ['PremiumsClaimed', { depositId: 7n }])
  const range = await tip(await logsOf(fake, 2n))
  expect(range.hints).toMatchObject([{ subject: 'chain' }, { subject: 'deposit', id: 7n }])
  const { number: blockNumber, timestamp: blockTimestamp } = fake.head()
  expect(range.fees).toMatchObject([{ blockNumber, blockTimestamp, payoutFeeRate: 2n, lpProfitFeeRate: 3n }])
})

test('the block of a log that sets fee rates is read too', async () => {
  const { fake } = open()
  fake.mine(['FeesInitialized', rates])
  const { number, timestamp } = fake.head()
  fake.pass(1)
  const range = await fetchRange(fake.chain, { from: number, upTo: fake.head().number, head: fake.head() })
  expect(range.fees).toMatchObject([{ blockNumber: number, blockTimestamp: timestamp }])
})

test.each([
  [99, 1],
  [100, 2],
])('the times of %i blocks are read with 99 blocks in a request', async (count, requests) => {
  const fake = createFakeChain()
  for (let id = 1; id <= count; id += 1) fake.create('position', id)
  fake.pass(1)
  fake.sent()
  const { facts } = await fetchRange(fake.chain, { from: 0n, upTo: fake.head().number, head: fake.head() })
  expect(facts.every(({ blockNumber, blockTimestamp }) => blockTimestamp === fake.block(blockNumber).timestamp)).toBe(
    true,
  )
  // The first request is for the logs.
  expect(fake.sent()).toHaveLength(1 + requests)
})

test.each([
  [119n, 2],
  [120n, 1],
])('%i seconds behind the head, block times in logs spare a request: %i in all', async (seconds, requests) => {
  const fake = createFakeChain()
  fake.create('position', 1)
  fake.pass(1)
  const last = fake.head()
  fake.state.seconds = seconds
  fake.pass(1)
  fake.sent()
  await fetchRange(fake.chain, { from: 0n, upTo: last.number, head: fake.head() })
  expect(fake.sent()).toHaveLength(requests)
})

test('a batch of blocks is rejected when the last block of the range was replaced in between', async () => {
  const { fake } = open()
  fake.pass(1)
  const { logs } = fake.chain
  Object.assign(fake.chain, {
    async logs(span: Parameters<typeof logs>[0]) {
      const answer = await logs(span)
      fake.reorg(3n)
      fake.pass(1)
      return answer
    },
  })
  await expect(fetchRange(fake.chain, { from: 2n, upTo: 4n, head: fake.head() })).rejects.toThrow('block 4 changed')
})
