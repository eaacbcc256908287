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

  token: { description: 'Address of the token', example: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
  paymentToken: {
    description: 'The token of all amounts of the event, one of those that the protocol allows',
    example: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  },
  spender: {
    description: "Who may take the tokens: the protocol's address, `diamond` of `/v1/chains`",
    example: '0x610178dA211FEF7D417bC0e6FeD39F05609AD788',
  },

  expiry: { description: 'When the event expires, in Unix seconds', example: '1900000000' },
  deadline: { description: 'Last second at which the purchase is accepted, in Unix seconds', example: '1900000000' },
  quoteTimestamp: {
    description: 'When the engine signed the quote, in Unix seconds; `0` for a self-priced event',
    example: '0',
  },

  name: { description: 'Label of the event for people', example: 'Cedi importers Q3' },
  underlying: {
    description: 'Currency pair `<BASE>/<QUOTE>`: rates are units of QUOTE for one BASE',
    example: 'USD/GHS',
  },
  strikeAbove: { description: 'True for protection against a rise', example: true },
  allowExternalLp: { description: 'False: only the creator may deposit', example: true },
  poolOpen: { description: 'False: no deposits', example: true },
  signature: { description: "The engine's signature; `0x` for a self-priced event", example: '0x' },
  quoteNonce: {
    description: 'Random value of the quote, 32 bytes; all zero for a self-priced event',
    example: zeroHash,
  },

  required: { description: 'Number of oracles that must agree', example: '2' },
  bps: { description: 'How far apart submissions may be to agree, in basis points: 700 is 7 %', example: '700' },
  allowed: { description: 'Whether new events may be paid in the token', example: true },
  proposalId: { description: 'Id of the queued upgrade', example: `0x${'5f'.repeat(32)}` },
  action: { description: 'What to do with the functions: 0 add, 1 replace, 2 remove', example: 0 },
  functionSelectors: { description: 'Selector of a function, 4 bytes', example: '0xe2bbb158' },
  init: { description: 'Contract called after the cut; the zero address for none', example: zeroAddress },
  initData: { description: 'Calldata of that call; `0x` for none', example: '0x' },
}
