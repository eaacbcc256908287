import { CONFIRMATION_MS, type Waiting } from './confirm.ts'
import { sleep } from './retry.ts'
import type { Schemas } from './types.ts'
import { askWallet, ExecutionError, isUnsupported, type Wallet, walletError } from './wallet.ts'

const POLL_MS = 500

/** The answer of `wallet_getCallsStatus`: 100 pending, 200 confirmed, 4xx not sent, 5xx and 6xx reverted. */
type Status = { readonly status: number | string; readonly receipts?: readonly { readonly transactionHash: string }[] }

/** Whether a wallet has EIP-5792, and executes a batch as a whole or not at all. Undefined without EIP-5792. */
const atomicOf = async (wallet: Wallet, chainId: string): Promise<boolean | undefined> => {
  try {
    const answer = Object(await askWallet(wallet, 'wallet_getCapabilities', [wallet.account?.address, [chainId]]))
    return Object(Object(answer[chainId] ?? answer['0x0']).atomic).status === 'supported'
  } catch {
    return undefined
  }
}

const isPending = ({ status }: Status): boolean => status === 'PENDING' || Number(status) < 200

/**
 * Sends all steps of a plan as one batch (EIP-5792). Returns the hashes of its transactions; undefined when the wallet
 * does not support batches, and nothing was sent.
 */
export const sendCalls = async (
  { walletCalls }: Schemas['Plan'],
  wallet: Wallet,
  { confirmationMs = CONFIRMATION_MS, signal }: Waiting,
): Promise<readonly string[] | undefined> => {
  // A node that signs nothing has no EIP-5792 either.
  if (walletCalls === null || wallet.account?.type !== 'json-rpc') return undefined
  const atomicRequired = await atomicOf(wallet, walletCalls.chainId)
  if (atomicRequired === undefined) return undefined
  let id: unknown
  try {
    const sent = await askWallet(wallet, 'wallet_sendCalls', [{ ...walletCalls, atomicRequired }])
    id = typeof sent === 'string' ? sent : Object(sent).id
  } catch (error) {
    if (isUnsupported(error)) return undefined
    throw walletError(error)
  }
  for (const until = Date.now() + confirmationMs; Date.now() < until; await sleep(POLL_MS, signal)) {
    const state = (await askWallet(wallet, 'wallet_getCallsStatus', [id])) as Status
    if (isPending(state)) continue
    const hashes = (state.receipts ?? []).map(({ transactionHash }) => transactionHash)
    // A transaction that reverted is read from the API, which reports why.
    if (hashes.length > 0) return hashes
    const text = `the wallet did not send the batch: status ${state.status}`
    throw new ExecutionError('wallet_failed', text, 'Request a new plan, and execute it with `batch: false`.')
  }
  const hint = 'It may still be sent: check `wallet_getCallsStatus` before you send it again.'
  throw new ExecutionError('not_confirmed', `the batch ${id} is pending after ${confirmationMs} ms`, hint)
}
