import { atomicOf, reportOf, sendCalls } from './calls.ts'
import { effectsOf, type Step } from './effects.ts'
import { checkMs } from './numbers.ts'
import { refusalOf } from './refusals.ts'
import type { Requests } from './requests.ts'
import { type Handed, settle, type Waiting } from './settle.ts'
import type { Schemas } from './types.ts'
import { askUser, askWallet, askWithin, ExecutionError, type Wallet, walletError } from './wallet.ts'

export type Plan = Schemas['Plan']
export type Transaction = Schemas['Transaction']

export type ExecuteOptions = Waiting & {
  /** Never sends the steps as one batch, although the wallet supports it. */
  readonly batch?: false
  /** Receives the hash of each transaction that was sent. */
  readonly onSent?: (hash: string) => void
  /** Receives the id of each batch (EIP-5792) that was handed to the wallet. */
  readonly onBatch?: (id: string) => void
  /**
   * Receives the error with which the wallet answered a request that it may have sent all the same. `execute` then
   * searches for what the request does, until `confirmationMs`.
   */
  readonly onUncertain?: (problem: unknown) => void
}

/** What a plan did. The ids are those that the wallet of the plan owns. */
export type Executed = {
  readonly transactions: readonly Transaction[]
  readonly eventIds: readonly number[]
  readonly depositIds: readonly number[]
  readonly positionIds: readonly number[]
  /**
   * Whether a transaction may have created more: it has logs that the service does not know. After an upgrade of the
   * protocol, a list without ids then does not mean that nothing was created.
   */
  readonly createdIncomplete: boolean
}

type Session = {
  readonly api: Requests
  readonly plan: Plan
  readonly wallet: Wallet
  readonly options: ExecuteOptions
}

/** The most that a wallet may take for a request of its node. */
const NODE_MS = 5_000

/** How long a transaction with a used nonce is searched for: it was mined, and the index follows within seconds. */
const USED_NONCE_MS = 15_000

