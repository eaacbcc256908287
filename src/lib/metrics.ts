import { Counter, Gauge, Registry } from 'prom-client'
import { createSingleFlight } from './single-flight.ts'

export type Metrics = Registry

/** Upper bounds in seconds: an answer from memory takes a fraction of a millisecond, one that waits for nodes up to some seconds. */
export const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** No metrics yet; a process's own are added where they are served. */
export const createMetrics = (): Metrics => new Registry()

type Labels = Readonly<Record<string, string | number>>

/** A metric that shows what is known anyway. */
export type Shown<Seen> = {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Values with their labels; those that nobody knows are null and left out. */
  readonly of: (seen: Seen) => Iterable<readonly [Labels, number | null]>
}

/**
 * Shows what is known anyway: it is looked at when the metrics are asked for and at no other time, once for all that show it. Where that
 * fails they are left out. What ends in `_total` is a counter, the rest are gauges.
 *
 * @example show(metrics, () => streams.tally(), [{ name: 'fx_streams_open', help: 'Streams', of: (it) => [[{}, it.open]] }])
 */
export const show = <Seen>(metrics: Metrics, look: () => Promise<Seen> | Seen, shown: readonly Shown<Seen>[]): void => {
  const flight = createSingleFlight<Seen | null>()
  const seen = (): Promise<Seen | null> => flight('look', async () => look()).catch(() => null)
  for (const { name, help, labels = [], of } of shown) {
    const options = { name, help, labelNames: [...labels], registers: [metrics] }
    // From zero, to add is to set: a gauge has `inc` as a counter has.
    const collect = async (metric: Counter | Gauge): Promise<void> => {
      const it = await seen()
      metric.reset()
      // A metric without labels begins at 0, which is more than is known.
      if (labels.length === 0) metric.remove()
      for (const [labelled, value] of it === null ? [] : of(it)) if (value !== null) metric.inc(labelled, value)
    }
    const Kind = name.endsWith('_total') ? Counter : Gauge
    const metric: Counter | Gauge = new Kind({ ...options, collect: () => collect(metric) })
  }
}
