import { randomBytes } from 'node:crypto'
import { verifyWebhook, WebhookError } from 'fx-protection-client'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/webhooks/signature.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const other = `whsec_${randomBytes(32).toString('base64')}`
const id = 'settlement.settled.7'
const at = new Date('2026-11-24T10:00:00.000Z')
const data = { seq: 7, type: 'settled', chainId: 8453, eventId: 3, settlementPrice: '12500000' }
const body = JSON.stringify({ type: 'settlement.settled', timestamp: at.toISOString(), cursor: '7', data })
const headers = sign({ id, body }, [secret], at)

const verify = (given: Partial<Parameters<typeof verifyWebhook>[0]> = {}) =>
  verifyWebhook({ body, headers, secrets: [secret], now: () => at.getTime(), ...given })

const codeOf = (given: Parameters<typeof verify>[0]) =>
  verify(given).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )

describe('a message is accepted', () => {
  test('as the service signs it, with amounts as bigint', async () => {
    expect(await verify()).toEqual({
      ...{ id, type: 'settlement.settled', timestamp: at, cursor: '7' },
      data: { ...data, settlementPrice: 12_500_000n },
    })
  })

  test('as the reference implementation signs it', async () => {
    const signature = new Webhook(secret).sign(id, at, body)
    expect(await codeOf({ headers: { ...headers, 'webhook-signature': signature } })).toBe('accepted')
  })

  test('with headers of fetch, in capitals, and with a body of bytes', async () => {
    expect(await codeOf({ headers: new Headers({ ...headers }) })).toBe('accepted')
    const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    expect(await codeOf({ headers: capitals, body: Buffer.from(body) })).toBe('accepted')
  })

  test('during a rotation, with either secret and next to signatures of other versions', async () => {
    const both = sign({ id, body }, [other, secret], at)
    expect(await codeOf({ headers: both })).toBe('accepted')
    expect(await codeOf({ headers: both, secrets: [other] })).toBe('accepted')
    expect(await codeOf({ secrets: [other, secret] })).toBe('accepted')
    const mixed = `v1a,abc v2,${'A'.repeat(43)}= ${headers['webhook-signature']}`
    expect(await codeOf({ headers: { ...headers, 'webhook-signature': mixed } })).toBe('accepted')
  })
})

test('of the signatures of one message, the first twenty are compared', async () => {
  const others = (count: number) => Array.from({ length: count }, () => `v1,${'A'.repeat(43)}=`)
  const after = (count: number) =>
    codeOf({ headers: { ...headers, 'webhook-signature': [...others(count), headers['webhook-signature']].join(' ') } })
  expect([await after(19), await after(20)]).toEqual(['accepted', 'no_matching_signature'])
})

test('without a clock and a tolerance, a message of the last five minutes is accepted', async () => {
  const ago = async (seconds: number) => {
    const sent = new Date(Date.now() - seconds * 1_000)
    return verifyWebhook({ body, headers: sign({ id, body }, [secret], sent), secrets: [secret] }).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    )
  }
  expect([await ago(0), await ago(290), await ago(310)]).toEqual(['accepted', 'accepted', 'timestamp_out_of_range'])
  expect(await codeOf({ toleranceSeconds: 0 })).toBe('accepted')
  expect(await codeOf({ toleranceSeconds: 0, now: () => at.getTime() + 1 })).toBe('timestamp_out_of_range')
})

