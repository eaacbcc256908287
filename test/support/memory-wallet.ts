import { createClient, ExecutionError } from 'fx-protection-client'
import { createWalletClient, custom } from 'viem'
import { createMemoryChain, FROM } from './memory-chain.ts'
import { createWalletProvider } from './wallet-provider.ts'

export type Answers = NonNullable<Parameters<typeof createWalletProvider>[0]['answers']>

/** A chain in memory, a client of its API, and wallets on it. */
export const createMemoryWorld = () => {
  const memory = createMemoryChain()
  const client = createClient({ baseUrl: 'http://api.example', fetch: memory.api, attempts: 1 })
  const walletOf = (
    answers: Answers = {},
    options: { batches?: boolean; atomic?: boolean; rejects?: boolean } = {},
  ) => {
    const given = { node: memory.node, account: { address: FROM }, batches: true, ...options, answers }
    const made = createWalletProvider(given)
    return { ...made, wallet: createWalletClient({ account: FROM, transport: custom(made.provider) }) }
  }
  return { ...memory, client, walletOf }
}

/** The error of an execution. */
export const failureOf = async (execution: Promise<unknown>): Promise<ExecutionError> => {
  const error = await execution.catch((fault: unknown) => fault)
  if (error instanceof ExecutionError) return error
  throw new Error('expected an ExecutionError', { cause: error })
}

/** What an error of a purchase that may be on the chain never does: deny that it was sent, or advise to send again. */
export const DENIES = /did not send|not sent|batch: false|request a new plan|send it again\.$|try again/i
