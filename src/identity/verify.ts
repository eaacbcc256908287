import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Agent, request } from 'undici'
import { unauthorized, unavailable, upstream } from '../lib/errors.ts'
import { createGate } from '../lib/gate.ts'
import { OversizedJson, readJson } from '../lib/read-json.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { type Claims, type Me, meOf } from './me.ts'

/** Who a bearer token stands for. */
export type Identity = {
  /**
   * Asks the provider, at most once in 60 seconds a token. Throws `unauthorized` when the provider refuses the token, `upstream_error`
   * when it answers with an error, `service_unavailable` when it does not answer in time, too many tokens wait for it or none is configured.
   */
  verify(token: string): Promise<Me>
  close(): Promise<void>
}

export type IdentityOptions = {
  /** The provider's current-user endpoint; without one nobody can be verified. */
  readonly userinfoUrl: string | undefined
  readonly claims: Claims
  readonly timeoutMs: number
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

/** The specification's figure. */
const CACHED_MS = 60_000

/** Verdicts kept at a time. */
const CACHED_TOKENS = 10_000

/** No user fills this many bytes. */
const MAX_ANSWER = 1_048_576

/** Requests that the provider gets at once, and tokens that wait for their turn: what is sent to us must not flood it. */
const LIMITS = { atOnce: 16, waiting: 256 }

/** A user, or null for a token that the provider refused. */
type Verdict = { readonly me: Me | null }

/** Opens a connection to the identity provider; nothing is sent until somebody is verified. */
export const createIdentity = ({ userinfoUrl, claims, timeoutMs, now }: IdentityOptions): Identity => {
  const agent = new Agent({ connect: { timeout: timeoutMs }, connections: LIMITS.atOnce })
  const verdicts = new LRUCache<string, Verdict>({
    max: CACHED_TOKENS,
    ttl: CACHED_MS,
    ttlResolution: 0,
    perf: { now },
  })
  const once = createSingleFlight<Verdict>()
  const gate = createGate({
    ...LIMITS,
    refuse: () => unavailable('the identity provider is overloaded: too many new tokens at once, retry after 1 s'),
  })

  /** The provider's status and answer; undefined for an answer that is not JSON. */
  const fetchUser = async (url: string, token: string, signal: AbortSignal) => {
    try {
      const { statusCode: status, body } = await request(url, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        dispatcher: agent,
        signal,
      })
      return { status, answer: await readJson(body, MAX_ANSWER) }
    } catch (fault) {
      if (fault instanceof OversizedJson) throw upstream(`the identity provider's answer is ${fault.message}`, fault)
      const name = fault instanceof Error ? fault.name : 'unknown fault'
      throw unavailable(`the identity provider does not answer (${name})`, fault)
    }
  }

  const ask = async (url: string, token: string): Promise<Verdict> => {
    // From now on, so that a token does not wait for its turn any longer than for an answer.
    const signal = AbortSignal.timeout(timeoutMs)
    const { status, answer } = await gate(() => fetchUser(url, token, signal))
    if (status === 401 || status === 403) return { me: null }
    if (status !== 200) throw upstream(`the identity provider answered with status ${status}`)
    if (answer === undefined) throw upstream('the identity provider answered with something that is not JSON')
    return { me: meOf(answer, claims) }
  }

  return {
    async verify(token) {
      if (userinfoUrl === undefined) throw unavailable('no identity provider is configured')
      const key = createHash('sha256').update(token).digest('base64')
      const known = verdicts.get(key)
      const verdict = known ?? (await once(key, () => ask(userinfoUrl, token)))
      if (known === undefined) verdicts.set(key, verdict)
      if (verdict.me === null) throw unauthorized('the identity provider refuses this token')
      return verdict.me
    },
    close: () => agent.close(),
  }
}
