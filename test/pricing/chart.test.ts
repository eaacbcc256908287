import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ServiceError } from '../../src/lib/errors.ts'
import { escapeMarkup } from '../../src/lib/http/markup.ts'
import { parseInput } from '../../src/lib/http/parse.ts'
import { drawChart } from '../../src/pricing/chart/chart.ts'
import { figuresOf } from '../../src/pricing/chart/figures.ts'
import { ChartRequest } from '../../src/pricing/chart/request.ts'
import { Quote } from '../../src/pricing/messages.ts'
import { cedi, openQuoter, quotingTime } from '../support/quoter.ts'

const DAY = 86_400
const asOf = quotingTime / 1000
const { quote } = await openQuoter()
const downward = { strike: 11.6, payoutCap: 10, strikeAbove: false }

/**
 * The texts of a document and the elements they stand in. Throws unless all of it is XML: elements, quoted attributes,
 * escaped text.
 */
const textsOf = (xml: string): { name: string; text: string }[] => {
  const token =
    /<(\w+)((?: [\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot|#39);[^"<&]*)*")*)(\/?)>|<\/(\w+)>|((?:[^<>&]|&(?:amp|lt|gt|quot|#39);)+)/y
  const open: string[] = []
  const all: { name: string; text: string }[] = []
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex
    const [whole, start, , empty, end, text] = token.exec(xml) ?? []
    if (whole === undefined) throw new Error(`not XML at ${at}: ${xml.slice(at, at + 60)}`)
    const parent = open.at(-1)
    if (text !== undefined && parent !== undefined) all.push({ name: parent, text })
    if (start !== undefined && empty === '') open.push(start)
    if (end !== undefined && open.pop() !== end) throw new Error(`${end} is closed but was not open`)
  }
  if (open.length > 0) throw new Error(`${open.at(-1)} is not closed`)
  return all
}

const numbers = (text: string | undefined): number => Number(text?.replaceAll(',', '').replace('\u2212', '-'))

/** Reads the named part of a picture with its own ticks: returns the values of its points on both axes. */
const read = (svg: string, id: string) => {
  const part = svg.split(`<g id="${id}">`)[1]?.split('</g>')[0] ?? ''
  const ticks = (anchor: string) =>
    [
      ...part.matchAll(
        /<text x="([\d.]+)" y="([\d.]+)"[^>]*text-anchor="(\w+)" fill="#59636e">([\u2212\d.,]+)<\/text>/g,
      ),
    ]
      .filter((match) => match[3] === anchor)
      .map((match) => ({ x: Number(match[1]), y: Number(match[2]) - 4, value: numbers(match[4]) }))
  const along =
    (list: { x: number; y: number; value: number }[], axis: 'x' | 'y') =>
    (place: number): number => {
      const [a, b] = [list[0], list.at(-1)]
      if (a === undefined || b === undefined || list.length < 3) throw new Error('an axis needs ticks')
      return a.value + ((place - a[axis]) / (b[axis] - a[axis])) * (b.value - a.value)
    }
  const [across, up] = [along(ticks('middle'), 'x'), along(ticks('end'), 'y')]
  return [...part.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map((match): [number, number] => [
    across(Number(match[1])),
    up(Number(match[2])),
  ])
}

describe('the picture of the worked example', async () => {
  const answer = await quote(cedi)
  const svg = drawChart(answer)
  const texts = textsOf(svg).map(({ text }) => text)

  test('the picture is a self-contained XML document: no script, nothing fetched', () => {
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 880 \d+"/)
    expect(svg).not.toMatch(/<script|href|url\(|@import|<foreignObject/)
    expect(svg.match(/https?:/g)).toHaveLength(1)
    expect(
      textsOf(svg)
        .slice(0, 2)
        .map(({ name }) => name),
    ).toEqual(['title', 'desc'])
  })

  test('the picture contains the numbers of the quote', () => {
    expect(texts).toEqual(
      expect.arrayContaining(['spot 11.4', 'strike 12', 'cap 13.5', '\u2212273.22', '+1,042.57', '273.22 today']),
    )
    expect(texts).toContain('premium 273.22 (2.7322 % of the notional), largest payout 1,315.79, volatility 15.4 %')
  })

  test('the picture draws its points where the axes have the numbers of the quote', () => {
    const [strike, cap, even] = read(svg, 'payoff')
    expect(strike?.[0]).toBeCloseTo(12, 2)
    expect(strike?.[1]).toBeCloseTo(-273.22, -0.5)
    expect(cap?.[0]).toBeCloseTo(13.5, 2)
    expect(cap?.[1]).toBeCloseTo(1_315.79 - 273.22, -0.5)
    expect(even?.[0]).toBeCloseTo(12 + (273.22 * 11.4) / 10_000, 2)
    expect(even?.[1]).toBeCloseTo(0, -0.5)
    const [now] = read(svg, 'premium')
    expect(now?.[0]).toBeCloseTo(90, 1)
    expect(now?.[1]).toBeCloseTo(273.22, -0.5)
  })

  test('the picture is the same for the same quote, and for its JSON', () => {
    expect(drawChart(Quote.parse(JSON.parse(JSON.stringify(answer))))).toBe(svg)
  })
})

describe('the numbers of the picture', () => {
  test.each([cedi, { ...cedi, ...downward }])(
    'the picture’s premium equals the engine’s at every time left: %j',
    async (range) => {
      const figures = figuresOf(await quote(range))
      for (const days of [90, 60, 45.5, 30, 14]) {
        const { premiumUsd } = await quote({ ...range, expiryUnixSeconds: asOf + days * DAY })
        expect([days, figures.premiumAt(11.4, days / 365)]).toEqual([days, premiumUsd])
      }
    },
  )

  test('the picture’s premium at expiry equals the payout', async () => {
    for (const range of [cedi, { ...cedi, ...downward }]) {
      const { premiumAt, net, premium } = figuresOf(await quote(range))
      for (const rate of [9, 9.5, 10.123456, 11, 12, 12.5, 13.5, 14])
        expect(premiumAt(rate, 0)).toBeCloseTo(net(rate) + premium, 1)
    }
  })

  test('the payout at the break-even rate equals the premium', async () => {
    for (const range of [cedi, { ...cedi, ...downward }]) {
      const { breakEven, net } = figuresOf(await quote(range))
      expect(net(breakEven ?? 0)).toBeCloseTo(0, 2)
    }
  })
})

test('a premium of the greatest payout has no break-even rate', async () => {
  const answer = await quote(cedi)
  const breakEvenAt = (premiumUsd: number) => figuresOf({ ...answer, premiumUsd }).breakEven
  expect([breakEvenAt(answer.maxPayoutUsd), breakEvenAt(answer.maxPayoutUsd / 2)]).toEqual([
    undefined,
    expect.any(Number),
  ])
})

describe('warnings in the picture', () => {
  const notices = async (request: object) =>
    textsOf(drawChart(await quote(request)))
      .map(({ name, text }) => `${name}: ${text}`)
      .filter((text) => /SYNTHETIC|STALE/.test(text))

  test('synthetic rates are labelled in the visible text and in the description for screen readers', async () => {
    const [heard, seen, ...others] = await notices({ ...cedi, pair: 'USD/KES', strike: 135, payoutCap: 150 })
    expect(heard).toMatch(/^desc: SYNTHETIC RATES: generated, not market data\. Spot 129/)
    expect(seen).toBe('text: SYNTHETIC RATES: generated, not market data')
    expect(others).toEqual([])
  })

  test('stale rates are labelled', async () => {
    const [, seen] = await notices({ ...cedi, pair: 'GBP/USD', strike: 1.3, payoutCap: 1.4 })
    expect(seen).toMatch(/^text: STALE RATES: the history ends on 2024-11-/)
  })

  test('fresh market rates have no warning', async () => {
    expect(await notices(cedi)).toEqual([])
  })
})

test('every range gives a complete picture', async () => {
  const cents = (min: number, max: number) => fc.integer({ min, max }).map((value) => value / 100)
  await fc.assert(
    fc.asyncProperty(
      cents(900, 1_400),
      cents(20, 300),
      fc.boolean(),
      cents(1, 1e9),
      fc.integer({ min: 20, max: 700 }),
      async (strike, width, strikeAbove, notional, days) => {
        const payoutCap = strikeAbove ? strike + width : strike - width
        const answer = await quote({
          ...cedi,
          strike,
          payoutCap,
          strikeAbove,
          notional,
          expiryUnixSeconds: asOf + days * DAY,
        }).catch((error: unknown) => {
          // Ranges without a price are skipped.
          fc.pre(!(error instanceof ServiceError))
          throw error
        })
        const svg = drawChart(answer)
        textsOf(svg)
        expect(svg).not.toMatch(/NaN|Infinity|undefined/)
        const places = [...svg.matchAll(/<(?:text|circle) c?x="([\d.-]+)" c?y="([\d.-]+)"/g)]
        expect(places.length).toBeGreaterThan(20)
        for (const [, x, y] of places) {
          expect(Number(x)).toBeGreaterThan(0)
          expect(Number(x)).toBeLessThan(880)
          expect(Number(y)).toBeGreaterThan(0)
        }
      },
    ),
    { numRuns: 40 },
  )
})

describe('escaping', () => {
  test('external text cannot become markup', async () => {
    const answer = await quote(cedi)
    const history = {
      ...z.looseObject({}).parse(answer.breakdown.history),
      source: `<script>alert("a" & 'b')</script>\u0000`,
    }
    const svg = drawChart({ ...answer, breakdown: { ...answer.breakdown, history } })
    expect(svg).not.toContain('<script')
    expect(textsOf(svg).at(-1)?.text).toContain(
      '&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;\ufffd',
    )
  })

  test('any escaped text makes a valid document, and unescapes to the same text', () => {
    const back = (xml: string) =>
      xml.replace(
        /&(amp|lt|gt|quot|#39);/g,
        (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
      )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeMarkup(text)
        textsOf(`<a b="${escaped}">${escaped}</a>`)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not allow them
        expect(back(escaped)).toBe(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd'))
      }),
    )
  })
})

describe('the chart command’s options', () => {
  const flags = { pair: 'USD/GHS', strike: '12', 'payout-cap': '13.5', expiry: '2027-05-20', notional: '10000' }

  test('chart options become the engine’s request, and days begin at midnight UTC', () => {
    expect(parseInput(ChartRequest, { ...flags, at: '2026-11-21T13:00:00+01:00' }, 'chart')).toEqual({
      request: { ...cedi, expiryUnixSeconds: Date.UTC(2027, 4, 20) / 1000 },
      at: asOf,
    })
    expect(parseInput(ChartRequest, { ...flags, below: true }, 'chart').request.strikeAbove).toBe(false)
  })

  test.each([
    [{ pair: 'cedi' }, 'pair: expected a pair BASE/QUOTE of two currency codes in upper case, such as USD/GHS'],
    [{ pair: undefined }, 'pair: is required: expected a pair BASE/QUOTE'],
    [{ strike: undefined }, 'strike: is required: expected a number'],
    [{ strike: 'twelve' }, 'strike: expected a number'],
    [{ 'payout-cap': '' }, 'payout-cap: expected a number above 0, of at most six decimals'],
    [{ notional: '-5' }, 'notional: expected a number above 0, of at most six decimals'],
    [{ expiry: 'tomorrow' }, 'expiry: expected a day, 2027-05-20, or a time, 2027-05-20T12:00:00Z'],
    [{ expiry: '2027-02-30' }, 'expiry: expected a day, 2027-05-20, or a time, 2027-05-20T12:00:00Z'],
  ])('the chart command rejects %j', (fault, message) => {
    expect(() => parseInput(ChartRequest, { ...flags, ...fault }, 'chart')).toThrow(message)
  })
})
