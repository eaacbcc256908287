import { describe, expect, test } from 'vitest'
import { blockRefOf, createTags, editionOf, refersTo } from '../../../src/api/response-cache/tags.ts'
import { release } from '../../../src/lib/root.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { seedDeployment } from '../../support/seed-index.ts'

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

describe('the edition', () => {
  const [base, bnb] = [seedDeployment(8453), seedDeployment(56)]
  const usdt = '0x55d398326f99059fF775485246999027B3197955'

  test('has the release and a hash, which are the same for the same settings', () => {
    const edition = editionOf([base, bnb])
    expect(edition).toMatch(new RegExp(`^${release.replaceAll('.', '\\.')}\\.[0-9a-f]{12}$`))
    expect(editionOf([{ ...base }, { ...bnb }])).toBe(edition)
  })

  test('depends on the build, the chains and their order, their profiles and their configured tokens', () => {
    const editions = [
      editionOf([base, bnb]),
      editionOf([base]),
      editionOf([bnb, base]),
      editionOf([]),
      editionOf([base, { ...bnb, profile: 'deployed' }]),
      editionOf([base, { ...bnb, usdc: usdt }]),
      editionOf([base, { ...bnb, usdt }]),
      editionOf([{ ...base, usdt }, bnb]),
      editionOf([base, { ...bnb, paymentDecimals: { USDC: 5 } }]),
      editionOf([base, bnb], 'aaaaaaaaaaaa'),
      editionOf([base, bnb], 'bbbbbbbbbbbb'),
    ]
    expect(new Set(editions).size).toBe(editions.length)
  })

  test('does not depend on the node of a chain', () => {
    const another = { ...base, publicRpcUrl: 'http://another.example' }
    expect(editionOf([another])).toBe(editionOf([base]))
  })
})
