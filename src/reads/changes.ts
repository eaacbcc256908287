import { createBell } from '../db/bell.ts'
import { type Change, changesAfter, newestChange, type Reached, reached } from '../db/changes.ts'
import type { Database } from '../db/pool.ts'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { ChainId } from '../protocol/chains.ts'

/** What this process knows of what changed in the index, kept current by the database's notifications. Nothing here waits or asks. */
export type Changes = {
  /**
   * Whether what is known is all there is, and the indexes of the chains are near their heads: while not, nothing that is kept may be
   * answered with.
   */
  isCurrent(chainIds: readonly ChainId[]): boolean
  /** The number of the newest change that is known. */
  position(): number
  /** The number of the newest change that touched a resource, or may have. */
  version(resource: Resource): number
  /** How far a chain's index has come; undefined before its first block. */
  reached(chainId: ChainId): Reached | undefined
  /** Calls `listener` whenever something was committed, after it is known here; gives what ends that. */
  onCommit(listener: () => void): () => void
  close(): Promise<void>
}

/** Everything of a chain changed. */
const EVERYTHING = '*'

/** What an answer depends on: chains, and the keys of what it shows of them. */
export type Resource = { readonly chainIds: readonly ChainId[]; readonly keys: readonly string[] }

/**
 * The resource that shows scopes of some chains; see `db/scopes`.
 *
 * @example resourceOf([8453], ofWallet(address))
 */
export const resourceOf = (chainIds: readonly ChainId[], ...scopes: readonly string[]): Resource => ({
  chainIds,
  keys: chainIds.flatMap((chainId) => [EVERYTHING, ...scopes].map((scope) => `${chainId} ${scope}`)),
})

/** Waits until a resource changes after a version, until `ms` milliseconds passed, or until `signal` aborts. */
export const waitForChange = async (
  changes: Pick<Changes, 'version' | 'onCommit'>,
  since: { readonly resource: Resource; readonly version: number },
  ms: number,
  signal: AbortSignal,
): Promise<void> => {
  const over = new AbortController()
  const end = (): void => over.abort()
  const check = (): void => {
    if (changes.version(since.resource) > since.version) end()
  }
  const stop = changes.onCommit(check)
  signal.addEventListener('abort', end, { once: true })
  check()
  if (!signal.aborted) await sleep(ms, over.signal)
  signal.removeEventListener('abort', end)
  stop()
}

/** Keys whose last change is remembered; of the others it is known to be older. */
const MOST_KEYS = 200_000

/**
 * What was known so long ago, in milliseconds, counts no more: a process that stood still must not answer from before. The bell beats more
 * often.
 */
const FRESH_MS = 2_000

/** The worker looks once a second. One that was silent for longer than this, or whose index trails its head by more, tells nothing, in seconds. */
const SILENT_SECONDS = 3
const NEAR_SECONDS = 5

/** How far a chain's index is behind the head that the worker saw, in seconds of the chain; null before it saw one. */
export const lagOfReached = ({ block, look }: Reached): number | null =>
  look && Math.max(0, Number(look.headTimestamp - block.timestamp))

/** Whether the worker was heard of lately, and a chain's index is near its head. */
const isNear = (it: Reached): boolean => {
  const lag = lagOfReached(it)
  return lag !== null && lag <= NEAR_SECONDS && (it.look?.ageSeconds ?? Infinity) <= SILENT_SECONDS
}

/** What `Changes` knows, without its connection. Exported for tests. */
export const createLedger = (most = MOST_KEYS) => {
  /** In the order of the changes, oldest first. */
  const touched = new Map<string, number>()
  /** No key that is not among them was touched after this one. */
  let floor: number | null = null
  let last = 0

  const touch = (key: string, seq: number): void => {
    touched.delete(key)
    touched.set(key, seq)
    if (touched.size <= most) return
    const [oldest] = touched
    if (oldest === undefined) return
    touched.delete(oldest[0])
    floor = oldest[1]
  }

  /** Knows nothing from before a change. */
  const begin = (seq: number): void => {
    touched.clear()
    floor = Math.max(seq, last)
    last = floor
  }

  return {
    last: (): number => last,
    isEmpty: (): boolean => floor === null,
    begin,
    add({ seq, before, chainId, scopes }: Change): void {
      // Some are not there any more: what they touched is not known.
      if (before !== last) begin(before)
      for (const scope of scopes ?? [EVERYTHING]) touch(`${chainId} ${scope}`, seq)
      last = seq
    },
    version: ({ keys }: Resource): number =>
      keys.reduce((newest, key) => Math.max(newest, touched.get(key) ?? 0), floor ?? 0),
  }
}

/** How often changes are read again because others were committed meanwhile. */
const MOST_TURNS = 20

/**
 * Follows the changes of a database until closed. A notification only says that there is something to read; what it is comes from the table,
 * by the same connections as the answers do, so that nothing is known here before it can be read.
 *
 * @example const changes = createChanges({ url, database, log })
 */
export const createChanges = (deps: {
  /** Of the database that is written to: no other one notifies. */
  readonly url: string
  readonly database: Pick<Database, 'run'>
  readonly log: Logger
}): Changes => {
  const { url, database, log } = deps
  const ledger = createLedger()
  const listeners = new Set<() => void>()
  let chains = new Map<number, Reached>()
  /** The chains whose index the worker saw near the head. */
  let near: ReadonlySet<number> = new Set()
  let known = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null
  let again = false

  /**
   * The changes after a number, and how far the index had come with the last of them: no change was committed in between. Else what an older
   * block shows would be taken for that of a newer one.
   */
  const readTogether = async (since: number): Promise<{ readonly changes: Change[]; readonly all: Reached[] }> => {
    const changes: Change[] = []
    const more = async (): Promise<number> =>
      changes.push(...(await database.run((handle) => changesAfter(handle, changes.at(-1)?.seq ?? since))))
    await more()
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      const known = changes.length
      const all = await database.run(reached)
      if ((await more()) === known) return { changes, all }
    }
    throw new Error('changes arrive faster than they are read')
  }

  const read = async (): Promise<void> => {
    const at = performance.now()
    const before = ledger.last()
    // Starting, or after the connection was gone: the database may have been put back to an older copy meanwhile.
    const since = bell.since()
    if (ledger.isEmpty() || since === null || known < since) {
      const newest = await database.run(newestChange)
      if (ledger.isEmpty() || newest < before) ledger.begin(newest)
    }
    const { changes, all } = await readTogether(ledger.last())
    for (const change of changes) ledger.add(change)
    chains = new Map(all.map((it) => [it.chainId, it]))
    near = new Set(all.filter(isNear).map(({ chainId }) => chainId))
    known = at
    for (const listener of listeners) listener()
  }

  const refresh = async (): Promise<void> => {
    do {
      again = false
      try {
        await read()
      } catch (fault) {
        log.debug({ fault: errorText(fault) }, 'changes not read')
      }
    } while (again)
    reading = null
  }

  const bell = createBell({
    url,
    onRing() {
      again = true
      reading ??= refresh()
    },
    log,
  })

  return {
    isCurrent(chainIds) {
      const since = bell.since()
      if (since === null || known < since || performance.now() - known > FRESH_MS) return false
      for (const chainId of chainIds) if (!near.has(chainId)) return false
      return true
    },
    position: ledger.last,
    version: ledger.version,
    reached: (chainId) => chains.get(chainId),
    onCommit(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      await bell.close()
      await reading
    },
  }
}
