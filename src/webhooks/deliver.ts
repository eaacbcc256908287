import type { Database } from '../db/pool.ts'
import { type Attempt, recordAttempts } from '../db/webhooks/attempts.ts'
import { CLAIM_MS, claimDeliveries, type Delivery } from '../db/webhooks/deliveries.ts'
import { changeEndpoint, type Endpoint, readEndpoint } from '../db/webhooks/endpoints.ts'
import { errorText } from '../lib/errors.ts'
import type { KnownTokens } from '../protocol/tokens.ts'
import { attempts } from './channel.ts'
import { type FillSizes, fillDeliveries } from './fill.ts'
import type { Post, Posted } from './post.ts'
import { MAX_ATTEMPTS, nextAttempt, retryAfterMs } from './schedule.ts'
import type { Vault } from './secrets.ts'
import { sign } from './signature.ts'

/** How much one job does. */
type DeliverSizes = FillSizes & {
  /** Messages of an endpoint that are sent at once; 10 by default. */
  readonly atOnce?: number | undefined
  /** Rounds of one job; 50 by default. What is left then has its turn after other endpoints. */
  readonly rounds?: number | undefined
}

const GONE = 410

/** What deliveries need. */
export type Delivering = {
  readonly database: Database
  /** The tokens of activity. */
  readonly tokens: KnownTokens
  readonly vault: Vault
  readonly post: Post
  /** The time in Unix milliseconds. */
  readonly now: () => number
  readonly random: () => number
  readonly sizes?: DeliverSizes
}

/** The secrets that sign messages of an endpoint at a time. */
export const secretsOf = (vault: Vault, endpoint: Endpoint, at: Date): string[] => {
  const { id, secret, previousSecret, previousUntil } = endpoint
  const hasPrevious = previousSecret !== null && previousUntil !== null && previousUntil > at
  return [secret, ...(hasPrevious ? [previousSecret] : [])].map((stored) => vault.decrypt(id, stored))
}

/** Whether a message is about a changed wallet or event: it is deleted after delivery, because the feed repeats it. */
const isChange = (id: string): boolean => id.includes('.changed.')

/** Why the endpoint gets no more messages after a failed attempt, and its state. */
const stateAfter = (status: number | undefined, isLast: boolean): Endpoint['state'] =>
  status === GONE ? 'disabled' : isLast ? 'paused' : 'active'

/**
 * Delivers to one endpoint: turns what changed into deliveries, and sends those that are due. Of each entity one message
 * is on its way. To an endpoint that fails, one message is sent at a time. Returns when nothing is due, or with work left
 * when the job had its share. Throws `service_unavailable` when the database is out of reach, and an OperatorError
 * when a secret cannot be decrypted.
 */
export const deliver = async (to: Delivering, id: string, signal: AbortSignal): Promise<void> => {
  const { database, vault, post, now, random, sizes = {} } = to
  const { atOnce = 10, rounds = 50 } = sizes

  /** Attempts that are not recorded yet, at most `atOnce`, and when the earlier ones are. */
  const unrecorded: Attempt[] = []
  let recorded = Promise.resolve()

  /** Records an attempt: one at once, and those that end meanwhile together, because all change the endpoint's row. */
  const record = (endpoint: Endpoint, attempt: Attempt): Promise<void> => {
    unrecorded.push(attempt)
    recorded = recorded
      .catch(() => {})
      .then(async () => {
        const ended = unrecorded.splice(0)
        if (ended.length === 0) return
        try {
          await recordAttempts(database, endpoint, ended)
        } catch (fault) {
          // The next one records these too.
          unrecorded.unshift(...ended)
          throw fault
        }
      })
    return recorded
  }

  const attemptOf = ({ id: message, attempt }: Delivery, posted: Posted): Attempt => {
    const at = new Date(now())
    const result = { id: message, at, keeps: !isChange(message) }
    if (posted.ok) return { ...result, failed: null }
    const { status, failure } = posted
    const next = nextAttempt(attempt + 1, at.getTime(), retryAfterMs(posted.retryAfter, at.getTime()), random)
    const state = stateAfter(status, attempt + 1 >= MAX_ATTEMPTS)
    return { ...result, failed: { ...next, failure, state } }
  }

  const send = async (endpoint: Endpoint, secrets: readonly string[], delivery: Delivery): Promise<void> => {
    const headers = sign(delivery, secrets, new Date(now()))
    const posted = await attempts.trace({ endpoint: endpoint.id }, () =>
      post(endpoint.url, headers, delivery.body, signal),
    )
    // What a stopping worker interrupted is sent again after the claim, and is not an attempt.
    if (posted.ok || !signal.aborted) await record(endpoint, attemptOf(delivery, posted))
  }

  /** The secrets of an endpoint. Without the right key no attempt is made for a while. */
  const secretsNow = async (endpoint: Endpoint, at: Date): Promise<string[]> => {
    try {
      return secretsOf(vault, endpoint, at)
    } catch (fault) {
      const failing = { failure: errorText(fault), failingSince: endpoint.failingSince ?? at }
      const change = { ...failing, retryAt: new Date(at.getTime() + CLAIM_MS) }
      await database.run((handle) => changeEndpoint(handle, id, change))
      throw fault
    }
  }

  while (!signal.aborted && (await fillDeliveries(to, id, new Date(now()), sizes)));
  for (let round = 0; round < rounds; round += 1) {
    const endpoint = await database.run((handle) => readEndpoint(handle, id))
    const at = new Date(now())
    if (endpoint?.state !== 'active' || (endpoint.retryAt !== null && endpoint.retryAt > at)) return
    const secrets = await secretsNow(endpoint, at)
    const limit = endpoint.failingSince === null ? atOnce : 1
    const claimed = await claimDeliveries(database, id, limit, now, signal)
    if (claimed.length === 0) return
    // All have ended when the job ends: the next one may begin at once.
    const sent = await Promise.allSettled(claimed.map((delivery) => send(endpoint, secrets, delivery)))
    for (const each of sent) if (each.status === 'rejected') throw each.reason
  }
}
