import type { Revert } from './revert.ts'

const functions = ['createEvent'] as const

/** Terms of a new event. */
export const eventReverts: readonly Revert[] = [
  {
    code: 'fees_not_initialized',
    reasons: ['Fees not initialized', 'Fees not initialized: call initializeHedgeFees first'],
    functions,
    cause: 'The owner has not set the fees of the protocol yet.',
    hint: 'Wait until the owner has called initializeHedgeFees.',
  },
  {
    code: 'bad_name_length',
    reasons: ['Bad name length', 'Name required', 'Name too long (max 128 bytes)'],
    functions,
    cause: 'The name of the event is empty or longer than 128 bytes.',
    hint: 'Send a `name` of 1 to 128 bytes in UTF-8.',
  },
  {
    code: 'bad_underlying_length',
    reasons: ['Bad underlying length', 'Underlying required', 'Underlying too long (max 32 bytes)'],
    functions,
    cause: 'The currency pair is empty or longer than 32 bytes.',
    hint: 'Send an `underlying` of 1 to 32 bytes, such as `USD/GHS`.',
  },
  {
    code: 'strike_is_zero',
    reasons: ['Strike is zero', 'Strike must be > 0'],
    functions,
    cause: 'The strike is 0.',
    hint: 'Send a `strike` above 0, with 6 decimals.',
  },
  {
    code: 'initial_rate_is_zero',
    reasons: ['Initial rate is zero', 'Initial rate must be > 0'],
    functions,
    cause: 'The initial rate is 0.',
    hint: 'Send the current spot rate as `initialRate`, with 6 decimals.',
  },
  {
    code: 'rate_too_large',
    reasons: ['Rate too large'],
    functions,
    cause: 'The strike, the payout cap or the initial rate does not fit into 96 bits.',
    hint: 'Send rates with 6 decimals, not with the decimals of the token.',
  },
  {
    code: 'bad_premium_rate',
    reasons: ['Bad premium rate', 'Premium rate must be > 0', 'Premium rate cannot exceed 100%'],
    functions,
    cause: 'The premium rate is 0 or above 100 %.',
    hint: 'Send a `premiumRate` from 1 to 1000000, where 1000000 is 100 % of the notional.',
  },
  {
    code: 'bad_expiry',
    reasons: ['Bad expiry', 'Expiry must be in future', 'Expiry cannot exceed 365 days from now'],
    functions,
    cause: 'The expiry is not in the future or more than 365 days away.',
    hint: 'Send an `expiry` in Unix seconds, after now and at most 365 days ahead.',
  },
  {
    code: 'strike_on_wrong_side',
    reasons: [
      'Strike on wrong side',
      'Strike must be above current rate for upward hedge',
      'Strike must be below current rate for downward hedge',
    ],
    functions,
    cause: 'The initial rate is at the strike or already in the payout zone.',
    hint: 'Send a `strike` above `initialRate` if `strikeAbove` is true, and below it otherwise.',
  },
  {
    code: 'cap_on_wrong_side',
    reasons: [
      'Cap on wrong side',
      'payoutCap must be above strike for upward hedge',
      'payoutCap must be below strike for downward hedge',
    ],
    functions,
    cause: 'The payout cap is not beyond the strike in the direction of the event.',
    hint: 'Send a `payoutCap` above `strike` if `strikeAbove` is true and below it otherwise, or 0 for a single strike.',
  },
  {
    code: 'payout_range_too_wide',
    reasons: [
      'Payout range too wide: max payout per notional is 10x',
      'Strike too far from initial rate: max payout per notional is 10x',
    ],
    functions,
    cause: 'The largest payout would be more than 10 times the notional.',
    hint: 'Move `payoutCap`, or the `strike` of a single-strike event, closer to the other rates.',
  },
  {
    code: 'initial_liquidity_too_small',
    reasons: ['Min initial liquidity: 10 USDC'],
    functions,
    cause: 'The seed is below 10000000 units of the payment token.',
    hint: 'Send an `initialLiquidity` of at least 10000000 units, whatever the decimals of the token.',
  },
  {
    code: 'token_not_allowed',
    reasons: ['Token not allowed', 'Payment token not whitelisted'],
    functions,
    cause: 'New events may not be paid in this token.',
    hint: 'Send one of the tokens of `/v1/chains` as `paymentToken`, or the zero address for the default one.',
  },
]
