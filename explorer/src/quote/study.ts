import type { Schemas } from 'fx-protection-client'
import { ratioText } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { dayOf } from '../text/time.ts'

type Breakdown = Pick<Schemas['PricingBreakdown'], 'study' | 'studyReason'>

/** The classes of pairs in words. */
const tiers: Readonly<Record<string, string>> = {
  developed: 'developed currencies',
  mainstreamEM: 'mainstream emerging currencies',
  frontierEM: 'frontier currencies',
  pegged: 'pegged currencies',
}

const directions: Readonly<Record<string, string>> = {
  fall: ', against a fall of the riskier one',
  rise: ', against a rise of the riskier one',
}

/** What ranges like that of a quote paid in the past, or why that is not known; undefined where the engine has neither. */
export const studyText = ({ study, studyReason }: Breakdown): string | undefined => {
  if (study == null) {
    return studyReason == null
      ? undefined
      : `What ranges like this one paid is not known: ${chainText(studyReason, 200)}.`
  }
  const { tier, crosses, horizonDays, direction, firstYear, dates, ratio, interval, closesEnd } = study
  const [low = ratio, high = ratio] = interval
  const pairs = `${tiers[tier] ?? chainText(tier)}${crosses ? ' without the dollar' : ''}`
  const like = `${pairs}, ${horizonDays} days${directions[direction] ?? ''}`
  const paid = `paid ${ratioText(ratio)} for each 1 of premium in ${dates} months from ${firstYear} until ${dayOf(closesEnd)}`
  const peg = tier === 'pegged' ? ' No peg broke in these months.' : ''
  const within = `The 90 % interval is ${ratioText(low)} to ${ratioText(high)}.`
  return `Ranges like this one (${like}) ${paid}, where 1 is fair. ${within}${peg}`
}
