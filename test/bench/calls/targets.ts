import { quantile } from '../../faults/target.ts'
import { chainIdsOf, type Figures, perDay } from './figures.ts'

const IDLE_CALLS_PER_DAY = 120_000
export const callTargets = { idle: IDLE_CALLS_PER_DAY, busy: 3 * IDLE_CALLS_PER_DAY } as const

/** The most that a wait for one's own transaction takes, in milliseconds, on the chain with the shortest block time. */
const WAIT_P50_MS = 350
const WAIT_P99_MS = 1_000

/** What a list without a wait may take in addition to the pause between two polls, in milliseconds. */
const POLLED_IN_ADDITION_MS = 500

type Verdict = { readonly claim: string; readonly measured: string; readonly target: string; readonly met: boolean }

const atMost = (claim: string, value: number, most: number, show: (value: number) => string): Verdict => ({
  ...{ claim, measured: show(value), target: `at most ${show(most)}` },
  met: value <= most,
})

const count = (value: number): string => Math.round(value).toLocaleString('en')
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

/** Every target with what was measured. */
export const judge = (figures: Figures): Verdict[] => {
  const chainIds = chainIdsOf(figures)
  const [fastest = ''] = chainIds
  const { waited = [] } = figures.latencies[fastest] ?? {}
  const polledMost = figures.idleIntervalMs + POLLED_IN_ADDITION_MS
  const polled = (name: 'polled' | 'polledQuiet', when: string): Verdict[] =>
    chainIds.map((id) =>
      atMost(
        `receipt to list without a wait, ${when}, chain ${id}, worst`,
        quantile(figures.latencies[id]?.[name] ?? [], 1),
        polledMost,
        seconds,
      ),
    )
  return [
    ...(['idle', 'busy'] as const).flatMap((phase) =>
      chainIds.map((id) =>
        atMost(`calls a day, ${phase}, chain ${id}`, perDay(figures[phase], id).calls(), callTargets[phase], count),
      ),
    ),
    atMost(`receipt to list with afterTx, chain ${fastest}, p50`, quantile(waited, 0.5), WAIT_P50_MS, seconds),
    atMost(`receipt to list with afterTx, chain ${fastest}, p99`, quantile(waited, 0.99), WAIT_P99_MS, seconds),
    ...polled('polled', 'busy'),
    ...polled('polledQuiet', 'quiet'),
    atMost('requests that failed', figures.failures.length, 0, count),
  ]
}
