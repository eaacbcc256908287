import { type Metrics, show } from '../lib/observe/metrics.ts'
import type { Engine, EngineHealth } from './engine.ts'

/** The day of the newest close in use, by source. */
const newestOf = ({ pairs }: EngineHealth): Map<string, number> => {
  const newest = new Map<string, number>()
  for (const { source, lastClose } of pairs) {
    newest.set(source, Math.max(newest.get(source) ?? 0, Date.parse(lastClose) / 1_000))
  }
  return newest
}

/** Measures the age of the rates that an engine uses, and whether it signs. */
export const measureRates = (metrics: Metrics, engine: Pick<Engine, 'health'>): void =>
  show(metrics, engine.health, [
    {
      name: 'fx_pricing_pairs',
      help: 'Pairs with a history, by whether the history is too old to sign a quote on',
      labels: ['stale'],
      of: ({ pairs }) =>
        [true, false].map((stale) => [{ stale: `${stale}` }, pairs.filter((it) => it.stale === stale).length]),
    },
    {
      name: 'fx_pricing_newest_close_timestamp_seconds',
      help: 'Day of the newest close of any pair from a source, in Unix seconds',
      labels: ['source'],
      of: (it) => [...newestOf(it)].map(([source, at]) => [{ source }, at]),
    },
    {
      name: 'fx_pricing_signing',
      help: '1 while quotes for a chain are signed; 0 while a chain, the clock or a rate prevents it. Absent without a key',
      labels: ['chain'],
      of: ({ signing }) =>
        (signing?.chains ?? [])
          .filter(({ diamondAddress }) => diamondAddress !== null)
          .map(({ chainId, reason }) => [{ chain: chainId }, reason === null && signing?.rates.length === 0 ? 1 : 0]),
    },
    {
      name: 'fx_pricing_clock_ahead_seconds',
      help: "How far the engine's clock is ahead of the newest block of a chain it signs for; negative when behind",
      labels: ['chain'],
      of: ({ signing }) =>
        (signing?.chains ?? []).map(({ chainId, clockAheadSeconds }) => [{ chain: chainId }, clockAheadSeconds]),
    },
  ])
