import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { MAX_DETAILS } from '../../src/lib/errors.ts'
import {
  atMost,
  Bool,
  Bytes,
  Destination,
  FacetAction,
  objectsAtMost,
  PageLimit,
  scalarsAtMost,
  Text,
} from '../../src/protocol/fields/request-fields.ts'
import { clamped } from '../../src/protocol/fields/response-fields.ts'
import { cutText, MAX_TEXT } from '../../src/protocol/fields/text.ts'

/* Fields of requests and answers at both sides of their bounds. */

const isTaken = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item)

test.each([
  ['a page', PageLimit(200), ['1', '200'], ['0', '201', '']],
  ['an action of a cut', FacetAction, [0, 2], [-1, 3, 0.5]],
  ['a text', Text, ['x'.repeat(MAX_TEXT), ' x'], ['x'.repeat(MAX_TEXT + 1), ' ', '', 'a\ud800']],
  ['bytes', Bytes, ['0x', `0x${'00'.repeat(131_072)}`], [`0x${'00'.repeat(131_073)}`, '0x1']],
  ['a list', atMost(z.array(Bool), 2), [[], [true, true]], [[true, true, true]]],
] as const)('%s takes both ends of its range and nothing beyond', (_, schema, taken, refused) => {
  for (const value of taken) expect([value, isTaken(schema, value)]).toEqual([value, true])
  for (const value of refused) expect([value, isTaken(schema, value)]).toEqual([value, false])
})

test('the letter case of a destination is its checksum, unless all letters have one case', () => {
  const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const digits = address.slice(2)
  for (const text of [address, address.toLowerCase(), `0x${digits.toUpperCase()}`])
    expect(Destination.parse(text)).toBe(address)
  for (const text of [address.replace('aA', 'Aa'), `0x${digits.toLowerCase().replace('a', 'A')}`])
    expect(isTaken(Destination, text)).toBe(false)
})

describe('a list', () => {
  test('of scalars is parsed up to the number of faults that an error lists', () => {
    const issues = (list: unknown[]) => scalarsAtMost(z.array(Bool), 1_000).safeParse(list).error?.issues ?? []
    expect(issues(times(MAX_DETAILS - 1, 1))).toHaveLength(MAX_DETAILS - 1)
    expect(issues([true, ...times(MAX_DETAILS + 50, 1)])).toHaveLength(MAX_DETAILS)
    expect(issues(times(500, true))).toEqual([])
  })

  test('of objects has as many items in their lists together as a transaction has words', () => {
    const list = objectsAtMost(z.array(z.object({ words: z.array(z.number()) })), 3)
    const [half, more] = [{ words: times(2_048, 1) }, { words: times(2_049, 1) }]
    expect([isTaken(list, [half, half]), isTaken(list, [half, more])]).toEqual([true, false])
    expect(list.safeParse([half, more]).error?.issues).toMatchObject([
      { message: 'expected lists of at most 4096 items together' },
    ])
  })
})

test('a greater time than a JSON integer holds is shown as 2^53 - 1', () => {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  expect([0n, most - 1n, most, most + 1n, 2n ** 256n - 1n].map(clamped)).toEqual([
    ...[0, Number.MAX_SAFE_INTEGER - 1],
    ...times(3, Number.MAX_SAFE_INTEGER),
  ])
})

test('a text is cut after its greatest length, and not before', () => {
  for (const length of [MAX_TEXT - 1, MAX_TEXT]) expect(cutText('x'.repeat(length))).toHaveLength(length)
  for (const length of [MAX_TEXT + 1, MAX_TEXT + 2]) expect(cutText('x'.repeat(length))).toHaveLength(MAX_TEXT)
})
