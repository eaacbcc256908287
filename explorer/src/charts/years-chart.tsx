import { Scroll } from '../parts/scroll.tsx'
import { Amount, type Token } from '../parts/values.tsx'
import { useWidth } from '../parts/width.ts'
import { amountText, compact, toNumber } from '../text/amount.ts'
import { moneyText, unitOf } from '../text/money.ts'
import { scaleOf, ticksOf } from './scale.ts'
import { labelStep, type Year } from './years.ts'

const HEIGHT = 240
const LEFT = 48
const RIGHT = 8
const TOP = 16
const BOTTOM = 28

/** The width of a label of a year with the space around it. */
const LABEL = 44

const numberOf = (amount: bigint): number => toNumber(amount, 6)

const Table = ({ label, years, token }: { readonly label: string } & Props) => (
  <Scroll short label={label}>
    <table>
      <thead>
        <tr>
          <th scope="col">Year</th>
          {['Premiums', 'Payouts', 'Months', 'Months that paid'].map((title) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {years.map(({ year, premiums, payouts, months, paid }) => (
          <tr key={year} data-year={year}>
            <th scope="row">{year}</th>
            {[premiums, payouts].map((value, column) => (
              <td key={column} class="number" data-value={value}>
                {months === 0 ? '–' : <Amount value={value} of={token} symbol={false} />}
              </td>
            ))}
            <td class="number" data-value={months}>
              {months}
            </td>
            <td class="number" data-value={paid}>
              {paid}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
)

type Props = {
  readonly years: readonly Year[]
  /** What the amounts are in, with six decimals. */
  readonly token: Token
}

/** What was paid out on purchases of each year as bars, each with the premiums of that year as a line across it. */
export const YearsChart = ({ years, token }: Props) => {
  const [place, width] = useWidth<HTMLElement>(640)
  const first = years.at(0)?.year ?? 0
  const last = years.at(-1)?.year ?? first
  const x = scaleOf([first, last + 1], [LEFT, width - RIGHT])
  const most = Math.max(...years.flatMap(({ premiums, payouts }) => [premiums, payouts].map(numberOf)))
  const top = most * 1.08 || 1
  const y = scaleOf([0, top], [HEIGHT - BOTTOM, TOP])
  const band = x(first + 1) - x(first)
  const step = labelStep(band, LABEL)
  const gap = Math.max(0.5, band * 0.15)
  const highest = years.toSorted((a, b) => Number(b.payouts - a.payouts))[0]
  const label = `Payouts and premiums by the year of the purchase, ${first} to ${last}`
  return (
    <figure class="chart years" ref={place}>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={`${label}. ${highest === undefined ? '' : `Most was paid on purchases of ${highest.year}: ${moneyText(highest.payouts, token)}, for premiums of ${moneyText(highest.premiums, token)}.`}`}
      >
        {ticksOf([0, top], 4).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {compact(tick)}
            </text>
          </g>
        ))}
        {years.map(({ year, premiums, payouts, months }) => (
          <g key={year}>
            <title>{`${year}: premiums ${amountText(premiums, 6)}, payouts ${amountText(payouts, 6)}`}</title>
            {/* The whole height of a year, so that its title is shown wherever the pointer is. */}
            <rect class="year" x={x(year)} y={TOP} width={band} height={HEIGHT - TOP - BOTTOM} />
            {months > 0 && (
              <>
                <rect
                  class="payout"
                  x={x(year) + gap}
                  y={y(numberOf(payouts))}
                  width={band - 2 * gap}
                  height={y(0) - y(numberOf(payouts))}
                />
                <line
                  class="premium"
                  x1={x(year)}
                  x2={x(year + 1)}
                  y1={y(numberOf(premiums))}
                  y2={y(numberOf(premiums))}
                />
              </>
            )}
            {year % step === 0 && (
              <text class="tick" x={x(year + 0.5)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
                {year}
              </text>
            )}
          </g>
        ))}
      </svg>
      <figcaption>
        By the year of the purchase, in {unitOf(token)}.{' '}
        <span class="item">
          <span class="key payouts" /> payouts
        </span>{' '}
        <span class="item">
          <span class="key premiums" /> premiums
        </span>
      </figcaption>
      <details>
        <summary>Values</summary>
        <Table {...{ label: `Values: ${label}`, years, token }} />
      </details>
    </figure>
  )
}
