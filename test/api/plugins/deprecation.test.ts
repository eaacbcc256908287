import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { openApp } from '../../support/app.ts'

let api: Awaited<ReturnType<typeof openApp>>
beforeEach(async () => {
  api = await openApp({})
})
afterEach(() => api.close())

const notice = { since: new Date('2027-01-31T00:00:00Z'), sunset: new Date('2027-08-01T00:00:00Z') }

test('a deprecated route has its dates and a link to the changelog in every response, errors included', async () => {
  const schema = { querystring: z.strictObject({}) }
  api.app.get('/v1/old', { schema, config: { deprecated: notice } }, async () => ({ data: 1 }))
  api.app.get('/v1/old/:a/:b', { schema, config: { deprecated: notice } }, async () => ({ data: 1 }))
  for (const [url, status, changelog] of [
    ['/v1/old', 200, '../v1/changelog'],
    ['/v1/old?what=1/2', 400, '../v1/changelog'],
    ['/v1/old/1/2', 200, '../../../v1/changelog'],
    ['/v1/old/1/2/', 200, '../../../../v1/changelog'],
  ] as const) {
    const { statusCode, headers } = await api.app.inject(url)
    expect(statusCode).toBe(status)
    expect(new URL(changelog, `https://gateway.example/fx${url}`).pathname).toBe('/fx/v1/changelog')
    expect(headers).toMatchObject({
      deprecation: '@1801353600',
      sunset: 'Sun, 01 Aug 2027 00:00:00 GMT',
      link: expect.stringContaining(`<${changelog}>; rel="deprecation"; type="application/json"`),
      'access-control-expose-headers': expect.stringMatching(/Deprecation, Sunset, Link/),
    })
  }
})

test('other routes have no deprecation headers', async () => {
  api.app.get('/v1/old', { config: { deprecated: notice } }, async () => ({ data: 1 }))
  const { headers } = await api.get('/chains')
  expect(headers).not.toHaveProperty('deprecation')
  expect(headers).not.toHaveProperty('sunset')
})

test('a route with less than six months of notice cannot be mounted', () => {
  const hasty = { ...notice, sunset: new Date('2027-06-30T00:00:00Z') }
  expect(() => api.app.get('/v1/old', { config: { deprecated: hasty } }, async () => ({}))).toThrowError(/\/v1\/old/)
})
