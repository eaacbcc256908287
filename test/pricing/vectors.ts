import { z } from 'zod'
import vectors from '../vectors/pricing.json' with { type: 'json' }

const option = {
  id: z.string(),
  type: z.enum(['call', 'put']),
  spot: z.number(),
  strike: z.number(),
  T: z.number(),
  vol: z.number(),
  r: z.number(),
  q: z.number(),
  price: z.number(),
}

const PublicVectors = z.object({
  gk: z.object({ cases: z.array(z.object(option)) }),
  merton: z.object({
    cases: z.array(z.object({ ...option, lambda: z.number(), jumpMean: z.number(), jumpStd: z.number() })),
  }),
  garchTerm: z.object({
    cases: z.array(
      z.object({
        id: z.string(),
        sigma0: z.number(),
        sigmaLongRun: z.number(),
        persistence: z.number(),
        N: z.number(),
        averageVariance: z.number(),
        sigmaIntegrated: z.number(),
      }),
    ),
  }),
})

/** The public reference values of the pricing mathematics. */
export const publicVectors = PublicVectors.parse(vectors)
