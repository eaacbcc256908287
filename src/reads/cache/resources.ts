import { type Change, changesAfter, newestChange, type Reached, reached } from '../../db/changes/changes.ts'
import { CHANNEL } from '../../db/changes/channel.ts'
import { createNotificationListener } from '../../db/changes/notification-listener.ts'
import type { Database } from '../../db/pool.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { errorText } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { CACHE_MAX_KNOWLEDGE_AGE_MS, isNearHead } from '../lag/lag.ts'

/** The scope of a change that affects everything of a chain. */
const EVERYTHING = '*'

/** The dependencies of an answer: its chains, and the keys of the scopes that it shows of them. */
export type Resource = { readonly chainIds: readonly ChainId[]; readonly keys: readonly string[] }

/** Makes the resource of scopes (`db/changes/scopes.ts`) on chains: `resourceOf([8453], ofWallet(address))`. */
export const resourceOf = (chainIds: readonly ChainId[], ...scopes: readonly string[]): Resource => ({
  chainIds,
  keys: chainIds.flatMap((chainId) => [EVERYTHING, ...scopes].map((scope) => `${chainId} ${scope}`)),
})

/** Waits until a resource has a newer version than `since`, but at most `ms` milliseconds and until `signal` aborts. */
export const waitForChange = async (
  changes: Pick<Changes, 'version' | 'onCommit'>,
  since: { readonly resource: Resource; readonly version: number },
  ms: number,
  signal: AbortSignal,
): Promise<void> => {
  const controller = new AbortController()
  const end = (): void => controller.abort()
  const check = (): void => {
    if (changes.version(since.resource) > since.version) end()
  }
  const stop = changes.onCommit(check)
  signal.addEventListener('abort', end, { once: true })
  check()
  if (!signal.aborted) await sleep(ms, controller.signal)
  signal.removeEventListener('abort', end)
  stop()
}

/** Most keys whose last change is remembered. The last change of any other key is older than all of these. */
const MAX_KEYS = 200_000

/**
 * The last change of each key, without a connection to the database.
 *
 * @internal
 */
export const createVersionTable = (most = MAX_KEYS) => {
  /** The number of the last change by key, oldest first. */
  const lastChanges = new Map<string, number>()
  /** No other key has a change with a number above this one; null before the first `reset`. */
  let floor: number | null = null
  let last = 0

  const record = (key: string, seq: number): void => {
    lastChanges.delete(key)
    lastChanges.set(key, seq)
    for (const [oldest, lastSeq] of lastChanges) {
      if (lastChanges.size <= most) return
      lastChanges.delete(oldest)
      floor = lastSeq
    }
  }

  /** Forgets all keys: each of them may have changed up to `seq`. */
  const reset = (seq: number): void => {
    lastChanges.clear()
    floor = Math.max(seq, last)
    last = floor
  }

  return {
    last: (): number => last,
    isEmpty: (): boolean => floor === null,
    reset,
    add({ seq, before, chainId, scopes }: Change): void {
      // The log no longer has some changes before this one, so their keys are unknown.
      if (before !== last) reset(before)
      for (const scope of scopes ?? [EVERYTHING]) record(`${chainId} ${scope}`, seq)
      last = seq
    },
    version: ({ keys }: Resource): number =>
      keys.reduce((newest, key) => Math.max(newest, lastChanges.get(key) ?? 0), floor ?? 0),
  }
}

/** How often changes are read again because new ones were committed during the read. */
const MAX_READS = 20

/**
 * Follows the change log of the index until closed. A notification only signals new rows, which are read over the same
 * connections as the answers, so no change is known here before an answer can contain it. All functions except `close`
 * are synchronous and query nothing.
 */
export const createChanges = (deps: {
  /** The primary database: a replica sends no notifications. */
  readonly url: string
  readonly database: Pick<Database, 'run'>
  readonly log: Logger
}) => {
  const { url, database, log } = deps
  const versions = createVersionTable()
  const listeners = new Set<() => void>()
  let progress = new Map<number, Reached>()
  /** The chains whose index is near the head, with a recent heartbeat. */
  let nearHead: ReadonlySet<number> = new Set()
  /** When the log was last read to its end, as `performance.now`. */
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null
  let readAgain = false

  /**
   * Reads the changes after a number, and the progress of the index with no commit in between. Otherwise data of an
   * older block could be served as data of a newer one.
   */
  const readTogether = async (since: number): Promise<{ readonly changes: Change[]; readonly all: Reached[] }> => {
    const changes: Change[] = []
    const more = async (): Promise<number> =>
      changes.push(...(await database.run((handle) => changesAfter(handle, changes.at(-1)?.seq ?? since))))
    await more()
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const count = changes.length
      const all = await database.run(reached)
      if ((await more()) === count) return { changes, all }
    }
    throw new Error(`changes were committed during each of ${MAX_READS} reads of the change log`)
  }

  const read = async (): Promise<void> => {
    const at = performance.now()
    const before = versions.last()
    // At the start, and after a lost connection: the database may have been restored from an older backup in between.
    const since = notifications.since()
    if (versions.isEmpty() || since === null || readAt < since) {
      const newest = await database.run(newestChange)
      if (versions.isEmpty() || newest < before) versions.reset(newest)
    }
    const { changes, all } = await readTogether(versions.last())
    for (const change of changes) versions.add(change)
    progress = new Map(all.map((it) => [it.chainId, it]))
    nearHead = new Set(all.filter(isNearHead).map(({ chainId }) => chainId))
    readAt = at
    for (const listener of listeners) listener()
  }

  const refresh = async (): Promise<void> => {
    do {
      readAgain = false
      try {
        await read()
      } catch (fault) {
        log.debug({ fault: errorText(fault) }, 'cannot read the change log')
      }
    } while (readAgain)
    reading = null
  }

  const notifications = createNotificationListener({
    url,
    channel: CHANNEL,
    onNotify() {
      readAgain = true
      reading ??= refresh()
    },
    log,
  })

  return {
    /**
     * Whether this process knows every change of the index and the indexes are near their heads. While it is false, no
     * cached response may be served.
     */
    isCurrent(chainIds: readonly ChainId[]): boolean {
      const since = notifications.since()
      if (since === null || readAt < since || performance.now() - readAt > CACHE_MAX_KNOWLEDGE_AGE_MS) return false
      return chainIds.every((chainId) => nearHead.has(chainId))
    },
    /** The number of the newest known change. */
    position: versions.last,
    /** The number of the newest change that affected a resource, or may have affected it. */
    version: versions.version,
    /** The progress of a chain's index; undefined before its first block. */
    reached: (chainId: ChainId): Reached | undefined => progress.get(chainId),
    /** The head that the leading worker of a chain has stored, as far as this process knows; null without one. */
    storedHead(chainId: ChainId): { readonly block: StoredBlock; readonly ageMs: number } | null {
      const stored = progress.get(chainId)?.heartbeat?.stored
      return stored ? { block: stored.block, ageMs: stored.ageMs + performance.now() - readAt } : null
    },
    /** Calls `listener` after each commit, once its changes are known here. Returns a function that removes it. */
    onCommit(listener: () => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close(): Promise<void> {
      await notifications.close()
      await reading
    },
  }
}

export type Changes = ReturnType<typeof createChanges>
