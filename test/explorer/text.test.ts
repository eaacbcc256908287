import { expect, test } from 'vitest'
import { amountText, compact, exactAmount, percentText, rateText, shareText } from '../../explorer/src/text/amount.ts'
import { filterParams } from '../../explorer/src/text/event-filters.ts'
import { parseDecimal } from '../../explorer/src/text/input.ts'
import { targetOf } from '../../explorer/src/text/search.ts'
import { chainText, conditionText, pairText, termsText } from '../../explorer/src/text/terms.ts'
import { clockText, dateText, dayText, durationText, relativeText, timeText } from '../../explorer/src/text/time.ts'

test.each([
  [0n, 6, '0.00'],
  [1n, 6, '0.000001'],
  [-1n, 6, '−0.000001'],
  [9_999n, 6, '0.0099'],
  [1_234n * 10n ** 12n, 18, '0.0012'],
  [10_000n, 6, '0.01'],
  [1_500_000n, 6, '1.50'],
  [75_000_000_000n, 6, '75,000.00'],
  [-1_234_567_890_000n, 6, '−1,234,567.89'],
  [17_225_613_733_905_579_399_140n, 18, '17,225.61'],
  [123n, 0, '123'],
])('%i units with %i decimals are shown as %s', (amount, decimals, text) => {
  expect(amountText(amount, decimals)).toBe(text)
})

test('the exact amount has every digit', () => {
  expect(exactAmount(17_225_613_733_905_579_399_140n, 18)).toBe('17,225.61373390557939914')
})

test('rates and shares are shown in their scale', () => {
  expect(rateText(19_200_000n)).toBe('19.2')
  expect(rateText(19_688_461n)).toBe('19.688461')
  expect(percentText(30_760_024n)).toBe('30.76 %')
  expect([23_000n, 30_000n, 50n, 0n].map(shareText)).toEqual(['2.30 %', '3.00 %', '0.005 %', '0.00 %'])
})

test.each([
  [0, '0'],
  [999, '999'],
  [1_234_567, '1.23M'],
  [-75_000, '-75k'],
  [2.5e12, '2.5T'],
])('%d on an axis is %s', (value, text) => {
  expect(compact(value)).toBe(text)
})

test.each([
  ['10,000', 6, 10_000_000_000n],
  [' 0.000001 ', 6, 1n],
  ['0.0000001', 6, null],
  ['0', 6, null],
  ['-5', 6, null],
  ['1e9', 6, null],
  ['', 6, null],
  ['1'.repeat(31), 6, null],
  ['1,000', 6, 1_000_000_000n],
  ["1'234'567.5", 6, 1_234_567_500_000n],
  ['1 000 000', 0, 1_000_000n],
  ['1.000,50', 6, null],
  ['1,5', 6, null],
  ['1,00,000', 6, null],
  ["1,000'000", 6, null],
  ['0.1,000', 6, null],
  ['1,234,567.5', 6, 1_234_567_500_000n],
  ["1'000", 6, 1_000_000_000n],
  ['0,5', 6, null],
  ['19,2', 6, null],
  ['1000,50', 6, null],
])('%j with %i decimals is read as %s', (text, decimals, amount) => {
  expect(parseDecimal(text, decimals)).toBe(amount)
})

const wallet = `0x${'ab'.repeat(20)}`
const hash = `0x${'cd'.repeat(32)}`

test.each([
  [` ${wallet} `, `/wallet/${wallet}`],
  [hash, `/tx/8453/${hash}`],
  ['9', '/event/8453/9'],
  ['#9', '/event/8453/9'],
  ['56/9', '/event/56/9'],
  ['event 3', '/event/8453/3'],
  ['Event #3', '/event/8453/3'],
  ['event 56/3', '/event/56/3'],
  ['position 12', '/position/8453/12'],
  ['deposit 56 7', '/deposit/56/7'],
  ['event', '/events?pair=event'],
  ['usd/mxn', '/events?pair=usd%2Fmxn'],
  ['<b>', '/events?pair=%3Cb%3E'],
  ['   ', null],
])('a search for %j leads to %s', (text, target) => {
  expect(targetOf(text, [8453, 56])).toBe(target)
})

