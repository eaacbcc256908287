import type { EventState } from '../../../src/sandbox/controls/messages.ts'
import { rateText } from '../text/amount.ts'
import { chainText } from '../text/terms.ts'
import { durationText, timeText } from '../text/time.ts'

/** A difference of some seconds is the time between two blocks. */
const IN_STEP_SECONDS = 60

/** The time of the chains, and what it means that it is ahead of the machine. */
export const clockText = (time: number, aheadSeconds: number): string => {
  if (aheadSeconds < IN_STEP_SECONDS) return `The time of the chains is ${timeText(time)}.`
  return `The time of the chains is ${timeText(time)}: ${durationText(aheadSeconds)} ahead of this machine. The pricing engine signs no quotes for them, so events are created without a signature. A new sandbox is in the present again.`
}

/** What an event is at a time of its chain. */
export const eventText = ({ name, strike, strikeAbove, expiry, isSettled }: EventState, time: number): string => {
  const left = expiry <= time ? 'waits for settlement' : `expires in ${durationText(expiry - time)}`
  return `${chainText(name)}: pays ${strikeAbove ? 'above' : 'below'} ${rateText(BigInt(strike))}, ${isSettled ? 'is settled' : left}.`
}

/** A rate at which an event pays in full: its cap, or 5 % beyond the strike. */
export const payingRate = ({ strike, payoutCap, strikeAbove }: Omit<EventState, 'id'>): string => {
  const beyond = (BigInt(strike) * (strikeAbove ? 105n : 95n)) / 100n
  return rateText(payoutCap === '0' ? beyond : BigInt(payoutCap)).replaceAll(',', '')
}
