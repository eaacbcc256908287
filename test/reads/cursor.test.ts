import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeCursor, encodeCursor, openCursor, sealCursor } from '../../src/reads/cursor.ts'

const list = '/hedge/events/8453/1/positions'
const id = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })

test('a cursor comes back as the id it was made of', () => {
  fc.assert(
    fc.property(id, (after) => {
      expect(decodeCursor(list, encodeCursor(list, after))).toBe(after)
    }),
  )
})

test('a cursor of another list is refused', () => {
  expect(() => decodeCursor('/hedge/events/56/1/positions', encodeCursor(list, 7n))).toThrow('cursor')
})

test('a damaged cursor is refused', () => {
  const cursor = encodeCursor(list, 7n)
  for (const damaged of [
    '',
    'x',
    '7',
    `${cursor}A`,
    `${cursor}=`,
    ` ${cursor}`,
    cursor.slice(0, -1),
    cursor.slice(1),
  ]) {
    expect(() => decodeCursor(list, damaged), damaged).toThrow('cursor')
  }
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...'abcXYZ019-_'), (at, digit) => {
      const damaged = cursor.slice(0, at) + digit + cursor.slice(at + 1)
      if (damaged !== cursor) expect(() => decodeCursor(list, damaged)).toThrow('cursor')
    }),
  )
})

test('a cursor longer than any of ours is refused unread, even with the right check', () => {
  expect(openCursor(list, sealCursor(list, '9'.repeat(700)))).toBe('9'.repeat(700))
  expect(() => openCursor(list, sealCursor(list, '9'.repeat(1_000)))).toThrow('cursor')
})
