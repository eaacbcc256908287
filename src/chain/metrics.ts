import { Counter, Histogram } from 'prom-client'
import { DURATIONS, type Metrics, show } from '../lib/metrics.ts'
import type { Chain } from './chain.ts'
import { NodeUnreachable } from './errors.ts'
import { nodeReports } from './reports.ts'
import type { EndpointStatus } from './status.ts'

const every: Readonly<Record<EndpointStatus['state'], true>> = {
  ok: true,
  forgetful: true,
  lagging: true,
  doubted: true,
  stale: true,
  unseen: true,
  resting: true,
  'wrong chain': true,
}
const states = Object.keys(every)

type Seen = { readonly chainId: number; readonly node: EndpointStatus; readonly highest: bigint | null }

const nodesOf = (chains: Iterable<Chain>): Seen[] =>
  [...chains].flatMap(({ chainId, status }) => {
    const { endpoints } = status()
    const heights = endpoints.flatMap(({ height }) => height ?? [])
    const highest = heights.reduce<bigint | null>((most, it) => (most === null || it > most ? it : most), null)
    return endpoints.map((node) => ({ chainId, node, highest }))
  })

const of = ({ chainId, node }: Seen) => ({ chain: chainId, node: node.index })

/** What a request came to, where it was not answered: the kind of fault, or that whoever asked did not wait for it. */
const failureOf = (error: unknown, signal: AbortSignal | undefined): string => {
  if (signal?.aborted) return 'abandoned'
  return error instanceof NodeUnreachable ? error.fault.kind : 'fault'
}

/** Measures what chains ask of their nodes and how those stand, each by its place in the configuration. What comes back ends it. */
export const measureChains = (metrics: Metrics, chains: ReadonlyMap<number, Chain>): (() => void) => {
  const registers = [metrics]
  const requests = new Counter({
    name: 'fx_node_requests_total',
    help: 'JSON-RPC requests sent to nodes, by method and what they came to',
    labelNames: ['chain', 'node', 'method', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'fx_node_request_duration_seconds',
    help: 'HTTP requests to nodes, each with one JSON-RPC request or more',
    labelNames: ['chain', 'node'],
    buckets: DURATIONS,
    registers,
  })

  show(metrics, () => nodesOf(chains.values()), [
    {
      name: 'fx_node_height_blocks',
      help: 'The newest block a node has shown',
      labels: ['chain', 'node'],
      of: (all) => all.map((it) => [of(it), it.node.height === null ? null : Number(it.node.height)]),
    },
    {
      name: 'fx_node_behind_blocks',
      help: "Blocks that a node's newest one is below the newest of all nodes of its chain",
      labels: ['chain', 'node'],
      of: (all) =>
        all.map((it) => [
          of(it),
          it.highest === null || it.node.height === null ? null : Number(it.highest - it.node.height),
        ]),
    },
    {
      name: 'fx_node_state',
      help: 'How a node stands next to the others of its chain: 1 for the state it is in',
      labels: ['chain', 'node', 'state'],
      of: (all) => all.flatMap((it) => states.map((state) => [{ ...of(it), state }, it.node.state === state ? 1 : 0])),
    },
  ])
  show(metrics, () => [...chains.values()], [
    {
      name: 'fx_chain_halted',
      help: '1 while all nodes of a chain show the same old block',
      labels: ['chain'],
      of: (all) => all.map(({ chainId, status }) => [{ chain: chainId }, status().halted ? 1 : 0]),
    },
  ])

  return nodeReports.listen({
    over({ chainId: chain, node, methods, signal, startedAt, result, error }) {
      durations.observe({ chain, node }, (performance.now() - startedAt) / 1_000)
      for (const [at, method] of methods.entries()) {
        const said = result?.[at]
        const outcome = said === undefined ? failureOf(error, signal) : said.ok ? 'ok' : said.error.fault.kind
        requests.inc({ chain, node, method, outcome })
      }
    },
  })
}
