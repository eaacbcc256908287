import { readFile } from 'node:fs/promises'
import { ApiError } from 'fx-protection-client'
import { describe, expect, it } from 'vitest'
import { preparingMs } from '../../explorer/src/api/backtest.ts'
import { labelStep, yearsOf } from '../../explorer/src/charts/years.ts'
import { bestYear, eachText, eventTerms, isPair, pastText, rejectionText } from '../../explorer/src/quote/past.ts'
import { studyText } from '../../explorer/src/quote/study.ts'
import { ratioText } from '../../explorer/src/text/amount.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { createMonths } from '../../src/pricing/backtest/months.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { studyOf } from '../../src/pricing/study.ts'

const usd = { symbol: 'USD', decimals: 6 }

const { paths } = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
/** The backtest of USD/HKD in the description of the API, and its summary with changes. */
const { data: hkd } = paths['/v1/pricing/backtest'].post.responses[200].content['application/json'].example
const withSummary = (changes: object) => ({ ...hkd, summary: { ...hkd.summary, ...changes } })

describe('the past prices of a range', () => {
  it('are a sentence with the months, what they cost and paid, and the ratio', () => {
    expect(pastText(hkd, usd)).toBe(
      'Bought at the end of every month from Jan 1990 to Aug 2024 (416 months), it would have cost 65,416 USD in total and paid 601.97 USD. With interest counted, that is 0.0091 for each 1 of premium.',
    )
  })

  it('that the engine refuses in every month have no ratio', () => {
    const none = { dates: 0, refused: 416, premiumsUsd: 0, payoutsUsd: 0, ratio: null, worstYear: null }
    expect(pastText(withSummary(none), usd)).toBe(
      'The engine would have refused this range at the end of every month from Jan 1990 to Aug 2024 (416 months).',
    )
    expect(bestYear(withSummary(none))[0]).toBe('none')
  })

  it('name the year that paid most, unless none paid', () => {
    expect(bestYear(hkd)).toEqual(['2022', '0.07 for each 1 of premium'])
    expect(bestYear(withSummary({ worstYear: { year: 1990, ratio: 0 } }))[0]).toBe('none')
  })

  it('have their range in relation to the rate of the day', () => {
    expect(eachText(hkd, usd)).toBe(
      "Each time: 10,000 USD of notional for 90 days, with the strike 0.3 % above the rate of the day and the cap 4.1 % above it, at the engine's price of that day.",
    )
    const downward = { ...hkd, strikeToSpot: 1.000_4, payoutCapToSpot: 0.9 }
    expect(eachText(downward, usd)).toContain('the strike at the rate of the day and the cap 10 % below it')
  })
})

describe('the range of an event', () => {
  const event = {
    ...{ underlying: 'GBP/USD', strike: 1_245_000n, payoutCap: 1_190_000n, strikeAbove: false },
    expiryDate: 1_802_020_825,
  }

  it('is a request of the engine with a notional of 10,000', () => {
    const terms = eventTerms(event)
    expect(terms).toEqual({
      ...{ pair: 'GBP/USD', strike: 1.245, payoutCap: 1.19, strikeAbove: false },
      ...{ expiryUnixSeconds: 1_802_020_825, notional: 10_000 },
    })
    expect(QuoteRequest.parse(terms)).toEqual(terms)
  })

  it('is none without a cap', () => {
    expect(eventTerms({ ...event, payoutCap: 0n })).toBeNull()
  })

  it('is none for a text that is no pair', () => {
    expect(['USD/MXN', 'usd/mxn', '<b>/<i>', 'USD/MXN2'].map(isPair)).toEqual([true, false, false, false])
  })
})

