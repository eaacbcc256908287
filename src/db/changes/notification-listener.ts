import { Client } from 'pg'
import { backoffMs } from '../../lib/backoff.ts'
import { errorText } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import { noticesLoss } from '../sessions.ts'

/** How often an idle connection is checked, in milliseconds, which bounds the delay by a lost notification. */
const CHECK_EVERY_MS = 500

/** Longest time to connect and to answer a check, in milliseconds. */
const ANSWER_WITHIN_MS = 1_000

/** Longest pause before the next attempt to connect, in milliseconds. */
const MAX_PAUSE_MS = 1_000

/**
 * Listens for the notifications of a channel on a dedicated connection. It must reach the server directly: a pooler that assigns
 * connections per transaction does not forward notifications. Reconnects until it is closed. Calls `onNotify` with the
 * text of each notification, and with null after each connect and check.
 *
 * @example const listener = createNotificationListener({ url, channel: CHANNEL, onNotify: () => refresh(), log })
 */
export const createNotificationListener = (deps: {
  readonly url: string
  readonly channel: string
  readonly onNotify: (payload: string | null) => void
  readonly log: Logger
  readonly checkEveryMs?: number
}) => {
  const { url, channel, onNotify, log, checkEveryMs = CHECK_EVERY_MS } = deps
  const stop = new AbortController()
  let since: number | null = null

  /** Listens until the connection is lost or the listener is closed. */
  const listen = async (): Promise<void> => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      ...noticesLoss,
      application_name: `fx-protection ${channel}`,
    })
    const lost = new AbortController()
    const lose = (): void => lost.abort()
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ payload = '' }) => onNotify(payload))
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      since = performance.now()
      onNotify(null)
      for (const signal = AbortSignal.any([lost.signal, stop.signal]); ; onNotify(null)) {
        await sleep(checkEveryMs, signal)
        if (signal.aborted) return
        await client.query('SELECT 1')
      }
    } finally {
      since = null
      // A server that vanished does not confirm the end of the connection.
      await Promise.race([client.end().catch(() => {}), sleep(ANSWER_WITHIN_MS)])
    }
  }

  const listening = (async () => {
    for (let faults = 0; !stop.signal.aborted; faults += 1) {
      const begun = performance.now()
      try {
        await listen()
      } catch (fault) {
        log.debug({ fault: errorText(fault) }, 'database notifications are not received')
      }
      if (performance.now() - begun > MAX_PAUSE_MS) faults = 0
      await sleep(backoffMs(faults, 100, MAX_PAUSE_MS), stop.signal)
    }
  })()

  return {
    /** Since when (`performance.now`) every commit causes a notification; null while there is no connection. */
    since: () => since,
    async close(): Promise<void> {
      stop.abort()
      await listening
    },
  }
}
