import { z } from 'zod'

/* The raw figures of a run, as `--json` writes them, and what is computed from them. */

const Counts = z.object({
  calls: z.record(z.string(), z.number()),
  requests: z.number(),
  bytesUp: z.number(),
  bytesDown: z.number(),
})
/** JSON-RPC calls by method, HTTP requests, and the bytes of their bodies. */
export type Counts = z.output<typeof Counts>

export const emptyCounts = (): Counts => ({ calls: {}, requests: 0, bytesUp: 0, bytesDown: 0 })

const Phase = z.object({
  seconds: z.number(),
  /** By chain id. */
  chains: z.record(z.string(), z.object({ processes: z.record(z.string(), Counts), peakPerSecond: z.number() })),
})
export type Phase = z.output<typeof Phase>

const Latencies = z.object({
  /** From the receipt to the list with `afterTx` that has the row. */
  waited: z.array(z.number()),
  /** From the receipt to the list without a wait that has the row, while others use the service. */
  polled: z.array(z.number()),
  /** The same while no request waits and no stream is open. */
  polledQuiet: z.array(z.number()),
  /** From the receipt to the single record without a wait. */
  single: z.array(z.number()),
})
/** Milliseconds. */
export type Latencies = z.output<typeof Latencies>

export const emptyLatencies = (): Latencies => ({ waited: [], polled: [], polledQuiet: [], single: [] })

export const Figures = z.object({
  commit: z.string(),
  date: z.string(),
  machine: z.string(),
  /** The default pause between two polls of an idle chain, in milliseconds. */
  idleIntervalMs: z.number(),
  /** By chain id. */
  blockSeconds: z.record(z.string(), z.number()),
  idle: Phase,
  busy: Phase,
  /** By chain id. */
  latencies: z.record(z.string(), Latencies),
  /** Requests that failed or answered otherwise than expected. */
  failures: z.array(z.string()),
})
export type Figures = z.output<typeof Figures>

/** The names of the processes in tables; which worker leads is found by its calls. */
export const processNames = ['leader worker', 'standby worker', 'API 1', 'API 2', 'engine'] as const

export const phaseNames = ['idle', 'busy'] as const
export type PhaseName = (typeof phaseNames)[number]

/** The chains of a run, the one with the most blocks first. */
export const chainIdsOf = ({ blockSeconds }: Figures): string[] =>
  Object.keys(blockSeconds).toSorted((a, b) => (blockSeconds[a] ?? 0) - (blockSeconds[b] ?? 0))

const DAY = 86_400

const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0)

/** The calls of counts, of one method or of all. */
export const callsOf = ({ calls }: Counts, method?: string): number =>
  method === undefined ? sum(Object.values(calls)) : (calls[method] ?? 0)

/** One phase on one chain, scaled to a day. */
export const perDay = (phase: Phase, chainId: string) => {
  const { processes = {}, peakPerSecond = 0 } = phase.chains[chainId] ?? {}
  const scaled = (value: number): number => (value * DAY) / phase.seconds
  const total = (value: (counts: Counts) => number): number => scaled(sum(Object.values(processes).map(value)))
  return {
    peakPerSecond,
    /** Calls of a process, of one method or of all. */
    of: (name: string, method?: string): number => scaled(callsOf(processes[name] ?? emptyCounts(), method)),
    calls: (method?: string): number => total((counts) => callsOf(counts, method)),
    requests: total(({ requests }) => requests),
    bytesUp: total(({ bytesUp }) => bytesUp),
    bytesDown: total(({ bytesDown }) => bytesDown),
  }
}

/** The methods that a process calls in any phase on any chain, the most frequent first. */
export const methodsOf = (all: readonly Figures[], process?: string): string[] => {
  const totals = new Map<string, number>()
  for (const { idle, busy } of all)
    for (const { chains } of [idle, busy])
      for (const { processes } of Object.values(chains))
        for (const [name, { calls }] of Object.entries(processes))
          if (process === undefined || name === process)
            for (const [method, times] of Object.entries(calls)) totals.set(method, (totals.get(method) ?? 0) + times)
  return [...totals].toSorted(([, a], [, b]) => b - a).map(([method]) => method)
}
