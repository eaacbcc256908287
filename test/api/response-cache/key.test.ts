import { expect, test } from 'vitest'
import { cacheKey, isIgnored } from '../../../src/api/response-cache/key.ts'

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const lower = wallet.toLowerCase()

test.each([
  [
    'the digits of an address in the path have no case',
    `/v1/wallets/${wallet}/portfolio`,
    `/v1/wallets/${lower}/portfolio`,
  ],
  ['the end of a path may be an address', `/v1/a/${wallet}?b=C`, `/v1/a/${lower}?b=C`],
  ['the x of an address has a case', `/v1/a/${wallet.replace('0x', '0X')}`, `/v1/a/${wallet.replace('0x', '0X')}`],
  ['the path has a case', '/V1/Chains', '/V1/Chains'],
  ['a word that begins like an address has a case', '/v1/0xABCz', '/v1/0xABCz'],
  ['values have a case', '/v1/a?underlying=USD', '/v1/a?underlying=USD'],
  ['the order of a query means nothing', '/v1/a?c=1&b=2', '/v1/a?b=2&c=1'],
  ['empty parts of a query mean nothing', '/v1/a?&b=2&', '/v1/a?b=2'],
  ['a question mark alone means nothing', '/v1/a?', '/v1/a'],
  ['parameters that are ignored are left out, however they are spelt', '/v1/a?_=1&b=2&%5Ft=3&_', '/v1/a?b=2'],
  ['a slash at the end means nothing', '/v1/a/?b=2', '/v1/a?b=2'],
  ['two slashes at the end make another path', '/v1/a//', '/v1/a/'],
  ['a digest in the path has a case', `/v1/a/0x${'5F'.repeat(32)}`, `/v1/a/0x${'5F'.repeat(32)}`],
  ['a path of one slash stays', '/?', '/'],
  [
    'what has a slash within is no address',
    `/v1/0x${'A'.repeat(19)}/${'B'.repeat(20)}`,
    `/v1/0x${'A'.repeat(19)}/${'B'.repeat(20)}`,
  ],
  ['a doubled slash makes another path', '/v1//a', '/v1//a'],
  ['a semicolon is part of the path', '/v1/a;b=1', '/v1/a;b=1'],
])('%s', (_, url, key) => {
  expect(cacheKey(url)).toBe(key)
})

test.each(['/v1/a#b', '/v1/a?b=1#c', '/v1/%61', 'http://host/v1/a', '*', ''])(
  'the answer to %j is never kept',
  (url) => {
    expect(cacheKey(url)).toBeNull()
  },
)

test('a parameter whose name begins with an underscore is ignored', () => {
  expect(['_', '_t', 'a_b', 'a_', ''].map(isIgnored)).toEqual([true, true, false, false, false])
})
