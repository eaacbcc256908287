import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { clip, errorText } from '../lib/errors.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { createCheckedLookup, parseEndpointUrl } from './address.ts'
import { createResolve, type Resolve } from './resolve.ts'
import type { SignedHeaders } from './signature.ts'

/** Longest time of an attempt, from the resolution of the name to the status. */
const TIMEOUT_MS = 15_000

/** Most bytes before the status. Interim responses and blank lines could go on until the time-out. */
const MAX_BEFORE_STATUS = 65_536

/** Most characters of a failure: the error of a certificate lists its names, of which a receiver can have thousands. */
const MAX_FAILURE = 500

/** The result of an attempt. */
export type Posted =
  | { readonly ok: true; readonly status: number }
  | { readonly ok: false; readonly failure: string; readonly status?: number; readonly retryAfter?: string | undefined }

/** Sends a signed body to a URL. Never throws: what fails is in the result. */
export type Post = (url: string, headers: SignedHeaders, body: string, signal: AbortSignal) => Promise<Posted>

export type PostOptions = {
  /** Whether HTTP to this machine is allowed; for the sandbox. */
  readonly allowsLoopback: boolean
  /** Resolves names; by the name servers of the operating system by default. */
  readonly resolve?: Resolve
  readonly timeoutMs?: number
  readonly maxBeforeStatus?: number
}

/**
 * Creates a function that posts webhooks. Every attempt has a connection of its own, to an address that was checked
 * for it; no redirect is followed, no proxy used, and of the response only the status and `Retry-After` are read.
 */
export const createPost = ({
  allowsLoopback,
  resolve = createResolve(),
  timeoutMs = TIMEOUT_MS,
  maxBeforeStatus = MAX_BEFORE_STATUS,
}: PostOptions): Post => {
  const attempt = (text: string, headers: SignedHeaders, body: string, signal: AbortSignal): Promise<Posted> =>
    new Promise((done, fail) => {
      // The settings and the rules may have changed since the endpoint was added.
      const url = parseEndpointUrl(text, allowsLoopback)
      const send = url.protocol === 'http:' ? requestHttp : requestHttps
      const sent = send(url, {
        method: 'POST',
        agent: false,
        signal,
        lookup: createCheckedLookup(url, resolve),
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'fx-protection-webhooks',
        },
      })
      sent.on('response', (response) => {
        const { statusCode: status = 0 } = response
        const retryAfter = response.headers['retry-after']
        // The rest of the response may be endless.
        response.destroy()
        if (status >= 200 && status < 300) done({ ok: true, status })
        else done({ ok: false, status, retryAfter, failure: `status ${status}` })
      })
      sent.on('socket', (socket) => {
        let before = 0
        socket.on('data', ({ length }: Buffer) => {
          before += length
          if (before > maxBeforeStatus) sent.destroy(new Error(`no status within ${maxBeforeStatus} bytes`))
        })
      })
      sent.on('error', fail)
      sent.on('close', () => fail(new Error('the connection was closed before a response')))
      sent.end(body)
    })

  return async (url, headers, body, signal) => {
    const late = () => new Error(`no response within ${timeoutMs / 1_000} s`)
    const work = (ends: AbortSignal) => attempt(url, headers, body, ends)
    try {
      return await withTimeout(work, { ms: timeoutMs, late, signal })
    } catch (error) {
      return { ok: false, failure: clip(errorText(error), MAX_FAILURE) }
    }
  }
}
