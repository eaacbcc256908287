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

/** Functions that pay tokens out. */
const pushes = [
  'claimPayout',
  'claimPremiums',
  'withdrawCapital',
  'withdrawCreatorEarnings',
  'withdrawPlatformFees',
  'withdrawPlatformFeesByToken',
  'rescueERC20',
] as const

/** Functions that move tokens. */
export const transfers = [...pulls, ...pushes] as const
