import { FxProtectionError } from 'fx-protection-client'
import { chainText } from '../text/terms.ts'
import { isDeclined, refusalText } from '../wallet/provider.ts'

/** Why an execution ended without a result. */
export type Failure = {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** Whether something may have been sent all the same: the same plan must not be sent again unseen. */
  readonly maybeSent: boolean
}

/** Codes after which a transaction may still be mined, or another one may have done the same. */
const uncertain: readonly string[] = ['not_confirmed', 'aborted', 'nonce_used', 'transaction_dropped']

/** What an error of an execution means. `sent`: whether something was sent before it. */
export const failureOf = (error: unknown, sent: boolean): Failure => {
  if (!(error instanceof FxProtectionError))
    return {
      ...{ code: isDeclined(error) ? 'user_rejected' : 'wallet_failed', message: refusalText(error), maybeSent: sent },
      hint: sent ? 'Look it up in the wallet before you try again.' : 'Nothing was sent: you can try again.',
    }
  const { code, message, hint = '' } = error
  return { code, message: chainText(message, 400), hint, maybeSent: uncertain.includes(code) }
}
