import type { Plan } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { CHAIN, createMemoryChain, DIAMOND, FROM, hashOf, jsonOf, transactionOf } from '../support/memory-chain.ts'

/* What a page keeps of an execution, so that the same is not signed again when the page is loaded again. */

const stored = new Map<string, string>()
const sent = hashOf(0x42)
let report = transactionOf(sent)

beforeAll(() => {
  useFastClock()
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  })
  for (const name of ['addEventListener', 'removeEventListener']) vi.stubGlobal(name, () => {})
  vi.stubGlobal('document', {})
  vi.stubGlobal('fetch', async (url: string | URL) =>
    String(url).includes('/v1/transactions/')
      ? new Response(jsonOf({ data: report, meta: {} }))
      : Response.json({ data: [], meta: { nextCursor: null } }),
  )
})
afterAll(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Executes a purchase with a wallet, and returns what is kept while it runs, after its end, and once it is forgotten. */
const executed = async (asked: () => unknown) => {
  const { forgetExecution, forgetOutcome, executeOnce } = await import('../../explorer/src/act/execution.ts')
  const memory = createMemoryChain()
  const plan: Plan = memory.planOf(memory.stepOf('buy', DIAMOND, 'buyProtection', { eventId: 1, notional: '5' }))
  let during: string | undefined
  const request = async ({ method, params }: { method: string; params: readonly unknown[] }) => {
    if (method !== 'eth_sendTransaction') return memory.node(method, params)
    during = stored.get('execution')
    return asked()
  }
  const wallet = { rdns: 'test', name: 'Wallet', icon: null, provider: { request } }
  const session = { state: 'connected', wallet, account: FROM, chainId: CHAIN }
  await executeOnce(plan, session as never, { chainId: CHAIN } as never)
  const ended = stored.has('execution')
  // Another page of the explorer is opened, and then the person goes on.
  forgetOutcome()
  const left = stored.has('execution')
  forgetExecution()
  return { during: during !== undefined, ended, left, forgotten: !stored.has('execution') }
}

describe('an execution is kept while it runs, and after it', () => {
  test.each([
    ['while its transaction is pending', transactionOf(sent, { status: 'pending' })],
    ['when another transaction took its place', transactionOf(sent, { status: 'unknown', dropped: true })],
  ])('%s, until the person goes on', async (_, transaction) => {
    report = transaction
    expect(await executed(() => sent)).toEqual({ during: true, ended: true, left: true, forgotten: true })
  })

  test('not when the person declined it', async () => {
    const declined = () => Promise.reject(Object.assign(new Error('no'), { code: 4001 }))
    expect(await executed(declined)).toEqual({ during: true, ended: false, left: false, forgotten: true })
  })
})
