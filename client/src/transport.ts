import { decode, encode } from './codec.ts'
import { ApiError, ConnectionError, type FxProtectionError, isErrorBody } from './errors.ts'
import { Etags } from './etags.ts'
import { ATTEMPTS, delayOf, isTemporary, MAX_RETRY_AFTER_MS, parseRetryAfter, sleep } from './retry.ts'
import type { CallOptions } from './types.ts'
import { type Given, urlOf } from './url.ts'

export type TransportOptions = {
  /** Where the API is, without `/v1`. */
  readonly baseUrl: string
  readonly fetch?: typeof fetch
  /** Sent with every request, for example `authorization`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The most that one attempt may take, in milliseconds, in addition to `waitMs` of the request; 15,000 by default. */
  readonly timeoutMs?: number
  /** Attempts of a request, the first one included; 5 by default. */
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
  readonly accept?: string
}

/** What one attempt came to. `again`: the same request may succeed later. */
type Failed = { readonly error: FxProtectionError; readonly again: boolean; readonly retryAfterMs?: number | undefined }
type Outcome<T> = { readonly value: T } | Failed

const TIMEOUT_MS = 15_000

const isBrowser = (): boolean => 'document' in globalThis

const parse = async (response: Response): Promise<unknown> => JSON.parse(await response.text())

/** The failure that a response reports. */
const failureOf = async (response: Response, ownId: string): Promise<Failed> => {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? ownId
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'))
  const body = await parse(response).catch(() => undefined)
  const known = isErrorBody(body)
  const error = known
    ? new ApiError(body.error, { status, requestId, retryAfterMs })
    : new ConnectionError(`status ${status} without an error of the API`, {
        ...{ code: 'invalid_response', requestId },
        hint: 'Check that `baseUrl` is the address of the API.',
      })
  return { error, again: isTemporary(status, known), retryAfterMs }
}

/** Sends requests: deadlines, retries, errors, entity tags, and amounts as bigint. */
export const createTransport = (options: TransportOptions) => {
  const { baseUrl, timeoutMs = TIMEOUT_MS, attempts = ATTEMPTS, cache = false } = options
  const { sendRequestId = !isBrowser() } = options
  const etags = new Etags()

  /** One attempt. The deadline covers what `read` does with the response. */
  const attempt = async <T>(
    request: Sent,
    call: CallOptions,
    ownId: string,
    read: (response: Response, url: string) => Promise<T>,
  ): Promise<Outcome<T>> => {
    const { path, params = {}, body, accept = 'application/json' } = request
    const url = urlOf(baseUrl, path, params)
    const known = cache && body === undefined && accept === 'application/json' ? etags.get(url) : undefined
    const limitMs = (call.timeoutMs ?? timeoutMs) + Number(params.waitMs ?? 0)
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), limitMs)
    try {
      // A member of `globalThis`: browsers reject a call of `fetch` with another receiver.
      const response = await (options.fetch ?? globalThis.fetch)(url, {
        signal: call.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, call.signal]),
        headers: {
          accept,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(sendRequestId && { 'x-request-id': ownId }),
          ...(known !== undefined && { 'if-none-match': known.tag }),
          ...options.headers,
          ...call.headers,
        },
        ...(body !== undefined && { method: 'POST', body: encode(body) }),
      })
      if (!response.ok && response.status !== 304) return await failureOf(response, ownId)
      return { value: await read(response, url) }
    } catch (cause) {
      call.signal?.throwIfAborted()
      const isLate = deadline.signal.aborted
      const message = isLate ? `no response of ${baseUrl} within ${limitMs} ms` : `cannot reach ${baseUrl}`
      const error = new ConnectionError(message, {
        ...{ code: isLate ? 'timeout' : 'network_error', requestId: ownId, cause },
        hint: 'Check the address, the network and the state of the service, then try again.',
      })
      return { error, again: true }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Repeats a request until it succeeds or must not be repeated. Throws ApiError or ConnectionError. */
  const repeat = async <T>(
    request: Sent,
    call: CallOptions,
    read: (response: Response, url: string) => Promise<T>,
  ): Promise<T> => {
    const ownId = crypto.randomUUID()
    for (let failures = 1; ; failures += 1) {
      const outcome = await attempt(request, call, ownId, read)
      if ('value' in outcome) return outcome.value
      const { error, again, retryAfterMs = 0 } = outcome
      if (!again || failures >= (call.attempts ?? attempts) || retryAfterMs > MAX_RETRY_AFTER_MS) throw error
      await sleep(delayOf(failures, retryAfterMs), call.signal)
    }
  }

  return {
    /** Sends a request and returns the body of the response, with its headers. */
    send: (request: Sent, call: CallOptions = {}): Promise<object> =>
      repeat(request, call, async (response, url) => {
        const { headers, status } = response
        const known = etags.get(url)
        const body = status === 304 && known !== undefined ? known.body : decode(await parse(response))
        if (cache && request.body === undefined) etags.set(url, headers.get('etag'), body)
        return { ...Object(body), headers }
      }),
    /** Opens a stream. The deadline and the retries end with the head of the response. */
    open: (request: Sent, call: CallOptions): Promise<Response> => repeat(request, call, async (response) => response),
  }
}

export type Transport = ReturnType<typeof createTransport>
