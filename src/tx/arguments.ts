import type { Unit } from '../protocol/fields/units.ts'

/** A description, and the unit of a number. */
type Note = { readonly description: string; readonly unit?: Unit }

const amount = (description: string): Note => ({
  description: `${description}, in the token's own units`,
  unit: 'amount',
})
const rate = (description: string): Note => ({
  description: `${description}, 1e6 fixed point`,
  unit: 'rate',
})
const seconds = (description: string): Note => ({ description, unit: 'seconds' })

/**
 * Descriptions of the builders' arguments, by their name in the body. An argument without a description is documented
 * by its type only.
 */
export const argumentNotes: Readonly<Record<string, Note>> = {
  amount: amount('Amount'),
  notional: amount('Protected amount'),
  maxCost: amount('Maximum total of premium and fees'),
  initialLiquidity: amount("The creator's seed capital for the pool"),
  creationFee: amount('Flat fee of a new event'),

  strike: rate('Rate at which the payout zone begins'),
  payoutCap: rate('Rate at which the payout stops growing; `0` for a single strike'),
  initialRate: rate('Spot rate at creation'),
  premiumRate: rate('Premium as a fraction of the notional'),
  price: rate('Settlement rate'),
  settlementPrice: rate('Settlement rate'),
  hedgerFeeRate: rate("Fee on each hedger's premium"),
  payoutFeeRate: rate('Fee on each payout'),
  lpProfitFeeRate: rate('Fee on premium income of liquidity providers'),
  creatorLoyaltyRate: rate("The creator's share of the platform fee"),

  token: { description: 'Address of the token' },
  paymentToken: {
    description: 'The token of all amounts of the event, one of those that the protocol allows',
  },
  spender: {
    description: "Who may take the tokens: the protocol's address, `diamond` of `/v1/chains`",
  },

  expiry: seconds('When the event expires, in Unix seconds'),
  deadline: seconds('Last second at which the purchase is accepted, in Unix seconds'),
  quoteTimestamp: seconds('When the engine signed the quote, in Unix seconds; `0` for a self-priced event'),

  name: { description: 'Label of the event for people' },
  underlying: {
    description: 'Currency pair `<BASE>/<QUOTE>`: rates are units of QUOTE for one BASE',
  },
  strikeAbove: { description: 'True for protection against a rise' },
  allowExternalLp: { description: 'False: only the creator may deposit' },
  poolOpen: { description: 'False: no deposits' },
  signature: { description: "The engine's signature; `0x` for a self-priced event" },
  quoteNonce: {
    description: 'Random value of the quote, 32 bytes; all zero for a self-priced event',
  },

  required: { description: 'Number of oracles that must agree' },
  bps: { description: 'How far apart submissions may be to agree, in basis points: 700 is 7 %' },
  allowed: { description: 'Whether new events may be paid in the token' },
  proposalId: { description: 'Id of the queued upgrade' },
  action: { description: 'What to do with the functions: 0 add, 1 replace, 2 remove' },
  functionSelectors: { description: 'Selector of a function, 4 bytes' },
  init: { description: 'Contract called after the cut; the zero address for none' },
  initData: { description: 'Calldata of that call; `0x` for none' },
}
