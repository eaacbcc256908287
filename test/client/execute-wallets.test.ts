import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { FROM, hashOf } from '../support/memory-chain.ts'
import { type Answers, createMemoryWorld, failureOf } from '../support/memory-wallet.ts'
import { failing, fault, lost, sendsAndFails, without, wrapped } from '../support/wallet-answers.ts'

/* Plans that wallets of many kinds send: whatever the wallet does, one `execute` buys once at most. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

/** No node knows a transaction with this hash. */
const foreign = hashOf(0x5a)

type Case = {
  readonly answers?: Answers
  readonly options?: { batches?: boolean; atomic?: boolean; rejects?: boolean }
  readonly confirmationMs?: number
  /** Requests that reach the wallet's own sending. */
  readonly sends?: number
}

const buyers: Readonly<Record<string, Case>> = {
  'sends a batch one by one': { sends: 1 },
  'sends a batch as one transaction': { options: { atomic: true }, sends: 1 },
  'has no EIP-5792': { options: { batches: false }, sends: 2 },
  'confirms without receipts': { answers: { wallet_getCallsStatus: (own) => without(own, 'receipts') } },
  'confirms an atomic batch without receipts': {
    answers: { wallet_getCallsStatus: (own) => without(own, 'receipts') },
    options: { atomic: true },
  },
  'confirms with an empty list of receipts': {
    answers: { wallet_getCallsStatus: async (own) => ({ ...Object(await own()), receipts: [] }) },
  },
  'confirms with receipts that have no hash': {
    answers: { wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ status: '0x1' }, null] }) },
  },
  'confirms with a hash that no node knows': {
    answers: { wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: foreign }] }) },
  },
  'repeats one receipt for several calls': {
    answers: {
      wallet_getCallsStatus: async (own) => {
        const status = Object(await own())
        return { ...status, receipts: [...status.receipts, ...status.receipts] }
      },
    },
    options: { atomic: true },
  },
  'gives its hash in capital letters': {
    answers: {
      wallet_getCallsStatus: async (own) => {
        const status = Object(await own())
        const capital = (hash: string) => `0x${hash.slice(2).toUpperCase()}`
        const receipts = status.receipts.map((it: { transactionHash: string }) => ({
          transactionHash: capital(it.transactionHash),
        }))
        return { ...status, receipts: [...status.receipts, ...receipts] }
      },
    },
  },
  'reports 500 for the first polls': {
    answers: { wallet_getCallsStatus: failing(3, async () => ({ status: 500 })) },
  },
  'reports 500 without end, although it bought': { answers: { wallet_getCallsStatus: async () => ({ status: 500 }) } },
  'reports 600 without receipts, although it bought': {
    answers: { wallet_getCallsStatus: async () => ({ status: 600, receipts: [] }) },
  },
  'fails the first requests of the status': { answers: { wallet_getCallsStatus: failing(3, fault(-32603)) } },
  'loses the first requests of the status': { answers: { wallet_getCallsStatus: failing(3, lost) } },
  'answers the first requests of the status with nonsense': {
    answers: { wallet_getCallsStatus: failing(3, async () => 'soon') },
  },
  'uses words for the status': {
    answers: { wallet_getCallsStatus: async (own) => ({ ...Object(await own()), status: 'CONFIRMED' }) },
  },
  'has lost the status of a batch that it sent': {
    answers: { wallet_getCallsStatus: fault(5730) },
    confirmationMs: 5_000,
  },
  'never answers about the status': {
    answers: { wallet_getCallsStatus: () => new Promise(() => {}) },
    confirmationMs: 5_000,
  },
  'returns the id as a text': { answers: { wallet_sendCalls: async (own) => Object(await own()).id } },
  'returns no id': { answers: { wallet_sendCalls: (own) => own().then(() => null) } },
  'sends the batch and loses the answer': { answers: { wallet_sendCalls: sendsAndFails(lost) } },
  'sends the batch and reports an internal error': { answers: { wallet_sendCalls: sendsAndFails(fault(-32603)) } },
  'takes the batch for one that it has already': { answers: { wallet_sendCalls: sendsAndFails(fault(5720)) } },
  'sends the batch and reports an internal error around a missing method': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(-32601)) },
  },
  'sends the batch and reports an internal error around a rejection': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(4001)) },
  },
  'sends the batch and reports an internal error around a large batch': {
    answers: { wallet_sendCalls: sendsAndFails(wrapped(5740)) },
  },
  'sends the batch and reports that a method is missing': {
    answers: { wallet_sendCalls: sendsAndFails(fault(-32601)) },
  },
  'sends the batch and reports a time-out of its node': {
    answers: { wallet_sendCalls: sendsAndFails(fault(-32000, 'request timed out')) },
  },
  'sends the batch, loses the answer, and does not know the id': {
    answers: { wallet_sendCalls: sendsAndFails(lost), wallet_getCallsStatus: async () => ({ status: 400 }) },
  },
  'names a block of the future': { answers: { eth_getBlockByNumber: async () => ({ number: '0xffffffffff' }) } },
  'never answers about its capabilities': {
    answers: { wallet_getCapabilities: () => new Promise(() => {}) },
    sends: 2,
  },
  'refuses batches of two': { answers: { wallet_sendCalls: fault(5740, 'bundle too large') } },
  'refuses a capability': { answers: { wallet_sendCalls: fault(5700) } },
  'refuses batches on this chain': { answers: { wallet_sendCalls: fault(5710) } },
  'refuses an atomic batch': { answers: { wallet_sendCalls: fault(5760) } },
  'refuses the shape of a batch': { answers: { wallet_sendCalls: fault(-32602) } },
  'names capabilities, and has no batches': { answers: { wallet_sendCalls: fault(4200) } },
}

