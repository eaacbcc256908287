import type { Drift } from './drift.ts'
import type { LocalRates } from './market/local-rates.ts'
import type { History } from './market/market.ts'
import { dayOf, daysBetween } from './market/series.ts'
import type { UsdRate } from './market/usd-rate.ts'

const DAY_MS = 86_400_000

/**
 * The dollar's rate is fetched every 6 hours, and every minute after a failure. A rate of this age has failed for
 * another 6 hours.
 */
const USD_RATE_MAX_AGE_MS = 12 * 3_600_000

/** Central banks decide on their rates every six to eight weeks: a table older than a quarter has missed a decision. */
const LOCAL_RATES_MAX_AGE_DAYS = 92

/** True when the history ends more than `maxStalenessDays` before now (Unix milliseconds). */
export const isStale = ({ last }: History, now: number, maxStalenessDays: number): boolean =>
  daysBetween(last.date, dayOf(now)) > maxStalenessDays

/** Why no quote should be signed on this dollar rate; null when it is published and fresh. */
export const usdRateFault = (usd: UsdRate, now: number, maxStalenessDays: number): string | null => {
  if (usd.fallback) {
    return `the dollar rate is the configured fallback of ${usd.recordDate}: set ENGINE_USD_RATE_URL to a URL that can be reached`
  }
  const age = daysBetween(usd.recordDate, dayOf(now))
  // In some places the next day has begun.
  if (age < -1 || usd.fetchedAt - now > DAY_MS) {
    return `the dollar rate is of ${usd.recordDate} and was fetched on ${dayOf(usd.fetchedAt)}, a day that is still to come: check the engine's clock and ENGINE_USD_RATE_URL`
  }
  if (age > maxStalenessDays) {
    return `the dollar rate was recorded on ${usd.recordDate}, more than ${maxStalenessDays} days ago: check ENGINE_USD_RATE_URL`
  }
  if (now - usd.fetchedAt > USD_RATE_MAX_AGE_MS) {
    return `the dollar rate was last fetched ${Math.floor((now - usd.fetchedAt) / 3_600_000)} h ago: check that ENGINE_USD_RATE_URL can be reached`
  }
  return null
}

/** Why no quote should be signed on these interest rates; null when they are recent. */
export const localRatesFault = ({ asOf }: Pick<LocalRates, 'asOf'>, now: number): string | null => {
  const age = daysBetween(asOf, dayOf(now))
  // In some places the next day has begun.
  if (age < -1)
    return `the local interest rates are of ${asOf}, a day that is still to come: correct ENGINE_LOCAL_RATES_FILE`
  return age > LOCAL_RATES_MAX_AGE_DAYS
    ? `the local interest rates are of ${asOf}, more than ${LOCAL_RATES_MAX_AGE_DAYS} days ago: add newer rates to ENGINE_LOCAL_RATES_FILE`
    : null
}

/** Why no quote should be signed on this drift; null when it uses recent interest rates, or no interest rates. */
export const driftFault = ({ localRates }: Drift, now: number): string | null =>
  localRates && localRatesFault(localRates, now)
