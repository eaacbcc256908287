import { zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { Attestation, MAX_RANGES, QuoteRequest, Values, ValuesRequest } from '../../src/pricing/messages.ts'

const request = {
  ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, expiryUnixSeconds: 1_800_000_000, notional: 10_000 },
  strikeAbove: true,
}
const target = { chainId: 8453, diamondAddress: `0x${'1'.repeat(40)}`, creator: `0x${'2'.repeat(40)}` }

/** The paths of the faults of a value; none for a valid one. */
const faultsOf = (
  schema: {
    safeParse(value: unknown): { error?: { issues: readonly { path: readonly PropertyKey[] }[] } | undefined }
  },
  value: unknown,
): readonly string[] => schema.safeParse(value).error?.issues.map(({ path }) => path.join('.')) ?? []

describe('a request for a quote', () => {
  it.each([
    [{}, []],
    [{ strike: 1e-6 }, []],
    [{ strike: 9e-7 }, ['strike']],
    [{ notional: 1e9 }, []],
    [{ notional: 1e9 + 1 }, ['notional']],
    [{ pair: 'USD/USD' }, ['pair']],
    [{ pair: 'usd/ghs' }, ['pair']],
    [{ pair: 'USD/GHSX' }, ['pair']],
    [{ expiryUnixSeconds: 0 }, ['expiryUnixSeconds']],
    [{ other: 1 }, ['']],
    [target, []],
    [{ ...target, creator: zeroAddress }, ['creator']],
    [{ chainId: 8453 }, ['diamondAddress', 'creator']],
    [{ creator: target.creator }, ['chainId', 'diamondAddress']],
    [{ chainId: 8453, creator: target.creator }, ['diamondAddress']],
    [{ diamondAddress: target.diamondAddress, creator: target.creator }, ['chainId']],
  ])('with %j has faults in %j', (changes, paths) => {
    expect(faultsOf(QuoteRequest, { ...request, ...changes })).toEqual(paths)
  })
})

describe('a request for values', () => {
  const range = {
    ...{ pair: 'USD/GHS', strike: '12000000', payoutCap: '0', initialRate: '11400000', strikeAbove: true },
    expiryUnixSeconds: 1_800_000_000,
  }
  it.each([
    [{}, []],
    [{ strike: '9'.repeat(15) }, []],
    [{ strike: '9'.repeat(16) }, ['ranges.0.strike']],
    [{ strike: '0' }, ['ranges.0.strike']],
    [{ initialRate: '0' }, ['ranges.0.initialRate']],
    [{ strike: '012' }, ['ranges.0.strike']],
    [{ expiryUnixSeconds: 0 }, ['ranges.0.expiryUnixSeconds']],
  ])('of a range with %j has faults in %j', (changes, paths) => {
    expect(faultsOf(ValuesRequest, { ranges: [{ ...range, ...changes }] })).toEqual(paths)
  })

  it('has at least one range and at most as many as a page has rows', () => {
    const of = (length: number) => faultsOf(ValuesRequest, { ranges: Array.from({ length }, () => range) })
    expect(MAX_RANGES).toBe(200)
    expect([of(0), of(1), of(MAX_RANGES), of(MAX_RANGES + 1)]).toEqual([['ranges'], [], [], ['ranges']])
  })
})

describe('an answer of an engine', () => {
  const value = { spotFixed6: '1', spotDate: '2026-11-20', stale: false, synthetic: false, usdRateFallback: false }
  it.each([
    [0, true],
    [1e15, true],
    [1e15 + 1, false],
    [-1e-9, false],
  ])('with the value %d is accepted: %s', (rate, isValid) => {
    expect(Values.safeParse({ asOf: 1, values: [{ ...value, rate }] }).success).toBe(isValid)
  })

  it('has a signature of 65 bytes and a nonce of 32', () => {
    const attestation = {
      ...{ signature: `0x${'ab'.repeat(65)}`, quoteNonce: `0x${'cd'.repeat(32)}`, signerAddress: target.creator },
      ...{ quoteTimestamp: '1', expiresAt: '121' },
    }
    expect(faultsOf(Attestation, attestation)).toEqual([])
    expect(faultsOf(Attestation, { ...attestation, signature: `0x${'ab'.repeat(64)}` })).toEqual(['signature'])
    expect(faultsOf(Attestation, { ...attestation, quoteNonce: `0x${'cd'.repeat(31)}` })).toEqual(['quoteNonce'])
  })
})
