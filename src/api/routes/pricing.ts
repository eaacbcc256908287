import type { FastifyPluginAsync } from 'fastify'
import type { PricingClient } from '../../pricing/client.ts'
import { Health, Quote, QuoteRequest, Signer } from '../../pricing/contract.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

const failures = ['upstream_error', 'service_unavailable'] as const

const health: Operation = {
  tag: 'Pricing',
  summary: 'What the pricing engine prices with',
  description: "The dollar's rate, the engine's signer and the pairs it has rates of.",
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
    'Signed for the protocol when `chainId`, `diamondAddress` and `creator` are there and the engine has a key and fresh rates.',
  failures,
}

/** `/pricing/*`: the engine, a process of its own, in the API's envelope. What it refuses is 400 with its reason. */
export const pricingRoutes: FastifyPluginAsync<{ readonly pricing: PricingClient }> = async (app, { pricing }) => {
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
    async ({ body }) => ({ data: await pricing.quote(body) }),
  )
}
