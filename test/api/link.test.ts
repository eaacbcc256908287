import { expect, test } from 'vitest'
import { linkHeader } from '../../src/api/link.ts'

test('the link to the next page repeats the request with 100 wallets', () => {
  const wallets = Array.from({ length: 100 }, () => '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266').join(',')
  expect(linkHeader(`/v1/hedge/events?wallet=${wallets}&_=1`, 'AAAA').link).toMatch(
    /^<\?wallet=.*&cursor=AAAA>; rel="next"$/,
  )
})

test('the link to the next page is left out where the request was padded to more than 8 KB', () => {
  expect(linkHeader(`/v1/hedge/events?limit=${'0'.repeat(15_000)}5`, 'AAAA')).toEqual({})
})

test('the link to the next page keeps a question mark inside a value, and replaces the cursor', () => {
  expect(linkHeader('/v1/hedge/events?underlying=a?b&cursor=old', 'AAAA').link).toBe(
    '<?underlying=a%3Fb&cursor=AAAA>; rel="next"',
  )
})

test('the link to the next page names no host, whatever host the request names', () => {
  expect(linkHeader('http://other.example/v1/hedge/events?limit=1', 'AAAA').link).toBe(
    '<?limit=1&cursor=AAAA>; rel="next"',
  )
})

test.each([
  'https://api.example/v1/hedge/events',
  'https://gateway.example/fx/v1/hedge/events',
  'https://gateway.example/fx/v1/hedge/events/',
  'https://gateway.example/fx-events',
])('the link to the next page leads to the same path at %s', (at) => {
  const [, target = ''] = /^<(.*)>/.exec(linkHeader('/v1/hedge/events?limit=1', 'AAAA').link ?? '') ?? []
  expect(new URL(target, `${at}?limit=1&_=1`).href).toBe(`${at}?limit=1&cursor=AAAA`)
})
