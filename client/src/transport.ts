import { decode, encode } from './codec.ts'
import { ApiError, ConnectionError, type FxProtectionError, isErrorBody } from './errors.ts'
import { Etags } from './etags.ts'
import { type GivenHeaders, joinHeaders } from './headers.ts'
import { checkAttempts, checkMs, MAX_TIMER_MS } from './numbers.ts'
import { ATTEMPTS, delayOf, isTemporary, MAX_RETRY_AFTER_MS, parseRetryAfter, sleep } from './retry.ts'
import type { CallOptions } from './types.ts'
import { type Given, urlOf } from './url.ts'

export type TransportOptions = {
  /** Where the API is, without `/v1`. */
  readonly baseUrl: string
  readonly fetch?: typeof fetch
  /** Sent with every request, for example `authorization`. They replace those that the client sends by itself. */
  readonly headers?: GivenHeaders
  /**
   * The most that one attempt may take, from 1 to 2,147,483,647 milliseconds, in addition to `waitMs` of the request;
   * 15,000 by default.
   */
  readonly timeoutMs?: number
  /** Attempts of a request, the first one included: from 1 to 1,000; 5 by default. */
  readonly attempts?: number
  /** Keeps responses that have an `ETag`, and returns them again when the service answers 304; false by default. */
  readonly cache?: boolean
  /**
   * Sends an `X-Request-Id` of its own, so that a request without a response can be found in the logs of the service.
   * By default only outside browsers, where it would cost each URL a preflight request.
   */
  readonly sendRequestId?: boolean
}

export type Sent = {
  readonly path: string
  readonly params?: Given | undefined
  readonly body?: unknown
  /** GET without a body and POST with one by default. */
  readonly method?: 'POST' | 'DELETE'
  readonly accept?: string
}

const methodOf = ({ method, body }: Sent): string => method ?? (body === undefined ? 'GET' : 'POST')

/** What one attempt came to. `again`: the same request may succeed later. */
type Failed = { readonly error: FxProtectionError; readonly again: boolean; readonly retryAfterMs?: number | undefined }
type Outcome<T> = { readonly value: T } | Failed

/** Reads a response; `known` is the body that a 304 stands for. */
type Read<T> = (response: Response, url: string, known: unknown) => Promise<T>

const TIMEOUT_MS = 15_000
const JSON_TYPE = 'application/json'

const isBrowser = (): boolean => 'document' in globalThis

const parse = async (response: Response): Promise<unknown> => JSON.parse(await response.text())

/** The failure that a response reports. */
const failureOf = async (response: Response, ownId: string | undefined): Promise<Failed> => {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? ownId
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'))
  const body = await parse(response).catch(() => undefined)
  const known = isErrorBody(body)
  const error = known
    ? new ApiError(body.error, { status, requestId, retryAfterMs })
    : new ConnectionError(`status ${status} without an error of the API`, {
        ...{ code: 'invalid_response', requestId, hint: WRONG_ADDRESS },
      })
  return { error, again: isTemporary(status, known), retryAfterMs }
}

const WRONG_ADDRESS = 'Check that `baseUrl` is the address of the API.'
const UNREACHABLE = 'Check the address, the network and the state of the service, then try again.'

/** Throws for a deadline or a number of attempts that would end each request at once, or never. */
const check = ({ timeoutMs, attempts }: Pick<CallOptions, 'timeoutMs' | 'attempts'>): void => {
  checkMs('timeoutMs', timeoutMs)
  checkAttempts(attempts)
}

/** The part of a deadline for `waitMs` of a request. The service rejects a value that is no time. */
const waitOf = (waitMs: unknown): number => Math.max(0, Number(waitMs) || 0)