describe('the years of a chart', () => {
  const month = (date: string, premiumUsd: number | null, payoutUsd: number | null) => ({
    ...{ date, spot: 1, premiumUsd, payoutUsd, paid: payoutUsd === null ? null : payoutUsd > 0 },
  })

  it('have the sums of their months, and stay without a price', () => {
    const series = [
      month('1998-11-30', 0.1, 0),
      month('1998-12-31', 0.2, 12.5),
      month('1999-01-29', null, null),
      month('2000-01-31', null, null),
      month('2000-02-29', 1, 0),
    ]
    expect(yearsOf(series)).toEqual([
      { year: 1998, months: 2, paid: 1, premiums: 300_000n, payouts: 12_500_000n },
      { year: 1999, months: 0, paid: 0, premiums: 0n, payouts: 0n },
      { year: 2000, months: 1, paid: 0, premiums: 1_000_000n, payouts: 0n },
    ])
  })

  it('have labels that do not touch', () => {
    expect([60, 30, 8, 4.5, 1].map((width) => labelStep(width, 44))).toEqual([1, 2, 10, 10, 20])
  })
})

it('a ratio has two decimals, and two digits where that would be 0', () => {
  expect([1.018, 0.917_5, 0.009_103, 0.000_05, 0].map(ratioText)).toEqual([
    ...['1.02', '0.92', '0.0091', 'less than 0.0001', '0'],
  ])
})

describe('the figures of the study', () => {
  const of = (pair: string, changes: object = {}) =>
    studyText(studyOf({ pair, strikeAbove: true, days: 90, synthetic: false, ...changes }))

  it('are a sentence with what is like the range, the ratio and its interval', () => {
    const { study } = studyOf({ pair: 'USD/MXN', strikeAbove: false, days: 90, synthetic: false })
    const [ratio, low, high] = [study?.ratio, ...(study?.interval ?? [])].map((figure) => figure?.toFixed(2))
    expect(of('USD/MXN', { strikeAbove: false })).toBe(
      `Ranges like this one (mainstream emerging currencies, 90 days, against a rise of the riskier one) paid ${ratio} for each 1 of premium in 416 months from 1990 until 29 Nov 2024, where 1 is fair. The 90 % interval is ${low} to ${high}.`,
    )
    expect(of('EUR/JPY')).toContain('(developed currencies without the dollar, 90 days)')
  })

  it('of pegs name what they do not contain', () => {
    expect(of('USD/HKD')).toMatch(/0\.0071 for each 1 of premium .* No peg broke in these months\.$/)
  })

  it('that there are none have the reason of the engine', () => {
    expect(of('USD/GHS')).toBe('What ranges like this one paid is not known: the study has no closes of USD/GHS.')
    expect(studyText({})).toBeUndefined()
  })
})

describe('an answer without past prices', () => {
  const errorOf = (fault: unknown): ApiError => {
    if (!(fault instanceof ServiceError)) throw fault
    const { code, message, details, retryAfter = 1 } = fault
    const status = code === 'validation_error' ? 400 : 503
    return new ApiError(
      { code: code as 'validation_error', message, ...(details && { details: [...details] }) },
      { status, requestId: undefined, retryAfterMs: status === 503 ? retryAfter * 1_000 : undefined },
    )
  }

  it('asks to wait while the engine prepares the history of this pair or of others, and for nothing else', async () => {
    const months = createMonths({ compute: () => new Promise(() => {}), waitMs: 1 })
    const faults = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map((pair) => months(pair, 'one').catch(errorOf)))
    expect(faults.map(preparingMs)).toEqual(Array.from({ length: 6 }, () => 10_000))
    const other = new ServiceError('service_unavailable', 'the pricing engine cannot be reached')
    expect([preparingMs(errorOf(other)), preparingMs(new Error('being calibrated'))]).toEqual([undefined, undefined])
  })

  it('has the reason of a rejection as a sentence', () => {
    const rejected = (message: string) =>
      errorOf(new ServiceError('validation_error', message, { details: [{ path: 'pair', message }] }))
    expect(rejectionText(rejected('the expiry has passed'))).toBe('The expiry has passed.')
    expect(rejectionText(rejected('no bundled history of USD/GHS: a backtest needs'))).toMatch(
      /^There are no past prices/,
    )
    expect(rejectionText(new Error('cannot reach'))).toBeUndefined()
  })
})