/** Throws when a plan or a wallet cannot be used. */
const check = ({ plan, wallet }: Session): void => {
  // Without a simulation, and for contracts, steps have no request: the wallet sets nonce, gas and fees.
  if (plan.walletCalls === null || plan.steps.length === 0) {
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
}

/** Throws when the wallet is not connected to the chain of the plan: users switch it, also between two steps. */
const requireChain = async ({ plan, wallet, options: { signal } }: Session): Promise<void> => {
  const answer = await askWithin(wallet, ['eth_chainId', []], NODE_MS, signal).catch((error) => {
    signal?.throwIfAborted()
    throw walletError(error)
  })
  const chainId = Number(answer)
  if (chainId !== plan.chainId) {
    const message = `the plan is for chain ${plan.chainId}, and the wallet is connected to chain ${chainId}`
    throw new ExecutionError('wrong_chain', message, `Switch the wallet to chain ${plan.chainId}.`)
  }
}

/** The most blocks that a chain may have made since a plan, some hours of the fastest one. */
const MOST_BLOCKS = 100_000

type Block = { readonly number: number; readonly timestamp: number }

/**
 * The newest block that the wallet knows: what is sent now is in a later one. That of the plan when it is not plausible.
 * It is asked for right before something is sent: it rejects with the reason of the signal when it is aborted.
 */
const newestBlock = async ({ plan, wallet, options: { signal } }: Session): Promise<Block> => {
  const latest = ['eth_getBlockByNumber', ['latest', false]] as const
  const answer = Object(await askWithin(wallet, latest, NODE_MS, signal).catch(() => undefined))
  signal?.throwIfAborted()
  const number = Number(answer.number)
  const isPlausible = number > plan.block.number && number < plan.block.number + MOST_BLOCKS
  return isPlausible ? { number, timestamp: Number(answer.timestamp) } : plan.block
}

/** Whether the steps of a plan cannot be sent after a block any more. */
const isPast = ({ validUntil }: Plan, { timestamp }: Block): boolean =>
  validUntil.timestamp !== null && timestamp >= validUntil.timestamp

const past = (): ExecutionError => new ExecutionError('past_deadline', 'the plan has ended', 'Request a new plan.')

/** What steps do that are handed to the wallet after a block. */
const effectsAfter = ({ api, plan, wallet, options: { signal } }: Session, steps: readonly Step[], after: number) => {
  const readLogs = async (filter: object): Promise<unknown> => {
    const answer = await askWithin(wallet, ['eth_getLogs', [filter]], NODE_MS, signal).catch(() => undefined)
    signal?.throwIfAborted()
    return answer
  }
  return effectsOf(api, plan, { steps, after, readLogs })
}

/** Waits for what was handed to the wallet. Its errors have the hash and the id of the batch, whatever ends the wait. */
const settled = async (
  { api, plan, options: { onSent, onBatch, onUncertain, ...waiting } }: Session,
  handed: Omit<Handed, 'chainId' | 'from' | 'onSent'>,
): Promise<readonly Transaction[]> => {
  const { batchId } = handed
  let hash: string | undefined
  try {
    if (batchId !== undefined) onBatch?.(batchId)
    if (handed.problem !== undefined) onUncertain?.(handed.problem)
    const keep = (sent: string): void => {
      hash = sent
      onSent?.(sent)
    }
    return await settle(api, { ...handed, chainId: plan.chainId, from: plan.from, onSent: keep }, waiting)
  } catch (cause) {
    if (cause instanceof ExecutionError && (batchId === undefined || cause.batchId !== undefined)) throw cause
    if (cause instanceof ExecutionError) {
      const given = { hash: cause.hash, batchId, ...(cause.cause !== undefined && { cause: cause.cause }) }
      throw new ExecutionError(cause.code, cause.message, cause.hint, given)
    }
    const known = hash === undefined ? `batch ${batchId}` : `transaction ${hash}`
    const hint = 'It may be mined: look it up before you send another one.'
    const isAborted = waiting.signal?.aborted === true
    const [code, text] = isAborted ? ['aborted', 'was aborted'] : ['not_confirmed', 'failed']
    throw new ExecutionError(code, `the wait for ${known} ${text}`, hint, { hash, batchId, cause })
  }
}

/** Whether a wallet knows a batch that it refused: its error may be of something that it did after it had sent it. */
const isKnown = async ({ wallet, options: { signal } }: Session, id: string): Promise<boolean> => {
  const { status = 400 } = await reportOf(wallet, id, Date.now() + NODE_MS, signal)
  return status < 400 || status >= 500
}

/**
 * Sends the steps as one batch, or as smaller ones when the wallet refuses their number. Returns how many steps are
 * done: the rest cannot be sent as batches.
 */
const sendBatches = async (session: Session, transactions: Transaction[]): Promise<number> => {
  const { plan, wallet, options } = session
  const { walletCalls, steps } = plan
  if (options.batch === false || walletCalls === null) return 0
  const isAtomic = await atomicOf(wallet, walletCalls.chainId, options.signal)
  if (isAtomic === undefined) return 0
  let done = 0
  for (let size = steps.length; done < steps.length; ) {
    const after = await newestBlock(session)
    const chunk = steps.slice(done, done + size)
    // The id is that of these steps of this plan: a wallet does not take them twice.
    const id = `${plan.digest}${[plan.block.number, done, chunk.length].map((it) => it.toString(16).padStart(12, '0')).join('')}`
    const calls = { ...walletCalls, calls: walletCalls.calls.slice(done, done + size) }
    // A wallet that knows the batch does not take it again.
    if (isPast(plan, after) && !(await isKnown(session, id))) throw past()
    const sent = await sendCalls(wallet, calls, { id, isAtomic, signal: options.signal })
    if ('refusal' in sent && !(await isKnown(session, id))) {
      size = Math.ceil(chunk.length / 2)
      if (sent.refusal === 'unsupported' || chunk.length <= 2) return done
      continue
    }
    const { batchId, isNew, problem } = 'refusal' in sent ? { batchId: id, isNew: true, problem: sent.problem } : sent
    const effects = effectsAfter(session, chunk, isNew ? after.number : plan.block.number)
    const report = (until: number) => reportOf(wallet, batchId, until, options.signal)
    transactions.push(...(await settled(session, { batchId, problem, effects, report, hashes: [] })))
    done += chunk.length
  }
  return done
}

const hexOf = (amount: bigint): string => `0x${amount.toString(16)}`

/** Sends one step as the wallet's account. Without a nonce, the wallet sets it. */
const sendStep = async ({ plan, wallet }: Session, step: Step, hasNonce: boolean): Promise<string> => {
  const { to, data, value } = step.transaction
  const { request } = step
  if (wallet.account?.type === 'json-rpc') {
    // Requested here: after some errors viem sends a transaction once more, by another method.
    const call = request ?? { chainId: plan.walletCalls?.chainId, from: plan.from, to, data, value: hexOf(value) }
    const { nonce: _, ...withoutNonce } = { nonce: undefined, ...call }
    return String(await askWallet(wallet, 'eth_sendTransaction', [hasNonce ? call : withoutNonce]))
  }
  const priced = request && {
    ...{ type: 'eip1559', nonce: hasNonce ? Number(request.nonce) : undefined },
    gas: request.gas === undefined ? undefined : BigInt(request.gas),
    ...{ maxFeePerGas: BigInt(request.maxFeePerGas), maxPriorityFeePerGas: BigInt(request.maxPriorityFeePerGas) },
  }
  const call = { account: wallet.account, chain: null, to, data, value: BigInt(value) }
  return wallet.sendTransaction({ ...call, ...priced } as never)
}

/** Sends a step and waits for it. An error of the wallet may come after it has sent the step. */
const executeStep = async (session: Session, step: Step, hasNonce: boolean): Promise<readonly Transaction[]> => {
  const { options } = session
  await requireChain(session)
  const after = await newestBlock(session)
  if (isPast(session.plan, after)) throw past()
  const effects = effectsAfter(session, [step], after.number)
  let hash: string
  try {
    hash = await askUser(sendStep(session, step, hasNonce), 'the transaction', options.signal)
  } catch (problem) {
    if (problem instanceof ExecutionError) throw problem
    const refusal = refusalOf(problem)
    if (refusal !== 'unknown' && refusal !== 'nonce') throw walletError(problem, refusal)
    if (refusal === 'unknown') return settled(session, { hashes: [], effects, problem })
    const confirmationMs = Math.min(USED_NONCE_MS, options.confirmationMs ?? USED_NONCE_MS)
    const brief = { ...session, options: { ...options, confirmationMs } }
    return settled(brief, { hashes: [], effects, problem }).catch((error: unknown) => {
      throw options.signal?.aborted ? error : walletError(problem, refusal)
    })
  }
  return settled(session, { hashes: [hash], effects })
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
  options: ExecuteOptions = {},
): Promise<Executed> => {
  checkMs('confirmationMs', options.confirmationMs)
  options.signal?.throwIfAborted()
  const session = { api, plan, wallet, options }
  check(session)
  await requireChain(session)
  const transactions: Transaction[] = []
  const done = await sendBatches(session, transactions)
  // After a batch, the nonces of the plan are not those of the account: an atomic batch takes one for all its steps.
  for (const step of plan.steps.slice(done)) transactions.push(...(await executeStep(session, step, done === 0)))
  const idsOf = (kind: keyof Transaction['created']): number[] =>
    transactions
      .flatMap(({ created }) => created[kind])
      .filter(({ owner }) => owner.toLowerCase() === plan.from.toLowerCase())
      .map(({ id }) => id)
  return {
    ...{ transactions, eventIds: idsOf('eventIds') },
    ...{ depositIds: idsOf('depositIds'), positionIds: idsOf('positionIds') },
    createdIncomplete: transactions.some((transaction) => transaction.createdIncomplete),
  }
}