/** Sends requests: deadlines, retries, errors, entity tags, and amounts as bigint. */
export const createTransport = (options: TransportOptions) => {
  check(options)
  const { baseUrl, timeoutMs = TIMEOUT_MS, attempts = ATTEMPTS, cache = false } = options
  const { sendRequestId = !isBrowser() } = options
  const etags = new Etags()

  /** One attempt. The deadline covers what `read` does with the response. */
  const attempt = async <T>(request: Sent, call: CallOptions, given: Headers, read: Read<T>): Promise<Outcome<T>> => {
    const { path, params = {}, body, accept = JSON_TYPE } = request
    const method = methodOf(request)
    const ownId = given.get('x-request-id') ?? undefined
    const url = urlOf(baseUrl, path, params)
    const content = body === undefined ? undefined : encode(body)
    const known = cache && method === 'GET' && accept === JSON_TYPE ? etags.get(url) : undefined
    const limitMs = Math.min(MAX_TIMER_MS, (call.timeoutMs ?? timeoutMs) + waitOf(params.waitMs))
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), limitMs)
    const stop = (): void => end.abort()
    call.signal?.addEventListener('abort', stop)
    try {
      call.signal?.throwIfAborted()
      // A member of `globalThis`: browsers reject a call of `fetch` with another receiver.
      const response = await (options.fetch ?? globalThis.fetch)(url, {
        signal: end.signal,
        headers: joinHeaders(
          { accept, 'content-type': content && JSON_TYPE, 'if-none-match': known?.tag },
          given,
          // Only a stream can be read as one.
          accept === JSON_TYPE ? {} : { accept },
        ),
        ...(method !== 'GET' && { method }),
        ...(content !== undefined && { body: content }),
      })
      const isKnown = response.status === 304 && known !== undefined
      if (!response.ok && !isKnown) return await failureOf(response, ownId)
      return { value: await read(response, url, isKnown ? known.body : undefined) }
    } catch (cause) {
      call.signal?.throwIfAborted()
      if (cause instanceof SyntaxError) {
        const message = `${baseUrl} answers with something else than JSON`
        const given = { code: 'invalid_response', hint: WRONG_ADDRESS, requestId: ownId, cause }
        return { error: new ConnectionError(message, given), again: false }
      }
      const isLate = end.signal.aborted
      const message = isLate ? `no response of ${baseUrl} within ${limitMs} ms` : `cannot reach ${baseUrl}`
      const given = { code: isLate ? 'timeout' : 'network_error', hint: UNREACHABLE, requestId: ownId, cause }
      return { error: new ConnectionError(message, given), again: true }
    } finally {
      clearTimeout(timer)
      // A stream ends with its signal, which has no other use.
      if (accept === JSON_TYPE) call.signal?.removeEventListener('abort', stop)
    }
  }

  /** Repeats a request until it succeeds or must not be repeated. Throws ApiError or ConnectionError. */
  const repeat = async <T>(request: Sent, call: CallOptions, read: Read<T>): Promise<T> => {
    check(call)
    // Not in every page of a browser is there a `randomUUID`.
    const ownId = sendRequestId ? crypto.randomUUID() : undefined
    const given = joinHeaders({ 'x-request-id': ownId }, options.headers, call.headers)
    for (let failures = 1; ; failures += 1) {
      const outcome = await attempt(request, call, given, read)
      if ('value' in outcome) return outcome.value
      const { error, again, retryAfterMs = 0 } = outcome
      if (!again || failures >= (call.attempts ?? attempts) || retryAfterMs > MAX_RETRY_AFTER_MS) throw error
      await sleep(delayOf(failures, retryAfterMs), call.signal)
    }
  }

  return {
    /** Sends a request and returns the body of the response, with its headers. */
    send: (request: Sent, call: CallOptions = {}): Promise<object> =>
      repeat(request, call, async (response, url, known) => {
        const { headers } = response
        const body = known ?? decode(await parse(response))
        if (cache && methodOf(request) === 'GET') etags.set(url, headers.get('etag'), body)
        return { ...Object(body), headers }
      }),
    /** Opens a stream, which ends with the signal. The deadline and the retries end with the head of the response. */
    open: (request: Sent, call: CallOptions): Promise<Response> => repeat(request, call, async (response) => response),
  }
}

export type Transport = ReturnType<typeof createTransport>
