import createClient from 'openapi-fetch'
import { createPublicClient, http } from 'viem'
import { describe, expect, test } from 'vitest'
import { createAccounts } from '../../../src/sandbox/accounts.ts'
import type { paths } from '../../support/openapi.generated.ts'
import { document } from '../../support/openapi.ts'
import { sandbox } from './process.ts'

const api = createClient<paths>({ baseUrl: sandbox.url })

const chainId = 8453
const { account } = createAccounts().extras[0] ?? {}
if (account === undefined) throw new Error('the sandbox has no extras')
const addr = account.address

const chain = { path: { chainId } } as const
const first = { path: { chainId, id: 1 } } as const
const wallet = { path: { chainId, addr } } as const
const zero32 = `0x${'0'.repeat(64)}`

const deployed = await api.GET('/v1/chains')
const diamondAddress = deployed.data?.data[0]?.diamond ?? ''

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

/** The wallet and chain of every plan. */
const plan = { chainId, from: addr }

/** A call of every operation. One that is missing here does not compile. */
const calls = {
  '/livez': () => api.GET('/livez'),
  '/readyz': () => api.GET('/readyz'),
  '/status': () => api.GET('/status'),
  '/v1/chains': () => api.GET('/v1/chains'),
  '/v1/changelog': () => api.GET('/v1/changelog'),
  '/v1/reverts': () => api.GET('/v1/reverts'),
  '/v1/me': () => api.GET('/v1/me', { headers: { authorization: 'Bearer unknown' } }),
  '/v1/hedge/fees': () => api.GET('/v1/hedge/fees', { params: { query: { chainId: 56 } } }),
  '/v1/hedge/paused/{chainId}': () => api.GET('/v1/hedge/paused/{chainId}', { params: chain }),
  '/v1/hedge/events/{chainId}/total': () => api.GET('/v1/hedge/events/{chainId}/total', { params: chain }),
  '/v1/hedge/events/{chainId}/{id}': () => api.GET('/v1/hedge/events/{chainId}/{id}', { params: first }),
  '/v1/hedge/events/{chainId}/{id}/stats': () => api.GET('/v1/hedge/events/{chainId}/{id}/stats', { params: first }),
  '/v1/hedge/events/{chainId}/{id}/range': () => api.GET('/v1/hedge/events/{chainId}/{id}/range', { params: first }),
  '/v1/hedge/events/{chainId}/{id}/utilization': () =>
    api.GET('/v1/hedge/events/{chainId}/{id}/utilization', { params: first }),
  '/v1/hedge/events/{chainId}/{id}/positions': () =>
    api.GET('/v1/hedge/events/{chainId}/{id}/positions', { params: { ...first, query: { limit: 2 } } }),
  '/v1/hedge/events/{chainId}/{id}/deposits': () =>
    api.GET('/v1/hedge/events/{chainId}/{id}/deposits', { params: first }),
  '/v1/hedge/creators/{chainId}/wallet/{addr}': () =>
    api.GET('/v1/hedge/creators/{chainId}/wallet/{addr}', { params: wallet }),
  '/v1/hedge/quote-payout/{chainId}/{id}': () =>
    api.GET('/v1/hedge/quote-payout/{chainId}/{id}', {
      params: { ...first, query: { hypoSettlement: '12500000', notional: '10000000000' } },
    }),
  '/v1/hedge/positions/{chainId}/{id}': () => api.GET('/v1/hedge/positions/{chainId}/{id}', { params: first }),
  '/v1/hedge/positions/{chainId}/wallet/{addr}': () =>
    api.GET('/v1/hedge/positions/{chainId}/wallet/{addr}', { params: wallet }),
  '/v1/hedge/deposits/{chainId}/{id}': () => api.GET('/v1/hedge/deposits/{chainId}/{id}', { params: first }),
  '/v1/hedge/deposits/{chainId}/{id}/pending': () =>
    api.GET('/v1/hedge/deposits/{chainId}/{id}/pending', { params: first }),
  '/v1/hedge/deposits/{chainId}/wallet/{addr}': () =>
    api.GET('/v1/hedge/deposits/{chainId}/wallet/{addr}', { params: wallet }),

  '/v1/hedge/events': () => api.GET('/v1/hedge/events', { params: { query: { state: 'open', include: 'stats' } } }),
  '/v1/hedge/positions': () => api.GET('/v1/hedge/positions', { params: { query: { wallet: addr, limit: 2 } } }),
  '/v1/hedge/deposits': () => api.GET('/v1/hedge/deposits', { params: { query: { withdrawn: false } } }),
  '/v1/wallets/{addr}/portfolio': () => api.GET('/v1/wallets/{addr}/portfolio', { params: { path: { addr } } }),
  '/v1/wallets/{addr}/balances': () => api.GET('/v1/wallets/{addr}/balances', { params: { path: { addr } } }),
  '/v1/wallets/portfolio': () => api.POST('/v1/wallets/portfolio', { body: { wallets: [addr] } }),
  '/v1/hedge/settlements': () => api.GET('/v1/hedge/settlements', { params: { query: { since: 'now' } } }),
  '/v1/hedge/settlements/stream': async () => {
    const leaving = new AbortController()
    const answer = await api.GET('/v1/hedge/settlements/stream', { parseAs: 'stream', signal: leaving.signal })
    leaving.abort()
    return { ...answer, data: {} }
  },

  '/v1/hedge/pricing-engine-signer/{chainId}': () =>
    api.GET('/v1/hedge/pricing-engine-signer/{chainId}', { params: chain }),
  '/v1/oracle/config/{chainId}': () => api.GET('/v1/oracle/config/{chainId}', { params: chain }),
  '/v1/oracle/oracles/{chainId}': () => api.GET('/v1/oracle/oracles/{chainId}', { params: chain }),
  '/v1/oracle/submissions/{chainId}/{eventId}': () =>
    api.GET('/v1/oracle/submissions/{chainId}/{eventId}', { params: { path: { chainId, eventId: 1 } } }),
  '/v1/governance/owner': () => api.GET('/v1/governance/owner'),
  '/v1/governance/facets': () => api.GET('/v1/governance/facets', { params: { query: { chainId: 56 } } }),
  '/v1/governance/proposals/{chainId}/{proposalId}': () =>
    api.GET('/v1/governance/proposals/{chainId}/{proposalId}', { params: { path: { chainId, proposalId: zero32 } } }),

  '/v1/tx/erc20/approve': () =>
    api.POST('/v1/tx/erc20/approve', { body: { chainId, token: addr, spender: addr, amount: '1' } }),
  '/v1/tx/hedge/create-event': () =>
    api.POST('/v1/tx/hedge/create-event', {
      body: {
        ...{ chainId, name: 'Cedi', underlying: 'USD/GHS', strike: '12000000', payoutCap: '0', premiumRate: '23000' },
        ...{ expiry: '1900000000', allowExternalLp: true, initialLiquidity: '0', initialRate: '11400000' },
        ...{ strikeAbove: true, paymentToken: addr, signature: '0x', quoteTimestamp: '0', quoteNonce: zero32 },
      },
    }),
  '/v1/tx/hedge/deposit': () => api.POST('/v1/tx/hedge/deposit', { body: { chainId, eventId: 1, amount: '5' } }),
  '/v1/tx/hedge/buy-protection': () =>
    api.POST('/v1/tx/hedge/buy-protection', {
      body: { chainId, eventId: '1', notional: '1', maxCost: '1', deadline: '1900000000', from: addr },
    }),
  '/v1/tx/hedge/claim-payout': () => api.POST('/v1/tx/hedge/claim-payout', { body: { chainId, positionId: 1 } }),
  '/v1/tx/hedge/claim-premiums': () => api.POST('/v1/tx/hedge/claim-premiums', { body: { chainId, depositId: 1 } }),
  '/v1/tx/hedge/withdraw-capital': () => api.POST('/v1/tx/hedge/withdraw-capital', { body: { chainId, depositId: 1 } }),
  '/v1/tx/hedge/set-pool-settings': () =>
    api.POST('/v1/tx/hedge/set-pool-settings', {
      body: { chainId, eventId: 1, poolOpen: true, allowExternalLp: false },
    }),
  '/v1/tx/hedge/withdraw-creator-earnings': () =>
    api.POST('/v1/tx/hedge/withdraw-creator-earnings', { body: { chainId, eventId: 1 } }),
  '/v1/tx/hedge/initialize-fees': () =>
    api.POST('/v1/tx/hedge/initialize-fees', {
      body: {
        ...{ chainId, creationFee: '5', hedgerFeeRate: '5000', payoutFeeRate: '1' },
        ...{ lpProfitFeeRate: '1', creatorLoyaltyRate: '1' },
      },
    }),
  '/v1/tx/hedge/settle-event': () =>
    api.POST('/v1/tx/hedge/settle-event', { body: { chainId, eventId: 1, settlementPrice: '12500000' } }),
  '/v1/tx/hedge/pause': () => api.POST('/v1/tx/hedge/pause', { body: { chainId: 56 } }),
  '/v1/tx/hedge/unpause': () => api.POST('/v1/tx/hedge/unpause', { body: { chainId } }),
  '/v1/tx/hedge/activate-oracle-v2': () => api.POST('/v1/tx/hedge/activate-oracle-v2', { body: { chainId } }),
  '/v1/tx/hedge/set-oracle-admin': () => api.POST('/v1/tx/hedge/set-oracle-admin', { body: { chainId, admin: addr } }),
  '/v1/tx/hedge/set-pricing-engine-signer': () =>
    api.POST('/v1/tx/hedge/set-pricing-engine-signer', { body: { chainId, signer: addr } }),
  '/v1/tx/hedge/withdraw-platform-fees': () =>
    api.POST('/v1/tx/hedge/withdraw-platform-fees', { body: { chainId, amount: '1' } }),
  '/v1/tx/hedge/withdraw-platform-fees-by-token': () =>
    api.POST('/v1/tx/hedge/withdraw-platform-fees-by-token', { body: { chainId, token: addr, amount: '1' } }),
  '/v1/tx/hedge/rescue-eth': () => api.POST('/v1/tx/hedge/rescue-eth', { body: { chainId, to: addr } }),
  '/v1/tx/hedge/rescue-erc20': () =>
    api.POST('/v1/tx/hedge/rescue-erc20', { body: { chainId, token: addr, to: addr } }),
  '/v1/tx/hedge/set-allowed-payment-token': () =>
    api.POST('/v1/tx/hedge/set-allowed-payment-token', { body: { chainId, token: addr, allowed: true } }),
  '/v1/tx/hedge/recover-expired-payouts': () =>
    api.POST('/v1/tx/hedge/recover-expired-payouts', { body: { chainId, eventId: 1 } }),
  '/v1/tx/oracle/submit-rate': () =>
    api.POST('/v1/tx/oracle/submit-rate', { body: { chainId, eventId: 1, price: '12500000' } }),
  '/v1/tx/oracle/add-oracle': () => api.POST('/v1/tx/oracle/add-oracle', { body: { chainId, oracle: addr } }),
  '/v1/tx/oracle/remove-oracle': () => api.POST('/v1/tx/oracle/remove-oracle', { body: { chainId, oracle: addr } }),
  '/v1/tx/oracle/set-required-signers': () =>
    api.POST('/v1/tx/oracle/set-required-signers', { body: { chainId, required: '2' } }),
  '/v1/tx/oracle/set-tolerance-bps': () =>
    api.POST('/v1/tx/oracle/set-tolerance-bps', { body: { chainId, bps: '700' } }),
  '/v1/tx/oracle/clear-stale-submissions': () =>
    api.POST('/v1/tx/oracle/clear-stale-submissions', { body: { chainId, eventId: 1 } }),
  '/v1/tx/ownership/transfer-ownership': () =>
    api.POST('/v1/tx/ownership/transfer-ownership', { body: { chainId, newOwner: addr } }),
  '/v1/tx/ownership/accept-ownership': () => api.POST('/v1/tx/ownership/accept-ownership', { body: { chainId } }),
  '/v1/tx/governance/diamond-cut': () =>
    api.POST('/v1/tx/governance/diamond-cut', {
      body: {
        chainId,
        cuts: [{ facetAddress: addr, action: 0, functionSelectors: ['0x01020304'] }],
        init: addr,
        initData: '0x',
      },
    }),
  '/v1/tx/governance/execute-cut': () =>
    api.POST('/v1/tx/governance/execute-cut', { body: { chainId, proposalId: zero32 } }),
  '/v1/tx/governance/cancel-cut': () =>
    api.POST('/v1/tx/governance/cancel-cut', { body: { chainId, proposalId: zero32 } }),
  '/v1/pricing/health': () => api.GET('/v1/pricing/health'),
  '/v1/pricing/signer': () => api.GET('/v1/pricing/signer'),
  '/v1/pricing/quote': () =>
    api.POST('/v1/pricing/quote', { body: { ...terms, chainId, diamondAddress, creator: addr } }),
  '/v1/transactions/{chainId}/{hash}': () =>
    api.GET('/v1/transactions/{chainId}/{hash}', { params: { path: { chainId, hash: zero32 } } }),
  '/v1/plans/create-event': () =>
    api.POST('/v1/plans/create-event', {
      body: {
        ...plan,
        ...{ name: 'Cedi', allowExternalLp: true, initialLiquidity: '0', paymentToken: addr, quote: terms },
      },
    }),
  '/v1/plans/deposit': () => api.POST('/v1/plans/deposit', { body: { ...plan, eventId: 1, amount: '1' } }),
  '/v1/plans/buy-protection': () =>
    api.POST('/v1/plans/buy-protection', { body: { ...plan, eventId: 1, notional: '1' } }),
  '/v1/plans/claim-payout': () => api.POST('/v1/plans/claim-payout', { body: { ...plan, positionId: 1 } }),
  '/v1/plans/claim-premiums': () => api.POST('/v1/plans/claim-premiums', { body: { ...plan, depositId: 1 } }),
  '/v1/plans/withdraw-capital': () => api.POST('/v1/plans/withdraw-capital', { body: { ...plan, depositId: 1 } }),
  '/v1/plans/withdraw-creator-earnings': () =>
    api.POST('/v1/plans/withdraw-creator-earnings', { body: { ...plan, eventId: 1 } }),
  '/v1/plans/claim-all': () => api.POST('/v1/plans/claim-all', { body: plan }),
  '/v1/plans/set-pool-settings': () =>
    api.POST('/v1/plans/set-pool-settings', { body: { ...plan, eventId: 1, poolOpen: true, allowExternalLp: true } }),
  '/v1/plans/submit-rate': () => api.POST('/v1/plans/submit-rate', { body: { ...plan, eventId: 1, price: '1' } }),
  '/v1/plans/revoke-approval': () => api.POST('/v1/plans/revoke-approval', { body: { ...plan, token: addr } }),
  '/v1/tx/broadcast': async () => api.POST('/v1/tx/broadcast', { body: { chainId, signedTx: await signedTx() } }),
} satisfies { readonly [Path in keyof paths]: () => Promise<{ data?: object; error?: object; response: Response }> }

