import { expect, test } from 'vitest'
import { corsOf, originsOf, refusalOf } from '../../src/sandbox/controls/guard.ts'

const allowed = { port: 20_001, origins: originsOf(3_000) }
const host = '127.0.0.1:20001'
const origin = 'http://127.0.0.1:3000'

test.each([
  ['a page of the API', 'POST', { host, origin }],
  ['a page of the API by its other name', 'POST', { host: 'localhost:20001', origin: 'http://localhost:3000' }],
  ['a preflight of a page of the API', 'OPTIONS', { host, origin }],
  ['a request for the script without an origin', 'GET', { host }],
])('%s is served', (_, method, headers) => {
  expect(refusalOf({ method, headers }, allowed)).toBeNull()
})

test.each([
  ['another page', 'POST', { host, origin: 'https://attacker.example' }],
  ['another page that asks first', 'OPTIONS', { host, origin: 'https://attacker.example' }],
  ['another page that loads the script', 'GET', { host, origin: 'https://attacker.example' }],
  ['a page of another port', 'POST', { host, origin: 'http://127.0.0.1:3001' }],
  ['a page over TLS', 'POST', { host, origin: 'https://127.0.0.1:3000' }],
  ['a page with a name that begins like that of the API', 'POST', { host, origin: `${origin}.attacker.example` }],
  ['a sandboxed frame', 'POST', { host, origin: 'null' }],
  ['a request without an origin', 'POST', { host }],
])('%s is refused, with the origins that are allowed', (_, method, headers) => {
  expect(refusalOf({ method, headers }, allowed)).toBe(
    'the origin has to be http://127.0.0.1:3000 or http://localhost:3000',
  )
})

test.each(['attacker.example:20001', '127.0.0.1', '127.0.0.1:3000', '192.168.0.2:20001', undefined])(
  'a request to the host %s is refused, as a name that resolves to 127.0.0.1 would be',
  (host) => {
    const headers = { ...(host !== undefined && { host }), origin }
    expect(refusalOf({ method: 'POST', headers }, allowed)).toMatch(/^the host has to be/)
  },
)

test('a preflight from a public page to this machine is answered when the browser asks for it', () => {
  const headers = { host, origin }
  expect(corsOf({ method: 'OPTIONS', headers })).not.toHaveProperty('access-control-allow-private-network')
  const asked = { ...headers, 'access-control-request-private-network': 'true' }
  expect(corsOf({ method: 'OPTIONS', headers: asked })).toEqual({
    vary: 'origin',
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type',
    'access-control-max-age': '600',
    'access-control-allow-private-network': 'true',
  })
})
