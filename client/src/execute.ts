import { sendCalls } from './calls.ts'
import { type Waiting, waitForTransaction } from './confirm.ts'
import type { Requests } from './requests.ts'
import type { Schemas } from './types.ts'
import { askWallet, ExecutionError, type Wallet, walletError } from './wallet.ts'

export type Plan = Schemas['Plan']
export type Transaction = Schemas['Transaction']

export type ExecuteOptions = Waiting & {
  /** Never sends the steps as one batch, although the wallet supports it. */
  readonly batch?: false
  /** Receives the hash of each transaction that was sent. */
  readonly onSent?: (hash: string) => void
}

/** What a plan did. The ids are those that the wallet of the plan owns. */
export type Executed = {
  readonly transactions: readonly Transaction[]
  readonly eventIds: readonly number[]
  readonly depositIds: readonly number[]
  readonly positionIds: readonly number[]
}

/** Throws when a plan or a wallet cannot be used. */
const check = async (plan: Plan, wallet: Wallet): Promise<void> => {
  if (plan.steps.length === 0 || plan.steps.some(({ request }) => request === undefined)) {
    const issue = plan.issues.find(({ blocking }) => blocking)
    throw new ExecutionError(
      issue?.code ?? 'nothing_to_do',
      issue?.message ?? 'the plan has no transaction',
      issue?.hint ?? 'Nothing is left to do.',
    )
  }
  if (wallet.account?.address.toLowerCase() !== plan.from.toLowerCase()) {
    const message = `the plan is for ${plan.from}, and the wallet has ${wallet.account?.address ?? 'no account'}`
    throw new ExecutionError('wrong_account', message, 'Request a plan whose `from` is the account of the wallet.')
  }
  const chainId = Number(await askWallet(wallet, 'eth_chainId', []))
  if (chainId !== plan.chainId) {
    const message = `the plan is for chain ${plan.chainId}, and the wallet is connected to chain ${chainId}`
    throw new ExecutionError('wrong_chain', message, `Switch the wallet to chain ${plan.chainId}.`)
  }
}

/** Sends one step as the wallet's account. */
const sendStep = async (wallet: Wallet, request: NonNullable<Plan['steps'][number]['request']>): Promise<string> => {
  const { to, data, value, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = request
  const transaction = {
    ...{ account: wallet.account, chain: null, type: 'eip1559', to, data },
    ...{ value: BigInt(value), nonce: Number(nonce), gas: gas === undefined ? undefined : BigInt(gas) },
    ...{ maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) },
  }
  try {
    return await wallet.sendTransaction(transaction as never)
  } catch (error) {
    throw walletError(error)
  }
}

/**
 * Sends the transactions of a plan with a viem wallet client: as one batch when the wallet supports EIP-5792, otherwise
 * one after the other. Resolves when all are mined and indexed, so that reads show what they changed. Throws
 * ExecutionError.
 */
export const executePlan = async (
  api: Requests,
  plan: Plan,
  wallet: Wallet,
  { batch, onSent, ...waiting }: ExecuteOptions = {},
): Promise<Executed> => {
  await check(plan, wallet)
  const transactions: Transaction[] = []
  const confirm = async (hash: string): Promise<void> => {
    onSent?.(hash)
    transactions.push(await waitForTransaction(api, plan.chainId, hash, waiting))
  }
  const hashes = batch === false ? undefined : await sendCalls(plan, wallet, waiting)
  for (const hash of hashes ?? []) await confirm(hash)
  for (const { request } of hashes === undefined ? plan.steps : []) {
    waiting.signal?.throwIfAborted()
    if (request !== undefined) await confirm(await sendStep(wallet, request))
  }
  const idsOf = (kind: keyof Transaction['created']): number[] =>
    transactions
      .flatMap(({ created }) => created[kind])
      .filter(({ owner }) => owner.toLowerCase() === plan.from.toLowerCase())
      .map(({ id }) => id)
  return {
    ...{ transactions, eventIds: idsOf('eventIds') },
    ...{ depositIds: idsOf('depositIds'), positionIds: idsOf('positionIds') },
  }
}
