import { expect, test } from 'vitest'
import type { Kind } from '../../../src/protocol/entities.ts'
import type { Inclusion } from '../../../src/protocol/rows.ts'
import { resourceOf } from '../../../src/reads/cache/resources.ts'
import type { ListingQuery } from '../../../src/reads/lists/query.ts'
import { chainsOf, pageResource } from '../../../src/reads/lists/resource.ts'
import { walletOf } from '../../support/seed-index.ts'

/** A query of any list, which can include what its rows can show. */
type Query = Omit<ListingQuery, 'include'> & { readonly include?: readonly Inclusion[] }

const [one, two] = [walletOf(1), walletOf(2)]
const scopeOf = (wallet: string): string => `wallet:${wallet.toLowerCase()}`

test.each<[Kind, Query, readonly string[]]>([
  ['event', {}, ['events']],
  ['event', { creator: [one, two] }, [scopeOf(one), scopeOf(two)]],
  ['event', { ids: [3, 4] }, ['event:3', 'event:4']],
  ['event', { include: ['stats'] }, ['events']],
  ['event', { creator: [one], include: ['stats'] }, [scopeOf(one)]],
  ['event', { state: 'settled' }, ['events']],
  ['event', { state: 'triggered', symbol: 'USDC' }, ['events']],
  ['deposit', {}, ['deposits']],
  ['deposit', { ids: [3] }, ['deposits']],
  ['deposit', { wallet: [one] }, [scopeOf(one)]],
  ['deposit', { wallet: [one], claimable: true }, [scopeOf(one)]],
  ['deposit', { eventId: 0 }, ['event:0']],
  ['deposit', { eventId: 5, claimable: false }, ['event:5']],
  ['deposit', { wallet: [one], eventId: 5, include: ['event'] }, [scopeOf(one), 'event:5']],
  ['position', { claimable: false }, ['positions', 'events']],
  ['position', { claimed: true }, ['positions']],
  ['position', { include: ['event'] }, ['positions', 'events']],
  ['position', { wallet: [one], include: ['payout'] }, [scopeOf(one), 'events']],
  ['position', { finality: 'latest', include: [] }, ['positions']],
])('a page of kind %s with %j depends on %j', (kind, query, scopes) => {
  expect(pageResource(kind, query as ListingQuery)).toEqual(resourceOf([8453, 56], ...scopes))
  expect(pageResource(kind, { ...query, chainId: [56] } as ListingQuery)).toEqual(resourceOf([56], ...scopes))
})

test.each<[Kind, Query]>([
  ['event', { state: 'open' }],
  ['event', { state: 'expired' }],
  ['event', { finality: 'safe' }],
  ['position', { finality: 'finalized' }],
  ['position', { include: ['value'] }],
  ['position', { include: ['event', 'stale-value'] }],
])('a page of kind %s with %j changes without a change of the index', (kind, query) => {
  expect(pageResource(kind, query as ListingQuery)).toBeNull()
})

test('the chains of a request are in the configured order, each once', () => {
  expect(chainsOf(undefined)).toEqual([8453, 56])
  expect(chainsOf([56, 8453, 56])).toEqual([8453, 56])
  expect(chainsOf([56])).toEqual([56])
  expect(chainsOf([])).toEqual([])
})

test('a resource has a key for each scope on each chain, and one for everything of the chain', () => {
  expect(resourceOf([8453, 56], 'a', 'b')).toEqual({
    ...{ chainIds: [8453, 56], keys: ['8453 *', '8453 a', '8453 b', '56 *', '56 a', '56 b'] },
  })
})
