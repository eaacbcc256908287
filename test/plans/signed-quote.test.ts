import { type Hex, zeroAddress, zeroHash } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { refusalOfQuote, type SignedQuote } from '../../src/plans/rehearsal/signed-quote.ts'
import { type AttestedQuote, attestationMessage, QUOTE_VALIDITY_SECONDS } from '../../src/protocol/attestation.ts'
import { DIAMOND, OTHER, WALLET } from '../support/plan-chain.ts'

const engine = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const SIGNED_AT = 1_790_000_000n

const quote: AttestedQuote = {
  ...{ chainId: 8453, diamond: DIAMOND, creator: WALLET, underlying: 'USD/GHS', strike: 11n, payoutCap: 12n },
  ...{ premiumRate: 25n, expiry: 1_800_000_000n, initialRate: 10n, strikeAbove: true, quoteTimestamp: SIGNED_AT },
  quoteNonce: `0x${'33'.repeat(32)}`,
}

const signatureOf = (values: AttestedQuote): Promise<Hex> =>
  engine.signMessage({ message: { raw: attestationMessage(values) } })

const refusal = async (more: Partial<SignedQuote> = {}, values: AttestedQuote = quote) =>
  refusalOfQuote({
    ...{ quote: values, signature: await signatureOf(values), signer: engine.address, isNonceUsed: false },
    ...{ time: SIGNED_AT, profile: 'reference', ...more },
  })

const VALID = BigInt(QUOTE_VALIDITY_SECONDS)

test.each<[string, Partial<SignedQuote>, string | null]>([
  ['in the second in which it was signed', {}, null],
  ['one second before it was signed', { time: SIGNED_AT - 1n }, 'quote_from_the_future'],
  ['in its last second', { time: SIGNED_AT + VALID }, null],
  ['one second after its last one', { time: SIGNED_AT + VALID + 1n }, 'quote_expired'],
  ['with a used nonce', { isNonceUsed: true }, 'quote_nonce_used'],
  ['with another signer', { signer: OTHER }, 'bad_quote_signature'],
  ['with a signer in lower case', { signer: engine.address.toLowerCase() as Hex }, null],
  ['with a short signature', { signature: '0x1234' }, 'bad_signature_length'],
  ['with 65 bytes that are no signature', { signature: `0x${'00'.repeat(65)}` }, 'bad_quote_signature'],
  ['of other values', { quote: { ...quote, premiumRate: 26n } }, 'bad_quote_signature'],
  ['without a registered signer', { signer: zeroAddress }, 'no_pricing_signer'],
  ['without a signer where none is needed', { signer: zeroAddress, profile: 'deployed' }, null],
])('a signed quote %s is judged by its values, clock and nonce (%#)', async (_, more, code) => {
  expect(await refusal(more)).toBe(code)
})

test('a signed quote needs a nonce', async () => {
  expect(await refusal({}, { ...quote, quoteNonce: zeroHash })).toBe('quote_nonce_required')
})
