import { expect, test } from 'vitest'
import { parseRate, rowReader } from '../../../src/db/queries/rows.ts'
import { kinds } from '../../../src/protocol/entities.ts'

test.each([
  [null, 'rates_unknown'],
  [undefined, 'rates_unknown'],
  ['-1', 'rates_contradicted'],
  ['0', 0n],
  ['10000', 10_000n],
])('the text %j is the fee rate %s', (text, rate) => {
  expect(parseRate(text)).toBe(rate)
})

test.each(kinds)('a reader of rows of %s is made once for its inclusions', (kind) => {
  expect(rowReader(kind, ['stats'])).toBe(rowReader(kind, ['stats']))
  expect(rowReader(kind, ['stats'])).not.toBe(rowReader(kind, []))
})

test('rows join their event only when they show something of it', () => {
  const joinsEvent = (...include: Parameters<typeof rowReader>[1]) =>
    rowReader('position', include).joins.includes('event_observations')
  expect([joinsEvent(), joinsEvent('payout'), joinsEvent('value'), joinsEvent('payout', 'range')]).toEqual([
    false,
    false,
    true,
    true,
  ])
})
