import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'

/** What is told of one piece of work, and how it ended once it has. */
type Report<Subject extends object, Result> = Subject & {
  /** When it began, as `performance.now`. */
  readonly startedAt: number
  readonly result?: Result
  readonly error?: unknown
}

type Listener<Subject extends object, Result> = {
  readonly begun?: (report: Report<Subject, Result>) => void
  readonly over: (report: Report<Subject, Result>) => void
}

/** Where work of one kind is told of. */
export type Reports<Subject extends object, Result> = {
  /** Does the work, and tells of it where somebody listens. Throws what the work throws. */
  tell<T extends Result>(subject: Subject, work: () => Promise<T>): Promise<T>
  /** Listens until what comes back is called. `begun` is called where the work was asked for, so it sees whose request that is. */
  listen(listener: Listener<Subject, Result>): () => void
}

const nothing = (): void => {}

/**
 * Opens a channel for reports of one kind of work. Who does the work knows of no metric and no trace, and where nobody listens it costs a
 * look.
 *
 * @example const jobReports = createReports<{ readonly job: JobName }, void>('fx-protection:job')
 */
export const createReports = <Subject extends object, Result>(name: string): Reports<Subject, Result> => {
  const channel: TracingChannel<unknown, Report<Subject, Result>> = tracingChannel(name)
  return {
    tell: (subject, work) =>
      channel.hasSubscribers ? channel.tracePromise(work, { ...subject, startedAt: performance.now() }) : work(),
    listen({ begun = nothing, over }) {
      const subscribers = { start: begun, end: nothing, asyncStart: nothing, asyncEnd: over, error: nothing }
      channel.subscribe(subscribers)
      return () => void channel.unsubscribe(subscribers)
    },
  }
}
