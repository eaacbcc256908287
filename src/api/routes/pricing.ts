import type { FastifyPluginAsync } from 'fastify'
import { isAddressEqual } from 'viem'
import { invalid, isUnavailable } from '../../lib/errors.ts'
import type { PricingClient } from '../../pricing/client.ts'
import { Health, Quote, QuoteRequest, Signer } from '../../pricing/contract.ts'
import { chainOf, type Sources } from '../../reads/read.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

type Chains = Pick<Sources, 'chains'>

const failures = ['upstream_error', 'service_unavailable'] as const

const health: Operation = {
  tag: 'Pricing',
  summary: 'What the pricing engine prices with',
  description:
    "The dollar's rate, the engine's signer, the pairs it has rates of, and what keeps quotes from being signed now.",
  failures,
}
const signer: Operation = {
  tag: 'Pricing',
  summary: "The pricing engine's signer",
  description: 'Null in advisory mode: an engine without a key signs nothing.',
  failures,
}
const quote: Operation = {
  tag: 'Pricing',
  summary: 'A fair-value quote',
  description:
    'Signed for the protocol when `chainId`, `diamondAddress` and `creator` are there and the engine has a key and fresh rates; otherwise `breakdown.attestation` has the reason. `diamondAddress` must be the one that `/v1/chains` lists for `chainId`. A signature is dated a few seconds back and holds for 120 seconds from then (`expiresAt`).',
  failures,
}

/** The time of the chain's newest block in Unix seconds, where a signature is asked for and a node answers. */
const newestBlock = async ({ chains }: Chains, { chainId }: QuoteRequest): Promise<bigint | null> => {
  if (chainId === undefined) return null
  const head = chainOf({ chains }, chainId).head()
  return head.then(
    ({ timestamp }) => timestamp,
    (fault: unknown) => {
      if (!isUnavailable(fault)) throw fault
      return null
    },
  )
}

/** Throws `validation_error` for a diamond that is not the one of its chain: its event would not be seen here. */
const requireOwnDiamond = ({ chains }: Chains, { chainId, diamondAddress }: QuoteRequest): void => {
  if (chainId === undefined || diamondAddress === undefined) return
  const { diamond } = chainOf({ chains }, chainId).deployment
  if (isAddressEqual(diamond, diamondAddress)) return
  const message = `expected ${diamond}, the diamond of chain ${chainId}`
  throw invalid(`diamondAddress: ${message}`, [{ path: 'diamondAddress', message }])
}

/** Without the signature where that is dated ahead of its chain: it would become valid later, at rates that have moved. */
const withoutFutureSignature = (quote: Quote, newest: bigint | null): Quote => {
  const { attestation, breakdown } = quote
  if (attestation === null || newest === null || BigInt(attestation.quoteTimestamp) <= newest) return quote
  const reason = `the engine dated its signature ${BigInt(attestation.quoteTimestamp) - newest} s ahead of the newest block: its clock is fast`
  return { ...quote, attestation: null, breakdown: { ...breakdown, attestation: { reason } } }
}

/** `/pricing/*`: the engine, a process of its own, in the API's envelope. What it refuses is 400 with its reason. */
export const pricingRoutes: FastifyPluginAsync<{
  readonly pricing: PricingClient
  readonly sources: Chains
}> = async (app, { pricing, sources }) => {
  const describe = (data: typeof Health | typeof Signer | typeof Quote, operation: Operation) => ({
    schema: { response: { 200: envelope(data), ...errorResponses } },
    config: { operation },
  })
  app.get('/pricing/health', describe(Health, health), async () => ({ data: await pricing.health() }))
  app.get('/pricing/signer', describe(Signer, signer), async () => ({ data: await pricing.signer() }))

  const { schema, config } = describe(Quote, quote)
  app.post<{ Body: QuoteRequest }>(
    '/pricing/quote',
    { schema: { ...schema, body: QuoteRequest }, config },
    async ({ body }) => {
      requireOwnDiamond(sources, body)
      const [answer, newest] = await Promise.all([pricing.quote(body), newestBlock(sources, body)])
      return { data: withoutFutureSignature(answer, newest) }
    },
  )
}
