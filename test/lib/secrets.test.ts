import { expect, test } from 'vitest'
import { createScrub, credentialsOf, partsOf } from '../../src/lib/observe/secrets.ts'

test('the secret parts of a node URL are the whole URL, its host and every part that may be a key', () => {
  const url = 'https://k3y.base.example/v3/0123456789abcdef?apikey=fedcba98%2B76543210'
  expect(partsOf(url)).toEqual([url, 'k3y.base.example', '0123456789abcdef', 'fedcba98+76543210'])
  expect(partsOf('http://127.0.0.1:8545')).toEqual(['http://127.0.0.1:8545', 'http://127.0.0.1:8545/'])
  expect(partsOf('no url')).toEqual([])
})

test('the secret parts of any other URL are its credentials', () => {
  expect(credentialsOf('postgres://user:p%40ssword@db:5432/fx')).toEqual(['p%40ssword', 'p@ssword'])
  expect(credentialsOf('rediss://:opensesame@cache')).toEqual(['opensesame'])
  expect(credentialsOf('https://fred.example/graph.csv?id=DTB3&api_key=abcdef')).toEqual(['abcdef'])
  expect(credentialsOf('postgres://u:p@db/fx')).toEqual([])
  expect(credentialsOf('https://bank.example/rates.zip')).toEqual([])
  expect(credentialsOf('postgres://u@db/fx?application_name=worker&password=opensesame')).toEqual(['opensesame'])
})

test('secrets are removed from every position of a text, the longest first, and from JSON too', () => {
  const scrub = createScrub(['secret', 'secret/long.er', 'a"b\\c'])
  expect(scrub('secret/long.er and secret, secret/longer')).toBe('<secret> and <secret>, <secret>/longer')
  expect(scrub(JSON.stringify({ fault: 'a"b\\c' }))).toBe('{"fault":"<secret>"}')
  expect(createScrub([])('as it is')).toBe('as it is')
})

test('a part of eight letters may be a key, and a credential has five at least', () => {
  expect(partsOf('http://127.0.0.1/12345678/1234567')).toContain('12345678')
  expect(partsOf('http://127.0.0.1/12345678/1234567')).not.toContain('1234567')
  expect(credentialsOf('postgres://u:12345@db/fx')).toEqual(['12345'])
  expect(credentialsOf('postgres://u:1234@db/fx')).toEqual([])
  expect(credentialsOf('https://a.example/?id=12345')).toEqual(['12345'])
  expect(credentialsOf('postgres://u@db/fx?sslmode=12345')).toEqual([])
})

test('an empty secret is removed from nothing', () => {
  expect(createScrub(['', 'hidden'])('a hidden b')).toBe('a <secret> b')
})
