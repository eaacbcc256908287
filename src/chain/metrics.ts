import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics, show } from '../lib/observe/metrics.ts'
import type { Chain } from './chain.ts'
import { type EndpointStatus, endpointRanks } from './endpoints/status.ts'
import { NodeUnreachable } from './rpc/errors.ts'
import { nodeRequests } from './rpc/request-channel.ts'

type NodeSample = { readonly chainId: number; readonly node: EndpointStatus; readonly highest: bigint | null }

const nodesOf = (chains: Iterable<Chain>): NodeSample[] =>
  [...chains].flatMap(({ chainId, status }) => {
    const { endpoints } = status()
    const heights = endpoints.flatMap(({ height }) => height ?? [])
    const highest = heights.reduce<bigint | null>((most, it) => (most === null || it > most ? it : most), null)
    return endpoints.map((node) => ({ chainId, node, highest }))
  })

const of = ({ chainId, node }: NodeSample) => ({ chain: chainId, node: node.index })

/**
 * The outcome of a request without an answer: the kind of its fault, or `abandoned` when the caller stopped waiting.
 */
const failureOf = (error: unknown, signal: AbortSignal | undefined): string => {
  if (signal?.aborted) return 'abandoned'
  return error instanceof NodeUnreachable ? error.fault.kind : 'fault'
}

/**
 * Measures requests to nodes and the rank of each node, which is identified by its zero-based position in
 * `RPC_URLS_<chain>`. Returns a function that stops the measurement.
 */
export const measureChains = (metrics: Metrics, chains: ReadonlyMap<number, Chain>): (() => void) => {
  const registers = [metrics]
  const requests = new Counter({
    name: 'fx_node_requests_total',
    help: 'JSON-RPC requests sent to nodes, by method and outcome',
    labelNames: ['chain', 'node', 'method', 'outcome'],
    registers,
  })
  const oddAnswers = new Counter({
    name: 'fx_node_odd_answers_total',
    help: 'HTTP answers of nodes in an odd form that is understood all the same, by kind',
    labelNames: ['chain', 'node', 'kind'],
    registers,
  })
  const durations = new Histogram({
    name: 'fx_node_request_duration_seconds',
    help: 'Duration of HTTP requests to nodes; each carries one or more JSON-RPC requests',
    labelNames: ['chain', 'node'],
    buckets: DURATIONS,
    registers,
  })

  show(metrics, () => nodesOf(chains.values()), [
    {
      name: 'fx_node_height_blocks',
      help: 'The newest block that a node has reported',
      labels: ['chain', 'node'],
      of: (all) => all.map((it) => [of(it), it.node.height === null ? null : Number(it.node.height)]),
    },
    {
      name: 'fx_node_behind_blocks',
      help: "Distance of a node's newest block to the newest one of all nodes of its chain",
      labels: ['chain', 'node'],
      of: (all) =>
        all.map((it) => [
          of(it),
          it.highest === null || it.node.height === null ? null : Number(it.highest - it.node.height),
        ]),
    },
    {
      name: 'fx_node_rank',
      help: 'The rank of a node among the nodes of its chain: 1 for its current rank, else 0',
      labels: ['chain', 'node', 'rank'],
      of: (all) =>
        all.flatMap((it) => endpointRanks.map((rank) => [{ ...of(it), rank }, it.node.rank === rank ? 1 : 0])),
    },
  ])

  return nodeRequests.subscribe({
    onEnd({ chainId: chain, node, methods, signal, odd, startedAt, result, error }) {
      durations.observe({ chain, node }, (performance.now() - startedAt) / 1_000)
      for (const kind of odd) oddAnswers.inc({ chain, node, kind })
      for (const [at, method] of methods.entries()) {
        const answer = result?.[at]
        const outcome = answer === undefined ? failureOf(error, signal) : answer.ok ? 'ok' : answer.error.fault.kind
        requests.inc({ chain, node, method, outcome })
      }
    },
  })
}
