import type { Revert } from './revert.ts'

const functions = ['createEvent'] as const

/** The signed quote of a new event. */
export const quoteReverts: readonly Revert[] = [
  {
    code: 'no_pricing_signer',
    reasons: ['No pricing signer'],
    functions,
    cause: 'The quote is signed, but the protocol has no registered signer to check it against.',
    hint: 'Send `0x` as `signature` for a self-priced event.',
  },
  {
    code: 'bad_signature_length',
    reasons: ['Bad signature length', 'Quote signature wrong length', 'ECDSAInvalidSignatureLength(uint256)'],
    functions,
    cause: 'The signature does not have 65 bytes.',
    hint: 'Send the `signature` of the quote unchanged, or `0x` for a self-priced event.',
  },
  {
    code: 'bad_quote_signature',
    reasons: [
      'Bad quote signature',
      'Invalid pricing-engine signature',
      'ECDSAInvalidSignature()',
      'ECDSAInvalidSignatureS(bytes32)',
    ],
    functions,
    cause: 'The registered signer did not sign these terms for this creator and this protocol.',
    hint: 'Request a quote for the wallet that creates the event and send all of its terms unchanged.',
  },
  {
    code: 'quote_timestamp_required',
    reasons: ['Quote timestamp required'],
    functions,
    cause: 'The quote is signed, but its time is 0.',
    hint: 'Send the `quoteTimestamp` of the quote.',
  },
  {
    code: 'quote_nonce_required',
    reasons: ['Quote nonce required'],
    functions,
    cause: 'The quote is signed, but its nonce is zero.',
    hint: 'Send the `quoteNonce` of the quote.',
  },
  {
    code: 'quote_from_the_future',
    reasons: ['Quote from the future', 'Quote timestamp in future'],
    functions,
    cause: 'The time of the quote is later than the block.',
    hint: 'Wait for a block with the time of the quote, or request the quote again.',
  },
  {
    code: 'quote_expired',
    reasons: ['Quote expired', 'Quote expired (signed > 120s ago)'],
    functions,
    cause: 'The quote was signed more than 120 seconds before the block.',
    hint: 'Request a new quote and send the transaction within 120 seconds.',
  },
  {
    code: 'quote_nonce_used',
    reasons: ['Quote nonce used', 'Quote nonce already used'],
    functions,
    cause: 'An event was already created with this quote.',
    hint: 'Request a new quote for each event.',
  },
]
