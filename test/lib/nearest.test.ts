import { expect, test } from 'vitest'
import { nearest } from '../../src/lib/nearest.ts'

const known = ['quiet', 'persist', 'env-file', 'at']

test.each([
  ['quite', 'quiet'],
  ['QUIET', 'quiet'],
  ['persits', 'persist'],
  ['envfile', 'env-file'],
  ['a', 'at'],
])('%s was probably meant to be %s', (word, meant) => expect(nearest(word, known)).toBe(meant))

test('the case of a known word does not matter', () => expect(nearest('chainid', ['CHAINID'])).toBe('CHAINID'))

test.each(['', 'zzzzz', 'quality', 'x'.repeat(100_000)])('no known word is near %.20s', (word) =>
  expect(nearest(word, known)).toBeUndefined(),
)
