import { Agent, request } from 'undici'
import { z } from 'zod'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { invalid, ServiceError, unavailable, upstream } from '../lib/errors.ts'
import { ErrorBody } from '../lib/http/problem.ts'
import { OversizedJson, readJson } from '../lib/http/read-json.ts'
import { truncate } from '../lib/http/truncate.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { Backtest, Health, Quote, type QuoteRequest, Signer, Values, type ValuesRequest } from './messages.ts'

/** Maximum size of the engine's answers in bytes. The health answer has one entry per pair. */
const MAX_BYTES = 2 ** 20

/** Maximum requests in flight to the engine, and maximum requests in the queue. */
const LIMITS = { atOnce: 64, waiting: 256 }

/** The same for requests for values, which are many times larger. They must not delay quotes. */
const VALUES_LIMITS = { atOnce: 8, waiting: 64 }

/** The same for backtests, each of which takes as much processor time as a hundred quotes. */
const BACKTEST_LIMITS = { atOnce: 4, waiting: 16 }

/** The header with the client of the API that a backtest is for. */
export const CLIENT_HEADER = 'x-client'

/** Maximum milliseconds of a request for values: a page of positions waits for it, and is complete without it. */
const VALUES_WITHIN_MS = 1_000

/** Maximum seconds that the engine's `Retry-After` may ask a client to wait. */
const MAX_RETRY_AFTER = 60

/** Maximum details of a rejection that are passed on. */
const MAX_DETAILS = 20

const Envelope = z.object({ data: z.unknown() })

export type PricingClient = {
  quote(request: QuoteRequest): Promise<Quote>
  /** Waits for a second at most. */
  values(request: ValuesRequest): Promise<Values>
  /**
   * `service_unavailable`, with the seconds to wait, while the engine calibrates the history of the pair. Clients take
   * turns: one that asks for many pairs does not keep the others out.
   */
  backtest(request: QuoteRequest, client: string): Promise<Backtest>
  health(): Promise<Health>
  signer(): Promise<z.output<typeof Signer>>
  close(): Promise<void>
}

/** `retryAfter` is the header of that name in seconds. */
type Answer = { readonly status: number; readonly retryAfter?: number; readonly json: unknown }

/** The error for an answer without success. A rejected request keeps the engine's own message. */
const refusal = ({ status, retryAfter, json }: Answer): ServiceError => {
  const error = ErrorBody.safeParse(json).data?.error
  const details = (error?.details ?? [])
    .slice(0, MAX_DETAILS)
    .map(({ path, message }) => ({ path: truncate(path), message: truncate(message) }))
  if (status < 500 && error?.code === 'validation_error') {
    // The API has accepted the chain: the engine has other chains, which is no fault of the request.
    if (details.some(({ path }) => path === 'chainId'))
      return upstream('the pricing engine does not have this chain: its CHAINS differ from those of the API')
    return invalid(truncate(error.message), details)
  }
  if (status === 503) {
    if (error?.code !== 'service_unavailable')
      return unavailable('the pricing engine is not available', undefined, retryAfter)
    const options = { ...(details.length > 0 && { details }), ...(retryAfter !== undefined && { retryAfter }) }
    return new ServiceError('service_unavailable', truncate(error.message), options)
  }
  return upstream(`the pricing engine failed: ${truncate(error?.message ?? `status ${status}`)}`)
}

/** The engine accepted the connection and closed it without an answer: it failed, rather than being unreachable. */
const disconnectCodes = ['UND_ERR_SOCKET', 'ECONNRESET']
const hasDisconnected = (fault: unknown): boolean =>
  fault instanceof Error && 'code' in fault && disconnectCodes.some((code) => code === fault.code)

/**
 * The pricing engine behind a URL. Its rejections are passed on with their message (`validation_error`). An engine that
 * fails or answers in another shape is an `upstream_error`. An engine that does not answer within `timeoutMs`, or for
 * which too many requests wait, is `service_unavailable`.
 *
 * @example
 * const pricing = createPricingClient({ url: 'http://127.0.0.1:3100', timeoutMs: 5_000 })
 * const { premiumRateFixed6 } = await pricing.quote(request)
 */
export const createPricingClient = (options: { readonly url: string; readonly timeoutMs: number }): PricingClient => {
  const dispatcher = new Agent({ connections: LIMITS.atOnce })
  const refuse = (): ServiceError =>
    unavailable('the pricing engine is overloaded: too many requests at once, retry after 1 s')
  const limited = createConcurrencyLimit({ ...LIMITS, refuse })
  const valuesLimited = createConcurrencyLimit({ ...VALUES_LIMITS, refuse })
  const backtestsLimited = createConcurrencyLimit({ ...BACKTEST_LIMITS, refuse })
  const once = createSingleFlight<Answer>()

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body?: object,
    client?: string,
  ): Promise<Answer> => {
    try {
      const response = await request(`${options.url.replace(/\/$/, '')}${path}`, {
        method,
        dispatcher,
        signal,
        ...(body && { body: JSON.stringify(body) }),
        headers: { ...(body && { 'content-type': 'application/json' }), ...(client && { [CLIENT_HEADER]: client }) },
      })
      const seconds = Number(response.headers['retry-after'])
      return {
        status: response.statusCode,
        ...(seconds > 0 && { retryAfter: Math.min(seconds, MAX_RETRY_AFTER) }),
        json: await readJson(response.body, MAX_BYTES),
      }
    } catch (cause) {
      if (cause instanceof OversizedJson) throw upstream(`the pricing engine's answer is ${cause.message}`, cause)
      if (signal.aborted) throw unavailable('the pricing engine did not answer in time', cause)
      throw hasDisconnected(cause)
        ? upstream('the pricing engine closed the connection before it answered', cause)
        : unavailable('the pricing engine cannot be reached', cause)
    }
  }

  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    { limit = limited, client }: { readonly limit?: typeof limited; readonly client?: string } = {},
  ): Promise<Answer> => {
    // The timeout starts before the queue, so that it covers the wait for a free slot as well as the answer.
    const signal = AbortSignal.timeout(options.timeoutMs)
    let sent = false
    const begin = (): Promise<Answer> => {
      sent = true
      return send(method, path, signal, body, client)
    }
    try {
      return await limit(begin, signal, client)
    } catch (fault) {
      throw sent ? fault : refuse()
    }
  }

  /** Concurrent callers share one request. */
  const get = (path: string): Promise<Answer> => once(path, () => ask('GET', path))

  const dataOf = <D extends z.ZodType>(data: D, answer: Answer): z.output<D> => {
    if (answer.status !== 200) throw refusal(answer)
    const parsed = data.safeParse(Envelope.safeParse(answer.json).data?.data)
    if (!parsed.success) throw upstream('the pricing engine returned an answer of an unexpected shape', parsed.error)
    return parsed.data
  }

  return {
    quote: async (body) => dataOf(Quote, await ask('POST', '/quote', body)),
    backtest: async (body, client) =>
      dataOf(Backtest, await ask('POST', '/backtest', body, { limit: backtestsLimited, client })),
    async values(body) {
      const signal = AbortSignal.timeout(Math.min(options.timeoutMs, VALUES_WITHIN_MS))
      return dataOf(Values, await valuesLimited(() => send('POST', '/values', signal, body)))
    },
    health: async () => dataOf(Health, await get('/health')),
    signer: async () => dataOf(Signer, await get('/signer')),
    close: () => dispatcher.close(),
  }
}
