import { inspect } from 'node:util'
import { getAddress, isHex, recoverMessageAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { openAttester } from '../../src/pricing/quotes/attest.ts'
import { attestationMessage } from '../../src/protocol/attestation.ts'
import { testKeys } from '../../src/protocol/test-keys.ts'
import { cedi, openQuoter, quotingTime } from '../support/quoter.ts'

const key = `0x${'01'.repeat(32)}`
const signer = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1'
const diamond = getAddress(`0x${'1'.repeat(40)}`)
const creator = getAddress(`0x${'2'.repeat(40)}`)
const signing = { chainId: 8453, diamondAddress: diamond, creator }

describe('signed quotes', () => {
  test('a signed quote attests the rates that it returns, for 120 seconds', async () => {
    const { quote } = await openQuoter({ key })
    const { attestation, premiumRateFixed6, breakdown } = await quote(signing)
    if (attestation === null || !isHex(attestation.signature) || !isHex(attestation.quoteNonce))
      throw new Error('unsigned')
    const message = attestationMessage({
      chainId: 8453,
      diamond,
      creator,
      underlying: 'USD/GHS',
      strike: 12_000_000n,
      payoutCap: 13_500_000n,
      premiumRate: BigInt(premiumRateFixed6),
      expiry: BigInt(cedi.expiryUnixSeconds),
      initialRate: BigInt(String(breakdown.initialRateFixed6)),
      strikeAbove: true,
      quoteTimestamp: BigInt(attestation.quoteTimestamp),
      quoteNonce: attestation.quoteNonce,
    })
    expect(await recoverMessageAddress({ message: { raw: message }, signature: attestation.signature })).toBe(signer)
    expect(attestation).toMatchObject({
      signerAddress: signer,
      quoteTimestamp: String(quotingTime / 1000 - 5),
      expiresAt: String(quotingTime / 1000 + 115),
    })
  })

  test('every signed quote has a nonce of its own', async () => {
    const { quote } = await openQuoter({ key })
    const nonces = await Promise.all(
      Array.from({ length: 50 }, async () => (await quote(signing)).attestation?.quoteNonce),
    )
    expect(new Set(nonces).size).toBe(50)
  })
})

describe('unsigned quotes', () => {
  test('a quote is not signed when no signature is requested, without a key, or on a stale history', async () => {
    const { quote } = await openQuoter({ key })
    const advisory = await openQuoter()
    const stale = { pair: 'GBP/USD', strike: 1.25, payoutCap: 1.15, strikeAbove: false }
    expect((await quote({})).attestation).toBeNull()
    expect((await advisory.quote(signing)).attestation).toBeNull()
    expect((await quote({ ...signing, ...stale })).attestation).toBeNull()
    expect((await quote(signing)).attestation).not.toBeNull()
  })
})

describe('the signing key', () => {
  test('the engine signs with the address of its key, and has no signer without a key', () => {
    expect(openAttester({ key, isProduction: true })?.address).toBe(signer)
    expect(openAttester({ key: undefined, isProduction: true })).toBeNull()
  })

  test('the digits of a key may be of either case', () => {
    const addressOf = (digits: string) => openAttester({ key: `0x${digits}`, isProduction: true })?.address
    expect(addressOf('0A'.repeat(32))).toBe(addressOf('0a'.repeat(32)))
  })

  test('a publicly known key is rejected in production, and the error does not repeat it', () => {
    for (const { privateKey, address } of testKeys().filter((_, index) => [0, 16, 19].includes(index))) {
      const open = (isProduction: boolean) => openAttester({ key: privateKey, isProduction })
      expect(open(false)?.address).toBe(address)
      expect(() => open(true)).toThrow(new RegExp(`${address}.*test key`))
      expect(() => open(true)).not.toThrow(privateKey.slice(2, 20))
    }
  })

  test.each([
    '01'.repeat(32),
    `0x${'01'.repeat(31)}`,
    `0x${'01'.repeat(31)}zz`,
    `0x${'00'.repeat(32)}`,
    `0x${'ff'.repeat(32)}`,
  ])('an invalid key is rejected, and the error does not repeat it: %s', (bad) => {
    const open = () => openAttester({ key: bad, isProduction: false })
    expect(open).toThrow('signing key')
    expect(open).not.toThrow(bad.slice(2, 20))
  })

  test('an attester does not expose its key', () => {
    const attester = openAttester({ key, isProduction: false })
    expect(inspect(attester, { depth: 9, showHidden: true })).not.toContain('0101')
    expect(JSON.stringify(attester)).not.toContain('0101')
  })
})
