import type { FastifyPluginAsync } from 'fastify'
import { isAddressEqual } from 'viem'
import { invalidField, nullIfUnavailable } from '../../lib/errors.ts'
import type { PricingClient } from '../../pricing/client.ts'
import { Backtest, Health, Quote, QuoteRequest, Signer } from '../../pricing/messages.ts'
import { type Chains, chainOf } from '../../reads/read.ts'
import { clientOf } from '../client.ts'
import { envelope, type Operation, route } from '../operation.ts'

type Options = { readonly pricing: PricingClient; readonly chains: Chains }

const about = { tag: 'Pricing', failures: ['upstream_error'] } as const

const health: Operation = {
  ...about,
  summary: "Retrieve the pricing engine's health",
  description:
    "Returns the engine's USD rate, its signer, the pairs that it has rates of, and the reasons why quotes are not signed now.",
}
const signer: Operation = {
  ...about,
  summary: "Retrieve the pricing engine's signer",
  description: 'Returns null in advisory mode: an engine without a key signs nothing.',
}
const quote: Operation = {
  ...about,
  summary: 'Request a fair-value quote',
  description:
    'Returns a fair-value premium. The quote is signed for the protocol when the request has `chainId`, `diamondAddress` and `creator`, and the engine has a key and fresh rates. Otherwise `breakdown.attestation` has the reason. `diamondAddress` must be the address that `/v1/chains` returns for `chainId`. A signature is dated a few seconds back and is valid for 120 seconds from then (`expiresAt`).',
}

const backtest: Operation = {
  ...about,
  summary: 'Backtest a range on past closes',
  description:
    'Returns what the range would have cost and paid, bought at the end of each month since 1990 with the same number of days to its expiry. The body is that of a quote; `chainId`, `diamondAddress` and `creator` change nothing. Strike and cap keep their proportion to the spot. Premiums follow from the closes and interest rates known on each date, payouts from the close at expiry. The closes are the bundled ones, which end on `closesEnd`; other pairs are a 400. The first request for a pair calibrates its history, which takes some seconds: until it is ready the response is a 503 with `Retry-After`, whose `details` name `pair`.',
}

/** The time of the chain's newest block in Unix seconds; null when the request names no chain or no node answers. */
const newestBlock = async (chains: Chains, { chainId }: QuoteRequest): Promise<bigint | null> => {
  const head = chainId === undefined ? null : await chains.get(chainId)?.head().catch(nullIfUnavailable)
  return head?.timestamp ?? null
}

/** Throws `validation_error` for a diamond that is not the one of its chain: this service would not index its event. */
const requireOwnDiamond = (chains: Chains, { chainId, diamondAddress }: QuoteRequest): void => {
  if (chainId === undefined || diamondAddress === undefined) return
  const { diamond } = chainOf(chains, chainId).deployment
  if (isAddressEqual(diamond, diamondAddress)) return
  throw invalidField('diamondAddress', `expected ${diamond}, the diamond of chain ${chainId}`)
}

/** Removes a signature that is dated ahead of its chain: it would become valid later, when rates have moved. */
const withoutFutureSignature = (quote: Quote, newest: bigint | null): Quote => {
  const { attestation, breakdown } = quote
  if (attestation === null || newest === null || BigInt(attestation.quoteTimestamp) <= newest) return quote
  const reason = `the engine dated its signature ${BigInt(attestation.quoteTimestamp) - newest} s ahead of the newest block: its clock is fast`
  return { ...quote, attestation: null, breakdown: { ...breakdown, attestation: { reason } } }
}

/** `/pricing/*`: the responses of the pricing engine, a separate process. What it rejects is a 400 with its reason. */
export const pricingRoutes: FastifyPluginAsync<Options> = async (app, { pricing, chains }) => {
  app.get('/pricing/health', route(health, envelope(Health)), async () => ({ data: await pricing.health() }))
  app.get('/pricing/signer', route(signer, envelope(Signer)), async () => ({ data: await pricing.signer() }))
  const backtestOptions = route(backtest, envelope(Backtest), { body: QuoteRequest })
  app.post<{ Body: QuoteRequest }>('/pricing/backtest', backtestOptions, async (request) => ({
    data: await pricing.backtest(request.body, clientOf(request).address),
  }))
  const options = route(quote, envelope(Quote), { body: QuoteRequest })
  app.post<{ Body: QuoteRequest }>('/pricing/quote', options, async ({ body }) => {
    requireOwnDiamond(chains, body)
    const [answer, newest] = await Promise.all([pricing.quote(body), newestBlock(chains, body)])
    return { data: withoutFutureSignature(answer, newest) }
  })
}
