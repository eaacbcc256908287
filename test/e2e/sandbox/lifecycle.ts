import type { WebhookMessage } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { markets } from '../../../examples/lifecycle.ts'
import { receiveSettlements } from '../../../examples/webhooks.ts'
import { playLifecycle } from '../../support/play-lifecycle.ts'
import { byForm } from '../../support/repetitions.ts'
import { sandbox } from './process.ts'

/** Success or error; other tests check the payloads against their schemas. */
const Body = z.object({ data: z.any(), error: z.any() }).partial()

const get = async (path: string) => {
  const response = await fetch(`${sandbox.url}${path}`)
  return { status: response.status, headers: response.headers, body: Body.parse(await response.json()) }
}

test('the sandbox is ready, and every read answers on both chains', async () => {
  expect((await get('/readyz')).status).toBe(200)
  const { body: chains } = await get('/v1/chains')
  for (const { chainId, rpcUrl } of chains.data) {
    expect(rpcUrl).toBe(sandbox.rpcUrls[chainId])
    const { body: core } = await get(`/v1/hedge/events/${chainId}/1`)
    const paths = [
      `fees?chainId=${chainId}`,
      `events/${chainId}/total`,
      ...['', '/stats', '/range', '/utilization', '/positions', '/deposits'].map(
        (part) => `events/${chainId}/1${part}`,
      ),
      `positions/${chainId}/1`,
      `deposits/${chainId}/1`,
      `deposits/${chainId}/1/pending`,
      ...['positions', 'deposits', 'creators'].map((list) => `${list}/${chainId}/wallet/${core.data.creator}`),
      `quote-payout/${chainId}/1?hypoSettlement=12500000&notional=1000000`,
      `paused/${chainId}`,
    ]
    for (const path of paths) {
      const { status, headers, body } = await get(`/v1/hedge/${path}`)
      expect([path, status, headers.get('x-stale')]).toEqual([path, 200, null])
      expect(body.data).toBeDefined()
    }
  }
})

test('the status has samples of the lag since the API was started', async () => {
  const { body } = await get('/status')
  for (const { lags } of body.data.chains) expect(lags[0].at).toBeGreaterThan(Date.now() / 1_000 - 3_600)
})

test('the seeded scenario has every state, at least 10 wallets, 20 deposits and 50 positions a chain', async () => {
  for (const chainId of [8453, 56]) {
    const total: number = (await get(`/v1/hedge/events/${chainId}/total`)).body.data
    const seen = new Set<string>()
    const wallets = new Set<string>()
    const held = { deposits: 0, positions: 0 }
    for (let id = 1; id <= total; id++) {
      const core = (await get(`/v1/hedge/events/${chainId}/${id}`)).body.data
      const stats = (await get(`/v1/hedge/events/${chainId}/${id}/stats`)).body.data
      if (core.payoutCap === '0') seen.add('single strike')
      if (stats.settledAt > 0) seen.add(stats.triggered ? 'triggered' : 'not triggered')
      else if (core.expiryDate * 1000 <= Date.now()) seen.add('awaiting settlement')
      else seen.add(core.poolOpen ? 'open' : 'pool closed')
      for (const kind of ['deposits', 'positions'] as const) {
        const ids: number[] = (await get(`/v1/hedge/events/${chainId}/${id}/${kind}`)).body.data
        held[kind] += ids.length
        for (const each of ids) {
          const { lp, hedger } = (await get(`/v1/hedge/${kind}/${chainId}/${each}`)).body.data
          wallets.add(lp ?? hedger)
        }
      }
    }
    expect([...seen].sort()).toEqual(
      ['awaiting settlement', 'not triggered', 'open', 'pool closed', 'single strike', 'triggered'].sort(),
    )
    expect(wallets.size).toBeGreaterThanOrEqual(10)
    expect(held.deposits).toBeGreaterThanOrEqual(20)
    expect(held.positions).toBeGreaterThanOrEqual(50)
  }
})

/** By default the first token of one chain and the second token of the other one. */
const traded = markets.filter(({ chainId, token }) => byForm(chainId === 8453 || token === 'usdt', true))

/** What the example of a receiver of webhooks gets during the lifecycles. */
const messages: WebhookMessage[] = []

