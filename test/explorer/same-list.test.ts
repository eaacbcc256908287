import { expect, test } from 'vitest'
import { isSameList } from '../../explorer/src/api/same-list.ts'
import { isId } from '../../explorer/src/text/input.ts'

const list = { chainId: '8453', sort: 'created', include: 'stats', limit: 25 }

test.each([
  ['another page', { ...list, cursor: 'abc' }],
  ['another filter', { ...list, state: 'open', underlying: 'USD/MXN' }],
  ['another order', { include: 'stats', limit: 25, chainId: '8453', sort: 'expiry', order: 'asc' }],
])('%s of a list is of the same list', (_, params) => {
  expect(isSameList(list, params)).toBe(true)
})

test.each([
  ['ids', '10', '2'],
  ['id', 10, 2],
  ['eventId', '10', '2'],
  ['chainId', '8453', '56'],
  ['wallet', '0xaa', '0xbb'],
  ['addr', '0xaa', '0xbb'],
  ['at', '2026-01-01', '2026-01-02'],
])('answers of two values of %s are never placeholders of one another', (name, one, other) => {
  expect(isSameList({ ...list, [name]: one }, { ...list, [name]: other })).toBe(false)
})

test.each([
  ['8453', true],
  ['1,2', false],
  ['', false],
  ['-1', false],
  ['1e3', false],
  ['12345678901234567', false],
])('%j is an id: %s', (text, expected) => {
  expect(isId(text)).toBe(expected)
})
