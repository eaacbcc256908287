import { describe, expect, test } from 'vitest'
import { PathInteger } from '../../../src/protocol/fields/request-fields.ts'
import { ChangesBody, ChangesQuery, ChangesStreamQuery } from '../../../src/reads/feeds/changes.ts'
import { SettlementsQuery, StreamQuery } from '../../../src/reads/feeds/settlements.ts'
import { DepositsQuery, EventsQuery, listOf, PositionsQuery } from '../../../src/reads/lists/query.ts'
import { BalancesQuery } from '../../../src/reads/portfolio/balances-records.ts'
import { PortfolioBody, PortfolioQuery } from '../../../src/reads/portfolio/records.ts'
import { walletOf } from '../../support/seed-index.ts'

/* What requests of lists may say, on both sides of every bound. */

const many = (count: number, item: (at: number) => string | number = (at) => at): string =>
  Array.from({ length: count }, (_, at) => item(at)).join()

type Schema = { safeParse(value: unknown): { readonly success: boolean; readonly data?: unknown } }

const accepts = (schema: Schema, fields: object): boolean => schema.safeParse(fields).success

const lists = { EventsQuery, DepositsQuery, PositionsQuery }

describe.each(Object.entries(lists))('%s', (_, schema) => {
  test.each<[string, string, string]>([
    ['limit', '1', '0'],
    ['limit', '200', '201'],
    ['limit', '50', '050x'],
    ['format', 'csv', 'CSV'],
    ['order', 'asc', 'ascending'],
    ['count', 'true', '1'],
    ['finality', 'safe', 'unsafe'],
    ['include', 'stats,range', 'stats,ranges'],
    ['chainId', '8453,56', '8453,1'],
    ['chainId', many(32, () => 56), many(33, () => 56)],
    ['ids', many(200), many(201)],
    ['ids', '0', ''],
    ['ids', '1,2', '1,,2'],
  ])('%s may be %s and not %s', (name, good, bad) => {
    expect(accepts(schema, { [name]: good })).toBe(true)
    expect(accepts(schema, { [name]: bad })).toBe(false)
  })
})

test.each(Object.entries(lists))(
  '%s takes more rows for CSV, and names their limit among other faults',
  (_, schema) => {
    const faultsOf = (fields: object) => schema.safeParse(fields).error?.issues.map(({ path }) => path.join('.'))
    expect(faultsOf({ format: 'csv', limit: '100000' })).toBeUndefined()
    expect(faultsOf({ format: 'csv', limit: '100001' })).toEqual(['limit'])
    expect(faultsOf({ format: 'json', limit: '201', order: 'up' })?.sort()).toEqual(['limit', 'order'])
  },
)

test.each<[string, Schema, string, unknown, unknown]>([
  ['wallets of positions', PositionsQuery, 'wallet', many(100, walletOf), many(101, walletOf)],
  ['wallets of deposits', DepositsQuery, 'wallet', many(100, walletOf), many(101, walletOf)],
  ['creators', EventsQuery, 'creator', many(100, walletOf), many(101, walletOf)],
  ['wallets of settlements', SettlementsQuery, 'wallet', many(100, walletOf), many(101, walletOf)],
  ['a pair', EventsQuery, 'underlying', 'x'.repeat(100), 'x'.repeat(101)],
  ['a pair that is empty', EventsQuery, 'underlying', 'x', ''],
  ['a symbol', EventsQuery, 'symbol', 'x'.repeat(32), 'x'.repeat(33)],
  ['a symbol that is empty', EventsQuery, 'symbol', 'x', ''],
  ['a state', EventsQuery, 'state', 'triggered', 'active'],
  ['a sort', EventsQuery, 'sort', 'expiry', 'id'],
  ['a flag', PositionsQuery, 'claimed', 'false', 'no'],
  ['settlements on a page', SettlementsQuery, 'limit', '200', '201'],
  ['events of settlements', SettlementsQuery, 'eventIds', many(200), many(201)],
  ['events of a stream', StreamQuery, 'eventIds', many(200), many(201)],
  ['the digits of an event', SettlementsQuery, 'eventIds', '9'.repeat(15), '9'.repeat(16)],
  ['the position of settlements', SettlementsQuery, 'since', '9007199254740991', '9007199254740992'],
  ['the position `now`', SettlementsQuery, 'since', 'now', 'later'],
  ['the last event of settlements', StreamQuery, 'lastEventId', '0', 'now'],
  ['changes on a page', ChangesQuery, 'limit', '1000', '1001'],
  ['the position of changes', ChangesQuery, 'since', '.0', '0'],
  ['the last event of changes', ChangesStreamQuery, 'lastEventId', 'ab.1', 'now'],
  ['the types of changes', ChangesQuery, 'types', 'wallet,event,protocol', 'wallet,event,protocol,wallet'],
  ['a type of changes', ChangesQuery, 'types', 'protocol', 'position'],
  ['changes by a body', ChangesBody, 'limit', 1_000, 1_001],
  ['no changes by a body', ChangesBody, 'limit', 1, 0],
  ['wallets of changes', ChangesBody, 'wallets', many(1_000, walletOf).split(','), many(1_001, walletOf).split(',')],
  ['one wallet of changes', ChangesBody, 'wallets', [walletOf(1)], []],
  ['events of changes', ChangesBody, 'eventIds', Array.from(Array(1_000).keys()), Array.from(Array(1_001).keys())],
  ['one event of changes', ChangesBody, 'eventIds', [0], []],
  ['an event of changes', ChangesBody, 'eventIds', [1], [-1]],
  ['chains of balances', BalancesQuery, 'chainId', '56,8453', '56,8453,'],
  ['the state of a portfolio', PortfolioQuery, 'state', 'all', 'open'],
  ['what a portfolio includes', PortfolioQuery, 'include', 'event,value,stale-value,balances', 'stats'],
])('%s have a bound', (_, schema, name, good, bad) => {
  expect(accepts(schema, { [name]: good })).toBe(true)
  expect(accepts(schema, { [name]: bad })).toBe(false)
})

