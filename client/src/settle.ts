import type { Effects } from './effects.ts'
import type { Requests } from './requests.ts'
import { delayOf, sleep } from './retry.ts'
import type { Schemas } from './types.ts'
import { type ErrorContext, ExecutionError } from './wallet.ts'
import { createWatch, isHash, type Seen } from './watch.ts'

type Transaction = Schemas['Transaction']

export type Waiting = {
  /**
   * The most that a transaction may take until it is mined and indexed, from 1 to 2,147,483,647 milliseconds; 180,000
   * by default.
   */
  readonly confirmationMs?: number | undefined
  /** Ends the wait; a transaction that was sent stays sent. */
  readonly signal?: AbortSignal | undefined
}

const CONFIRMATION_MS = 180_000

/** What a wallet reports of what it was handed. `status`: that of a batch by EIP-5792; undefined when it is unknown. */
export type Report = {
  readonly hashes: readonly string[]
  readonly status?: number | undefined
  readonly problem?: unknown
}

/** What was handed to a wallet. From then on it may be on the chain, whatever the wallet reports. */
export type Handed = {
  readonly chainId: number
  readonly from?: string
  readonly batchId?: string | undefined
  /** Why the wallet gave no answer to the request. */
  readonly problem?: unknown
  readonly effects?: Effects
  /** Reads what the wallet reports, until a time; undefined when the wallet cannot be asked any more. */
  readonly report?: ((until: number) => Promise<Report>) | undefined
  /** The hashes that are known from the beginning. */
  readonly hashes: readonly string[]
  readonly onSent?: ((hash: string) => void) | undefined
}

/** Most hashes of a batch that are looked up: the largest plan has some fifty steps. */
const MAX_HASHES = 100

/** The pauses of a wait, at its beginning and later. */
const PAUSE_MS = 500
const LONG_PAUSE_MS = 2_000

/** Failures that lengthen the pause: to 4 seconds at most. */
const MAX_FAILURES = 4

/** After this time, a transaction is also searched for while the wallet reports that it is pending. */
const PATIENCE_MS = 10_000

const CONFIRMED = 200
const isConfirmed = ({ status = 0 }: Report): boolean => status >= CONFIRMED && status < 300
const isNotSent = ({ status = 0 }: Report): boolean => status >= 400 && status < 500

const LOOK_UP =
  'Look it up in the wallet. Do not execute a plan for the same again before the wallet shows that it failed.'
const NO_TRANSACTION =
  'A wallet of several signers (such as a Safe) or a smart account returns the hash of its own request, which may still be executed: look it up in the wallet, and do not repeat it before it is executed or deleted there.'

/** The end of a wait: what is known of the transactions, and what to do. */
const notConfirmed = (handed: Handed, report: Report, seen: readonly Seen[], ms: number): ExecutionError => {
  const { batchId, problem = report.problem } = handed
  const open = seen.find(({ isDone, failure }) => !isDone && failure === undefined) ?? seen.at(-1)
  if (open?.failure !== undefined) return open.failure
  const cause = open?.problem ?? problem
  const given: ErrorContext = { hash: open?.hash, batchId, ...(cause !== undefined && { cause }) }
  const fail = (text: string, hint: string) => new ExecutionError('not_confirmed', text, hint, given)
  if (open === undefined) {
    const reported = report.status === undefined ? 'no status' : `status ${report.status}`
    return batchId === undefined
      ? fail('the wallet gave no hash: it is not known whether it sent the transaction', LOOK_UP)
      : fail(
          `the batch ${batchId} is not confirmed after ${ms} ms: the wallet reports ${reported} and no hash`,
          LOOK_UP,
        )
  }
  const { hash, transaction, isDone } = open
  if (isDone)
    return fail(`transaction ${hash} of the wallet does not do all that the plan does after ${ms} ms`, LOOK_UP)
  if (transaction === undefined && open.problem !== undefined)
    return fail(
      `transaction ${hash} could not be read for ${ms} ms`,
      'It may be mined: read it before you send another one.',
    )
  const status = transaction?.status ?? 'unknown'
  if (status === 'unknown') return fail(`no node knows transaction ${hash} after ${ms} ms`, NO_TRANSACTION)
  const hint =
    status === 'pending'
      ? 'It may still be mined: read it before you send another one.'
      : 'It is mined, and the index has not reached its block yet: read it again.'
  return fail(`transaction ${hash} is ${status} after ${ms} ms`, hint)
}

