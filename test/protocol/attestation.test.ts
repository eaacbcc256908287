import { type Hex, hashMessage, recoverMessageAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { type AttestedQuote, attestationMessage, recoverAttester } from '../../src/protocol/attestation.ts'

/** The digest from which the signer of a signature is recovered. */
const attestationDigest = (quote: AttestedQuote): Hex => hashMessage({ raw: attestationMessage(quote) })

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)

const quote: AttestedQuote = {
  chainId: 8453,
  diamond: '0x1111111111111111111111111111111111111111',
  creator: '0x2222222222222222222222222222222222222222',
  underlying: 'USD/GHS',
  strike: 11_000_000n,
  payoutCap: 12_000_000n,
  premiumRate: 25_000n,
  expiry: 1_800_000_000n,
  initialRate: 10_000_000n,
  strikeAbove: true,
  quoteTimestamp: 1_790_000_000n,
  quoteNonce: `0x${'33'.repeat(32)}`,
}

test('message, digest and signature equal the published vectors', async () => {
  const message = attestationMessage(quote)
  expect(message).toBe('0x04c73d7e86c30f256c7100b8c6d4ae54f3939328ce806fb7394e9d106e22a387')
  expect(attestationDigest(quote)).toBe('0xb965637ba7a65906b2776aae2bc29c98a17041c7f8b7c283747de3439dd11158')
  const signature = await account.signMessage({ message: { raw: message } })
  expect(signature).toBe(
    '0xfc635abaada948a41714476f8a20050615a5e75c049e4298ea073cb2c7f2b4530ba7db538bc1183abe03c1a87cf1211f39fc4f7457e367c83f289366496d3ec71c',
  )
  expect(await recoverMessageAddress({ message: { raw: message }, signature })).toBe(account.address)
})

test.each([
  { chainId: 56 },
  { diamond: quote.creator },
  { creator: quote.diamond },
  { underlying: 'GHS/USD' },
  { strike: 11_000_001n },
  { payoutCap: 12_000_001n },
  { premiumRate: 24_999n },
  { expiry: 1_800_000_001n },
  { initialRate: 10_000_001n },
  { strikeAbove: false },
  { quoteTimestamp: 1_790_000_001n },
  { quoteNonce: `0x${'34'.repeat(32)}` },
] satisfies Partial<AttestedQuote>[])('a change of %o changes the digest', (change) => {
  expect(attestationDigest({ ...quote, ...change })).not.toBe(attestationDigest(quote))
})

describe('the signer of a quote', () => {
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const parts = async () => {
    const signature = await account.signMessage({ message: { raw: attestationMessage(quote) } })
    const [r, s, v] = [
      signature.slice(2, 66),
      BigInt(`0x${signature.slice(66, 130)}`),
      Number(`0x${signature.slice(130)}`),
    ]
    return { r, s, v }
  }
  const join = (r: string, s: bigint, v: number): Hex =>
    `0x${r}${s.toString(16).padStart(64, '0')}${v.toString(16).padStart(2, '0')}`

  test('is the one who signed it', async () => {
    const { r, s, v } = await parts()
    expect(await recoverAttester(quote, join(r, s, v))).toBe(account.address)
  })

  test('is not recovered from the second form of a signature, nor from one with another last byte', async () => {
    const { r, s, v } = await parts()
    expect(await recoverAttester(quote, join(r, ORDER - s, 55 - v))).toBeNull()
    for (const other of [v - 27, 26, 29]) expect(await recoverAttester(quote, join(r, s, other))).toBeNull()
    expect(await recoverAttester(quote, join('0'.repeat(64), 0n, 27))).toBeNull()
  })
})
