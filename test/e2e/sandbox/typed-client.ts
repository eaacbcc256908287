import { ApiError, createClient, type GetPath, type PostPath } from 'fx-protection-client'
import { createPublicClient, http } from 'viem'
import { describe, expect, test } from 'vitest'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { type PlanPath, planBodies } from '../../examples/plans.ts'
import { document } from '../../support/openapi.ts'
import { sandbox } from './process.ts'

const api = createClient({ baseUrl: sandbox.url })

const chainId = 8453
const { account } = createAccounts().extras[0] ?? {}
if (account === undefined) throw new Error('the sandbox has no extras')
const addr = account.address

const chain = { chainId }
const first = { chainId, id: 1 }
const wallet = { chainId, addr }
const endpoint = { id: 'we_0123456789ab' }
const key = { 'x-api-key': 'fxk_unknown' }
const ofEndpoint = { params: endpoint, headers: key }
const zero32 = `0x${'0'.repeat(64)}`

const { data: deployed } = await api.get('/v1/chains')
const diamondAddress = deployed[0]?.diamond ?? ''

/** A transfer of 0 to the sender itself, signed for the sandbox's chain. */
const signedTx = async (): Promise<string> => {
  const node = createPublicClient({ transport: http(sandbox.rpcUrls[chainId]) })
  const nonce = await node.getTransactionCount({ address: addr })
  return account.signTransaction({ chainId, nonce, to: addr, gas: 21_000n, ...(await node.estimateFeesPerGas()) })
}

/** A quote of the specification's market, for which the sandbox has synthetic rates. */
const terms = {
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: Math.floor(Date.now() / 1000) + 30 * 86_400,
  notional: 10_000,
  strikeAbove: true,
}

/** A backtest of bundled closes, once the engine has calibrated them. */
const backtest = async () => {
  const body = { ...terms, pair: 'USD/HKD', strike: 7.8, payoutCap: 8.1 }
  for (;;) {
    try {
      return await api.post('/v1/pricing/backtest', body)
    } catch (fault) {
      if (!(fault instanceof ApiError && fault.status === 503)) throw fault
    }
  }
}

const plans = planBodies(() => addr, addr, terms)

