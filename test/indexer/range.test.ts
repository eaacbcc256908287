import { pino } from 'pino'
import { encodeAbiParameters, encodeEventTopics, numberToHex, pad, parseAbiParameters } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { LogsPruned } from '../../src/chain/rpc/errors.ts'
import { fetchRange, firstWithLogs, type Trust } from '../../src/indexer/reading/range.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { factsOf } from '../support/known-chains.ts'
import { type ScriptedCall, startScriptedNode } from '../support/scripted-node.ts'

const diamond = '0x000000000000000000000000000000000000dEaD'
const HEAD = 5_000

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** The log of a deposit in a block, with the `blockTimestamp` that the node adds. */
const logIn = (block: number, id: bigint, blockTimestamp: unknown) => ({
  address: diamond,
  topics: encodeEventTopics({
    abi: protocolAbi,
    eventName: 'DepositCreated',
    args: { eventId: 1n, depositId: id, lp: diamond },
  }),
  data: encodeAbiParameters(parseAbiParameters('uint256, uint256'), [5n, 6n]),
  blockNumber: numberToHex(block),
  blockHash: pad(numberToHex(block)),
  blockTimestamp,
  transactionHash: pad('0x77'),
  logIndex: '0x0',
})

/** A node with these logs, whose blocks are one second apart. */
const start = async (logs: (time: number) => readonly object[]) => {
  const node = await startScriptedNode({ height: HEAD })
  const timeOf = (block: number): number => node.time - (HEAD - block)
  const block = (number: number) => ({
    number: numberToHex(number),
    hash: pad(numberToHex(number)),
    timestamp: numberToHex(timeOf(number)),
  })
  const answer = ({ method, params: [first] }: ScriptedCall): unknown =>
    method === 'eth_getLogs'
      ? logs(node.time)
      : method === 'eth_chainId'
        ? '0x2105'
        : block(first === 'latest' ? HEAD : Number(first))
  node.say((calls) => ({ body: JSON.stringify(calls.map((call) => ({ id: call.id, result: answer(call) }))) }))
  const deployment = {
    chainId: 8453,
    ...factsOf(8453),
    diamond,
    usdc: diamond,
    usdt: null,
    publicRpcUrl: 'http://node.example',
    startBlock: 0n,
    profile: 'reference',
  } as const
  const chain = createChain({
    deployment,
    rpcUrls: [node.url],
    timeoutMs: 15_000,
    headMaxAgeMs: 1,
    log: pino({ level: 'silent' }),
  })
  open.push(node.close, chain.close)
  const head = { number: BigInt(HEAD), hash: pad(numberToHex(HEAD)), timestamp: BigInt(node.time) }
  const fetch = (from: bigint, upTo: bigint, trusts?: Trust) =>
    fetchRange(chain, { from, upTo, head, ...(trusts && { trusts }) })
  return { node, fetch, timeOf: (number: number) => BigInt(timeOf(number)) }
}

const timestamp = (time: number, block: number) => numberToHex(time - (HEAD - block))

test('far behind the head, the block times in logs are used without another request', async () => {
  const { node, fetch, timeOf } = await start((time) => [
    logIn(110, 1n, timestamp(time, 110)),
    logIn(120, 2n, timestamp(time, 120)),
  ])
  const { facts } = await fetch(100n, 150n)
  expect(facts.map(({ id, blockTimestamp }) => [id, blockTimestamp])).toEqual([
    [1n, timeOf(110)],
    [2n, timeOf(120)],
  ])
  expect(node.requests()).toHaveLength(1)
})

test('near the head each block is read, whatever the block times in its logs', async () => {
  const { node, fetch, timeOf } = await start((time) => [logIn(HEAD - 20, 1n, timestamp(time, HEAD - 21))])
  const { facts } = await fetch(BigInt(HEAD - 60), BigInt(HEAD - 10))
  expect(facts.map(({ blockTimestamp }) => blockTimestamp)).toEqual([timeOf(HEAD - 20)])
  expect(node.requests()).toHaveLength(2)
})

