import { zeroAddress, zeroHash } from 'viem'

type Note = { readonly description: string; readonly example: string | number | boolean }

const amount = (description: string, example = '1000000000'): Note => ({
  description: `${description}, in the token's own units`,
  example,
})
const rate = (description: string, example: string): Note => ({
  description: `${description}, 1e6 fixed point`,
  example,
})

/**
 * Descriptions of the builders' arguments, by their name in the body. An argument without a description is documented
 * by its type only.
 */
export const argumentNotes: Readonly<Record<string, Note>> = {
  amount: amount('Amount'),
  notional: amount('Protected amount', '10000000000'),
  maxCost: amount('Maximum total of premium and fees', '250000000'),
  initialLiquidity: amount("The creator's seed capital for the pool", '75000000000'),
  creationFee: amount('Flat fee of a new event', '5000000'),

  strike: rate('Rate at which the payout zone begins', '12000000'),
  payoutCap: rate('Rate at which the payout stops growing; `0` for a single strike', '13500000'),
  initialRate: rate('Spot rate at creation', '11400000'),
  premiumRate: rate('Premium as a fraction of the notional', '23000'),
  price: rate('Settlement rate', '12500000'),
  settlementPrice: rate('Settlement rate', '12500000'),
  hedgerFeeRate: rate("Fee on each hedger's premium", '5000'),
  payoutFeeRate: rate('Fee on each payout', '10000'),
  lpProfitFeeRate: rate('Fee on premium income of liquidity providers', '20000'),
  creatorLoyaltyRate: rate("The creator's share of the platform fee", '100000'),

  expiry: { description: 'Unix seconds', example: '1900000000' },
  deadline: { description: 'Unix seconds; reverts when mined later', example: '1900000000' },
  quoteTimestamp: { description: 'Unix seconds; `0` for a self-priced event', example: '0' },

  name: { description: 'Human-readable label', example: 'Cedi importers Q3' },
  underlying: { description: '`<BASE>/<QUOTE>`', example: 'USD/GHS' },
  strikeAbove: { description: 'True for protection against a rise', example: true },
  allowExternalLp: { description: 'False: only the creator may deposit', example: true },
  poolOpen: { description: 'False: no deposits', example: true },
  signature: { description: "The engine's signature; `0x` for a self-priced event", example: '0x' },
  quoteNonce: { description: 'Zero for a self-priced event', example: zeroHash },

  required: { description: 'Number of oracles that must agree', example: '2' },
  bps: { description: 'Basis points', example: '700' },
  allowed: { description: 'Whether new events may be paid in the token', example: true },
  proposalId: { description: 'Id of the queued upgrade', example: `0x${'5f'.repeat(32)}` },
  action: { description: '0 add, 1 replace, 2 remove', example: 0 },
  functionSelectors: { description: '4 bytes each', example: '0xe2bbb158' },
  init: { description: 'Contract called after the cut; the zero address for none', example: zeroAddress },
  initData: { description: 'Calldata of that call; `0x` for none', example: '0x' },
}