const minedOf = (seen: readonly Seen[]): Transaction[] =>
  seen.flatMap(({ transaction, isDone }) => (isDone && transaction !== undefined ? [transaction] : []))

/** The newest block of the transactions that were seen. */
const newestOf = (seen: readonly Seen[]): number =>
  Math.max(0, ...seen.map(({ transaction }) => transaction?.block?.number ?? 0))

/**
 * Waits until what was handed to a wallet is mined and indexed, and returns its transactions. Throws ExecutionError when
 * one of them failed, when the wallet reports that it sent nothing, and in the end.
 */
export const settle = async (
  api: Requests,
  handed: Handed,
  { confirmationMs = CONFIRMATION_MS, signal }: Waiting,
): Promise<readonly Transaction[]> => {
  const { chainId, from, effects, batchId, onSent } = handed
  const began = Date.now()
  const until = began + confirmationMs
  const watches = new Map<string, ReturnType<typeof createWatch>>()
  const add = (given: string): void => {
    const hash = isHash(given) ? given.toLowerCase() : given
    if (watches.has(hash) || watches.size >= MAX_HASHES) return
    watches.set(hash, createWatch(api, chainId, hash, from))
    onSent?.(hash)
  }
  const replacements = new Map<string, ReturnType<typeof createWatch>>()
  /** What is known of the transactions that replaced some: users speed them up. */
  const replacing = async (seen: readonly Seen[]): Promise<readonly Seen[]> => {
    const known: Seen[] = []
    for (const hash of seen.flatMap(({ transaction }) => (effects && transaction?.replacedBy) ?? [])) {
      const watch = replacements.get(hash) ?? createWatch(api, chainId, hash, from)
      replacements.set(hash, watch)
      known.push(await watch(until, signal))
    }
    return known
  }
  for (let failures = 0; ; ) {
    const report: Report = (await handed.report?.(until)) ?? { hashes: handed.hashes, status: CONFIRMED }
    for (const hash of report.hashes) add(hash)
    // Of an id that the wallet has not acknowledged it proves nothing.
    if (isNotSent(report) && watches.size === 0 && handed.problem === undefined) {
      const found = await effects?.find(false, signal)
      if (found !== undefined) {
        for (const { hash } of found) add(hash)
        return found
      }
      const hint = 'Request a new plan when the wallet shows why.'
      throw new ExecutionError('wallet_failed', `the wallet did not send the batch: status ${report.status}`, hint, {
        batchId,
      })
    }
    const seen: Seen[] = []
    for (const watch of watches.values()) seen.push(await watch(until, signal))
    const mined = minedOf(seen)
    const isMined = seen.length > 0 && mined.length === seen.length
    if (isMined && (effects?.covers(mined, isConfirmed(report)) ?? true)) return mined

    const isOver = Date.now() >= until
    const isReported = (report.status ?? 0) >= CONFIRMED
    const isPending = seen.some(({ transaction }) => transaction?.status === 'pending' && !transaction.dropped)
    const others = await replacing(seen)
    // While a transaction of the batch may still be mined, the failure of another one is not its outcome.
    const isOpen = !isReported || [...seen, ...others].some(({ isDone, failure }) => !isDone && failure === undefined)
    const failure = isOpen ? undefined : seen.find((each) => each.failure !== undefined)?.failure
    const isLate = !isPending && (isReported || Date.now() >= began + PATIENCE_MS)
    if (isOver || isLate) {
      const found = await effects?.find(isConfirmed(report), signal, newestOf(seen))
      if (found !== undefined) {
        for (const { hash } of found) add(hash)
        const isOther = ({ hash }: Transaction): boolean => found.every((each) => each.hash !== hash)
        return [...mined.filter((each) => effects?.owns(each) && isOther(each)), ...found]
      }
    }
    if (failure !== undefined) {
      const made = minedOf(others)
      if (made.length === 0 || !effects?.covers([...mined, ...made], true)) throw failure
      for (const { hash } of made) add(hash)
      return [...mined, ...made]
    }
    if (isOver) throw notConfirmed(handed, report, [...others, ...seen], confirmationMs)
    failures = [...seen, ...others].some(({ problem }) => problem !== undefined) ? failures + 1 : 0
    const usual = Date.now() < began + PATIENCE_MS ? PAUSE_MS : LONG_PAUSE_MS
    const pause = failures === 0 ? usual : delayOf(Math.min(failures, MAX_FAILURES))
    await sleep(Math.max(0, Math.min(pause, until - Date.now())), signal)
  }
}
