import { expect, test } from 'vitest'
import { createScrub, credentialsOf, partsOf } from '../../src/lib/secrets.ts'

test('of a node URL the whole, the host and what may be a key are secret', () => {
  const url = 'https://k3y.base.example/v3/0123456789abcdef?apikey=fedcba98%2B76543210'
  expect(partsOf(url)).toEqual([url, 'k3y.base.example', '0123456789abcdef', 'fedcba98+76543210'])
  expect(partsOf('http://127.0.0.1:8545')).toEqual(['http://127.0.0.1:8545', 'http://127.0.0.1:8545/'])
  expect(partsOf('no url')).toEqual([])
})

test('of other URLs what lets somebody in is', () => {
  expect(credentialsOf('postgres://user:p%40ssword@db:5432/fx')).toEqual(['p%40ssword', 'p@ssword'])
  expect(credentialsOf('rediss://:opensesame@cache')).toEqual(['opensesame'])
  expect(credentialsOf('https://fred.example/graph.csv?id=DTB3&api_key=abcdef')).toEqual(['abcdef'])
  expect(credentialsOf('postgres://u:p@db/fx')).toEqual([])
  expect(credentialsOf('https://bank.example/rates.zip')).toEqual([])
  expect(credentialsOf('postgres://u@db/fx?application_name=worker&password=opensesame')).toEqual(['opensesame'])
})

test('they are taken out wherever they stand, the longest first, in JSON as well', () => {
  const scrub = createScrub(['secret', 'secret/long.er', 'a"b\\c'])
  expect(scrub('secret/long.er and secret, secret/longer')).toBe('<secret> and <secret>, <secret>/longer')
  expect(scrub(JSON.stringify({ fault: 'a"b\\c' }))).toBe('{"fault":"<secret>"}')
  expect(createScrub([])('as it is')).toBe('as it is')
})
