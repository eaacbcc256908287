import { type Hex, keccak256, numberToHex } from 'viem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLongReceipts } from '../../src/reads/freshness/long-receipts.ts'
import { fakeChain, hashAt, rawReceipt, tooLong } from '../support/fake-chain.ts'
import { Failure } from '../support/script.ts'

const hashOf = (nth: number): Hex => keccak256(numberToHex(nth))
const HASH = hashOf(1)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const rawLog = (transactionHash: Hex, blockHash: Hex, logIndex: number) => ({
  ...{ address: `0x${'11'.repeat(20)}`, topics: [], data: '0x', blockNumber: '0x7' },
  ...{ transactionHash, blockHash, logIndex: numberToHex(logIndex) },
})

const open = () => {
  const state: { receipt: (hash: unknown) => unknown; logs: unknown } = {
    receipt: (hash) => rawReceipt(hash, 7, { logs: [] }),
    logs: [],
  }
  const fake = fakeChain(({ method, params: [first] }) => {
    if (method === 'eth_getLogs') return state.logs
    return method === 'eth_getTransactionReceipt' ? state.receipt(first) : undefined
  })
  return { ...fake, state, receipts: createLongReceipts(() => 1 + performance.now()) }
}

test('a receipt has the logs of the protocol in its block that are its own', async () => {
  const { chain, state, receipts, calls } = open()
  state.logs = [
    rawLog(hashOf(2), hashAt(7), 0),
    rawLog(HASH, hashAt(7), 1),
    rawLog(HASH, hashAt(8), 2),
    rawLog(HASH, hashAt(7), 3),
  ]
  const receipt = await receipts.read(chain, HASH)
  expect(receipt).toMatchObject({ blockNumber: 7n, isReverted: false })
  expect(receipt?.logs.map(({ logIndex }) => logIndex)).toEqual([1, 3])
  const { diamond: address } = chain.deployment
  const filter = { address, fromBlock: '0x7', toBlock: '0x7' }
  expect(calls('eth_getLogs').map(({ params }) => params[0])).toEqual([filter])
})

test('a receipt is kept for ten seconds, by chain and hash', async () => {
  const { chain, receipts, calls } = open()
  const asked = () => calls('eth_getTransactionReceipt').length
  expect(receipts.known(chain, HASH)).toBeUndefined()
  const receipt = await receipts.read(chain, HASH)
  expect(receipts.known(chain, HASH)).toBe(receipt)
  expect(receipts.known({ ...chain, chainId: 56 }, HASH)).toBeUndefined()
  expect(receipts.known(chain, hashOf(2))).toBeUndefined()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(await receipts.read(chain, HASH)).toBe(receipt)
  expect(asked()).toBe(1)
  await vi.advanceTimersByTimeAsync(2)
  await receipts.read(chain, HASH)
  expect(asked()).toBe(2)
})

test('a transaction that is not mined is asked about again', async () => {
  const { chain, state, receipts, calls } = open()
  state.receipt = () => null
  expect([await receipts.read(chain, HASH), await receipts.read(chain, HASH)]).toEqual([null, null])
  expect(receipts.known(chain, HASH)).toBeUndefined()
  expect(calls('eth_getTransactionReceipt')).toHaveLength(2)
  expect(calls('eth_getLogs')).toEqual([])
})

test('a receipt that is longer than the limit is an error with the limit, which is kept', async () => {
  const { chain, state, receipts, calls } = open()
  state.receipt = () => {
    throw tooLong()
  }
  for (const _ of [1, 2])
    await expect(receipts.read(chain, HASH)).rejects.toMatchObject({
      code: 'upstream_error',
      message: `the transaction has too many logs: its receipt is longer than ${2 ** 25} bytes`,
    })
  expect(calls('eth_getTransactionReceipt')).toHaveLength(1)
  expect(receipts.known(chain, HASH)).toBeUndefined()
})

test.each([
  ['the receipt', 'receipt'],
  ['the logs', 'logs'],
] as const)('a refusal of %s is an error that is not kept', async (_, part) => {
  const { chain, state, receipts } = open()
  const { receipt, logs } = state
  Object.assign(
    state,
    part === 'receipt' ? { receipt: () => new Failure(-32_000, 'refused') } : { logs: new Failure(-32_000, 'refused') },
  )
  await expect(receipts.read(chain, HASH)).rejects.toMatchObject({ code: 'upstream_error', message: 'refused' })
  Object.assign(state, { receipt, logs })
  expect(await receipts.read(chain, HASH)).toMatchObject({ blockNumber: 7n })
})

test('one receipt is read at a time, equal ones once, sixteen others wait, and a further one is refused', async () => {
  const { chain, receipts } = open()
  let open1 = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open1 = resolve
  })
  let most = 0
  let running = 0
  const send: typeof chain.send = async (batch) => {
    running += 1
    most = Math.max(most, running)
    await gate
    running -= 1
    return chain.send(batch)
  }
  const slow = { ...chain, send }
  const reads = Array.from({ length: 17 }, (_, nth) => receipts.read(slow, hashOf(nth)))
  const again = receipts.read(slow, hashOf(0))
  await expect(receipts.read(slow, hashOf(17))).rejects.toMatchObject({
    code: 'service_unavailable',
    message: 'too many long receipts are read at once: retry after 1 s',
  })
  open1()
  expect(await Promise.all(reads)).toHaveLength(17)
  expect(await again).toBe(await reads[0])
  expect(most).toBe(1)
})

test('a receipt that is not read within ten seconds is an error, and frees its turn', async () => {
  const { chain, receipts } = open()
  const hanging = { ...chain, send: () => new Promise<never>(() => {}) }
  const late = receipts.read(hanging, HASH).catch((error: Error) => error.message)
  const next = receipts.read(chain, hashOf(2))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await late).toBe('a long receipt was not read within 10 s: try again')
  expect(await next).toMatchObject({ blockNumber: 7n })
})
