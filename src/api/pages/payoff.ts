import { z } from 'zod'
import { escapeMarkup } from '../../lib/http/markup.ts'
import { around, linear, tickText } from '../../pricing/chart/scale.ts'
import { element, pathThrough } from '../../pricing/chart/svg.ts'
import { feeAmount, premiumAmount } from '../../protocol/formulas.ts'
import { payoff, worstCasePayout } from '../../protocol/payoff.ts'
import { formatAmount, rateText, wordText } from '../../protocol/sentence.ts'

const Digits = z.string().regex(/^\d+$/).transform(BigInt)

/** Greater rates, as 1e6 fixed point, are no rates of currencies, and their text does not fit the picture. */
const MAX_RATE = 10n ** 15n

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799

const Rate = Digits.refine((rate) => rate <= MAX_RATE)

/**
 * An open event as rows of `GET /v1/hedge/events` have it with `include=utilization`, with the fees of its chain, if it
 * can be drawn.
 */
export const DrawnEvent = z.object({
  chainId: z.int(),
  id: z.int(),
  underlying: z.string(),
  strike: Rate,
  payoutCap: Rate,
  premiumRate: Rate,
  hedgerFeeRate: Rate,
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
const PLOT = { left: 60, right: WIDTH - 12, top: 36, bottom: HEIGHT - 60 }

/** About this many amounts have a line. */
const TICKS = 3

const amounts = new Intl.NumberFormat('en-US', {
  ...{ minimumFractionDigits: 2, maximumFractionDigits: 2, trailingZeroDisplay: 'stripIfInteger' },
  roundingMode: 'trunc',
})

/** An amount in units of a token as the explorer has it: `75,000` or `438.59`. A smaller one is not shown as 0. */
const amountText = (amount: bigint, decimals: number): string =>
  amount > 0n && amount * 100n < 10n ** BigInt(decimals)
    ? '< 0.01'
    : amounts.format(formatAmount(amount, decimals) as `${number}`)

const day = (unixSeconds: number): string =>
  new Date(unixSeconds * 1000).toLocaleDateString('en-GB', {
    ...{ day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' },
  })

/** The figures of a position of 10,000 tokens in an event. */
const figuresOf = (event: DrawnEvent) => {
  const { strike, payoutCap, initialRate, strikeAbove, premiumRate, hedgerFeeRate, decimals } = event
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
  const premium = premiumAmount(notional, premiumRate)
  return {
    end,
    whole,
    payoutAt,
    domain,
    greatest: worstCasePayout(event, notional),
    cost: premium + feeAmount(premium, hedgerFeeRate),
    points: corners.toSorted((a, b) => Number(a - b)).map((rate): [number, number] => [Number(rate), payoutAt(rate)]),
  }
}

const text = (x: number, y: number, content: string, attributes: Readonly<Record<string, string>> = {}): string =>
  element('text', { x, y, ...attributes }, escapeMarkup(content))

/** What an open event pays at each settlement rate, as SVG. Its colours are those of the theme. */
const drawEvent = (event: DrawnEvent, unit: string, label: string): string => {
  const { strike, initialRate, payoutCap, strikeAbove, decimals } = event
  const { end, domain, whole, greatest, cost, points, payoutAt } = figuresOf(event)
  const xs = linear(domain, [PLOT.left, PLOT.right])
  const ys = linear([0, Math.max(whole(greatest), whole(cost)) * 1.12 || 1], [PLOT.bottom, PLOT.top])
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
  const [high, low] = [ys.at(whole(greatest)), ys.at(whole(cost))]
  const tick = (amount: number): string =>
    element('line', { class: 'tick', x1: PLOT.left, x2: PLOT.right, y1: ys.at(amount), y2: ys.at(amount) }) +
    text(PLOT.left - 8, ys.at(amount) + 5, tickText(amount), { 'text-anchor': 'end' })
  const side = strikeAbove ? { x: PLOT.right, anchor: 'end' } : { x: PLOT.left, anchor: 'start' }
  const other = strikeAbove ? { x: PLOT.left, anchor: 'start' } : { x: PLOT.right, anchor: 'end' }
  return element(
    'svg',
    { class: 'payoff', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
    ...ys.ticks(TICKS).map(tick),
    element('path', { class: 'area', d: `${pathThrough([[first, PLOT.bottom], ...line, [last, PLOT.bottom]])}Z` }),
    element('line', { class: 'axis', x1: PLOT.left, x2: PLOT.right, y1: PLOT.bottom, y2: PLOT.bottom }),
    element('line', { class: 'price', x1: PLOT.left, x2: PLOT.right, y1: low, y2: low }),
    mark(initialRate, 'at creation', 'middle', 1),
    mark(strike, 'strike', payoutCap === 0n ? 'middle' : near, 0),
    ...(payoutCap === 0n ? [] : [mark(end, 'cap', far, 0)]),
    element('path', { class: 'line', d: pathThrough(line) }),
    text(side.x, high - 10, `pays ${amountText(greatest, decimals)} ${unit}`, {
      'text-anchor': side.anchor,
      class: 'most',
    }),
    text(other.x, low - 8, `costs ${amountText(cost, decimals)} ${unit}`, {
      ...{ 'text-anchor': other.anchor, class: 'cost' },
    }),
  )
}

/** An open event as a picture with its terms in words. Its pair and its symbol are other people's text. */
export const eventFigure = (event: DrawnEvent, chain: string, url: string | undefined): string => {
  const { underlying, strike, strikeAbove, expiryDate, id, symbol, decimals, utilization } = event
  const { greatest, cost } = figuresOf(event)
  const unit = symbol === null ? 'tokens' : wordText(symbol)
  const rate = `${wordText(underlying)} is ${strikeAbove ? 'above' : 'below'} ${rateText(strike)}`
  const terms = `Pays if ${rate} on ${day(expiryDate)}, at most ${amountText(greatest, decimals)} ${unit} for 10,000 protected, at a cost of ${amountText(cost, decimals)}.`
  const share = Math.min(100, Number(utilization.utilizationRate / 10_000n) / 100)
  const pool = `Pool ${amountText(utilization.totalLiquidity, decimals)} ${unit}, ${share} % in use`
  const title = `Event ${id} on ${escapeMarkup(chain)}`
  return `<figure class="live">
<p class="live-head"><span class="pill good">live</span> ${url === undefined ? title : `<a href="${escapeMarkup(url)}">${title}</a>`}</p>
${drawEvent(event, unit, terms)}
<figcaption><p>${escapeMarkup(terms)}</p><p class="pool"><meter min="0" max="100" value="${share}" aria-label="Pool in use"></meter><small>${escapeMarkup(pool)}</small></p></figcaption>
</figure>`
}
