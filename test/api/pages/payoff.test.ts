import { expect, test } from 'vitest'
import { DrawnEvent, eventFigure, liquidityOf } from '../../../src/api/pages/payoff.ts'
import { payoff } from '../../../src/protocol/payoff.ts'

/* The picture of an open event on the landing page. */

const row = {
  ...{ chainId: 8453, id: 9, underlying: 'USD/MXN', strike: '19200000', payoutCap: '21000000', premiumRate: '26000' },
  ...{ initialRate: '18600000', strikeAbove: true, expiryDate: 1_800_000_000, symbol: 'USDC', decimals: 6, name: 'x' },
  hedgerFeeRate: '5000',
  utilization: { totalLiquidity: '50000000000', utilizationRate: '12340000', totalExposure: '0' },
}

const figure = (own: object = {}, url?: string): string =>
  eventFigure(DrawnEvent.parse({ ...row, ...own }), 'Base', url)

/** The corners of a path as rates and payouts of the picture, by two labelled rates and the axis. */
const cornersOf = (html: string, name: string): [number, number][] => {
  const [, d = ''] = new RegExp(`<path class="${name}" d="([^"]+)"`).exec(html) ?? []
  return [...d.matchAll(/[ML]([\d.-]+) ([\d.-]+)/g)].map(([, x, y]) => [Number(x), Number(y)])
}

const markOf = (html: string, label: string): number =>
  Number(new RegExp(`<text x="([\\d.]+)" [^>]*>${label} `).exec(html)?.[1])

test('the terms are in words, with the payout and the cost with the fee of 10,000 tokens', () => {
  const html = figure({}, 'explorer/event/8453/9')
  const terms =
    'Pays if USD/MXN is above 19.2 on 15 January 2027, at most 967.74 USDC for 10,000 protected, at a cost of 261.30.'
  expect(html).toContain(`<figcaption><p>${terms}</p>`)
  expect(html).toContain(`role="img" aria-label="${terms}"`)
  expect(html).toContain('<a href="explorer/event/8453/9">Event 9 on Base</a>')
  expect(html).toContain('<meter min="0" max="100" value="12.34"')
  expect(html).toContain('Pool 50,000 USDC, 12.34 % in use')
  for (const label of [
    'strike 19.2',
    'cap 21',
    'at creation 18.6',
    'pays 967.74 USDC',
    'costs 261.30 USDC',
    '0',
    '500',
    '1,000',
  ])
    expect(html).toContain(`>${label}</text>`)
  expect(figure()).not.toContain('<a ')
  expect(figure()).not.toContain('style=')
})

test.each([
  [true, '19200000', '21000000'],
  [false, '18000000', '17000000'],
])(
  'the line is the payout of the protocol at every rate, for protection above the strike: %s',
  (strikeAbove, strike, payoutCap) => {
    const html = figure({ strikeAbove, strike, payoutCap })
    const line = cornersOf(html, 'line')
    const first = line[0] ?? ([0, 0] as const)
    const last = line.at(-1) ?? ([0, 0] as const)
    const range = { strike: BigInt(strike), payoutCap: BigInt(payoutCap), initialRate: 18_600_000n, strikeAbove }
    const [strikeAt, capAt] = [markOf(html, 'strike'), markOf(html, 'cap')]
    const rateAt = (x: number): number =>
      Number(strike) + ((x - strikeAt) / (capAt - strikeAt)) * (Number(payoutCap) - Number(strike))
    const zero = strikeAbove ? first[1] : last[1]
    const most = strikeAbove ? last[1] : first[1]
    const greatest = Number(payoff(range, BigInt(payoutCap), 10_000_000_000n))
    const between = (a: readonly number[], b: readonly number[], x: number): number =>
      (a[1] ?? 0) + ((x - (a[0] ?? 0)) / ((b[0] ?? 1) - (a[0] ?? 0))) * ((b[1] ?? 0) - (a[1] ?? 0))
    for (let x = Math.ceil(first[0]); x < last[0]; x += 7) {
      const at = line.findIndex((corner, index) => index > 0 && corner[0] >= x)
      const y = between(line[at - 1] ?? [], line[at] ?? [], x)
      const drawn = ((y - zero) / (most - zero)) * greatest
      const due = Number(payoff(range, BigInt(Math.round(rateAt(x))), 10_000_000_000n))
      expect(Math.abs(drawn - due) / greatest).toBeLessThan(0.005)
    }
  },
)

test('a single strike pays everything from the strike on', () => {
  const html = figure({ strike: '17000000', payoutCap: '0', strikeAbove: false })
  const line = cornersOf(html, 'line')
  const at = markOf(html, 'strike')
  expect(line[0]?.[1]).toBe(line.find(([x]) => Math.abs(x - at) < 0.1)?.[1])
  expect(html).not.toContain('>cap ')
  expect(html).toContain('Pays if USD/MXN is below 17 on 15 January 2027, at most 860.21 USDC')
})

test('a cost below a cent is not shown as 0', () => {
  expect(figure({ premiumRate: '0' })).toContain('at a cost of 0.')
  expect(figure({ premiumRate: '1' })).toContain('at a cost of 0.01.')
  expect(figure({ premiumRate: '1', decimals: 0 })).toContain('at a cost of 0.')
  expect(figure({ utilization: { totalLiquidity: '9999', utilizationRate: '0' } })).toContain('Pool &lt; 0.01 USDC')
})

test('texts from the chain stay text, and are short', () => {
  const html = figure({ underlying: `<script>${'a'.repeat(10_000)}`, symbol: '"><img src=x>' })
  expect(html).not.toMatch(/<script|<img/)
  expect(html.length).toBeLessThan(6_000)
  expect(figure({ underlying: 'USD/\u202eNXM' })).not.toContain('\u202e')
})

test.each([
  ['a rate that is none', { strike: String(10n ** 15n + 1n) }],
  ['an initial rate of 0', { initialRate: '0' }],
  ['a token without decimals', { decimals: null }],
  ['an expiry after the year 9999', { expiryDate: 253_402_300_800 }],
  ['a row without its pool', { utilization: undefined }],
])('an event with %s is not drawn', (_, own) => {
  expect(DrawnEvent.safeParse({ ...row, ...own }).success).toBe(false)
})

test('the capital of a pool is in whole tokens', () => {
  expect(liquidityOf(DrawnEvent.parse(row))).toBe(50_000)
})
