import { createTally } from './tally.ts'

/**
 * Runs a task once a slot is free, or throws. When `signal` aborts before that, throws its reason. Slots go to the
 * clients with waiting tasks in turns; tasks without a client count as those of one, which may take all slots.
 */
export type ConcurrencyLimit = <T>(run: () => Promise<T>, signal?: AbortSignal, client?: string) => Promise<T>

type Waiting = { readonly begin: () => void; readonly reject: (reason: unknown) => void }

/** The client of tasks that no client asked for. */
const NOBODY = ''

/**
 * Runs at most `atOnce` tasks concurrently, and at most half as many of one client, so that a slot is free for another
 * one; up to `waiting` more wait, those of one client in order. A further call throws the error of `refuse`. If another
 * client has more waiting tasks, the newest of those throws it instead: one client cannot keep the others out. There is
 * no time-out: each task must end by itself.
 *
 * @example
 * const limited = createConcurrencyLimit({ atOnce: 16, waiting: 256, refuse: () => unavailable('overloaded, retry after 1 s') })
 */
export const createConcurrencyLimit = (options: {
  readonly atOnce: number
  readonly waiting: number
  readonly refuse: () => Error
}): ConcurrencyLimit & { /** The number of tasks that have not begun. */ readonly waiting: () => number } => {
  const { atOnce } = options
  const atOncePerClient = Math.ceil(atOnce / 2)
  /** The number of running tasks by client, if any. */
  const running = createTally<string>()
  /** The waiting tasks by client. The first client is the next one; no set is empty. */
  const queues = new Map<string, Set<Waiting>>()
  let taken = 0
  let waiting = 0

  const mayBegin = (client: string): boolean =>
    taken < atOnce && (client === NOBODY || running.of(client) < atOncePerClient)

  const take = (client: string): void => {
    taken += 1
    running.add(client, 1)
  }

  const remove = (client: string, task: Waiting): void => {
    const queue = queues.get(client)
    if (queue?.delete(task) !== true) return
    waiting -= 1
    if (queue.size === 0) queues.delete(client)
  }

  /** Rejects the newest task of the client that has the most, unless `client` would then have as many. */
  const makeRoom = (client: string): void => {
    const [largest, queue] = [...queues].reduce<readonly [string, ReadonlySet<Waiting>]>(
      (most, each) => (each[1].size > most[1].size ? each : most),
      [client, queues.get(client) ?? new Set()],
    )
    const newest = [...queue].at(-1)
    if (newest === undefined || queue.size <= (queues.get(client)?.size ?? 0) + 1) throw options.refuse()
    remove(largest, newest)
    newest.reject(options.refuse())
  }

  const turn = (signal: AbortSignal | undefined, client: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        remove(client, task)
        reject(signal?.reason)
      }
      const stopListening = (): void => signal?.removeEventListener('abort', leave)
      const task: Waiting = {
        begin() {
          stopListening()
          resolve()
        },
        reject(reason) {
          stopListening()
          reject(reason)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      const queue = queues.get(client) ?? new Set()
      queues.set(client, queue.add(task))
      waiting += 1
    })

  /** Frees a slot and hands it over to the next client that may begin, which then goes behind the others. */
  const handOver = (from: string): void => {
    taken -= 1
    running.add(from, -1)
    for (const [client, queue] of queues) {
      if (!mayBegin(client)) continue
      const [task] = queue
      if (task === undefined) throw new RangeError('expected no empty queue')
      queues.delete(client)
      queues.set(client, queue)
      remove(client, task)
      take(client)
      task.begin()
      return
    }
  }

  const limited: ConcurrencyLimit = async (run, signal, client = NOBODY) => {
    signal?.throwIfAborted()
    if (mayBegin(client)) take(client)
    else {
      if (waiting >= options.waiting) makeRoom(client)
      await turn(signal, client)
    }
    try {
      return await run()
    } finally {
      handOver(client)
    }
  }
  return Object.assign(limited, { waiting: () => waiting })
}
