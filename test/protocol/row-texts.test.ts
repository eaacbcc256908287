import { expect, test } from 'vitest'
import {
  nextFormat,
  positionInclusions,
  renderKeyOf,
  rowText,
  shownBy,
  showsValues,
  summaryTexts,
  withInclusions,
} from '../../src/protocol/rows.ts'
import { seedDeployment } from '../support/seed-index.ts'

const address = '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'

test.each([
  [undefined, false],
  [['stats', 'payout'], false],
  [['value'], true],
  [['stale-value'], true],
])('rows with %j show values: %s', (include, shows) => {
  expect(showsValues(include)).toBe(shows)
})

test('each kind shows its own inclusions', () => {
  const event = ['stats', 'utilization', 'range']
  expect(shownBy('event', positionInclusions)).toEqual(event)
  expect(shownBy('deposit', positionInclusions)).toEqual([...event, 'event'])
  expect(shownBy('position', positionInclusions)).toEqual(positionInclusions)
})

test('a row has its creation and the token of its amounts', () => {
  const token = { token: address, symbol: 'USDC', decimals: 6 } as const
  const text = rowText({ id: 1 }, { chainId: 8453, blockNumber: 9n, txHash: '0x5f' }, token)
  expect(JSON.parse(text)).toEqual({ id: 1, chainId: 8453, createdBlock: 9, createdTx: '0x5f', ...token })
})

test('inclusions are added once, in the given order, and a stale value under the name of the value', () => {
  const texts = positionInclusions.map((_, at) => `${at}`)
  const of = (...include: (typeof positionInclusions)[number][]) => withInclusions('{"id":1}', () => texts, include)
  expect(of('range')).toBe('{"id":1,"range":2}')
  expect(of('payout', 'stats', 'payout')).toBe('{"id":1,"payout":5,"stats":0}')
  expect(of('stale-value', 'value')).toBe('{"id":1,"value":4}')
  const unread = () => {
    throw new Error('read')
  }
  expect(withInclusions('{"id":1}', unread, [])).toBe('{"id":1}')
})

test('the summary of an open event is open before its expiry, by the time of its block', () => {
  const core = {
    ...{
      id: 1n,
      creator: address,
      name: 'Cedi',
      underlying: 'usd/ghs',
      strike: 12n,
      premiumRate: 1n,
      initialRate: 11n,
    },
    ...{ expiryDate: 100n, strikeAbove: true, poolOpen: true, allowExternalLp: true, status: 0 },
  } as const
  const views = {
    core,
    range: { strike: 12n, payoutCap: 13n, initialRate: 11n, strikeAbove: true },
    paymentToken: address,
    stats: { settledAt: 0n, triggered: false, settlementPrice: 0n },
  }
  const stateAt = (time: bigint) => JSON.parse(summaryTexts({ ...views, time } as never)[0] ?? '').state
  expect([stateAt(99n), stateAt(100n)]).toEqual(['open', 'expired'])
})

test('a render key depends on the profile and the tokens, and is below all keys of the next format', () => {
  const deployment = seedDeployment(8453)
  const other = deployment.profile === 'reference' ? 'deployed' : 'reference'
  const key = renderKeyOf(deployment, 2)
  expect(renderKeyOf({ ...deployment }, 2)).toBe(key)
  expect(renderKeyOf({ ...deployment, profile: other }, 2)).not.toBe(key)
  expect(renderKeyOf({ ...deployment, usdc: `0x${'2'.repeat(40)}` }, 2)).not.toBe(key)
  expect(nextFormat(key)).toBe(3n << 47n)
  expect(key >> 47n).toBe(2n)
  expect(renderKeyOf(deployment, 3)).toBeGreaterThanOrEqual(nextFormat(key))
  expect(renderKeyOf(deployment, 65_535)).toBeLessThan(2n ** 63n)
})
