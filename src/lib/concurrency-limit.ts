/**
 * Runs a task once a slot is free, or throws. When `signal` aborts before that, throws its reason. Slots go to the
 * clients with waiting tasks in turns; tasks without a client count as those of one.
 */
export type ConcurrencyLimit = <T>(run: () => Promise<T>, signal?: AbortSignal, client?: string) => Promise<T>

type Waiting = { readonly begin: () => void; readonly reject: (reason: unknown) => void }

/**
 * Runs at most `atOnce` tasks concurrently; up to `waiting` more wait, those of one client in order. A further call
 * throws the error of `refuse`. If another client has more waiting tasks, the newest of those throws it instead: one
 * client cannot keep the others out. There is no time-out: each task must end by itself.
 *
 * @example
 * const limited = createConcurrencyLimit({ atOnce: 16, waiting: 256, refuse: () => unavailable('overloaded, retry after 1 s') })
 */
export const createConcurrencyLimit = (options: {
  readonly atOnce: number
  readonly waiting: number
  readonly refuse: () => Error
}): ConcurrencyLimit => {
  /** The waiting tasks by client. The first client is the next one; no set is empty. */
  const queues = new Map<string, Set<Waiting>>()
  let running = 0
  let waiting = 0

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

  /** Hands a slot over to the next client, which then goes behind the others. */
  const handOver = (): void => {
    const [next] = queues
    if (next === undefined) {
      running -= 1
      return
    }
    const [client, queue] = next
    const [task] = queue
    queues.delete(client)
    queues.set(client, queue)
    if (task === undefined) throw new RangeError('expected no empty queue')
    remove(client, task)
    task.begin()
  }

  return async (run, signal, client = '') => {
    signal?.throwIfAborted()
    if (running < options.atOnce) running += 1
    else {
      if (waiting >= options.waiting) makeRoom(client)
      await turn(signal, client)
    }
    try {
      return await run()
    } finally {
      handOver()
    }
  }
}
