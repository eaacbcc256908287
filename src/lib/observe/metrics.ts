import { Counter, Gauge, Registry } from 'prom-client'
import { createSingleFlight } from '../single-flight.ts'

export type Metrics = Registry

/** Upper bounds in seconds, from responses out of memory (below a millisecond) to those that wait for nodes. */
export const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Creates an empty registry. `serveMetrics` adds the metrics of the process. */
export const createMetrics = (): Metrics => new Registry()

type Labels = Readonly<Record<string, string | number>>

/** A metric whose values are derived from existing state at each scrape. */
export type Shown<Seen> = {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Values with their labels; an unknown value is null and left out. */
  readonly of: (seen: Seen) => Iterable<readonly [Labels, number | null]>
}

/**
 * Adds metrics that are derived from existing state. `read` runs only during a scrape, once for all of them; if it
 * fails they are left out. A name that ends in `_total` is a counter, any other a gauge.
 *
 * @example
 * show(metrics, () => streams.counts(), [{ name: 'fx_streams_open', help: 'Streams', of: (it) => [[{}, it.open]] }])
 */
export const show = <Seen>(metrics: Metrics, read: () => Promise<Seen> | Seen, shown: readonly Shown<Seen>[]): void => {
  const flight = createSingleFlight<Seen | null>()
  const seen = (): Promise<Seen | null> => flight('read', async () => read()).catch(() => null)
  for (const { name, help, labels = [], of } of shown) {
    const options = { name, help, labelNames: [...labels], registers: [metrics] }
    // After a reset, `inc` sets the value, and both a counter and a gauge have it.
    const collect = async (metric: Counter | Gauge): Promise<void> => {
      const it = await seen()
      metric.reset()
      // After a reset, a metric without labels reports 0, even if its value is unknown.
      if (labels.length === 0) metric.remove()
      for (const [labelled, value] of it === null ? [] : of(it)) if (value !== null) metric.inc(labelled, value)
    }
    const Kind = name.endsWith('_total') ? Counter : Gauge
    const metric: Counter | Gauge = new Kind({ ...options, collect: () => collect(metric) })
  }
}
