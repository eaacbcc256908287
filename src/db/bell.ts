import { Client } from 'pg'
import { backoffMs } from '../lib/backoff.ts'
import { errorText } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import { CHANNEL } from './changes.ts'

/** A connection that rings when something was committed. */
export type Bell = {
  /** Whether every commit from `since` (as `performance.now`) on has rung or will; null while the connection is gone. */
  since(): number | null
  close(): Promise<void>
}

/** A connection that says nothing is asked so often whether it is there, in milliseconds; and rung for, so that no ring is ever lost for long. */
const BEAT_MS = 500

/** Longest that an answer to that may take, in milliseconds. */
const ANSWER_WITHIN_MS = 1_000

/** Longest pause before the next attempt to connect, in milliseconds. */
const MAX_PAUSE_MS = 1_000

/**
 * Listens on one connection of its own, which has to reach the server itself: a pooler that lends connections by the transaction passes no
 * notification on. Connects again for ever; `onRing` is called after each connect, each notification and each beat.
 *
 * @example const bell = createBell({ url, onRing: () => refresh(), log })
 */
export const createBell = (deps: { readonly url: string; readonly onRing: () => void; readonly log: Logger }): Bell => {
  const { url, onRing, log } = deps
  const stop = new AbortController()
  let since: number | null = null

  /** Listens until the connection is lost or the bell closed. */
  const listen = async (): Promise<void> => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
      application_name: 'fx-protection changes',
    })
    const lost = new AbortController()
    const lose = (): void => lost.abort()
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', onRing)
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      since = performance.now()
      onRing()
      for (const signal = AbortSignal.any([lost.signal, stop.signal]); ; onRing()) {
        await sleep(BEAT_MS, signal)
        if (signal.aborted) return
        await client.query('SELECT 1')
      }
    } finally {
      since = null
      // A server that went without a word does not take leave either.
      await Promise.race([client.end().catch(() => {}), sleep(ANSWER_WITHIN_MS)])
    }
  }

  const listening = (async () => {
    for (let faults = 0; !stop.signal.aborted; faults += 1) {
      const begun = performance.now()
      try {
        await listen()
      } catch (fault) {
        log.debug({ fault: errorText(fault) }, 'no notifications of the database')
      }
      if (performance.now() - begun > MAX_PAUSE_MS) faults = 0
      await sleep(backoffMs(faults, 100, MAX_PAUSE_MS), stop.signal)
    }
  })()

  return {
    since: () => since,
    async close() {
      stop.abort()
      await listening
    },
  }
}
