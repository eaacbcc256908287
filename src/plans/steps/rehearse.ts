import type { Address, Hex } from 'viem'
import { erc20Abi } from '../../abi/erc20.generated.ts'
import type { Chain } from '../../chain/chain.ts'
import type { Batch, Outcomes } from '../../chain/rpc/batch.ts'
import type { Request } from '../../chain/rpc/requests.ts'
import type { SequenceCall, SequenceResult, StorageOverrides } from '../../chain/rpc/simulation.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { SimulationMethod } from '../../chain/simulator.ts'
import { contractFunction } from '../../protocol/abi/contract-function.ts'
import type { Step } from './step.ts'

/** The state that a plan is made on: a block, and the time of the block after it in Unix seconds. */
export type At = { readonly blockHash: Hex; readonly time: bigint }

/** Changes of balances by token, in token units. */
type Changes = ReadonlyMap<Address, bigint>

/** What a step did: its result, and how it changed the wallet's balances. */
export type StepResult = SequenceResult & { readonly changes: Changes }

/** What steps would do, one after the other; null without a node that simulates. */
export type Rehearsal = {
  readonly method: SimulationMethod
  readonly steps: readonly StepResult[]
  /** The tokens that returned the wallet's balance. */
  readonly answering: ReadonlySet<Address>
  /** The changes of the protocol's balances by all steps. */
  readonly ofProtocol: Changes
  /** The results of the calls after the steps. */
  readonly after: readonly SequenceResult[]
} | null

const balanceOf = contractFunction(erc20Abi, 'balanceOf')

const balanceCalls = (tokens: readonly Address[], of: Address): readonly SequenceCall[] => {
  const data = balanceOf.encode([of])
  return tokens.map((to) => ({ to, data }))
}

/** The uint256 that a call returned; null for any other answer. */
export const wordOf = (result: Pick<SequenceResult, 'ok' | 'data'> | undefined): bigint | null =>
  result?.ok === true && result.data.length === 66 ? BigInt(result.data) : null

const changesOf = (
  tokens: readonly Address[],
  before: readonly SequenceResult[],
  after: readonly SequenceResult[],
): Changes =>
  new Map(
    tokens.flatMap((token, at) => {
      const [from, to] = [wordOf(before[at]), wordOf(after[at])]
      return from === null || to === null || from === to ? [] : [[token, to - from]]
    }),
  )

/**
 * Simulates steps of a wallet with its balances of `tokens` around each of them, and further requests, in one HTTP
 * request. Throws as `Chain.simulateSequence` does.
 */
export const rehearse = async <const B extends Batch>(
  chain: Pick<Chain, 'simulateSequence' | 'deployment'>,
  at: At,
  rehearsed: {
    readonly from: Address
    readonly steps: readonly Step[]
    readonly tokens: readonly Address[]
    readonly overrides?: StorageOverrides
    readonly after?: readonly SequenceCall[]
    /** What is requested when nothing is simulated. */
    readonly instead?: () => readonly Request<unknown>[]
  },
  further: B,
): Promise<{
  readonly rehearsal: Rehearsal
  readonly outcomes: Outcomes<B>
  readonly instead: readonly Outcome<unknown>[]
}> => {
  const { from, steps, tokens, overrides = {}, after = [], instead: plain } = rehearsed
  const { diamond } = chain.deployment
  const [ofProtocolCalls, ofWalletCalls] = [balanceCalls(tokens, diamond), balanceCalls(tokens, from)]
  const calls = [
    ...ofProtocolCalls,
    ...ofWalletCalls,
    ...steps.flatMap(({ transaction: { to, data } }) => [{ to, data }, ...ofWalletCalls]),
    ...ofProtocolCalls,
    ...after,
  ]
  const sequence = { from, calls, overrides, ...at }
  const { simulated, outcomes, instead } = await chain.simulateSequence(sequence, further, plain)
  if (simulated === null) return { rehearsal: null, outcomes, instead }
  const left = [...simulated.results]
  const take = (count: number): SequenceResult[] => left.splice(0, count)
  const before = take(tokens.length)
  let last = take(tokens.length)
  const answering = new Set(tokens.filter((_, nth) => wordOf(last[nth]) !== null))
  const results = steps.map((): StepResult => {
    const [result] = take(1)
    if (result === undefined) throw new RangeError('expected a result of each step')
    const next = take(tokens.length)
    const changes = changesOf(tokens, last, next)
    last = next
    return { ...result, changes }
  })
  const ofProtocol = changesOf(tokens, before, take(tokens.length))
  return {
    rehearsal: { method: simulated.method, steps: results, answering, ofProtocol, after: left },
    outcomes,
    instead,
  }
}
