import { readFile } from 'node:fs/promises'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

/* The script that fills the form of an operation with values of the service, with the few elements that it uses. */

const SCRIPT = await readFile('src/api/pages/assets/live.js', 'utf8')

/** The time of the newest block, which is later than that of this machine. */
const NOW = 4_000_000_000
const DAY = 86_400

type Form = { readonly body?: object; readonly fields?: readonly string[] }

type Lists = Readonly<Record<string, readonly object[]>>

/** Opens the form of a path. A list is the rows of the first of `lists` that its URL contains. */
const open = async (path: string, { body, fields = [] }: Form, lists: Lists, isTouched = false) => {
  const text = body && JSON.stringify(body)
  const area = text === undefined ? null : { value: text, defaultValue: text }
  const inputs = fields.map((name) => ({ name, value: 'recorded' as unknown }))
  const asked: string[] = []
  const form = {
    dataset: { path },
    querySelector: () => area,
    querySelectorAll: () => inputs,
    addEventListener: (_: 'input', touch: () => void) => isTouched && touch(),
  }
  const fetch = async ({ pathname, search }: URL) => {
    asked.push(pathname + search)
    const [, rows] = Object.entries(lists).find(([part]) => `${pathname}${search}`.includes(part)) ?? []
    if (rows === undefined) throw new Error('the index is out of reach')
    return Response.json({ data: rows, meta: { asOf: [{ blockTimestamp: NOW }] } })
  }
  const location = new URL('http://service/api/v1/docs/operations/getThing')
  runInNewContext(SCRIPT, { document: { querySelector: () => form }, location, fetch, URL, Date, BigInt })
  // Each answer takes some turns of the event loop.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  return { asked, body: area && JSON.parse(area.value), fields: inputs.map(({ value }) => value) }
}

const event = {
  ...{ chainId: 56, id: 9, creator: '0xc', allowExternalLp: true, decimals: 18, premiumRate: '29000' },
  ...{ strike: '19200000', payoutCap: '21000000' },
}
const purchase = { chainId: 8453, from: '0x1', eventId: 3, notional: '1', maxCost: '2', deadline: '5' }

test('a purchase is of an open event that anyone can use, by a wallet that bought from it, and can be sent for a day', async () => {
  const rows = [{ ...event, allowExternalLp: false }, { ...event, decimals: null }, event]
  const { asked, body } = await open(
    '/v1/tx/hedge/buy-protection',
    { body: purchase },
    {
      ...{ 'events?state=open&poolOpen=true': rows, 'positions?chainId=56&eventId=9': [{ hedger: '0xa' }] },
    },
  )
  expect(body).toEqual({
    ...{ chainId: 56, from: '0xa', eventId: 9, notional: `1000${'0'.repeat(18)}` },
    // 29 of premium, and a tenth of it for the fee.
    ...{ maxCost: '31900000000000000000', deadline: String(NOW + DAY) },
  })
  expect(asked[0]).toMatch(/^\/api\/v1\/hedge\/events\?/)
})

test('a purchase without a wallet that bought before is not simulated', async () => {
  const { body } = await open(
    '/v1/tx/hedge/buy-protection',
    { body: purchase },
    { 'events?': [event], 'positions?': [] },
  )
  expect(body).toEqual({ ...body, eventId: 9 })
  expect(body).not.toHaveProperty('from')
})

test.each([
  ['the index is out of reach', {}, false],
  ['no event is open', { 'events?': [] }, false],
  ['the reader changed the form', { 'events?': [event], 'positions?': [] }, true],
])('the values stay where %s', async (_, lists, isTouched) => {
  const form = { body: purchase, fields: ['id'] }
  const { body, fields } = await open('/v1/tx/hedge/buy-protection', form, lists, isTouched)
  expect([body, fields]).toEqual([purchase, ['recorded']])
})

const open9 = { chainId: 56, id: 8, lp: '0xb', event: { state: 'open' } }
const settled9 = { chainId: 56, id: 7, lp: '0xd', event: { state: 'triggered' } }

test.each([
  [
    '/v1/plans/deposit',
    { eventId: 3, amount: '1', from: '0x1' },
    { eventId: 9, amount: `1000${'0'.repeat(18)}`, from: '0xb' },
  ],
  ['/v1/plans/withdraw-creator-earnings', { eventId: 3, from: '0x1' }, { eventId: 9, from: '0xc' }],
  ['/v1/plans/set-pool-settings', { eventId: 3, poolOpen: false }, { eventId: 9, poolOpen: false }],
  [
    '/v1/plans/create-event',
    { quote: { pair: 'a', expiryUnixSeconds: 1 } },
    { quote: { pair: 'a', expiryUnixSeconds: NOW + 90 * DAY } },
  ],
  ['/v1/tx/hedge/create-event', { expiry: '1', strike: '2' }, { expiry: String(NOW + 90 * DAY), strike: '2' }],
  ['/v1/pricing/quote', { expiryUnixSeconds: 1 }, { expiryUnixSeconds: NOW + 90 * DAY }],
  ['/v1/plans/submit-rate', { eventId: 4, price: '1' }, { eventId: 9, price: '19200000' }],
  ['/v1/plans/claim-payout', { positionId: 2, from: '0x1' }, { positionId: 5, from: '0xa' }],
  ['/v1/plans/claim-premiums', { depositId: 2, from: '0x1' }, { depositId: 8, from: '0xb' }],
  ['/v1/plans/withdraw-capital', { depositId: 2, from: '0x1' }, { depositId: 7, from: '0xd' }],
  ['/v1/plans/claim-all', { from: '0x1' }, { from: '0xb' }],
  ['/v1/changes', { wallets: ['0x1'] }, { wallets: ['0xa'] }],
  ['/v1/tx/hedge/pause', { from: '0x1' }, { from: '0x1' }],
])('the body of %s is of a fitting record', async (path, recorded, filled) => {
  const deposits = [open9, settled9]
  const positions = [{ chainId: 56, id: 5, hedger: '0xa' }]
  const { body } = await open(
    path,
    { body: recorded },
    { 'events?': [event], 'deposits?': deposits, 'positions?': positions },
  )
  expect(body).toEqual(filled)
})

test.each([
  ['/v1/hedge/events/{chainId}/{id}', ['chainId', 'id'], [56, 9]],
  ['/v1/oracle/submissions/{chainId}/{eventId}', ['chainId', 'eventId'], [56, 9]],
  ['/v1/hedge/quote-payout/{chainId}/{id}', ['id', 'hypoSettlement'], [9, '21000000']],
  ['/v1/hedge/positions/{chainId}/{id}', ['chainId', 'id'], [56, 5]],
  ['/v1/hedge/positions/{chainId}/wallet/{addr}', ['addr'], ['0xa']],
  ['/v1/hedge/deposits/{chainId}/wallet/{addr}', ['addr'], ['0xb']],
  ['/v1/hedge/creators/{chainId}/wallet/{addr}', ['addr'], ['0xc']],
  ['/v1/transactions/{chainId}/{hash}', ['hash'], ['0xe']],
  ['/v1/hedge/events', ['limit'], ['recorded']],
])('the required fields of %s are of the newest record', async (path, fields, values) => {
  const positions = [{ chainId: 56, id: 5, hedger: '0xa', createdTx: '0xe' }]
  const lists = { 'events?': [event], 'deposits?': [open9], 'positions?': positions }
  expect((await open(path, { fields }, lists)).fields).toEqual(values)
})
