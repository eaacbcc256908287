import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { planPaths } from '../support/generate.ts'
import { builders } from '../vectors/specification.ts'

/* What errors say to someone who sends a request for the first time. */

let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({})
})
afterAll(() => api.close())

const wallet = '0xda55a6ec35ccfb4bde22ddff33dfa31cc3b5c4f1'
const event = {
  ...{ chainId: 8453, name: 'Cedi', underlying: 'USD/GHS', strike: '12000000', payoutCap: '13500000' },
  ...{ premiumRate: '23000', expiry: '1796083200', allowExternalLp: true, initialLiquidity: '1000000' },
  ...{ initialRate: '11400000', strikeAbove: true, paymentToken: wallet, signature: '0x', quoteTimestamp: '0' },
  quoteNonce: `0x${'0'.repeat(64)}`,
}
const quote = { pair: 'USD/GHS', strike: 12, payoutCap: 13.5, notional: 1, expiryUnixSeconds: 1796083200 }

const post = async (path: string, body: object) => {
  const { error } = await api.send({ method: 'POST', url: `/v1${path}`, payload: body })
  return Object.fromEntries((error?.details ?? []).map(({ path: field, message }) => [field, message]))
}
const query = async (path: string) => (await api.get(path)).error?.details?.[0]

const rate = 'expected a rate times 1e6, an integer'
const amount = "expected an amount in the token's smallest units, an integer"
const seconds = 'expected Unix seconds, an integer'

describe('a number in another unit is refused with the unit and an example', () => {
  test.each([
    [{ strike: 12.5 }, 'strike', `${rate} in quotes: 12.5 is "12500000"`],
    [{ strike: '11.40' }, 'strike', `${rate} in quotes: 11.40 is "11400000"`],
    [{ strike: 12 }, 'strike', `${rate} in quotes: 12 is "12000000"`],
    [{ strike: 12000000 }, 'strike', `${rate} in quotes: "12000000"`],
    [{ strike: '1e7' }, 'strike', `${rate} in quotes: 11.4 is "11400000"`],
    [
      { initialLiquidity: '1.5' },
      'initialLiquidity',
      `${amount} in quotes: 1.5 of a token with 6 decimals is "1500000"`,
    ],
    [{ initialLiquidity: 1000000 }, 'initialLiquidity', `${amount} in quotes: "1000000"`],
    [{ expiry: '2026-12-01T00:00:00Z' }, 'expiry', `${seconds} in quotes: 2026-12-01T00:00:00Z is "1796083200"`],
    [{ expiry: '2026-12-01' }, 'expiry', `${seconds} in quotes: 2026-12-01 is "1796083200"`],
    [{ expiry: 1796083200 }, 'expiry', `${seconds} in quotes: "1796083200"`],
    [{ expiry: 'tomorrow' }, 'expiry', `${seconds} in quotes: 2027-01-01T00:00:00Z is "1798761600"`],
    [{ strikeAbove: 'true' }, 'strikeAbove', 'expected true or false, without quotes'],
  ])('in an event with %j', async (fault, field, message) => {
    expect(await post('/tx/hedge/create-event', { ...event, ...fault })).toEqual({ [field]: message })
  })

  test.each([
    [{ strike: '12' }, 'strike', 'expected a number without quotes, such as 11.4'],
    [{ strike: 12e9 }, 'strike', 'expected a number of at most 1000000000, without scale: 11.4 and not 11400000'],
    [
      { expiryUnixSeconds: '2026-12-01T00:00:00Z' },
      'expiryUnixSeconds',
      `${seconds}: 2026-12-01T00:00:00Z is 1796083200`,
    ],
    [{ pair: 'usd/ghs' }, 'pair', 'expected a pair BASE/QUOTE of two currency codes in upper case, such as USD/GHS'],
  ])('in a quote with %j', async (fault, field, message) => {
    expect(await post('/pricing/quote', { ...quote, strikeAbove: true, ...fault })).toEqual({ [field]: message })
  })

  test.each([
    ['/hedge/quote-payout/8453/1?notional=1&hypoSettlement=12.5', 'hypoSettlement', `${rate}: 12.5 is 12500000`],
    [
      '/hedge/quote-payout/8453/1?notional=1.5&hypoSettlement=1',
      'notional',
      `${amount}: 1.5 of a token with 6 decimals is 1500000`,
    ],
    ['/hedge/events?expiryTo=2026-12-01T00:00:00Z', 'expiryTo', `${seconds}: 2026-12-01T00:00:00Z is 1796083200`],
    ['/hedge/events?capacityFrom=0.5', 'capacityFrom', `${amount}: 1.5 of a token with 6 decimals is 1500000`],
  ])('in the query of %s', async (path, field, message) => {
    expect(await query(path)).toEqual({ path: field, message })
  })
})

