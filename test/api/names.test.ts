import { expect, test } from 'vitest'
import { meantName } from '../../src/api/names.ts'

const lists = ['chainId', 'limit', 'cursor', 'order', 'sort', 'include', 'state', 'underlying', 'creator', 'expiryFrom']
const quote = ['pair', 'strike', 'payoutCap', 'expiryUnixSeconds', 'notional', 'strikeAbove', 'chainId']
const buying = ['chainId', 'from', 'eventId', 'notional', 'maxCostBps', 'deadlineSeconds']

test.each([
  [lists, 'pair', 'underlying'],
  [lists, 'chain_id', 'chainId'],
  [lists, 'network', 'chainId'],
  [lists, 'pageSize', 'limit'],
  [lists, 'offset', 'cursor'],
  [lists, 'status', 'state'],
  [lists, 'wallet', 'creator'],
  [quote, 'underlying', 'pair'],
  [quote, 'expiry', 'expiryUnixSeconds'],
  [quote, 'direction', 'strikeAbove'],
  [quote, 'cap', 'payoutCap'],
  [buying, 'wallet', 'from'],
  [buying, 'amount', 'notional'],
  [buying, 'slippage', 'maxCostBps'],
  [buying, 'eventID', 'eventId'],
])('of %j, %s means %s', (known, name, meant) => expect(meantName(name, known)).toBe(meant))

test.each(['something', 'memo', 'x'.repeat(100_000), 'constructor', ''])('%.20s means none of them', (name) =>
  expect(meantName(name, [...lists, ...quote])).toBeUndefined(),
)

test.each([
  // The same letters come before a synonym, and a synonym before a name that is spelt alike.
  ['chain-ID', ['chain', 'chainId'], 'chainId'],
  ['Amount', ['notional', 'amount'], 'amount'],
  ['size', ['sizes', 'limit'], 'limit'],
  // Of several synonyms, the one that is nearest in meaning.
  ['user', ['from', 'creator', 'wallet'], 'wallet'],
  ['price', ['settlementPrice', 'hypoSettlement'], 'hypoSettlement'],
  // A word of several groups means what the request takes.
  ['size', ['limit'], 'limit'],
  ['liquidity', ['initialLiquidity'], 'initialLiquidity'],
  ['liquidity', ['initialLiquidity', 'amount'], 'amount'],
  ['curser', ['cursor', 'order'], 'cursor'],
])('%s among %j means %s', (name, known, meant) => expect(meantName(name, known)).toBe(meant))

test('a name of up to 64 characters is compared', () => {
  expect(meantName('chainId'.padStart(64, '_'), ['chainId'])).toBe('chainId')
  expect(meantName('chainId'.padStart(65, '_'), ['chainId'])).toBeUndefined()
})