test.each([
  ['Cedi importers', 'Cedi importers'],
  ['a'.repeat(100), `${'a'.repeat(60)}…`],
  ['pay \u202Eevil\u202C me', 'pay evil me'],
  ['line\nbreak\u0000', 'linebreak'],
  ['\u200B\u2060', '(no name)'],
  ['\u3164\uFE0F\u2800', '(no name)'],
  [' \u00A0 ', '(no name)'],
  ['', '(no name)'],
  ['😀'.repeat(61), `${'😀'.repeat(60)}…`],
])('a text of the chain, %j, is shown as %j', (text, shown) => {
  expect(chainText(text)).toBe(shown)
})

test('the filters in the address of the list of events are parameters of the API, without states that do not exist', () => {
  const all = new URLSearchParams('state=open&chain=56&pair=usd/mxn&capacity=yes&sort=expiry&other=1')
  expect(filterParams(all)).toEqual({
    ...{ state: 'open', chainId: '56', underlying: 'usd/mxn', poolOpen: 'true', capacityFrom: '1' },
    ...{ sort: 'expiry', order: 'asc' },
  })
  for (const state of ['', 'toString', '__proto__', 'closed'])
    expect(filterParams(new URLSearchParams({ state, sort: 'no' }))).toEqual({ sort: 'created', order: 'desc' })
})

test('marks do not pile up over other lines', () => {
  expect(chainText(`e${'\u0301'.repeat(10_000)}!`)).toBe('e\u0301\u0301!')
})

test('the terms of an event are a sentence', () => {
  const terms = {
    ...{ underlying: 'USD/MXN', strike: 19_200_000n, payoutCap: 21_000_000n, strikeAbove: true },
    expiryDate: Date.UTC(2027, 2, 3) / 1_000,
  }
  expect(termsText(terms)).toBe('Pays if USD/MXN is above 19.2 on 3 Mar 2027, in full at 21 and above.')
  expect(termsText({ ...terms, payoutCap: 0n, strikeAbove: false })).toBe(
    'Pays if USD/MXN is below 19.2 on 3 Mar 2027, all or nothing.',
  )
})

test.each([
  ['USD/MXN', 'USD/MXN'],
  ['usdc/ngn', 'usdc/ngn'],
  ['USD/MXN above 5.', '“USD/MXN above 5.”'],
  ['”USD/MXN', "“'USD/MXN”"],
  ['', '“(no name)”'],
])('a pair on the chain, %j, is shown as %s', (underlying, shown) => {
  expect(pairText(underlying)).toBe(shown)
  expect(conditionText({ underlying, strike: 5_000_000n, payoutCap: 0n, strikeAbove: true })).toBe(`${shown} above 5`)
})

test('times are relative to now, in their largest unit', () => {
  expect([0, 59, 60, 3_600, 7_200, 86_400, 172_800].map(durationText)).toEqual([
    '0 seconds',
    '59 seconds',
    '1 minute',
    '1 hour',
    '2 hours',
    '24 hours',
    '2 days',
  ])
  expect(relativeText(1_000, 1_090)).toBe('1 minute ago')
  expect(relativeText(1_090, 1_000)).toBe('in 1 minute')
  expect(timeText(Date.UTC(2027, 2, 3, 14, 5) / 1_000)).toBe('3 Mar 2027, 14:05 UTC')
})

test('a time that no date has is shown as the last date', () => {
  const shown = [clockText, dayText, dateText, timeText].map((text) => text(Number.MAX_SAFE_INTEGER))
  expect(shown).toEqual(['00:00:00', '13 Sept', '13 Sept 275760', '13 Sept 275760, 00:00 UTC'])
})