describe('the lifecycle of one event', () => {
  let receiver: Awaited<ReturnType<typeof receiveSettlements>> | undefined
  beforeAll(async () => {
    receiver = await receiveSettlements(sandbox.envFile(), (message) => messages.push(message))
    expect(await receiver.ping()).toContain('accepted the message: status 204')
  })
  afterAll(() => receiver?.close())

  // The chains at once, since most of the time is waiting for blocks.
  test.concurrent.each([...new Set(traded.map(({ chainId }) => chainId))])(
    'every balance on chain %i equals the equations to the unit after the last withdrawal',
    async (chainId) => {
      for (const market of traded.filter((each) => each.chainId === chainId)) {
        const outcome = await playLifecycle(sandbox.url, sandbox.rpcUrls[chainId], market)
        for (const [who, { actual, expected }] of Object.entries(outcome))
          expect([market.token, who, actual]).toEqual([market.token, who, expected])
        expect(outcome.hedger.actual).toBeGreaterThan(0n)
        expect(outcome.creator.actual).toBeLessThan(0n)
      }
    },
  )

  test('a receiver of webhooks gets the settlement of each event, signed', async () => {
    const settled = () => messages.flatMap(({ type, data }) => (type === 'settlement.settled' ? [data.chainId] : []))
    await expect.poll(() => settled().toSorted()).toEqual(traded.map(({ chainId }) => chainId).toSorted())
    expect(messages.map(({ type }) => type)).toContain('webhook.ping')
  })
})

const address = `0x${'12'.repeat(20)}`
const zero32 = `0x${'0'.repeat(64)}`
const event = {
  ...{ chainId: 8453, name: 'x', underlying: 'USD/GHS', strike: '12', payoutCap: '13', premiumRate: '1', expiry: '9' },
  ...{ allowExternalLp: true, initialLiquidity: '1', initialRate: '11', strikeAbove: true, paymentToken: address },
  ...{ signature: '0x', quoteTimestamp: '0', quoteNonce: zero32 },
}

describe('bad input', () => {
  test.each([
    [
      'approve, unknown chain',
      'erc20/approve',
      { chainId: 1, token: address, spender: address, amount: '1' },
      'chainId',
    ],
    [
      'approve, negative amount',
      'erc20/approve',
      { chainId: 56, token: address, spender: address, amount: '-1' },
      'amount',
    ],
    [
      'approve, malformed address',
      'erc20/approve',
      { chainId: 56, token: '0x12', spender: address, amount: '1' },
      'token',
    ],
    ['create, missing field', 'hedge/create-event', { ...event, strike: undefined }, 'strike'],
    ['create, bad nonce', 'hedge/create-event', { ...event, quoteNonce: '0x00' }, 'quoteNonce'],
    ['deposit, number for an amount', 'hedge/deposit', { chainId: 56, eventId: 1, amount: 5 }, 'amount'],
    [
      'buy, unknown field',
      'hedge/buy-protection',
      { chainId: 56, eventId: 1, notional: '1', maxCost: '1', deadline: '1', tip: 1 },
      'tip',
    ],
    ['submit, blank price', 'oracle/submit-rate', { chainId: 56, eventId: 1, price: '' }, 'price'],
    ['claim, negative id', 'hedge/claim-payout', { chainId: 56, positionId: -1 }, 'positionId'],
    ['withdraw, fraction of an id', 'hedge/withdraw-capital', { chainId: 56, depositId: 1.5 }, 'depositId'],
    ['broadcast, no hex', 'broadcast', { chainId: 56, signedTx: 'hello' }, 'signedTx'],
  ])('bad input gets the error of the specification: %s', async (_, path, body, field) => {
    const response = await fetch(`${sandbox.url}/v1/tx/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { error } = Body.parse(await response.json())
    expect([response.status, error.code]).toEqual([400, 'validation_error'])
    expect(error.details.map((detail: { path: string }) => detail.path)).toContain(field)
  })

  test('an unknown id is 404, a rejected transaction is 502 with the node’s reason, and an overlong body is 413', async () => {
    for (const path of ['events/8453/999999/stats', 'positions/56/999999', 'deposits/56/999999/pending']) {
      const { status, body } = await get(`/v1/hedge/${path}`)
      expect([status, body.error.code]).toEqual([404, 'not_found'])
    }
    const post = async (body: string) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${sandbox.url}/v1/tx/broadcast`, { method: 'POST', headers, body })
      return { status: response.status, code: Body.parse(await response.json()).error.code }
    }
    expect(await post(JSON.stringify({ chainId: 56, signedTx: '0xdead' }))).toEqual({
      status: 502,
      code: 'upstream_error',
    })
    const long = JSON.stringify({ chainId: 56, signedTx: `0x${'00'.repeat(2_000_000)}` })
    expect(await post(long)).toEqual({ status: 413, code: 'validation_error' })
  })
})
