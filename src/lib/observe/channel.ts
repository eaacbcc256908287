import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'

/** One operation: what it is about and, once it has ended, its result or error. */
type Operation<About extends object, Result> = About & {
  /** When it started, as `performance.now`. */
  readonly startedAt: number
  readonly result?: Result
  readonly error?: unknown
}

/** Both functions receive the same object for one operation. */
type Subscriber<About extends object, Result> = {
  /** Called in the asynchronous context of the caller, so a span can find the request that it belongs to. */
  readonly onStart?: (operation: Operation<About, Result>) => void
  readonly onEnd: (operation: Operation<About, Result>) => void
}

/** Publishes the start and the end of operations of one kind. */
export type Channel<About extends object, Result> = {
  /** Runs the operation and publishes it if there are subscribers. Throws what the operation throws. */
  trace<T extends Result>(about: About, run: () => Promise<T>): Promise<T>
  /** Subscribes until the returned function is called. */
  subscribe(subscriber: Subscriber<About, Result>): () => void
}

const ignore = (): void => {}

/**
 * Opens a channel for one kind of operation, so that the code that runs it depends on neither metrics nor traces.
 * Without subscribers it costs one comparison.
 *
 * @example const jobRuns = createChannel<{ readonly job: JobName }, void>('fx-protection:job')
 */
export const createChannel = <About extends object, Result>(name: string): Channel<About, Result> => {
  const channel: TracingChannel<unknown, Operation<About, Result>> = tracingChannel(name)
  return {
    trace: (about, run) =>
      channel.hasSubscribers ? channel.tracePromise(run, { ...about, startedAt: performance.now() }) : run(),
    subscribe({ onStart = ignore, onEnd }) {
      const subscribers = { start: onStart, end: ignore, asyncStart: ignore, asyncEnd: onEnd, error: ignore }
      channel.subscribe(subscribers)
      return () => void channel.unsubscribe(subscribers)
    },
  }
}
