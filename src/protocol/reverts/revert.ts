/** One way in which a call can fail: a row of the catalogue. */
export type Revert = {
  /** Stable: clients switch on it. */
  readonly code: string
  /**
   * What contracts return for it: texts, custom errors with the types of their arguments, panics. Texts with the same
   * meaning share a row, whichever deployment or token returns them.
   */
  readonly reasons: readonly string[]
  /** Contract functions that can fail like this; empty when any can. */
  readonly functions: readonly string[]
  /** One sentence. */
  readonly cause: string
  /** One sentence: what the caller does about it. */
  readonly hint: string
}

/** Functions that pull the caller's tokens. */
export const pulls = ['createEvent', 'deposit', 'buyProtection'] as const

/** Functions that pay out what the protocol owes. */
const payouts = [
  'claimPayout',
  'claimPremiums',
  'withdrawCapital',
  'withdrawCreatorEarnings',
  'withdrawPlatformFees',
  'withdrawPlatformFeesByToken',
] as const

/** Functions that move a payment token. */
export const payments = [...pulls, ...payouts] as const

/** Functions that move any token. */
export const transfers = [...payments, 'rescueERC20'] as const
