import type { ProfileName } from '../../src/protocol/profiles.ts'

const pulls = ['createEvent', 'deposit', 'buyProtection']
const payouts = [
  ...['claimPayout', 'claimPremiums', 'withdrawCapital', 'withdrawCreatorEarnings'],
  ...['withdrawPlatformFees', 'withdrawPlatformFeesByToken'],
]
const ofTokens = ['token_account_blocked', 'token_paused']
const both = ['reference', 'deployed'] as const

/** The reason of codes whose texts `deployedReverts` has. */
export const ELSEWHERE = 'only deployments outside this repository make this check'

type Pairs = readonly (readonly [codes: readonly string[], functions: readonly string[]])[]

/** Codes that the catalogue has for a function, but that no transaction of a profile can end with. */
export const unreachableReverts: readonly {
  readonly why: string
  readonly of: readonly ProfileName[]
  readonly pairs: Pairs
}[] = [
  {
    why: ELSEWHERE,
    of: both,
    pairs: [
      [['payout_range_too_wide', 'quote_timestamp_required'], ['createEvent']],
      [['shares_round_to_zero'], ['deposit']],
      [['net_premiums_round_to_zero', 'contract_balance_too_low', 'capital_already_withdrawn'], ['claimPremiums']],
      [['not_eligible_for_payout', 'net_payout_rounds_to_zero'], ['claimPayout']],
      [['price_out_of_range'], ['settleEvent']],
      [['submitted_price_is_zero'], ['submitRate']],
      [['zero_address'], ['withdrawPlatformFeesByToken']],
      [['bad_cut_action', 'proposal_id_collision'], ['diamondCut']],
    ],
  },
  {
    why: 'a transfer from the protocol fails with "Token transfer failed", whatever the token returns',
    of: both,
    pairs: [
      [['insufficient_balance'], payouts],
      [ofTokens, [...payouts, 'rescueERC20']],
    ],
  },
  {
    why: 'the token is called before its code is checked; only SafeERC20 of OpenZeppelin 5.0 reports it',
    of: both,
    pairs: [[['token_has_no_code'], pulls]],
  },
  {
    why: 'only the other profile makes this check',
    of: ['reference'],
    pairs: [
      [['initial_liquidity_too_small'], ['createEvent']],
      [['deposit_too_small'], ['deposit']],
      [['notional_too_small'], ['buyProtection']],
      [['resubmit_cooldown'], ['submitRate']],
    ],
  },
  { why: 'a settled event is reported as expired', of: ['reference'], pairs: [[['event_settled'], ['buyProtection']]] },
  {
    why: 'a transfer to the protocol fails with "Token transfer failed", whatever the token returns',
    of: ['reference'],
    pairs: [[ofTokens, pulls]],
  },
  {
    why: 'a cut is applied when it is executed, not when it is queued',
    of: ['reference'],
    pairs: [[['cut_of_missing_function', 'function_exists', 'same_function', 'init_reverted'], ['diamondCut']]],
  },
  {
    why: 'a cut like this cannot be queued; deployments outside this repository check it when it is executed',
    of: ['reference'],
    pairs: [[['no_selectors', 'facet_must_be_zero', 'bad_cut_action'], ['executeCut']]],
  },
  {
    why: 'only the other profile makes this check',
    of: ['deployed'],
    pairs: [
      [['amount_too_large'], ['createEvent', 'deposit']],
      [['no_pricing_signer'], ['createEvent']],
      [['pool_closed', 'amount_is_zero'], ['deposit']],
      [['premium_rounds_to_zero', 'payout_rounds_to_zero'], ['buyProtection']],
      [['token_took_a_fee'], pulls],
      [['empty_cut'], ['diamondCut']],
    ],
  },
]

/** Texts in the sources of a function that it cannot end with, and that the catalogue does not have for it. */
export const impossibleTexts: readonly string[] = [
  // The deposit of a new event is its first, and is made only for a seed above 0.
  ...['Amount is zero: createEvent', 'Too many deposits: createEvent'],
  // The balance of the token is read before, which fails without a reason for an address without code.
  'Token has no code: rescueERC20',
]
