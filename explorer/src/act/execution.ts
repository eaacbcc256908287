import type { Executed, Plan } from 'fx-protection-client'
import type { Chain } from '../api/chains.ts'
import { client } from '../api/client.ts'
import { createStore, useStore } from '../api/store.ts'
import { type Provider, refusalText, switchChain } from '../wallet/provider.ts'
import type { Connected } from '../wallet/session.ts'
import { type Failure, failureOf } from './failure.ts'
import { type Kept, kept } from './kept.ts'

export type Execution = {
  readonly plan: Plan
  readonly walletName: string
  /** `asking`: the wallet shows a request. `sent`: at least one transaction or batch was handed to it. */
  readonly phase: 'asking' | 'sent' | 'done' | 'failed'
  readonly hashes: readonly string[]
  readonly batches: number
  /** The error with which the wallet answered the last request, until it is known whether the wallet sent it. */
  readonly uncertain?: string | undefined
  readonly executed?: Executed
  readonly failure?: Failure
}

/** The execution of this page: at most one at a time, which goes on when another page of the explorer is shown. */
const current = createStore<Execution | null>(null)

export const useExecution = (): Execution | null => useStore(current)

/** The execution whose outcome the page before this one in its tab did not know. */
const interrupted = createStore<Kept | null>(kept.read())

export const useInterrupted = (): Kept | null => useStore(interrupted)

export const forgetInterrupted = (): void => {
  kept.clear()
  interrupted.set(null)
}

export const isRunning = (execution: Execution | null): boolean =>
  execution?.phase === 'asking' || execution?.phase === 'sent'

/** When the last execution ended, in milliseconds: a plan that was made before may repeat what it did. */
let endedAt = 0

export const lastEnd = (): number => endedAt

const warn = (event: BeforeUnloadEvent): void => event.preventDefault()

/** Forgets an execution that has ended. */
export const forgetExecution = (): void => {
  const execution = current.get()
  if (execution === null || isRunning(execution)) return
  kept.clear()
  current.set(null)
}

/** Forgets an execution whose outcome is known: what may have been sent stays shown. */
export const forgetOutcome = (): void => {
  if (current.get()?.failure?.maybeSent !== true) forgetExecution()
}

const sign = async (plan: Plan, { wallet, account }: Connected, chain: Chain): Promise<void> => {
  const { provider }: { readonly provider: Provider } = wallet
  const change = (changed: Partial<Execution>): void => {
    const before = current.get()
    if (before === null) return
    current.set({ ...before, ...changed })
    kept.write({ ...plan, hashes: current.get()?.hashes ?? [] })
  }
  current.set({ plan, walletName: wallet.name, phase: 'asking', hashes: [], batches: 0 })
  kept.write({ ...plan, hashes: [] })
  addEventListener('beforeunload', warn)
  try {
    await switchChain(provider, chain)
    const { walletClientOf } = await import('../wallet/viem.ts')
    const executed = await client.execute(plan, walletClientOf(provider, account), {
      onSent: (hash) =>
        change({ phase: 'sent', hashes: [...(current.get()?.hashes ?? []), hash], uncertain: undefined }),
      onBatch: () => change({ phase: 'sent', batches: (current.get()?.batches ?? 0) + 1, uncertain: undefined }),
      onUncertain: (problem) => change({ uncertain: refusalText(problem) }),
    })
    change({ phase: 'done', executed })
  } catch (error) {
    const { hashes = [], batches = 0 } = current.get() ?? {}
    change({ phase: 'failed', failure: failureOf(error, hashes.length + batches > 0) })
  } finally {
    endedAt = Date.now()
    if (current.get()?.failure?.maybeSent !== true) kept.clear()
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