test.each([
  ['settled ranges', 120, [[HEAD - 100, HEAD - 130, HEAD - 120]]],
  ['all', 120, []],
  ['none', 120, [[HEAD - 100, HEAD - 130, HEAD - 120]]],
] as const)(
  'with trust in %s and a log %i s behind the head, these blocks of a range near it are read: %j',
  async (trusts, behind, read) => {
    const { node, fetch, timeOf } = await start((time) => [
      logIn(HEAD - 130, 1n, timestamp(time, HEAD - 130)),
      logIn(HEAD - behind, 2n, timestamp(time, HEAD - behind)),
    ])
    const { facts } = await fetch(BigInt(HEAD - 150), BigInt(HEAD - 100), trusts)
    expect(facts.map(({ blockTimestamp }) => blockTimestamp)).toEqual([timeOf(HEAD - 130), timeOf(HEAD - behind)])
    const [, ...headers] = node.requests()
    expect(headers.map((calls) => calls.map(({ params }) => Number(params[0])))).toEqual(read)
  },
)

test('without trust, a log far behind the head that names another block is rejected', async () => {
  const logs = (time: number) => [{ ...logIn(110, 1n, timestamp(time, 110)), blockHash: pad('0xbad') }]
  const { fetch } = await start(logs)
  await expect(fetch(100n, 150n, 'none')).rejects.toThrow('block 110 is not the block of its logs')
})

test.each([undefined, null, '0x0', '0xffffffffff', 'yesterday'])(
  'a block time of %j in a log is not trusted, and the block is read',
  async (time) => {
    const { fetch, timeOf } = await start(() => [logIn(110, 1n, time)])
    const { facts } = await fetch(100n, 150n)
    expect(facts.map(({ blockTimestamp }) => blockTimestamp)).toEqual([timeOf(110)])
  },
)

test('logs of one block with two hashes are rejected, because they are of two chains', async () => {
  const { fetch } = await start((time) => [
    logIn(110, 1n, timestamp(time, 110)),
    { ...logIn(110, 2n, timestamp(time, 110)), blockHash: pad('0xbad') },
  ])
  await expect(fetch(100n, 150n)).rejects.toThrow('block 110 is not the block of its logs')
})

test('a repeated log is one fact', async () => {
  const { fetch } = await start((time) => {
    const logs = [logIn(110, 1n, timestamp(time, 110)), logIn(120, 2n, timestamp(time, 120))]
    return [...logs, ...logs]
  })
  expect((await fetch(100n, 150n)).facts.map(({ id }) => id)).toEqual([1n, 2n])
})

test('two different logs of one row are rejected, because they are not of one chain', async () => {
  const { fetch } = await start((time) => [logIn(110, 1n, timestamp(time, 110)), logIn(120, 1n, timestamp(time, 120))])
  await expect(fetch(100n, 150n)).rejects.toThrow('two logs of one row')
})

test('two logs of one row in one block are rejected', async () => {
  const { fetch } = await start((time) => {
    const log = logIn(110, 1n, timestamp(time, 110))
    return [log, { ...log, logIndex: '0x1' }, logIn(111, 2n, timestamp(time, 111))]
  })
  await expect(fetch(100n, 150n)).rejects.toThrow('two logs of one row')
})

test.each([
  ['the one after the first', 11n, 11n],
  ['in the middle', 700n, 700n],
  ['the last one', 1_000n, 1_000n],
  ['after the last one', 1_001n, 'pruned'],
])('the first block with logs is found by bisection where it is %s', async (_, begins, found) => {
  const asked: bigint[] = []
  const logs = async ({ from, upTo }: Parameters<Chain['logs']>[0]) => {
    expect(upTo).toBe(from)
    asked.push(from)
    if (from < begins) throw new LogsPruned('pruned', undefined)
    return {} as Awaited<ReturnType<Chain['logs']>>
  }
  const first = firstWithLogs({ logs }, { from: 10n, upTo: 1_000n })
  expect(await first.catch((fault: Error) => fault.message)).toBe(found)
  expect(asked.length).toBeLessThanOrEqual(found === 'pruned' ? 1 : 11)
})

test('the search for the first block with logs ends when no node answers', async () => {
  const logs = async ({ from }: Parameters<Chain['logs']>[0]) => {
    if (from < 1_000n) throw unavailable('no node answers')
    return {} as Awaited<ReturnType<Chain['logs']>>
  }
  await expect(firstWithLogs({ logs }, { from: 10n, upTo: 1_000n })).rejects.toThrow('no node answers')
})