/** A call of every operation but the plans. One that is missing here does not compile. */
const calls = {
  '/': () => api.get('/'),
  '/livez': () => api.get('/livez'),
  '/readyz': () => api.get('/readyz'),
  '/status': () => api.get('/status'),
  '/v1/chains': () => api.get('/v1/chains'),
  '/v1/changelog': () => api.get('/v1/changelog'),
  '/v1/reverts': () => api.get('/v1/reverts'),
  '/v1/me': () => api.get('/v1/me', {}, { headers: { authorization: 'Bearer unknown' }, attempts: 1 }),
  '/v1/hedge/fees': () => api.get('/v1/hedge/fees', { chainId: 56 }),
  '/v1/hedge/paused/{chainId}': () => api.get('/v1/hedge/paused/{chainId}', chain),
  '/v1/hedge/events/{chainId}/total': () => api.get('/v1/hedge/events/{chainId}/total', chain),
  '/v1/hedge/events/{chainId}/{id}': () => api.get('/v1/hedge/events/{chainId}/{id}', first),
  '/v1/hedge/events/{chainId}/{id}/stats': () => api.get('/v1/hedge/events/{chainId}/{id}/stats', first),
  '/v1/hedge/events/{chainId}/{id}/range': () => api.get('/v1/hedge/events/{chainId}/{id}/range', first),
  '/v1/hedge/events/{chainId}/{id}/utilization': () => api.get('/v1/hedge/events/{chainId}/{id}/utilization', first),
  '/v1/hedge/events/{chainId}/{id}/positions': () =>
    api.get('/v1/hedge/events/{chainId}/{id}/positions', { ...first, limit: 2 }),
  '/v1/hedge/events/{chainId}/{id}/deposits': () => api.get('/v1/hedge/events/{chainId}/{id}/deposits', first),
  '/v1/hedge/creators/{chainId}/wallet/{addr}': () => api.get('/v1/hedge/creators/{chainId}/wallet/{addr}', wallet),
  '/v1/hedge/quote-payout/{chainId}/{id}': () =>
    api.get('/v1/hedge/quote-payout/{chainId}/{id}', {
      ...first,
      hypoSettlement: 12_500_000n,
      notional: 10_000_000_000n,
    }),
  '/v1/hedge/positions/{chainId}/{id}': () => api.get('/v1/hedge/positions/{chainId}/{id}', first),
  '/v1/hedge/positions/{chainId}/wallet/{addr}': () => api.get('/v1/hedge/positions/{chainId}/wallet/{addr}', wallet),
  '/v1/hedge/deposits/{chainId}/{id}': () => api.get('/v1/hedge/deposits/{chainId}/{id}', first),
  '/v1/hedge/deposits/{chainId}/{id}/pending': () => api.get('/v1/hedge/deposits/{chainId}/{id}/pending', first),
  '/v1/hedge/events/{chainId}/{id}/series': () =>
    api.get('/v1/hedge/events/{chainId}/{id}/series', { ...first, interval: 'hour' }),
  '/v1/hedge/deposits/{chainId}/{id}/series': () =>
    api.get('/v1/hedge/deposits/{chainId}/{id}/series', { ...first, metric: 'value' }),
  '/v1/hedge/deposits/{chainId}/wallet/{addr}': () => api.get('/v1/hedge/deposits/{chainId}/wallet/{addr}', wallet),

  '/v1/hedge/events': () => api.get('/v1/hedge/events', { state: 'open', include: 'stats' }),
  '/v1/hedge/positions': () => api.get('/v1/hedge/positions', { wallet: addr, limit: 2 }),
  '/v1/hedge/deposits': () => api.get('/v1/hedge/deposits', { withdrawn: false }),
  '/v1/activity': () => api.get('/v1/activity', { limit: 1 }),
  '/v1/series': () => api.get('/v1/series', { chainId: '8453' }),
  '/v1/wallets/{addr}/series': () => api.get('/v1/wallets/{addr}/series', { addr, interval: 'week' }),
  '/v1/wallets/{addr}/portfolio': () => api.get('/v1/wallets/{addr}/portfolio', { addr }),
  '/v1/wallets/{addr}/balances': () => api.get('/v1/wallets/{addr}/balances', { addr }),
  '/v1/wallets/portfolio': () => api.post('/v1/wallets/portfolio', { wallets: [addr] }),
  '/v1/hedge/settlements': () => api.get('/v1/hedge/settlements', { since: 'now' }),

  '/v1/hedge/pricing-engine-signer/{chainId}': () => api.get('/v1/hedge/pricing-engine-signer/{chainId}', chain),
  '/v1/oracle/config/{chainId}': () => api.get('/v1/oracle/config/{chainId}', chain),
  '/v1/oracle/oracles/{chainId}': () => api.get('/v1/oracle/oracles/{chainId}', chain),
  '/v1/oracle/submissions/{chainId}/{eventId}': () =>
    api.get('/v1/oracle/submissions/{chainId}/{eventId}', { chainId, eventId: 1 }),
  '/v1/governance/owner': () => api.get('/v1/governance/owner'),
  '/v1/governance/facets': () => api.get('/v1/governance/facets', { chainId: 56 }),
  '/v1/governance/proposals/{chainId}/{proposalId}': () =>
    api.get('/v1/governance/proposals/{chainId}/{proposalId}', { chainId, proposalId: zero32 }),

  '/v1/tx/erc20/approve': () => api.post('/v1/tx/erc20/approve', { chainId, token: addr, spender: addr, amount: 1n }),
  '/v1/tx/hedge/create-event': () =>
    api.post('/v1/tx/hedge/create-event', {
      ...{ chainId, name: 'Cedi', underlying: 'USD/GHS', strike: 12_000_000n, payoutCap: 0n, premiumRate: 23000n },
      ...{ expiry: 1_900_000_000n, allowExternalLp: true, initialLiquidity: 0n, initialRate: 11_400_000n },
      ...{ strikeAbove: true, paymentToken: addr, signature: '0x', quoteTimestamp: 0n, quoteNonce: zero32 },
    }),
  '/v1/tx/hedge/deposit': () => api.post('/v1/tx/hedge/deposit', { chainId, eventId: 1, amount: 5n }),
  '/v1/tx/hedge/buy-protection': () =>
    api.post('/v1/tx/hedge/buy-protection', {
      chainId,
      eventId: 1,
      notional: 1n,
      maxCost: 1n,
      deadline: 1_900_000_000n,
      from: addr,
    }),
  '/v1/tx/hedge/claim-payout': () => api.post('/v1/tx/hedge/claim-payout', { chainId, positionId: 1 }),
  '/v1/tx/hedge/claim-premiums': () => api.post('/v1/tx/hedge/claim-premiums', { chainId, depositId: 1 }),
  '/v1/tx/hedge/withdraw-capital': () => api.post('/v1/tx/hedge/withdraw-capital', { chainId, depositId: 1 }),
  '/v1/tx/hedge/set-pool-settings': () =>
    api.post('/v1/tx/hedge/set-pool-settings', { chainId, eventId: 1, poolOpen: true, allowExternalLp: false }),
  '/v1/tx/hedge/withdraw-creator-earnings': () =>
    api.post('/v1/tx/hedge/withdraw-creator-earnings', { chainId, eventId: 1 }),
  '/v1/tx/hedge/initialize-fees': () =>
    api.post('/v1/tx/hedge/initialize-fees', {
      ...{ chainId, creationFee: 5n, hedgerFeeRate: 5000n, payoutFeeRate: 1n },
      ...{ lpProfitFeeRate: 1n, creatorLoyaltyRate: 1n },
    }),
  '/v1/tx/hedge/settle-event': () =>
    api.post('/v1/tx/hedge/settle-event', { chainId, eventId: 1, settlementPrice: 12_500_000n }),
  '/v1/tx/hedge/pause': () => api.post('/v1/tx/hedge/pause', { chainId: 56 }),
  '/v1/tx/hedge/unpause': () => api.post('/v1/tx/hedge/unpause', { chainId }),
  '/v1/tx/hedge/activate-oracle-v2': () => api.post('/v1/tx/hedge/activate-oracle-v2', { chainId }),
  '/v1/tx/hedge/set-oracle-admin': () => api.post('/v1/tx/hedge/set-oracle-admin', { chainId, admin: addr }),
  '/v1/tx/hedge/set-pricing-engine-signer': () =>
    api.post('/v1/tx/hedge/set-pricing-engine-signer', { chainId, signer: addr }),
  '/v1/tx/hedge/withdraw-platform-fees': () => api.post('/v1/tx/hedge/withdraw-platform-fees', { chainId, amount: 1n }),
  '/v1/tx/hedge/withdraw-platform-fees-by-token': () =>
    api.post('/v1/tx/hedge/withdraw-platform-fees-by-token', { chainId, token: addr, amount: 1n }),
  '/v1/tx/hedge/rescue-eth': () => api.post('/v1/tx/hedge/rescue-eth', { chainId, to: addr }),
  '/v1/tx/hedge/rescue-erc20': () => api.post('/v1/tx/hedge/rescue-erc20', { chainId, token: addr, to: addr }),
  '/v1/tx/hedge/set-allowed-payment-token': () =>
    api.post('/v1/tx/hedge/set-allowed-payment-token', { chainId, token: addr, allowed: true }),
  '/v1/tx/hedge/recover-expired-payouts': () =>
    api.post('/v1/tx/hedge/recover-expired-payouts', { chainId, eventId: 1 }),
  '/v1/tx/oracle/submit-rate': () => api.post('/v1/tx/oracle/submit-rate', { chainId, eventId: 1, price: 12_500_000n }),
  '/v1/tx/oracle/add-oracle': () => api.post('/v1/tx/oracle/add-oracle', { chainId, oracle: addr }),
  '/v1/tx/oracle/remove-oracle': () => api.post('/v1/tx/oracle/remove-oracle', { chainId, oracle: addr }),
  '/v1/tx/oracle/set-required-signers': () => api.post('/v1/tx/oracle/set-required-signers', { chainId, required: 2n }),
  '/v1/tx/oracle/set-tolerance-bps': () => api.post('/v1/tx/oracle/set-tolerance-bps', { chainId, bps: 700n }),
  '/v1/tx/oracle/clear-stale-submissions': () =>
    api.post('/v1/tx/oracle/clear-stale-submissions', { chainId, eventId: 1 }),
  '/v1/tx/ownership/transfer-ownership': () =>
    api.post('/v1/tx/ownership/transfer-ownership', { chainId, newOwner: addr }),
  '/v1/tx/ownership/accept-ownership': () => api.post('/v1/tx/ownership/accept-ownership', { chainId }),
  '/v1/tx/governance/diamond-cut': () =>
    api.post('/v1/tx/governance/diamond-cut', {
      chainId,
      cuts: [{ facetAddress: addr, action: 0, functionSelectors: ['0x01020304'] }],
      init: addr,
      initData: '0x',
    }),
  '/v1/tx/governance/execute-cut': () => api.post('/v1/tx/governance/execute-cut', { chainId, proposalId: zero32 }),
  '/v1/tx/governance/cancel-cut': () => api.post('/v1/tx/governance/cancel-cut', { chainId, proposalId: zero32 }),
  '/v1/pricing/health': () => api.get('/v1/pricing/health'),
  '/v1/pricing/signer': () => api.get('/v1/pricing/signer'),
  '/v1/pricing/quote': () => api.post('/v1/pricing/quote', { ...terms, chainId, diamondAddress, creator: addr }),
  '/v1/pricing/backtest': backtest,
  '/v1/transactions/{chainId}/{hash}': () => api.get('/v1/transactions/{chainId}/{hash}', { chainId, hash: zero32 }),
  '/v1/tx/broadcast': async () => api.post('/v1/tx/broadcast', { chainId, signedTx: await signedTx() }),
  '/v1/changes': () => api.get('/v1/changes', { limit: 1 }),
  '/v1/webhooks': () =>
    api.post('/v1/webhooks', { url: 'https://hooks.example/', types: ['settlement.settled'] }, { headers: key }),
  '/v1/webhooks/{id}': () => api.delete('/v1/webhooks/{id}', endpoint, { headers: key }),
  '/v1/webhooks/{id}/deliveries': () =>
    api.get('/v1/webhooks/{id}/deliveries', { ...endpoint, state: 'dead' }, { headers: key }),
  '/v1/webhooks/{id}/ping': () => api.post('/v1/webhooks/{id}/ping', undefined, ofEndpoint),
  '/v1/webhooks/{id}/pause': () => api.post('/v1/webhooks/{id}/pause', undefined, ofEndpoint),
  '/v1/webhooks/{id}/resume': () =>
    api.post('/v1/webhooks/{id}/resume', undefined, { ...ofEndpoint, query: { leaveDead: true } }),
  '/v1/webhooks/{id}/rotate': () =>
    api.post('/v1/webhooks/{id}/rotate', undefined, { ...ofEndpoint, query: { endPrevious: true } }),
} satisfies { readonly [Path in GetPath | Exclude<PostPath, PlanPath>]: () => Promise<{ data: unknown }> }

