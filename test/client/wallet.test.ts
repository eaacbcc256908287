import { ExecutionError, type Wallet } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { askUser, askWallet, askWithin, walletError } from '../../client/src/wallet.ts'
import { useFastClock } from '../support/fast-clock.ts'

/* Requests to a wallet: how long they wait, and what they leave behind. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const reason = new Error('the page closes')
const never = (): Promise<never> => new Promise(() => {})

const walletOf = (answer: () => Promise<unknown>) => {
  const request = vi.fn((_call: object, _options: object) => answer())
  return { wallet: { request, sendTransaction: never } as unknown as Wallet, request }
}

/** A signal that aborts after some time, with its listeners. */
const abortedAfter = (ms: number) => {
  const stop = new AbortController()
  const added = vi.spyOn(stop.signal, 'addEventListener')
  const removed = vi.spyOn(stop.signal, 'removeEventListener')
  setTimeout(() => stop.abort(reason), ms)
  return { signal: stop.signal, added, removed }
}

describe('a request within a time', () => {
  const ask = (answer: () => Promise<unknown>, signal?: AbortSignal) =>
    askWithin(walletOf(answer).wallet, ['eth_chainId', []], 500, signal)

  test('returns or throws what the wallet does', async () => {
    expect(await ask(async () => '0x1')).toBe('0x1')
    await expect(ask(() => Promise.reject(reason))).rejects.toBe(reason)
  })

  test('ends after its time, and leaves no timer', async () => {
    const began = Date.now()
    await expect(ask(never)).rejects.toThrow('eth_chainId: no answer within 500 ms')
    expect(Date.now() - began).toBe(500)
    await ask(async () => '0x1')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends with its signal, and is not sent when that is aborted already', async () => {
    const began = Date.now()
    const { signal } = abortedAfter(100)
    await expect(ask(never, signal)).rejects.toBe(reason)
    expect(Date.now() - began).toBe(100)
    const { wallet, request } = walletOf(never)
    await expect(askWithin(wallet, ['eth_chainId', []], 500, signal)).rejects.toBe(reason)
    expect(request).not.toHaveBeenCalled()
  })

  test('leaves no listener at its signal', async () => {
    const { signal, added, removed } = abortedAfter(10_000)
    await ask(async () => '0x1', signal)
    await ask(never, signal).catch(() => {})
    expect(added).toHaveBeenCalledTimes(2)
    expect(removed.mock.calls).toEqual(added.mock.calls)
  })

  test('is not repeated by viem', async () => {
    const { wallet, request } = walletOf(async () => '0x1')
    await askWallet(wallet, 'eth_sendTransaction', [1])
    expect(request).toHaveBeenCalledExactlyOnceWith({ method: 'eth_sendTransaction', params: [1] }, { retryCount: 0 })
  })
})

describe('the decision of a user', () => {
  test('is waited for a quarter of an hour', async () => {
    const began = Date.now()
    await expect(askUser(never(), 'the transaction', undefined)).rejects.toThrow('no answer within 900000 ms')
    expect(Date.now() - began).toBe(900_000)
    expect(await askUser(Promise.resolve(7), 'the transaction', undefined)).toBe(7)
    await expect(askUser(Promise.reject(reason), 'the transaction', undefined)).rejects.toBe(reason)
  })

  test('that an abort interrupts may still come: the error has the batch, and a later refusal is no unhandled one', async () => {
    const { signal } = abortedAfter(100)
    const refusedLater = new Promise((_, reject) => setTimeout(reject, 1_000, new Error('refused')))
    const error = await askUser(refusedLater, 'batch 0x1', signal, '0x1').catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(ExecutionError)
    expect(error).toMatchObject({ code: 'aborted', batchId: '0x1', cause: reason })
    expect(error).toMatchObject({ message: 'the wait for the wallet to send batch 0x1 was aborted' })
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  })

  test('is not waited for when the request itself aborted the signal', async () => {
    const began = Date.now()
    const aborted = AbortSignal.abort(reason)
    await expect(askUser(never(), 'the transaction', aborted)).rejects.toMatchObject({ code: 'aborted' })
    expect(Date.now()).toBe(began)
  })
})

test.each([
  ['rejected', 'user_rejected', 'the user rejected the request'],
  ['nonce', 'nonce_used', 'why'],
  ['refused', 'wallet_failed', 'why'],
  ['unsupported', 'wallet_failed', 'why'],
  ['unknown', 'wallet_failed', 'why'],
] as const)('the refusal %s is an error with the code %s', (refusal, code, message) => {
  const cause = new Error('why\nmore')
  expect(walletError(cause, refusal)).toMatchObject({ code, message, cause, hash: undefined, batchId: undefined })
})
