import { expect, test } from 'vitest'
import { blockRefOf, createTags, editionOf, refersTo } from '../../../src/api/response-cache/tags.ts'
import { release } from '../../../src/lib/root.ts'
import { blockAt } from '../../support/fake-changes.ts'

const { encode, decode } = createTags('e1')
const block = { number: 36, hashPrefix: 'ab12' }

test('a tag has the edition, the version, and the number and hash of its block', () => {
  expect(encode({ version: 36, block: null })).toBe('W/"e1~10"')
  expect(encode({ version: 71, block })).toBe('W/"e1~1z~10~ab12"')
  expect(decode('W/"e1~1z~10~ab12"')).toEqual([{ version: 71, block }])
})

test('all tags of a header are decoded, in their order, without those of other editions', () => {
  expect(decode('"e1~2", "e2~3", W/"e1~1~10~ab12"')).toEqual([
    { version: 2, block: null },
    { version: 1, block },
  ])
})

test.each([
  '"e1"',
  '"e1~"',
  '"e1~ZZ"',
  '"e1~01"',
  '"e1~1~10"',
  '"e1~1~~ab"',
  '"e1~1~10~AB"',
  '"e1~1~10~ab12~1"',
  '"~1"',
])('what is not a tag of this edition is ignored: %s', (header) => {
  expect(decode(header)).toEqual([])
})

test('a reference has the number and the first 16 digits of the hash of a block', () => {
  const { number, hash } = blockAt(31)
  const reference = blockRefOf({ number, hash })
  expect(reference).toEqual({ number: 31, hashPrefix: hash.slice(2, 18) })
  expect(refersTo(reference, blockAt(31))).toBe(true)
  expect(refersTo(reference, { number: 32n, hash })).toBe(false)
  expect(refersTo(reference, { number, hash: blockAt(32).hash })).toBe(false)
})

test('the edition depends on the release, the chains, their order, and how rows are rendered', () => {
  const edition = editionOf([
    [1, 5n],
    [8453, 6n],
  ])
  expect(edition).toMatch(new RegExp(`^${release.replaceAll('.', '\\.')}\\.[0-9a-f]{12}$`))
  const others = [
    editionOf([[1, 5n]]),
    editionOf([
      [8453, 6n],
      [1, 5n],
    ]),
    editionOf([
      [1, 5n],
      [8453, 7n],
    ]),
  ]
  expect(new Set([edition, ...others]).size).toBe(4)
  expect(
    editionOf([
      [1, 5n],
      [8453, 6n],
    ]),
  ).toBe(edition)
})