describe('a message is refused', () => {
  test('when one character of its body, id or time differs', async () => {
    for (let place = 0; place < body.length; place += 1) {
      const changed = `${body.slice(0, place)}${body[place] === 'x' ? 'y' : 'x'}${body.slice(place + 1)}`
      expect([place, await codeOf({ body: changed })]).toEqual([place, 'no_matching_signature'])
    }
    expect(await codeOf({ headers: { ...headers, 'webhook-id': 'settlement.settled.8' } })).toBe(
      'no_matching_signature',
    )
    const later = String(Number(headers['webhook-timestamp']) + 1)
    expect(await codeOf({ headers: { ...headers, 'webhook-timestamp': later } })).toBe('no_matching_signature')
  })

  test('when its signature is another, shorter, or of another version', async () => {
    const [, base64 = ''] = headers['webhook-signature'].split(',')
    for (const signature of [`v1,${base64.slice(1)}`, `v1a,${base64}`, base64, `v1,${'A'.repeat(43)}=`, 'v1,'])
      expect(await codeOf({ headers: { ...headers, 'webhook-signature': signature } })).toBe('no_matching_signature')
    expect(await codeOf({ secrets: [other] })).toBe('no_matching_signature')
  })

  test('when a header is missing or empty', async () => {
    for (const name of Object.keys(headers))
      for (const value of [undefined, ''])
        expect(await codeOf({ headers: { ...headers, [name]: value } })).toBe('missing_header')
  })

  test('when it is older or newer than the tolerance', async () => {
    for (const [seconds, expected] of [
      [300, 'accepted'],
      [-300, 'accepted'],
      [301, 'timestamp_out_of_range'],
      [-301, 'timestamp_out_of_range'],
    ] as const)
      expect([seconds, await codeOf({ now: () => at.getTime() + seconds * 1_000 })]).toEqual([seconds, expected])
    // The number that a text stands for is not enough: it is signed as it is written.
    const seconds = headers['webhook-timestamp']
    for (const timestamp of ['now', `${seconds}.0`, `+${seconds}`, `000${seconds}`])
      expect(await codeOf({ headers: { ...headers, 'webhook-timestamp': timestamp } })).toBe('timestamp_out_of_range')
  })

  test('when a secret is not one', async () => {
    for (const wrong of ['whsec_***', 'whsec_', '']) expect(await codeOf({ secrets: [wrong] })).toBe('invalid_secret')
  })

  test('when its body is signed and is not JSON', async () => {
    const text = 'not JSON'
    expect(await codeOf({ body: text, headers: sign({ id, body: text }, [secret], at) })).toBe('invalid_body')
  })
})

describe('an error names what to pass', () => {
  const errorOf = async (given: object): Promise<WebhookError> => {
    const error = await verify(given).catch((fault: unknown) => fault)
    if (error instanceof WebhookError) return error
    throw new Error('expected a WebhookError', { cause: error })
  }

  test('when the body is parsed JSON, or there is none', async () => {
    for (const wrong of [JSON.parse(body), undefined, null, [body]]) {
      const { code, message } = await errorOf({ body: wrong })
      expect([code, message]).toEqual([
        'invalid_options',
        'body: pass the raw body, as text or bytes, not the parsed JSON',
      ])
    }
  })

  test('when the tolerance is not a number of seconds', async () => {
    for (const toleranceSeconds of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
      const { code, message } = await errorOf({ toleranceSeconds })
      expect([code, message]).toEqual([
        'invalid_options',
        `toleranceSeconds: expected a number of seconds from 0, not ${toleranceSeconds}`,
      ])
    }
  })

  test('when secrets are missing, empty, or a string', async () => {
    for (const wrong of [{ secrets: undefined, secret }, { secrets: [] }, { secrets: secret }]) {
      const { code, message } = await errorOf(wrong)
      expect([code, message]).toEqual([
        'invalid_options',
        'secrets: pass a list with at least one secret, as in `secrets: [secret]`',
      ])
    }
  })

  test('and the status to answer with: 500 for a fault of the receiver, and 400 for one of the sender', async () => {
    expect((await errorOf({ secrets: [] })).status).toBe(500)
    expect((await errorOf({ secrets: [undefined] })).status).toBe(500)
    expect((await errorOf({ secrets: ['whsec_***'] })).status).toBe(500)
    expect((await errorOf({ secrets: [other] })).status).toBe(400)
    expect((await errorOf({ headers: {} })).status).toBe(400)
  })
})
