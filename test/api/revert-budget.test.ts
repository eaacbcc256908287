import { type Address, type Hex, keccak256, numberToHex, pad } from 'viem'
import { expect, onTestFinished, test, vi } from 'vitest'
import { TransactionRecord } from '../../src/reads/transactions/record.ts'
import { openApp } from '../support/app.ts'
import { factsOf } from '../support/known-chains.ts'
import { blocks, HEAD, startScript } from '../support/script.ts'

/* Look-ups of transactions that reverted, at a node that takes long to execute them again. */

const diamond: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const deployment = {
  ...{ chainId: 8453, ...factsOf(8453), diamond, usdc: diamond, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
} as const

const from = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const MINED = HEAD - 1
const GAS = '0xf42400'

/** For conditions on a busy machine. */
const BUSY = { timeout: 20_000, interval: 10 }

const hashOf = (nth: number): Hex => keccak256(numberToHex(nth))

/** A node that answers traces only when they are released, and an app over it. */
const open = async (nodeTimeoutMs = 15_000) => {
  let blockHash = pad(numberToHex(MINED))
  const traces: { readonly hash: unknown; readonly release: () => void }[] = []
  let isHanging = false
  const node = await startScript(() => undefined)
  node.say(async (calls) => {
    const trace = calls.find(({ method }) => method === 'debug_traceTransaction')
    // A call with the gas of the transaction.
    const isReplay = calls.some(({ method, params }) => method === 'eth_call' && JSON.stringify(params).includes(GAS))
    if (trace !== undefined) await new Promise<void>((release) => traces.push({ hash: trace.params[0], release }))
    if (isHanging && (isReplay || trace !== undefined)) return 'hang'
    const answers = calls.map((call) => {
      const { id, method, params } = call
      const sent = { hash: params[0], from, to: from, nonce: '0x7', value: '0x0', gas: GAS, input: '0x' }
      if (method === 'eth_getTransactionByHash') return { id, result: sent }
      if (method === 'eth_getTransactionReceipt') {
        const place = { blockNumber: numberToHex(MINED), blockHash, status: '0x0', gasUsed: '0x5208' }
        return { id, result: { ...place, transactionHash: params[0], effectiveGasPrice: '0x7', logs: [] } }
      }
      if (method === 'debug_traceTransaction') return { id, result: { output: '0x', error: 'out of gas' } }
      if (method === 'eth_call') return { id, result: pad('0x0') }
      const block = blocks(call) as { readonly number: string }
      return { id, result: block?.number === numberToHex(MINED) ? { ...block, hash: blockHash } : block }
    })
    return { body: JSON.stringify(answers) }
  })
  const api = await openApp({ nodes: [{ url: node.url, deployment }], nodeTimeoutMs })
  onTestFinished(async () => {
    for (const { release } of traces) release()
    await api.close()
  })
  return {
    traces,
    async read(nth: number) {
      const { status, data } = await api.get(`/transactions/8453/${hashOf(nth)}`)
      expect(status).toBe(200)
      return TransactionRecord.parse(data)
    },
    async releaseNext(): Promise<void> {
      const { length } = traces
      traces.at(-1)?.release()
      await vi.waitFor(() => expect(traces.length).toBeGreaterThan(length), BUSY)
    },
    async isServed(): Promise<void> {
      const { status, headers } = await api.get('/hedge/paused/8453')
      expect([status, headers['x-data-source'], headers['x-stale']]).toEqual([200, 'chain', undefined])
      const [endpoint] = api.sources.chains.get(8453)?.status().endpoints ?? []
      expect(endpoint).toMatchObject({ rank: 'ok', missing: [] })
    },
    reorg: () => (blockHash = keccak256(blockHash)),
    hang: () => (isHanging = true),
  }
}

const outOfGas = expect.objectContaining({
  revertStatus: 'known',
  revert: expect.objectContaining({ code: 'execution_failed', exact: true }),
})

test('one transaction is executed again at a time, others are served meanwhile, and the reasons are kept', async () => {
  const { traces, read, releaseNext, isServed } = await open()
  const readAll = () => Promise.all(Array.from({ length: 6 }, (_, nth) => read(nth)))
  const first = readAll()
  await vi.waitFor(() => expect(traces.length).toBe(1), BUSY)
  for (let nth = 1; nth < 6; nth += 1) {
    await isServed()
    expect(traces.length).toBe(nth)
    await releaseNext()
  }
  traces.at(-1)?.release()
  // A look-up that waited for too long has no reason yet.
  expect((await first).map(({ revert, revertStatus }) => revert?.exact ?? revertStatus)).toEqual(
    Array(6).fill(expect.toBeOneOf([true, 'pending'])),
  )
  expect(await readAll()).toEqual(Array(6).fill(outOfGas))
  expect(traces.length).toBe(6)
})

test('look-ups of one transaction share one trace', async () => {
  const { traces, read } = await open()
  const found = Array.from({ length: 5 }, () => read(1))
  await vi.waitFor(() => expect(traces.length).toBe(1), BUSY)
  traces[0]?.release()
  expect(await Promise.all(found)).toEqual(Array(5).fill(outOfGas))
  expect(traces.length).toBe(1)
})

test('a transaction that a reorg moved to another block is examined again', async () => {
  const { traces, read, reorg } = await open()
  for (const count of [1, 2]) {
    const found = read(1)
    await vi.waitFor(() => expect(traces.length).toBe(count), BUSY)
    traces.at(-1)?.release()
    expect(await found).toEqual(outOfGas)
    reorg()
  }
})

test('a look-up returns that the reason is pending while too many transactions are examined', async () => {
  const { traces, read, isServed } = await open()
  const found = Array.from({ length: 17 }, (_, nth) => read(nth).catch(() => null))
  await vi.waitFor(() => expect(traces.length).toBe(1), BUSY)
  // Every one of them may wait before the others do.
  const last = await Promise.race([...found, read(17)])
  expect(last).toMatchObject({ status: 'reverted', revert: null, revertStatus: 'pending' })
  await isServed()
  expect(traces.length).toBe(1)
})

test('a transaction that no node executes again in time has no reason, and the nodes are asked once', async () => {
  const { traces, read, hang, isServed } = await open(2_000)
  hang()
  const found = read(1)
  expect(await found).toMatchObject({ status: 'reverted', revert: null })
  await isServed()
  // The replay hangs too.
  await vi.waitFor(async () => expect((await read(1)).revertStatus).toBe('unavailable'), BUSY)
  expect(traces.length).toBe(1)
  await isServed()
})
