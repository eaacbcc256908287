import { escapeMarkup } from '../../lib/http/markup.ts'
import type { Figures } from './figures.ts'
import { ACROSS, dot, frame, ink, markers } from './frame.ts'
import { amountText, around, linear, rateText } from './scale.ts'
import { element, label, pathThrough } from './svg.ts'

const STEPS = 96

const signed = (amount: number): string => `${amount > 0 ? '+' : ''}${amountText(amount)}`

const named = (text: string): string => element('title', {}, escapeMarkup(text))

/** The legend of the line styles, to the right of the title. */
const legend = (y: number): string => {
  const entry = (x: number, text: string, colour: string, dashes: string): string =>
    element('line', {
      x1: x,
      x2: x + 26,
      y1: y - 4,
      y2: y - 4,
      stroke: colour,
      'stroke-width': 2.5,
      'stroke-dasharray': dashes,
    }) + label(text, x + 32, y)
  return entry(ACROSS[1] - 216, 'at expiry', ink.line, 'none') + entry(ACROSS[1] - 112, 'worth today', ink.today, '6 4')
}

/** The hedger's result over the rate, at expiry and today, between two heights of the picture. */
export const payoffPanel = (figures: Figures, from: number, to: number): string => {
  const { pair, spot, strike, payoutCap, premium, net, premiumAt, T_years, breakEven } = figures
  const [base, quote] = pair.split('/')
  const [wide, high] = around([spot, strike, payoutCap], 0.3)
  const least = Math.max(wide, Math.min(spot, strike, payoutCap) / 20)
  const rates = Array.from({ length: STEPS + 1 }, (_, i) => least + ((high - least) * i) / STEPS)
  const today = rates.map((rate): [number, number] => [rate, premiumAt(rate, T_years) - premium])
  const corners = [least, Math.min(strike, payoutCap), Math.max(strike, payoutCap), high]
  const expiry = corners.map((rate): [number, number] => [rate, net(rate)])

  const xs = linear([least, high], ACROSS)
  const ys = linear(
    around(
      [0, ...today, ...expiry].flatMap((point) => (typeof point === 'number' ? point : point[1])),
      0.14,
    ),
    [to - 44, from + 62],
  )
  const path = (points: readonly [number, number][], attributes: Record<string, string | number>): string =>
    element('path', {
      d: pathThrough(points.map(([x, y]) => [xs.at(x), ys.at(y)])),
      fill: 'none',
      'stroke-width': 2.5,
      ...attributes,
    })

  // Labels are on the side of the zone's edge where the line is flat.
  const outward = payoutCap > strike ? 1 : -1
  const side = (direction: number) => (direction > 0 ? { 'text-anchor': 'start' } : { 'text-anchor': 'end' })
  const [zoneFrom, zoneTo] = [xs.at(Math.min(strike, payoutCap)), xs.at(Math.max(strike, payoutCap))]
  const [bottom, top] = ys.range
  const at = { strike: ys.at(net(strike)), cap: ys.at(net(payoutCap)), zero: ys.at(0) }

  return element(
    'g',
    { id: 'payoff' },
    element('rect', {
      x: zoneFrom,
      y: top,
      width: zoneTo - zoneFrom,
      height: bottom - top,
      fill: '#dafbe1',
      'fill-opacity': 0.55,
    }),
    frame(
      {
        xs,
        ys,
        title: "The hedger's result after the premium (USD)",
        across: `rate, ${quote} per 1 ${base}; the payout zone is shaded`,
      },
      from + 16,
    ),
    legend(from + 16),
    markers(
      [
        { value: spot, text: `spot ${rateText(spot)}`, colour: ink.faint },
        { value: strike, text: `strike ${rateText(strike)}`, colour: ink.strike },
        { value: payoutCap, text: `cap ${rateText(payoutCap)}`, colour: ink.cap },
      ],
      xs,
      ys,
    ),
    path(today, { stroke: ink.today, 'stroke-dasharray': '6 4' }),
    path(expiry, { stroke: ink.line }),
    dot(
      xs.at(strike),
      at.strike,
      ink.line,
      named(`at the strike and before it: the premium is lost, ${signed(net(strike))}`),
    ),
    label(signed(net(strike)), xs.at(strike) - 9 * outward, at.strike + 20, { ...side(-outward), 'font-weight': 600 }),
    dot(xs.at(payoutCap), at.cap, ink.line, named(`at the cap and beyond: ${signed(net(payoutCap))}`)),
    label(signed(net(payoutCap)), xs.at(payoutCap) + 9 * outward, at.cap - 11, {
      ...side(outward),
      'font-weight': 600,
    }),
    ...(breakEven === undefined
      ? []
      : [
          dot(xs.at(breakEven), at.zero, ink.line, named(`the payout equals the premium at ${rateText(breakEven)}`)),
          label(
            `break-even ${rateText(Math.round(breakEven * 1e4) / 1e4)}`,
            xs.at(breakEven) + 9 * outward,
            at.zero + 19,
            side(outward),
          ),
        ]),
  )
}