/** Operations that fail because the sandbox has no identity provider and no queued upgrade. */
const refusals: Readonly<Record<string, string>> = {
  '/v1/me': 'service_unavailable',
  '/v1/governance/proposals/{chainId}/{proposalId}': 'not_found',
}

describe('the generated client', () => {
  test('the generated client has a call for every path', () => {
    expect(Object.keys(calls).sort()).toEqual(Object.keys(document.paths).sort())
  })

  test.each(Object.entries(calls))('the generated client calls %s', async (path, call) => {
    const { data, error } = await call()
    expect(error?.error.code).toBe(refusals[path])
    if (error === undefined) expect(data).toHaveProperty('data')
  })
})

describe('the types of the generated client', () => {
  test('the generated types describe the answers', async () => {
    const { data: event } = await api.GET('/v1/hedge/events/{chainId}/{id}', { params: first })
    const strike: string | undefined = event?.data.strike
    const expiry: number | undefined = event?.data.expiryDate
    expect([typeof strike, typeof expiry]).toEqual(['string', 'number'])

    const page = await api.GET('/v1/hedge/events/{chainId}/{id}/positions', {
      params: { ...first, query: { limit: 1 } },
    })
    const cursor: string | null | undefined = page.data?.meta?.nextCursor
    expect(cursor).toMatch(/^[\w-]+$/)

    const { error } = await api.GET('/v1/hedge/events/{chainId}/{id}', { params: { path: { chainId, id: 999_999 } } })
    const code: 'not_found' | 'validation_error' | undefined =
      error?.error.code === 'not_found' || error?.error.code === 'validation_error' ? error.error.code : undefined
    expect(code).toBe('not_found')
  })

  test('the generated types reject requests that the API rejects', async () => {
    const refused = await Promise.all([
      // The committed description lists no chain ids, since they are settings: the types take any.
      api.GET('/v1/hedge/paused/{chainId}', { params: { path: { chainId: 1 } } }),
      // @ts-expect-error: an amount is a string
      api.POST('/v1/tx/hedge/deposit', { body: { chainId, eventId: 1, amount: 5 } }),
      // @ts-expect-error: the amount is missing
      api.POST('/v1/tx/hedge/deposit', { body: { chainId, eventId: 1 } }),
      // A builder takes no field that it does not know. The types accept one next to a valid body.
      api.POST('/v1/tx/hedge/pause', { body: { chainId, memo: 'x' } }),
      // @ts-expect-error: a quote requires both numbers
      api.GET('/v1/hedge/quote-payout/{chainId}/{id}', { params: { ...first, query: { notional: '1' } } }),
    ])
    expect(refused.map(({ response }) => response.status)).toEqual([400, 400, 400, 400, 400])
  })
})
