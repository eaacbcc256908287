import { z } from 'zod'
import { QuoteRequest } from '../messages.ts'

const decimal = z.string({ error: 'expected a number' }).transform(Number).pipe(QuoteRequest.shape.strike)

const instant = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: 'expected a day, 2027-05-20, or a time, 2027-05-20T12:00:00Z',
  })
  .transform((text) => Math.floor(Date.parse(text) / 1000))

/**
 * The options of `engine chart PAIR`; days begin at midnight UTC. Transforms to the engine's request and its time (Unix
 * seconds).
 */
export const ChartRequest = z
  .object({
    pair: QuoteRequest.shape.pair,
    strike: decimal,
    'payout-cap': decimal,
    expiry: instant,
    notional: decimal,
    below: z.boolean().default(false),
    at: instant.optional(),
  })
  .transform(({ pair, strike, 'payout-cap': payoutCap, expiry, notional, below, at }) => ({
    request: { pair, strike, payoutCap, expiryUnixSeconds: expiry, notional, strikeAbove: !below },
    at,
  }))
