import { expect, test } from 'vitest'
import { feedRows } from '../../src/db/changes/feed.ts'
import {
  aspects,
  ofEvent,
  ofKind,
  ofWallet,
  type Touched,
  touchedByFacts,
  touchedByLedger,
  touching,
  touchingAll,
  touchingProtocol,
  union,
} from '../../src/db/changes/scopes.ts'
import { type Plan, seedDeposit, seedEvent, seedPosition, seedToken, walletOf } from '../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 5, wallets: 7, events: 3 }
const bits = ({ scopes }: Touched) => Object.fromEntries(scopes)
const withBits = (scopes: Readonly<Record<string, number>>): Touched => ({
  ...touching(),
  scopes: new Map(Object.entries(scopes)),
})
const many = (count: number): Touched => touching(...Array.from({ length: count }, (_, at) => `event:${at}`))

test('scopes are named by ids, lower-case addresses and plurals', () => {
  expect(ofEvent(7n)).toBe('event:7')
  expect(ofWallet('0xABCDEF0000000000000000000000000000000001')).toBe(
    'wallet:0xabcdef0000000000000000000000000000000001',
  )
  expect((['event', 'deposit', 'position'] as const).map(ofKind)).toEqual(['events', 'deposits', 'positions'])
  expect(aspects).toEqual({ events: 1, deposits: 2, positions: 4, claimables: 8, activity: 16 })
})

test('a union has the aspects of all parts, counts as everything if one part does, and keeps the first reset', () => {
  const [a, b] = [withBits({ 'event:1': 1, 'event:2': 2 }), withBits({ 'event:1': 4, 'event:3': 8 })]
  expect(union([a, b])).toEqual({ ...withBits({ 'event:1': 5, 'event:2': 2, 'event:3': 8 }), all: false, reset: null })
  expect(bits(a)).toEqual({ 'event:1': 1, 'event:2': 2 })
  expect(union([a, touchingAll(null)])).toMatchObject({ all: true, reset: null, scopes: a.scopes })
  expect(union([a, touchingAll('repaired'), touchingAll('rebuilt')])).toMatchObject({ all: true, reset: 'repaired' })
  expect(union([])).toEqual(touching())
})

test.each([
  [3, 3, false, null],
  [4, 3, true, 'many_changes'],
  [20_000, undefined, false, null],
  [20_001, undefined, true, 'many_changes'],
] as const)('a union of %i scopes with a limit of %s touches everything: %s', (count, most, all, reset) => {
  const found = union([many(count)], most)
  expect([found.all, found.reset, found.scopes.size]).toEqual([all, reset, all ? 0 : count])
})

test('a union of too many scopes keeps the reset of its parts', () => {
  expect(union([many(4), touchingAll('rebuilt')], 3)).toEqual(touchingAll('rebuilt'))
})

test('a fact touches its kind, its event and its owner, and a new event also the state of the protocol', () => {
  const event = touchedByFacts([seedEvent(2, plan).fact])
  const claimables = aspects.claimables
  expect(bits(event)).toEqual({
    ...{ events: 0, 'event:2': aspects.events, protocol: 0 },
    [ofWallet(walletOf(0))]: aspects.events | claimables,
  })
  expect(bits(touchedByFacts([seedDeposit(4, plan).fact]))).toEqual({
    ...{ deposits: 0, 'event:2': aspects.deposits },
    [ofWallet(walletOf(44 % 7))]: aspects.deposits | claimables,
  })
  expect(bits(touchedByFacts([seedPosition(4, plan).fact]))).toEqual({
    ...{ positions: 0, 'event:2': aspects.positions },
    [ofWallet(walletOf(52 % 7))]: aspects.positions | claimables,
  })
  // Deposits 4 and 11 are of one wallet and of the events 2 and 3.
  const both = touchedByFacts([seedDeposit(4, plan).fact, seedDeposit(11, plan).fact, seedEvent(2, plan).fact])
  expect(bits(both)).toMatchObject({ 'event:2': aspects.events | aspects.deposits, 'event:3': aspects.deposits })
  expect([both.all, both.reset]).toEqual([false, null])
})

test.each([
  [1, false],
  [2, false],
  [3, true],
])('%i facts with a limit of 4 scopes touch everything: %s', (count, all) => {
  // The kind, and an event and a wallet of each; two deposits of one event.
  const facts = [1, 4, 2].slice(0, count).map((id) => seedDeposit(id, plan).fact)
  expect(touchedByFacts(facts, 4)).toMatchObject({ all, reset: all ? 'many_changes' : null })
})

test('more facts than the limit touch everything, whatever their scopes', () => {
  const facts = [1, 1, 1, 1].map((id) => seedDeposit(id, plan).fact)
  expect(touchedByFacts(facts, 4).all).toBe(false)
  expect(touchedByFacts([...facts, ...facts.slice(0, 1)], 4)).toEqual(touchingAll('many_changes'))
})

const WALLET = '0xABCDEF0000000000000000000000000000000001'

test('a row of the ledger touches the activity of its chain, its event and its wallet, or that of the protocol', () => {
  const { activity } = aspects
  const ofWalletAlone = { activity: 0, [ofWallet(WALLET)]: activity }
  expect(bits(touchedByLedger([{ eventId: null, wallet: WALLET }]))).toEqual(ofWalletAlone)
  expect(bits(touchedByLedger([{ eventId: 0n, wallet: null }]))).toEqual({ activity: 0, 'event:0': activity })
  expect(bits(touchedByLedger([{ eventId: null, wallet: null }]))).toEqual({ activity: 0, protocol: activity })
  const rows = [7n, 8n, 7n].map((eventId) => ({ eventId, wallet: WALLET }) as const)
  const all = { ...ofWalletAlone, 'event:7': activity, 'event:8': activity }
  expect(bits(touchedByLedger(rows, 4))).toEqual(all)
  expect(touchedByLedger(rows, 3)).toEqual(touchingAll('many_changes'))
  expect(touchedByLedger([...rows, ...rows], 5)).toEqual(touchingAll('many_changes'))
  expect(touchedByLedger([])).toEqual(touching())
})

test('the feed has a row for each scope with an aspect and for the protocol, and none after a reset', () => {
  const touched = union([withBits({ 'wallet:0xab': 6, 'event:12': 1, 'event:13': 0, deposits: 0 }), touchingProtocol])
  expect(feedRows(touched)).toEqual([
    { type: 'wallet', key: '0xab', bits: 6 },
    { type: 'event', key: '12', bits: 1 },
    { type: 'protocol', key: '', bits: 0 },
  ])
  expect(feedRows({ ...touched, all: true })).toHaveLength(3)
  expect(feedRows({ ...touched, reset: 'repaired' })).toEqual([])
})