describe('a purchase buys exactly once with a wallet that', () => {
  test.each(Object.entries(buyers))('%s', async (_, { answers, options, sends, confirmationMs = 20_000 }) => {
    const { client, walletOf, purchase, positions } = createMemoryWorld()
    const { wallet, sent } = walletOf(answers, options)
    const hashes: string[] = []
    const onSent = (hash: string) => void hashes.push(hash)
    const { positionIds, transactions } = await client.execute(purchase(101n), wallet, { onSent, confirmationMs })
    expect(positions).toMatchObject([{ id: 1, notional: '101', hedger: FROM, createdTx: transactions.at(-1)?.hash }])
    expect(positionIds).toEqual([1])
    expect(hashes).toEqual(expect.arrayContaining(transactions.map(({ hash }) => hash)))
    expect(new Set(hashes).size).toBe(hashes.length)
    for (const hash of hashes) expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    if (sends !== undefined) expect(sent).toHaveLength(sends)
  })
})

const refusals: Readonly<Record<string, Case & { readonly code: string }>> = {
  'rejects a batch': { code: 'user_rejected', options: { rejects: true } },
  'rejects a transaction': { code: 'user_rejected', options: { rejects: true, batches: false } },
  'rejects the upgrade of its account': { code: 'user_rejected', answers: { wallet_sendCalls: fault(5750) } },
  'rejects with words only': { code: 'user_rejected', answers: { wallet_sendCalls: fault(-32603, 'User denied it') } },
  'reports that it did not send the batch': {
    code: 'wallet_failed',
    answers: { wallet_sendCalls: async () => '0x01', wallet_getCallsStatus: async () => ({ status: 400 }) },
  },
  'has no money for gas': {
    code: 'wallet_failed',
    answers: { wallet_sendCalls: fault(-32603, 'insufficient funds for gas * price + value') },
  },
  'has a request open already': { code: 'wallet_failed', answers: { wallet_sendCalls: fault(-32002) } },
}

describe('a purchase buys nothing with a wallet that', () => {
  test.each(Object.entries(refusals))('%s', async (_, { answers, options, code }) => {
    const { client, walletOf, purchase, transactions } = createMemoryWorld()
    const { wallet, sent } = walletOf(answers, options)
    const error = await failureOf(client.execute(purchase(101n), wallet, { confirmationMs: 20_000 }))
    expect(error).toMatchObject({ code, hint: expect.any(String), hash: undefined })
    expect(sent).toEqual([])
    expect(transactions.size).toBe(0)
  })
})
