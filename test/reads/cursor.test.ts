import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { MAX_CHAINS } from '../../src/protocol/chains.ts'
import { openCursor, sealCursor } from '../../src/reads/cursor.ts'

const list = '/hedge/events/8453/1/positions'
const Id = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(BigInt)
const id = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })

test('a cursor decodes to the id that it was made of', () => {
  fc.assert(
    fc.property(id, (after) => {
      expect(openCursor(list, sealCursor(list, String(after)), Id)).toBe(after)
    }),
  )
})

test('a cursor of another list is rejected', () => {
  expect(() => openCursor('/hedge/events/56/1/positions', sealCursor(list, '7'), Id)).toThrow('cursor')
})

test('the checksum of a position does not fit another one', () => {
  const bytes = Buffer.from(sealCursor(list, '7'), 'base64url')
  const other = Buffer.concat([bytes.subarray(0, -1), Buffer.from('8')]).toString('base64url')
  expect(() => openCursor(list, other, Id)).toThrow('cursor')
})

test('a damaged cursor is rejected', () => {
  const cursor = sealCursor(list, '7')
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
    expect(() => openCursor(list, damaged, Id), damaged).toThrow('cursor')
  }
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...'abcXYZ019-_'), (at, digit) => {
      const damaged = cursor.slice(0, at) + digit + cursor.slice(at + 1)
      if (damaged !== cursor) expect(() => openCursor(list, damaged, Id)).toThrow('cursor')
    }),
  )
})

test('a cursor that is too long is rejected even when its checksum is correct', () => {
  expect(openCursor(list, sealCursor(list, '9'.repeat(9_000)), z.string())).toBe('9'.repeat(9_000))
  expect(() => openCursor(list, sealCursor(list, '9'.repeat(10_000)), z.string())).toThrow('cursor')
})

test('a sealed position that the schema rejects is rejected like a damaged cursor', () => {
  expect(() => openCursor(list, sealCursor(list, 'x'), Id)).toThrow('cursor')
})

test('the longest cursor of a list of as many chains as can be configured is accepted', () => {
  const longest = [
    2 ** 31 - 1,
    ['9'.repeat(19), '9'.repeat(78)],
    ['9'.repeat(19), `0x${'f'.repeat(64)}`, '9'.repeat(19)],
  ]
  const positions = JSON.stringify(Array.from({ length: MAX_CHAINS }, () => [...longest, '9'.repeat(19)]))
  expect(openCursor(list, sealCursor(list, positions), z.string())).toBe(positions)
})
