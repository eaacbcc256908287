import type { Range } from 'fx-protection-client'
import type { Token } from '../parts/values.tsx'
import { useWidth } from '../parts/width.ts'
import { compactAmount, derivedRateText, rateText, toNumber } from '../text/amount.ts'
import type { Payoff } from './payoff.ts'
import { scaleOf, ticksOf } from './scale.ts'

const HEIGHT = 280
const LEFT = 56
const RIGHT = 16
const TOP = 28
const BOTTOM = 56

const BREAK_EVEN = 'break-even'

/** The middle of a label, so that the label is inside of the chart. */
const inside = (x: number, width: number): number => Math.min(width - 60, Math.max(60, x))

type Props = {
  readonly event: Range
  readonly payoff: Payoff
  readonly token: Token
  readonly settledAt?: bigint | null
  /** What the rate of the event is called. */
  readonly rateName?: string
}

/** What a purchase pays at each settlement rate, with its cost, its break-even and the rate of today or of settlement. */
export const PayoffChart = ({ event, payoff, token, settledAt = null, rateName = 'at creation' }: Props) => {
  const [place, width] = useWidth<HTMLElement>(640)
  const decimals = token.decimals ?? 0
  const { points, cost, most } = payoff
  const rateOf = (rate: bigint): number => toNumber(rate, 6)
  const first = points.at(0)?.rate ?? 0n
  const last = points.at(-1)?.rate ?? 0n
  const x = scaleOf([rateOf(first), rateOf(last)], [LEFT, width - RIGHT])
  const top = Math.max(toNumber(most, decimals), toNumber(cost ?? 0n, decimals)) * 1.15 || 1
  const y = scaleOf([0, top], [HEIGHT - BOTTOM, TOP])
  const at = (rate: bigint): number => x(rateOf(rate))
  const height = (amount: bigint): number => y(toNumber(amount, decimals))
  const path = points.map(({ rate, payout }) => `${at(rate).toFixed(1)},${height(payout).toFixed(1)}`).join(' L')
  const zone = event.payoutCap === 0n ? (event.strikeAbove ? last : first) : event.payoutCap
  const [from = 0, to = 0] = [at(event.strike), at(zone)].toSorted((a, b) => a - b)
  const marks = [
    { name: 'strike', rate: event.strike },
    ...(event.payoutCap === 0n ? [] : [{ name: 'cap', rate: event.payoutCap }]),
    ...(payoff.breakEven === null ? [] : [{ name: BREAK_EVEN, rate: payoff.breakEven }]),
    { name: settledAt === null ? rateName : 'settled', rate: settledAt ?? event.initialRate },
  ]
    .filter(({ rate }) => rate >= first && rate <= last)
    .toSorted((a, b) => (a.rate < b.rate ? -1 : 1))
  const label = marks.map(({ name, rate }) => `${name} ${rateText(rate)}`).join(', ')
  return (
    <figure class="chart payoff" ref={place}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`Payout by settlement rate: ${label}`}>
        <rect class="zone" x={from} y={TOP} width={to - from} height={HEIGHT - TOP - BOTTOM} />
        {ticksOf([0, top], 4).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {compactAmount(BigInt(Math.round(tick * 100)), 2)}
            </text>
          </g>
        ))}
        {cost !== null && <line class="cost" x1={LEFT} x2={width - RIGHT} y1={height(cost)} y2={height(cost)} />}
        <path
          class="line"
          d={`M${path}`}
          data-points={points.map(({ rate, payout }) => `${rate}:${payout}`).join(' ')}
        />
        {marks.map(({ name, rate }, row) => (
          <g key={name} class={`mark ${name === BREAK_EVEN ? 'accent' : ''}`}>
            <line x1={at(rate)} x2={at(rate)} y1={TOP - 4} y2={HEIGHT - BOTTOM} />
            <text x={inside(at(rate), width)} y={HEIGHT - BOTTOM + 16 * (1 + (row % 3))} text-anchor="middle">
              {name} {name === BREAK_EVEN ? derivedRateText(rate) : rateText(rate)}
            </text>
          </g>
        ))}
      </svg>
      <figcaption>
        Payout by the rate at settlement.{' '}
        {['payout', ...(cost === null ? [] : ['cost']), 'zone'].map((name) => (
          <span key={name} class="item">
            <span class={`key ${name}`} /> {name === 'zone' ? 'payout zone' : name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
