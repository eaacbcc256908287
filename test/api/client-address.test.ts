import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { addressOf, rawAddressOf } from '../../src/api/client.ts'

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['198.51.100.7:41234', '198.51.100.7'],
  ['"198.51.100.7:41234"', '198.51.100.7'],
  ['for=198.51.100.7:41234', '198.51.100.7'],
  ['For="198.51.100.7:_port";proto=https', '198.51.100.7'],
  ['[198.51.100.7]:443', '198.51.100.7'],
  [' 198.51.100.7\t', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['::FFFF:c633:6407', '198.51.100.7'],
  ['::ffff:198.51.100.7:41234', '198.51.100.7'],
  ['[::ffff:198.51.100.7]:41234', '198.51.100.7'],
  ['2001:db8::1', '2001:db8::'],
  ['2001:0DB8:0:0:ffff::1', '2001:db8::'],
  ['2001:db8:0:0:0:0:0:1:41234', '2001:db8::'],
  ['[2001:db8::1]', '2001:db8::'],
  ['[2001:db8::2]:443', '2001:db8::'],
  ['for="[2001:db8::3]:443"', '2001:db8::'],
  ['[2001:db8::1%25eth0]:443', '2001:db8::'],
  ['fe80::1%eth0', 'fe80::'],
  ['fe80::2%eth1', 'fe80::'],
])('a client that a proxy reports as %s counts as %s', (reported, address) => {
  expect(addressOf({ ip: reported })).toBe(address)
})

test.each([
  ...['unknown', '_hidden', 'a1b2c3', 'client-7.example:443', '198.51.100', '198.51.100.256', '0x7f.1', '1'],
  ...['', ' ', '""', '[]', '[]:80', ':', '%', 'for=', '[2001:db8::1', '2001:db8:::::1', '%eth0', '\u0661.1.1.1'],
  `${'1'.repeat(10_000)}.1.1.1`,
  `${':'.repeat(10_000)}1`,
  `${'[for="'.repeat(2_000)}198.51.100.7`,
])('what is no address counts as one and the same client: %j', (reported) => {
  expect(addressOf({ ip: reported })).toBe(addressOf({ ip: undefined }))
})

test('the response cache counts the address that the trusted proxies report like the framework does', () => {
  const request = new IncomingMessage(new Socket())
  request.headers['x-forwarded-for'] = '203.0.113.9, "[2001:db8::1%eth0]:41234", 10.0.0.2:80'
  expect(rawAddressOf(2)(request)).toBe('2001:db8::')
})
