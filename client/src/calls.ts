import { refusalOf } from './refusals.ts'
import type { Report } from './settle.ts'
import type { Schemas } from './types.ts'
import { askUser, askWallet, askWithin, ExecutionError, type Wallet, walletError } from './wallet.ts'
import { isHash } from './watch.ts'

type WalletCalls = NonNullable<Schemas['Plan']['walletCalls']>

/** The most that a request of the status may take, and most receipts that are read. */
const STATUS_MS = 15_000
const MAX_RECEIPTS = 1_000

/** Whether a wallet has EIP-5792, and executes a batch as a whole or not at all. Undefined without EIP-5792. */
export const atomicOf = async (
  wallet: Wallet,
  chainId: string,
  signal: AbortSignal | undefined,
): Promise<boolean | undefined> => {
  // A node that signs nothing has no EIP-5792 either.
  if (wallet.account?.type !== 'json-rpc') return undefined
  try {
    const request = ['wallet_getCapabilities', [wallet.account.address, [chainId]]] as const
    const answer = Object(await askWithin(wallet, request, STATUS_MS, signal))
    return Object(Object(answer[chainId] ?? answer['0x0']).atomic).status === 'supported'
  } catch {
    signal?.throwIfAborted()
    return undefined
  }
}

/** `isNew` is false when the wallet has had a batch with this id before. */
type SentBatch = { readonly batchId: string; readonly isNew: boolean; readonly problem?: unknown }
type Refused = { readonly refusal: 'too_large' | 'unsupported'; readonly problem: unknown }

/**
 * Hands calls to a wallet as one batch (EIP-5792). `id` names the batch, so that a wallet takes it once, and so that it
 * can be asked for when the answer is lost. Throws ExecutionError when the wallet refuses.
 */
export const sendCalls = async (
  wallet: Wallet,
  calls: WalletCalls,
  {
    id,
    isAtomic: atomicRequired,
    signal,
  }: { readonly id: string; readonly isAtomic: boolean; readonly signal: AbortSignal | undefined },
): Promise<SentBatch | Refused> => {
  try {
    const asked = askWallet(wallet, 'wallet_sendCalls', [{ ...calls, id, atomicRequired }])
    const sent = await askUser(asked, `batch ${id}`, signal, id)
    const given = typeof sent === 'string' ? sent : Object(sent).id
    return { batchId: typeof given === 'string' && given !== '' ? given : id, isNew: true }
  } catch (problem) {
    if (problem instanceof ExecutionError) throw problem
    const refusal = refusalOf(problem)
    if (refusal === 'too_large' || refusal === 'unsupported') return { refusal, problem }
    if (refusal === 'duplicate') return { batchId: id, isNew: false, problem }
    if (refusal === 'unknown') return { batchId: id, isNew: true, problem }
    throw walletError(problem, refusal)
  }
}

/** Words of earlier versions of EIP-5792. */
const statuses: Readonly<Record<string, number | undefined>> = { PENDING: 100, CONFIRMED: 200 }

/** Reads the status of a batch. A wallet that fails or answers nonsense reports nothing. */
export const reportOf = async (
  wallet: Wallet,
  batchId: string,
  until: number,
  signal: AbortSignal | undefined,
): Promise<Report> => {
  const ms = Math.max(1, Math.min(STATUS_MS, until - Date.now()))
  try {
    const answer = Object(await askWithin(wallet, ['wallet_getCallsStatus', [batchId]], ms, signal))
    const status = statuses[answer.status] ?? Number(answer.status)
    const receipts: readonly unknown[] = Array.isArray(answer.receipts) ? answer.receipts.slice(0, MAX_RECEIPTS) : []
    const hashes = receipts.map((receipt) => Object(receipt).transactionHash).filter(isHash)
    return { hashes, status: status >= 100 ? status : undefined }
  } catch (problem) {
    signal?.throwIfAborted()
    return { hashes: [], problem }
  }
}
