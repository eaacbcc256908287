import { z } from 'zod'
import { escapeMarkup } from '../../lib/http/markup.ts'
import { amountText, around, linear } from '../../pricing/chart/scale.ts'
import { element, pathThrough } from '../../pricing/chart/svg.ts'
import { payoff, width } from '../../protocol/payoff.ts'
import { formatAmount, rateText, wordText } from '../../protocol/sentence.ts'

const Digits = z.string().regex(/^\d+$/).transform(BigInt)

/** Greater rates, as 1e6 fixed point, are no rates of currencies, and their text does not fit the picture. */
const MAX_RATE = 10n ** 15n

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799

const Rate = Digits.refine((rate) => rate <= MAX_RATE)

/** An open event as rows of `GET /v1/hedge/events` have it with `include=utilization`, if it can be drawn. */
export const DrawnEvent = z.object({
  chainId: z.int(),
  id: z.int(),
  underlying: z.string(),
  strike: Rate,
  payoutCap: Rate,
  premiumRate: Rate,
  initialRate: Rate.refine((rate) => rate > 0n),
  strikeAbove: z.boolean(),
  expiryDate: z.int().max(LAST_SECOND),
  symbol: z.string().nullable(),
  decimals: z.int().max(36),
  utilization: z.object({ totalLiquidity: Digits, utilizationRate: Digits }),
})

export type DrawnEvent = z.output<typeof DrawnEvent>

/** The capital in the pool in whole tokens. */
export const liquidityOf = ({ utilization, decimals }: DrawnEvent): number =>
  Number(formatAmount(utilization.totalLiquidity, decimals))

/** The notional of the drawn position, in whole tokens. */
const NOTIONAL = 10_000n

const [WIDTH, HEIGHT] = [560, 300]
const PLOT = { left: 12, right: WIDTH - 12, top: 36, bottom: HEIGHT - 60 }

const day = (unixSeconds: number): string =>
  new Date(unixSeconds * 1000).toLocaleDateString('en-GB', {
    ...{ day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' },
  })

/** The figures of a position of 10,000 tokens in an event. */
const figuresOf = (event: DrawnEvent) => {
  const { strike, payoutCap, initialRate, strikeAbove, premiumRate, decimals } = event
  const notional = NOTIONAL * 10n ** BigInt(decimals)
  const whole = (amount: bigint): number => Number(formatAmount(amount, decimals))
  const payoutAt = (rate: bigint): number => whole(payoff(event, rate, notional))
  // A single strike pays everything from the strike on.
  const end = payoutCap === 0n ? strike : payoutCap
  const [low, high] = around([initialRate, strike, end].map(Number), 0.35)
  const domain: [number, number] = [Math.max(low, 0), high]
  const [from, to] = domain.map((rate) => BigInt(Math.round(rate))) as [bigint, bigint]
  const before = strikeAbove ? strike - 1n : strike + 1n
  const corners = [from, before, strike, end, to].filter((rate) => rate >= from && rate <= to && rate > 0n)
  return {
    end,
    payoutAt,
    domain,
    greatest: whole((notional * width(event)) / initialRate),
    premium: whole((notional * premiumRate) / 1_000_000n),
    points: corners.toSorted((a, b) => Number(a - b)).map((rate): [number, number] => [Number(rate), payoutAt(rate)]),
  }
}

const text = (x: number, y: number, content: string, attributes: Readonly<Record<string, string>> = {}): string =>
  element('text', { x, y, ...attributes }, escapeMarkup(content))

/** What an open event pays at each settlement rate, as SVG. Its colours are those of the theme. */
const drawEvent = (event: DrawnEvent, unit: string, label: string): string => {
  const { strike, initialRate, payoutCap, strikeAbove } = event
  const { end, domain, greatest, premium, points, payoutAt } = figuresOf(event)
  const xs = linear(domain, [PLOT.left, PLOT.right])
  const ys = linear([0, Math.max(greatest, premium) * 1.12 || 1], [PLOT.bottom, PLOT.top])
  const line = points.map(([rate, payout]): [number, number] => [xs.at(rate), ys.at(payout)])
  const first = line[0]?.[0] ?? PLOT.left
  const last = line.at(-1)?.[0] ?? PLOT.right
  const mark = (rate: bigint, name: string, anchor: string, row: number): string => {
    const x = xs.at(Number(rate))
    return (
      element('line', { class: 'mark', x1: x, x2: x, y1: PLOT.bottom + 6, y2: ys.at(payoutAt(rate)) }) +
      text(x, PLOT.bottom + 23 + 24 * row, `${name} ${rateText(rate)}`, { 'text-anchor': anchor })
    )
  }
  // Labels of strike and cap point away from each other.
  const [near, far] = strikeAbove ? ['end', 'start'] : ['start', 'end']
  const high = ys.at(greatest)
  const side = strikeAbove ? { x: PLOT.right, anchor: 'end' } : { x: PLOT.left, anchor: 'start' }
  const other = strikeAbove ? { x: PLOT.left, anchor: 'start' } : { x: PLOT.right, anchor: 'end' }
  return element(
    'svg',
    { class: 'payoff', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
    element('path', { class: 'area', d: `${pathThrough([[first, PLOT.bottom], ...line, [last, PLOT.bottom]])}Z` }),
    element('line', { class: 'axis', x1: PLOT.left, x2: PLOT.right, y1: PLOT.bottom, y2: PLOT.bottom }),
    element('line', { class: 'premium', x1: PLOT.left, x2: PLOT.right, y1: ys.at(premium), y2: ys.at(premium) }),
    mark(initialRate, 'at creation', 'middle', 1),
    mark(strike, 'strike', payoutCap === 0n ? 'middle' : near, 0),
    ...(payoutCap === 0n ? [] : [mark(end, 'cap', far, 0)]),
    element('path', { class: 'line', d: pathThrough(line) }),
    text(side.x, high - 10, `pays ${amountText(greatest)} ${unit}`, { 'text-anchor': side.anchor, class: 'most' }),
    text(other.x, ys.at(premium) - 8, `premium ${amountText(premium)} ${unit}`, {
      ...{ 'text-anchor': other.anchor, class: 'cost' },
    }),
  )
}

/** An open event as a picture with its terms in words. Its pair and its symbol are other people's text. */
export const eventFigure = (event: DrawnEvent, chain: string, url: string | undefined): string => {
  const { underlying, strike, strikeAbove, expiryDate, id, symbol, utilization } = event
  const { greatest, premium } = figuresOf(event)
  const unit = symbol === null ? 'tokens' : wordText(symbol)
  const rate = `${wordText(underlying)} is ${strikeAbove ? 'above' : 'below'} ${rateText(strike)}`
  const terms = `Pays if ${rate} on ${day(expiryDate)}, at most ${amountText(greatest)} ${unit} for 10,000 protected, at a premium of ${amountText(premium)}.`
  const share = Math.min(100, Number(utilization.utilizationRate / 10_000n) / 100)
  const pool = `Pool ${amountText(liquidityOf(event))} ${unit}, ${amountText(share)} % in use`
  const title = `Event ${id} on ${escapeMarkup(chain)}`
  return `<figure class="live">
<p class="live-head"><span class="pill good">live</span> ${url === undefined ? title : `<a href="${escapeMarkup(url)}">${title}</a>`}</p>
${drawEvent(event, unit, terms)}
<figcaption><p>${escapeMarkup(terms)}</p><p class="pool"><meter min="0" max="100" value="${share}" aria-label="Pool in use"></meter><small>${escapeMarkup(pool)}</small></p></figcaption>
</figure>`
}
