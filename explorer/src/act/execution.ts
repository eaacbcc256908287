import { type Executed, FxProtectionError, type Plan } from 'fx-protection-client'
import type { Chain } from '../api/chains.ts'
import { client } from '../api/client.ts'
import { createStore, useStore } from '../api/store.ts'
import { chainText } from '../text/terms.ts'
import { type Provider, refusalText, switchChain } from '../wallet/provider.ts'
import type { Connected } from '../wallet/session.ts'

/** Why an execution ended without a result. */
export type Failure = {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** Whether something may have been sent all the same: the same plan must not be sent again unseen. */
  readonly maybeSent: boolean
}

export type Execution = {
  readonly plan: Plan
  readonly walletName: string
  /** `asking`: the wallet shows a request. `sent`: at least one transaction or batch was handed to it. */
  readonly phase: 'asking' | 'sent' | 'done' | 'failed'
  readonly hashes: readonly string[]
  readonly batches: number
  readonly executed?: Executed
  readonly failure?: Failure
}

/** The execution of this page: at most one at a time, which goes on when another page of the explorer is shown. */
const current = createStore<Execution | null>(null)

export const useExecution = (): Execution | null => useStore(current)

export const isRunning = (execution: Execution | null): boolean =>
  execution?.phase === 'asking' || execution?.phase === 'sent'

/** Codes after which a transaction may still be mined, or another one may have done the same. */
const uncertain: readonly string[] = ['not_confirmed', 'aborted', 'nonce_used']

/** What an error of an execution means. `sent`: whether something was sent before it. */
export const failureOf = (error: unknown, sent: boolean): Failure => {
  if (!(error instanceof FxProtectionError))
    return {
      ...{ code: 'wallet_failed', message: refusalText(error), maybeSent: sent },
      hint: sent ? 'Look it up in the wallet before you try again.' : 'Nothing was sent: you can try again.',
    }
  const { code, message, hint = '' } = error
  return { code, message: chainText(message, 400), hint, maybeSent: uncertain.includes(code) }
}

const warn = (event: BeforeUnloadEvent): void => event.preventDefault()

/** Forgets an execution that has ended. */
export const forgetExecution = (): void => {
  if (!isRunning(current.get())) current.set(null)
}

const sign = async (plan: Plan, { wallet, account }: Connected, chain: Chain): Promise<void> => {
  const { provider }: { readonly provider: Provider } = wallet
  const change = (changed: Partial<Execution>): void => {
    const before = current.get()
    if (before !== null) current.set({ ...before, ...changed })
  }
  current.set({ plan, walletName: wallet.name, phase: 'asking', hashes: [], batches: 0 })
  addEventListener('beforeunload', warn)
  try {
    await switchChain(provider, chain)
    const { walletClientOf } = await import('../wallet/viem.ts')
    const executed = await client.execute(plan, walletClientOf(provider, account), {
      onSent: (hash) => change({ phase: 'sent', hashes: [...(current.get()?.hashes ?? []), hash] }),
      onBatch: () => change({ phase: 'sent', batches: (current.get()?.batches ?? 0) + 1 }),
    })
    change({ phase: 'done', executed })
  } catch (error) {
    const { hashes = [], batches = 0 } = current.get() ?? {}
    change({ phase: 'failed', failure: failureOf(error, hashes.length + batches > 0) })
  } finally {
    removeEventListener('beforeunload', warn)
  }
}

/** Executes a plan with the wallet of the page. Does nothing while another plan is executed. */
export const executeOnce = async (plan: Plan, session: Connected, chain: Chain): Promise<void> => {
  if (!isRunning(current.get())) await sign(plan, session, chain)
}

type Navigate = (to: string, options?: { readonly replace?: boolean }) => void

/** Asks before another page is opened while a plan is executed. */
export const guardLeaving = (navigate: Navigate, to: string, options?: { readonly replace?: boolean }): void => {
  const question = 'A transaction is under way, and this page shows its progress. Leave the page?'
  if (!isRunning(current.get()) || options?.replace || confirm(question)) navigate(to, options)
}
