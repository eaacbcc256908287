import type { Schemas } from 'fx-protection-client'
import { exactShare } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { durationText } from '../text/time.ts'

type Quote = Schemas['PricingQuote']

/** A fraction as a percentage with two decimals: `13.62 %`. */
const percent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))} %`

const DAY = 86_400

/** What a price follows from, in words. */
export const priceRows = ({ breakdown, premiumRateFixed6 }: Quote): readonly (readonly [string, string])[] => {
  const { T_days, inputs, method, fairRate } = breakdown as Quote['breakdown'] & {
    readonly fairRate?: unknown
  }
  const { r, mu, sigma, jump } = inputs
  return [
    ['Time to expiry', durationText(T_days * DAY)],
    ['Volatility', `${percent(sigma)} a year`],
    ['Drift of the rate', `${percent(mu)} a year`],
    ['Interest of the dollar', `${percent(r)} a year`],
    ['Jumps', `${Number(jump.lambda.toFixed(1))} a year, of ${percent(jump.jumpMean)} on average`],
    ...(typeof fairRate === 'number' ? [['Fair value', `${percent(fairRate)} of the notional`] as const] : []),
    ['Premium', `${exactShare(premiumRateFixed6)} of the notional`],
    ['Method', chainText(method, 200)],
  ]
}

/** What the values of the engine mean, by their keys. */
const explanations: Readonly<Record<string, string>> = {
  pair: 'The currency pair.',
  spot: 'The rate today.',
  strike: 'The rate at which the payout begins.',
  payoutCap: 'The rate at which the payout stops growing.',
  rangeWidth: 'The distance of strike and cap.',
  T_years: 'Years of 365 days until the expiry.',
  T_days: 'Days until the expiry.',
  tradingDays: 'Days until the expiry on which markets are open.',
  notional: 'The protected amount, in whole tokens.',
  direction: 'Whether it pays when the rate rises or falls.',
  coveragePercent: 'The greatest payout in percent of the notional.',
  method: 'The pricing method.',
  fairValue: 'The price of the range, per unit of the base currency.',
  fairRate: 'The price as a fraction of the notional.',
  leverage: 'The greatest payout divided by the premium.',
  asOf: 'When the price was calculated; of interest rates, their day.',
  initialRateFixed6: 'The rate today as the protocol takes it: times 1,000,000.',
  strikeFixed6: 'The strike as the protocol takes it: times 1,000,000.',
  payoutCapFixed6: 'The cap as the protocol takes it: times 1,000,000.',
  pairClassification: 'How the engine classifies the pair.',
  tier: 'The class of the pair, which sets the least volatility.',
  useEmpiricalDrift: 'Whether the drift is that of the past, and not the difference of interest rates.',
  notes: 'The reason for the class.',
  inputs: 'The parameters of the model. Rates and volatilities are fractions a year.',
  r: 'The interest rate of the dollar.',
  q: 'The interest rate of the other currency; none when the drift is that of the past.',
  mu: 'The drift of the rate.',
  qEffective: 'The interest rate of the other currency that the drift implies.',
  sigma: 'The volatility of the price, with the markup and at least the floor.',
  sigmaRealizedRaw: 'The volatility of the past.',
  volMarkup: 'The factor on the volatility.',
  volFloor: 'The least volatility.',
  garch: 'The model of the volatility.',
  sigma0: 'The volatility today.',
  sigmaLongRun: 'The volatility that it converges to.',
  persistence: 'The share of a shock that is left after a day.',
  sigmaIntegrated: 'The average volatility until the expiry.',
  alpha: 'The weight of the latest change.',
  beta: 'The weight of the volatility before.',
  from: 'Where the parameters come from.',
  jump: 'The model of sudden changes.',
  lambda: 'Jumps a year.',
  jumpMean: 'The mean of the logarithm of a jump.',
  jumpStd: 'The standard deviation of the logarithm of a jump.',
  usdRate: 'The interest rate of the dollar, and where it comes from.',
  localRates: 'The day of the interest rates behind the drift; none when the drift is that of the past.',
  rate: 'The rate, as a fraction a year.',
  recordDate: 'The day of the rate.',
  fetchedAt: 'When it was read.',
  fallback: 'Whether it is the configured rate, because the source did not answer.',
  spotSource: 'Where the rate today comes from.',
  history: 'The past rates that the models are fitted to.',
  source: 'The source.',
  synthetic: 'Whether the rates are generated, and no market data.',
  date: 'The day of the rate.',
  firstClose: 'The first day.',
  lastClose: 'The last day.',
  closes: 'The number of days.',
  stale: 'Whether the last day is too long ago.',
  calibration: 'The fit of the models.',
  version: 'The version of the fit.',
  sigmaFrom: 'Whether the model or the least volatility decided it.',
  study: 'What ranges like this one cost and paid in the past.',
  studyReason: 'Why there are no such figures.',
  crosses: 'Whether they are of pairs without the dollar.',
  horizonDays: 'The term of the ranges.',
  firstYear: 'The year of the first month.',
  dates: 'The months that were priced.',
  ratio: 'What was paid for each dollar of premium: 1 is fair.',
  interval: 'Nine of ten resamples of the months have a ratio in it.',
  rates: 'The interest rates behind the drift.',
  closesEnd: 'The last day of the rates.',
}

/** What a value means; undefined for one that is new. */
export const explanationOf = (key: string): string | undefined =>
  Object.hasOwn(explanations, key) ? explanations[key] : undefined

/** Reasons of the engine in the words of a person who has no part in running it. */
const unsigned: readonly (readonly [reason: RegExp, text: string])[] = [
  [/no signing key/, 'This engine has no key, so that its prices are advisory.'],
  [
    /^the engine's clock is|^the newest block of chain \d+ is/,
    "The clock of the engine and the time of the chain are too far apart for a signature. In the sandbox this is so once the chain's time was moved forward: start it again to get signed quotes.",
  ],
  [/^no node of chain|^the engine has no node/, 'The engine reaches no node of this chain at present.'],
  [/^the engine is not configured for chain/, 'The engine does not sign quotes for this chain.'],
]

/** Why a quote is not signed, as a sentence. `reason` is the engine's. */
export const unsignedText = (reason: string | undefined): string =>
  unsigned.find(([pattern]) => pattern.test(reason ?? ''))?.[1] ??
  `The engine does not sign it: ${chainText(reason ?? 'it gives no reason', 300)}.`