test('each missing field of each body "is required", with what is expected there', async () => {
  const paths = [...Object.keys(builders), ...planPaths, '/pricing/quote', '/tx/broadcast']
  expect(paths.length).toBeGreaterThan(30)
  for (const path of paths) {
    const faults = await post(path, {})
    expect([path, Object.keys(faults).length > 0]).toEqual([path, true])
    for (const [field, message] of Object.entries(faults))
      expect([path, field, message]).toEqual([path, field, expect.stringMatching(/^is required: expected /)])
  }
  expect((await query('/hedge/quote-payout/8453/1'))?.message).toMatch(/^is required: expected a rate/)
})

test.each([
  ['nothing', undefined, 'is required: expected a JSON object'],
  ['null', 'null', 'is required: expected a JSON object'],
  ['a list', '[]', 'expected a JSON object'],
  ['a text', '"x"', 'expected a JSON object'],
  [
    'no JSON',
    '{chainId: 8453}',
    'expected valid JSON: names and texts in double quotes, no comma after the last, and no field `__proto__` or `constructor`',
  ],
])('a body that is %s is refused with what is expected', async (_, payload, message) => {
  const sent = payload !== undefined && { payload, headers: { 'content-type': 'application/json' } }
  const { status, error } = await api.send({ method: 'POST', url: '/v1/tx/hedge/deposit', ...sent })
  expect([status, error?.details]).toEqual([400, [{ path: 'body', message }]])
})

test('another content type is a 415 that names the one to send and the one that was sent', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status, error } = await api.send({
    method: 'POST',
    url: '/v1/tx/hedge/deposit',
    payload: 'chainId=1',
    headers,
  })
  const message = 'expected JSON with the header content-type: application/json, got application/x-www-form-urlencoded'
  expect([status, error?.details]).toEqual([415, [{ path: 'body', message }]])
})

describe('an error links to the section of the guide about its code', () => {
  test.each([
    ['GET', '/v1/hedge/positions?chanId=1', 'validation_error'],
    ['GET', '/v1/hedge/events/8453/nothing/of/it', 'not_found'],
    ['GET', '/v1/hedge/events/8453/%zz', 'validation_error'],
    ['GET', '/nothing', 'not_found'],
    ['GET', '/v1/hedge/events/8453/1', 'service_unavailable'],
    ['GET', '/v1/me', 'unauthorized'],
    ['POST', '/v1/tx/hedge/deposit', 'validation_error'],
  ] as const)('%s %s: %s', async (method, url, code) => {
    const { error, headers } = await api.send({ method, url })
    expect(error?.code).toBe(code)
    const [, target = '', rel] = /^<(.*)>; (.*)$/.exec(String(headers.link)) ?? []
    expect(rel).toBe('rel="help"')
    // A proxy may serve the API below a path.
    for (const base of ['https://api.example', 'https://example.com/fx/api'])
      expect(new URL(target, `${base}${url}`).href).toBe(`${base}/v1/docs/guide/errors#${code}`)
    const { payload } = await api.app.inject('/v1/docs/guide/errors')
    expect(payload).toContain(`id="${code}"`)
  })
})
