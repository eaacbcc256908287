import { expect, test } from 'vitest'
import { isStream, oncePerHeader, prefersCsv } from '../../src/api/accept.ts'

test.each([
  'text/event-stream',
  'Text/Event-Stream; charset=UTF-8',
  'text/event-stream;charset=utf-8;q=0.5',
  'text/event-stream, application/json;q=0.9',
  'application/json;q=0.5, text/event-stream',
  'text/event-stream, */*',
  '*/*;q=0.1, text/event-stream;q=0.2',
  'text/*, application/json;q=0.9',
  'application/json;q=0, */*',
])('a request that accepts %s gets a stream', (accept) => {
  expect(isStream(accept)).toBe(true)
})

test.each([
  undefined,
  '',
  '*/*',
  'application/json',
  'application/json, text/plain, */*',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'text/event-stream;q=0',
  'text/event-stream; q=0.0, */*',
  'text/event-stream ; q = 0',
  'text/event-stream;charset=utf-8;q=0',
  'application/json, text/event-stream;q=0.9',
  'application/json;charset=utf-8, text/event-stream;q=0.9',
  'text/event-stream;q=0.1, */*;q=0.2',
  'text/event-streams',
  'text/html',
])('a request that accepts %s gets JSON', (accept) => {
  expect(isStream(accept)).toBe(false)
})

test.each([
  ['text/csv', true],
  ['text/csv; charset=utf-8; header=present', true],
  ['application/json;q=0.5, text/csv', true],
  ['text/csv, */*;q=0.1', true],
  [undefined, false],
  ['*/*', false],
  ['application/json, text/csv', false],
  ['text/csv;q=0.5, */*', false],
  ['text/csv;q=0', false],
  ['text/event-stream', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
])('a list that is requested with Accept: %s is CSV: %s', (accept, expected) => {
  expect(prefersCsv(accept)).toBe(expected)
})

test('a header of at most 200 characters is parsed once, as long as no 100 others came since', () => {
  const parsed: string[] = []
  const lengthOf = oncePerHeader((header) => {
    parsed.push(header)
    return { length: header.length }
  })
  const [short, long] = ['a'.repeat(200), 'a'.repeat(201)]
  for (const header of [short, short, long, long]) expect(lengthOf(header)).toEqual({ length: header.length })
  expect(parsed).toEqual([short, long, long])
  for (let nth = 0; nth < 99; nth += 1) lengthOf(`${nth}`)
  lengthOf(short)
  expect(parsed.filter((header) => header === short)).toHaveLength(1)
  for (let nth = 0; nth < 100; nth += 1) lengthOf(`${nth}`)
  lengthOf(short)
  expect(parsed.filter((header) => header === short)).toHaveLength(2)
})