const planOf = <Path extends PlanPath>(path: Path) => api.post(path, plans[path])

const allCalls: Readonly<Record<string, () => Promise<{ data: unknown }>>> = {
  ...calls,
  ...Object.fromEntries((Object.keys(plans) as PlanPath[]).map((path) => [path, () => planOf(path)])),
}

/** Operations that fail because the sandbox has no identity provider, no queued upgrade and no self-service. */
const refusals: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.keys(calls).flatMap((path) => (path.startsWith('/v1/webhooks') ? [[path, 'forbidden']] : [])),
  ),
  '/v1/me': 'service_unavailable',
  '/v1/governance/proposals/{chainId}/{proposalId}': 'not_found',
}

describe('the client', () => {
  test('the client has a call for every path', () => {
    // `settlements.follow` reads the stream.
    const paths = Object.keys(document.paths).filter((path) => !path.endsWith('/stream'))
    expect(Object.keys(allCalls).sort()).toEqual(paths.sort())
  })

  test.each(Object.entries(allCalls))('the client calls %s without a cast', async (path, call) => {
    const code = await call().then(
      ({ data }) => (data === undefined ? 'no data' : undefined),
      (error: unknown) => (error instanceof ApiError ? error.code : error),
    )
    expect(code).toBe(refusals[path])
  })

  test('amounts are bigints in requests and responses, and ids are numbers', async () => {
    const { data: event, headers } = await api.get('/v1/hedge/events/{chainId}/{id}', first)
    const strike: bigint = event.strike
    const expiry: number = event.expiryDate
    expect([typeof strike, typeof expiry, headers.get('x-data-source')]).toEqual(['bigint', 'number', 'chain'])

    const { data: payout } = await api.get('/v1/hedge/quote-payout/{chainId}/{id}', {
      ...{ ...first, hypoSettlement: 12_500_000n, notional: 10_000_000_000n },
    })
    expect(payout).toBe(438_596_491n)
    const { data: built } = await api.post('/v1/tx/hedge/deposit', { chainId, eventId: 1, amount: 2n ** 70n })
    expect([built.args, built.value]).toEqual([{ eventId: '1', amount: String(2n ** 70n) }, 0n])

    const page = await api.get('/v1/hedge/events/{chainId}/{id}/positions', { ...first, limit: 1 })
    const cursor: string | null | undefined = page.meta?.nextCursor
    expect(cursor).toMatch(/^[\w-]+$/)

    const ids: number[] = []
    for await (const id of api.list('/v1/hedge/events/{chainId}/{id}/positions', { ...first, limit: 2 })) ids.push(id)
    const { data: whole } = await api.get('/v1/hedge/events/{chainId}/{id}/positions', first)
    expect(ids.length).toBeGreaterThan(2)
    expect(ids).toEqual(whole)
  })

  test('a rejected request is an error with code, status, details and request id', async () => {
    const errors = await Promise.all(
      [
        api.get('/v1/hedge/events/{chainId}/{id}', { chainId, id: 999_999 }),
        // The committed description lists no chain ids, since they are settings: the types take any.
        api.get('/v1/hedge/paused/{chainId}', { chainId: 1 }),
        // @ts-expect-error: an amount is a bigint
        api.post('/v1/tx/hedge/deposit', { chainId, eventId: 1, amount: 5 }),
        // @ts-expect-error: the amount is missing
        api.post('/v1/tx/hedge/deposit', { chainId, eventId: 1 }),
        // @ts-expect-error: a builder takes no field that it does not know
        api.post('/v1/tx/hedge/pause', { chainId, memo: 'x' }),
        // @ts-expect-error: a quote requires both numbers
        api.get('/v1/hedge/quote-payout/{chainId}/{id}', { ...first, notional: 1n }),
      ].map((call) => call.catch((error: unknown) => error)),
    )
    const seen = errors.map((error) => (error instanceof ApiError ? [error.status, error.code] : error))
    const invalid = [400, 'validation_error']
    expect(seen).toEqual([[404, 'not_found'], invalid, invalid, invalid, invalid, invalid])
    for (const error of errors) expect(error).toHaveProperty('requestId', expect.stringMatching(/^[\w-]{36}$/))
    expect(errors[2]).toHaveProperty('details', [{ path: 'amount', message: expect.any(String) }])
  })
})
