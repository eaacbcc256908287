import type { z } from 'zod'
import { isBundled } from './market/bundled.ts'
import type { Breakdown } from './messages.ts'
import { parsePair } from './pair.ts'
import { studyRows, studyUntil } from './study.generated.ts'
import { classify } from './tiers.ts'

/** What the study of past prices found for quotes like one, over closes until `closesEnd`. */
type StudyFigures = NonNullable<z.output<typeof Breakdown>['study']>

/** The figures, or why there are none. */
type Found =
  | { readonly study: StudyFigures; readonly studyReason: null }
  | { readonly study: null; readonly studyReason: string }

const none = (studyReason: string): Found => ({ study: null, studyReason })

/** The largest factor between a term and the nearest horizon of the study. */
const MAX_FACTOR = 2

/** The study's figures for a quote of `days` days: those of its tier, horizon and direction. */
export const studyOf = (quote: {
  readonly pair: string
  readonly strikeAbove: boolean
  readonly days: number
  readonly synthetic: boolean
}): Found => {
  const { days, strikeAbove } = quote
  const pair = parsePair(quote.pair)
  const classification = pair && classify(pair)
  if (pair === undefined || classification === undefined || !isBundled(pair))
    return none(`the study has no closes of ${quote.pair}`)
  if (quote.synthetic) return none('the rates are synthetic, and the study is of published closes')
  const { tier, direction: riskier } = classification
  const crosses = pair.base !== 'USD' && pair.quote !== 'USD'
  const wanted = riskier === 0 ? 'both' : (riskier === 1) === strikeAbove ? 'fall' : 'rise'
  const rows = studyRows.filter((row) => row[0] === tier && row[1] === crosses && row[3] === wanted)
  const [nearest] = rows.toSorted((a, b) => Math.abs(a[2] - days) - Math.abs(b[2] - days))
  if (nearest === undefined) return none(`the study has no pairs like ${quote.pair}`)
  const [, , horizonDays, direction, firstYear, dates, ratio, low, high] = nearest
  if (Math.max(horizonDays / days, days / horizonDays) > MAX_FACTOR)
    return none(`the study has no horizon near ${Math.round(days)} days: its nearest is ${horizonDays} days`)
  return {
    study: {
      ...{ tier, crosses, horizonDays, direction, firstYear, dates, ratio, interval: [low, high] },
      ...{ rates: 'known', closesEnd: studyUntil },
    },
    studyReason: null,
  }
}
