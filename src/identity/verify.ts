import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Agent, request } from 'undici'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unauthorized, unavailable, upstream } from '../lib/errors.ts'
import { OversizedJson, readJson } from '../lib/http/read-json.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { type Claims, type Me, meOf } from './me.ts'

/** Verifies bearer tokens. */
export type Identity = {
  /**
   * Asks the provider at most once per token in 60 seconds. Throws `unauthorized` when the provider rejects the token,
   * and `upstream_error` when it answers with an error. Throws `service_unavailable` when it does not answer in time,
   * when too many tokens wait, or when no provider is configured.
   */
  verify(token: string): Promise<Me>
  close(): Promise<void>
}

export type IdentityOptions = {
  /** The provider's current-user endpoint; without it no token can be verified. */
  readonly userinfoUrl: string | undefined
  readonly claims: Claims
  readonly timeoutMs: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** The cache time of the specification. */
const CACHED_MS = 60_000

/** Maximum cached verdicts. */
const CACHED_TOKENS = 10_000

/** Maximum bytes of the provider's answer, far above the size of any user. */
const MAX_ANSWER = 1_048_576

/**
 * Maximum requests in flight to the provider, and maximum waiting tokens: clients of this API must not flood the
 * provider.
 */
const LIMITS = { atOnce: 16, waiting: 256 }

/** A user, or null for a token that the provider rejected. */
type Verdict = { readonly me: Me | null }

/** Creates the client of the identity provider; it sends nothing before the first verification. */
export const createIdentity = ({ userinfoUrl, claims, timeoutMs, now }: IdentityOptions): Identity => {
  const agent = new Agent({ connect: { timeout: timeoutMs }, connections: LIMITS.atOnce })
  const verdicts = new LRUCache<string, Verdict>({
    max: CACHED_TOKENS,
    ttl: CACHED_MS,
    ttlResolution: 0,
    perf: { now },
  })
  const once = createSingleFlight<Verdict>()
  const limited = createConcurrencyLimit({
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
    // The timeout starts before the queue, so that it covers the wait for a free slot as well as the answer.
    const signal = AbortSignal.timeout(timeoutMs)
    const { status, answer } = await limited(() => fetchUser(url, token, signal))
    if (status === 401 || status === 403) return { me: null }
    if (status !== 200) throw upstream(`the identity provider answered with status ${status}`)
    if (answer === undefined) throw upstream('the identity provider returned an answer that is not JSON')
    return { me: meOf(answer, claims) }
  }

  return {
    async verify(token) {
      if (userinfoUrl === undefined) throw unavailable('no identity provider is configured: set IDENTITY_USERINFO_URL')
      const key = createHash('sha256').update(token).digest('base64')
      const known = verdicts.get(key)
      const verdict = known ?? (await once(key, () => ask(userinfoUrl, token)))
      if (known === undefined) verdicts.set(key, verdict)
      if (verdict.me === null) throw unauthorized('the identity provider rejects this token')
      return verdict.me
    },
    close: () => agent.close(),
  }
}
