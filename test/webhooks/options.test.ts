import { expect, test } from 'vitest'
import { pastTimeOf } from '../../src/compose/flags.ts'
import { describe } from '../../src/compose/webhooks/output.ts'
import { subscriptionOf } from '../../src/compose/webhooks/subscription.ts'

const url = 'https://example.com/hooks'
const wallets = `0x${'Ab'.repeat(20)}`
const config = { CHAINS: [8453, 56], WEBHOOKS_ALLOW_LOOPBACK: false } as const
const subscription = (flags: Readonly<Record<string, string>>) => subscriptionOf({ url, ...flags }, config)

test.each([
  [{ url: '', types: 'event.changed' }, 'url: expected a URL such as https://example.com/hooks'],
  [{ url: 'http://example.com/', types: 'event.changed' }, 'url: expected https'],
  [{}, 'types: expected one of settlement.settled'],
  [{ types: 'x' }, 'types: expected one of settlement.settled'],
  [{ types: 'event.changed', chains: '1' }, 'chains: expected one of'],
  [{ types: 'event.changed', events: '1' }, 'events: expected with one chain, such as --chains 8453'],
  [{ types: 'event.changed', events: '1', chains: '8453,56' }, 'events: expected with one chain'],
  [{ types: 'wallet.changed', wallets: '0x1' }, 'wallets: expected an address, got "0x1"'],
  [{ types: 'event.changed', wallets }, 'wallets: has no effect on event.changed: leave it out'],
  [{ types: 'wallet.changed', events: '1', chains: '8453' }, 'events: has no effect on wallet.changed: leave it out'],
  [{ types: 'wallet.changed', wallets, events: '1', chains: '8453' }, 'events: has no effect on wallet.changed'],
  [{ types: 'wallet.changed,event.changed', wallets }, 'event.changed: register an endpoint of its own for it'],
])('the options %j of an endpoint are refused with the option to change', (flags, expected) => {
  expect(() => subscription(flags)).toThrow(expected)
})

test.each(['url', 'types', 'chains', 'wallets', 'events'])(
  'control characters in the option %s are refused, and not printed',
  (name) => {
    const flags = { types: 'event.changed', chains: '8453', [name]: 'a\u001b[31m\u009b\0' }
    const given = { url, ...flags }
    expect(() => subscriptionOf(given, config)).toThrow(
      /^\w+: expected text without control characters, got "[ -~ ]*"$/,
    )
  },
)

test.each([
  [{ types: 'event.changed' }, 'everything'],
  [{ types: 'event.changed,event.changed', chains: '8453,8453', events: '1' }, 'chain 8453; event 1'],
  [{ types: 'settlement.settled,wallet.changed', wallets }, `wallet ${wallets.toLowerCase()}`],
  [{ types: 'wallet.changed,event.changed', wallets, chains: '56', events: '1,2,3,4' }, 'chain 56; wallet '],
  [
    { types: 'event.changed', chains: '56', events: '1,2,3,4' },
    'chain 56; events 1, 2, 3 and 1 more; last success never',
  ],
  [{ types: 'wallet.changed', chains: '8453,56' }, 'chains 8453, 56'],
])('the options %j of an endpoint are listed as its filters', (flags, expected) => {
  const state = {
    id: 'we_1',
    apiKey: null,
    state: 'active',
    succeededAt: null,
    failingSince: null,
    failure: null,
  } as const
  expect(describe({ ...subscription(flags), ...state })).toContain(`; ${expected}`)
})

test('an endpoint of a key is listed with its key', () => {
  const state = { id: 'we_1', state: 'active', succeededAt: null, failingSince: null, failure: null } as const
  const chosen = subscription({ types: 'event.changed' })
  const [first] = describe({ ...chosen, ...state, apiKey: 'ak_1' }).split('\n')
  expect(first).toBe(`we_1  active  ${url}  (key ak_1)`)
  expect(describe({ ...chosen, ...state, apiKey: null }).split('\n')[0]).toBe(`we_1  active  ${url}`)
})

const now = new Date('2026-11-24T08:00:00Z')

test.each([
  ...['', '1', '2026-11-20', '2026-11-20T00:00:00', '2026-02-30T00:00:00Z', '+275760-09-13T00:00:00Z'],
  ...['2019-12-31T23:59:59Z', '2026-11-24T08:00:01Z'],
])('the time %j is refused, because it is not a past time with time zone', (since) => {
  expect(() => pastTimeOf({ since }, 'since', now)).toThrow('since: expected a past ISO 8601 time with time zone')
})

test('a time with an offset is read as that moment', () => {
  expect(pastTimeOf({ since: '2026-11-24T10:00:00+02:00' }, 'since', now)).toEqual(now)
  expect(pastTimeOf({}, 'since', now)).toBeUndefined()
})

test('a list has a thousand values at most, and the earliest time is that of 2020', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => at).join()
  const events = (count: number) => subscription({ types: 'event.changed', chains: '56', events: many(count) }).eventIds
  expect(events(1_000)).toHaveLength(1_000)
  expect(() => events(1_001)).toThrow('events: expected at most 1000, got 1001')
  const earliest = '2020-01-01T00:00:00Z'
  expect(pastTimeOf({ since: earliest }, 'since', now)).toEqual(new Date(earliest))
})
