import { isUnavailable } from '../lib/errors.ts'
import { FOREIGN_GAS, type KnownCode, MAX_GAS } from './foreign-code.ts'
import type { Node } from './pool/failover.ts'
import type { Batch, Outcomes } from './rpc/batch.ts'
import { isTimeout, NodeError, toServiceError } from './rpc/errors.ts'
import type { Request } from './rpc/requests.ts'
import {
  callSequence,
  type GasLimit,
  type Sequence,
  type SequenceCall,
  type SequenceResult,
  simulateBlock,
} from './rpc/simulation.ts'
import type { Outcome } from './rpc/transport.ts'

/** The RPC methods that simulate a sequence of calls, the more faithful one first. */
export const simulationMethods = ['eth_simulateV1', 'eth_call'] as const

export type SimulationMethod = (typeof simulationMethods)[number]

const requestOf: Readonly<
  Record<SimulationMethod, (sequence: Sequence, gasOf: GasLimit) => Request<readonly SequenceResult[]>>
> = {
  eth_simulateV1: simulateBlock,
  eth_call: callSequence,
}

/** The results of the calls in their order, and the method; null when no node in reach has one of the methods. */
type Simulated = { readonly method: SimulationMethod; readonly results: readonly SequenceResult[] } | null

export type Simulator = {
  /**
   * Simulates calls of one account and sends further requests, all in one HTTP request to one node. A call that reverts
   * is a result. Calls of foreign contracts have a limit of their gas, and their failure does not count against the
   * node. When nothing is simulated, the requests that `instead` returns are sent too. Throws `service_unavailable` when
   * no node answers.
   */
  simulateSequence<const B extends Batch>(
    sequence: Sequence,
    further: B,
    instead?: () => readonly Request<unknown>[],
  ): Promise<{
    readonly simulated: Simulated
    readonly outcomes: Outcomes<B>
    /** The outcomes of `instead`, in its order; none when the calls were simulated. */
    readonly instead: readonly Outcome<unknown>[]
  }>
}

type Instead = { readonly instead: readonly Outcome<unknown>[] }

type Added = { readonly simulation: Outcome<readonly SequenceResult[]> }

/** Creates the simulator of a chain. */
export const createSimulator = (node: Pick<Node, 'send'>, { isForeign }: Pick<KnownCode, 'isForeign'>): Simulator => ({
  async simulateSequence(sequence, further, instead = () => []) {
    const gasOf = ({ to }: SequenceCall): bigint => (isForeign(to) ? FOREIGN_GAS : MAX_GAS)
    const options = { foreign: sequence.calls.some(({ to }) => isForeign(to)) }
    for (const method of simulationMethods) {
      try {
        const sent = await node.send({ ...further, simulation: requestOf[method](sequence, gasOf) }, options)
        // The compiler cannot separate the names of the further requests from the one that is added.
        const { simulation, ...outcomes } = sent as unknown as Added & Outcomes<Batch>
        if (simulation.ok)
          return { simulated: { method, results: simulation.value }, outcomes: outcomes as never, instead: [] }
        if (simulation.error.fault.kind === 'missing') throw toServiceError(simulation.error)
      } catch (failure) {
        // No node in reach has the method, the answers are too long, or no node is in reach at all, which the last
        // request shows.
        if (!isUnavailable(failure) || failure.cause instanceof NodeError || isTimeout(failure)) throw failure
      }
    }
    const sent = await node.send({ ...further, instead: instead() }, options)
    const { instead: others, ...outcomes } = sent as unknown as Instead & Outcomes<Batch>
    return { simulated: null, outcomes: outcomes as never, instead: others }
  },
})