test('portfolios are of 1 to 100 wallets and of known chains', () => {
  const wallets = (count: number) => many(count, walletOf).split(',')
  expect(accepts(PortfolioBody, { wallets: wallets(100) })).toBe(true)
  expect(accepts(PortfolioBody, { wallets: wallets(101) })).toBe(false)
  expect(accepts(PortfolioBody, { wallets: [] })).toBe(false)
  expect(accepts(PortfolioBody, {})).toBe(false)
  expect(accepts(PortfolioBody, { wallets: wallets(1), chainIds: [56] })).toBe(true)
  expect(accepts(PortfolioBody, { wallets: wallets(1), chainIds: [] })).toBe(false)
  expect(accepts(PortfolioBody, { wallets: wallets(1), chainIds: [1] })).toBe(false)
  expect(accepts(PortfolioBody, { wallets: wallets(1), more: 1 })).toBe(false)
})

test('a fixed value that is named twice counts once', () => {
  expect(PositionsQuery.parse({ include: 'payout,event,payout' }).include).toEqual(['payout', 'event'])
})

test('values are decoded in their order, and the limits of pages have their defaults', () => {
  expect(PositionsQuery.parse({ ids: '7,0,7', claimed: 'true', claimable: 'false' })).toEqual({
    ...{ ids: [7, 0, 7], claimed: true, claimable: false },
  })
  expect(EventsQuery.parse({ expiryFrom: '0', capacityFrom: '5' })).toEqual({ expiryFrom: 0, capacityFrom: 5n })
  expect(SettlementsQuery.parse({ since: '7', eventIds: '3,1', chainId: '56' })).toEqual({
    ...{ since: 7, eventIds: [3n, 1n], chainId: 56, limit: 50 },
  })
  expect(SettlementsQuery.parse({ since: 'now', lastEventId: '8' })).toEqual({
    since: 'now',
    lastEventId: 8,
    limit: 50,
  })
  expect(ChangesQuery.parse({ since: 'ab.7', lastEventId: '.8' })).toEqual({
    ...{ since: { epoch: 'ab', seq: 7 }, lastEventId: { epoch: '', seq: 8 }, limit: 100 },
  })
  expect(ChangesQuery.parse({ since: 'now' })).toEqual({ since: 'now', limit: 100 })
  expect(ChangesBody.parse({})).toEqual({ limit: 100 })
})

test('a list with too many values names its bound, and one with a wrong value what is expected', () => {
  const Three = listOf(PathInteger, 3)
  const messageOf = (text: string) => Three.safeParse(text).error?.issues[0]?.message
  expect(messageOf('1,2,3')).toBeUndefined()
  expect(messageOf('1,2,3,4')).toBe('expected at most 3 values')
  expect(messageOf('x,2,3,4')).toBe('expected at most 3 values')
  expect(messageOf('1,x,3')).toContain('expected')
})
