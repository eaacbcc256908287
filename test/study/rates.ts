import { ratesKnownOn } from '../../src/pricing/backtest/past.ts'
import { type LocalRates, readLocalRates } from '../../src/pricing/market/local-rates.ts'

/* The interest rates behind the drift. */

/**
 * `known`: the newest table dated on or before the quote, and drift 0 where there is none. `shipped`: the table of the
 * service on every date, although most dates precede it.
 */
export const RATE_CHOICES = ['known', 'shipped'] as const
export type RateChoice = (typeof RATE_CHOICES)[number]

export type RatesOn = (date: string) => Readonly<Record<RateChoice, LocalRates>>

/** The date of the service's table, and the rates of a date, YYYY-MM-DD, under each choice. */
export const openRates = async (): Promise<{ readonly asOf: string; readonly ratesOn: RatesOn }> => {
  const shipped = await readLocalRates()
  return { asOf: shipped.asOf, ratesOn: (date) => ({ known: ratesKnownOn(shipped, date), shipped }) }
}
