import { decode } from './codec.ts'
import { FxProtectionError } from './errors.ts'
import type { Schemas } from './types.ts'

/** Why a message is refused. */
export type WebhookCode =
  | 'invalid_options'
  | 'invalid_secret'
  | 'missing_header'
  | 'timestamp_out_of_range'
  | 'no_matching_signature'
  | 'invalid_body'

/** A message that must not be trusted. Answer it with `status`. */
export class WebhookError extends FxProtectionError {
  declare readonly code: WebhookCode

  /** The status to answer with: 500 when the options of `verifyWebhook` are at fault, otherwise 400. */
  get status(): 400 | 500 {
    return this.code === 'invalid_options' || this.code === 'invalid_secret' ? 500 : 400
  }
}

type Of<Type extends string, Data> = {
  /** The same for every attempt at the message. */
  readonly id: string
  readonly type: Type
  /** When the service made the message. */
  readonly timestamp: Date
  /** The position of the item in its feed. Earlier items may arrive later, so do not continue a feed from it. */
  readonly cursor: string
  readonly data: Data
}

/** A verified message. Later versions of the service may add types: ignore those that you do not know. */
export type WebhookMessage =
  | Of<'settlement.settled' | 'settlement.reverted' | 'settlement.finalized', Schemas['Settlement']>
  | Of<'activity.recorded' | 'activity.reverted', Schemas['Activity'] & { readonly seq: number }>
  | Of<'wallet.changed' | 'event.changed', Schemas['Change']>
  | Of<'changes.reset', { readonly resets: readonly Schemas['ChangesReset'][] }>
  | Of<'webhook.ping', { readonly endpoint: string }>

export type VerifyOptions = {
  /** The raw body as it arrived. JSON that was parsed and written again has another signature. */
  readonly body: string | Uint8Array
  /** The headers of the request, as `fetch` or Node have them. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** `whsec_…`; during a rotation the new one and the old one. */
  readonly secrets: readonly [string, ...string[]]
  /** How old or new a message may be, in seconds; 300 by default. */
  readonly toleranceSeconds?: number
  /** The time in milliseconds; `Date.now` by default. */
  readonly now?: () => number
}

/** Signatures of one message that are compared at most. */
const MAX_SIGNATURES = 20

const bytes = new TextEncoder()

/** Throws for options that JavaScript accepts: the request would fail with an error that does not name its cause. */
const checkOptions = ({ body, secrets, toleranceSeconds = 0 }: VerifyOptions): void => {
  const isRaw = typeof body === 'string' || ArrayBuffer.isView(body)
  const fault = !isRaw
    ? 'body: pass the raw body, as text or bytes, not the parsed JSON'
    : !Array.isArray(secrets) || secrets.length === 0
      ? 'secrets: pass a list with at least one secret, as in `secrets: [secret]`'
      : Number.isFinite(toleranceSeconds) && toleranceSeconds >= 0
        ? undefined
        : `toleranceSeconds: expected a number of seconds from 0, not ${toleranceSeconds}`
  if (fault === undefined) return
  throw new WebhookError(fault, {
    code: 'invalid_options',
    hint: 'Change the options of `verifyWebhook`. The service will send the message again.',
  })
}

const headerOf = (headers: VerifyOptions['headers'], name: string): string => {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof found === 'string' && found !== '') return found
  throw new WebhookError(`the request has no header ${name}`, {
    code: 'missing_header',
    hint: 'Pass all headers of the request. A request without them is not from the service.',
  })
}

const keyOf = async (secret: string) => {
  try {
    const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (char) => char.charCodeAt(0))
    return await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  } catch (cause) {
    throw new WebhookError('a secret is not whsec_ and base64', {
      ...{ code: 'invalid_secret', cause },
      hint: 'Use the secret that webhooks add or webhooks rotate printed.',
    })
  }
}

/** The bytes of a signature `v1,base64`; those of other versions and malformed ones are left out. */
const signaturesIn = (header: string): Uint8Array<ArrayBuffer>[] =>
  header.split(' ', MAX_SIGNATURES).flatMap((text) => {
    const [, base64] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(text) ?? []
    return base64 === undefined ? [] : [Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]
  })

const checkTime = (timestamp: string, toleranceSeconds: number, now: number): void => {
  const apart = Math.abs(Number(timestamp) - now / 1_000)
  if (/^\d{1,12}$/.test(timestamp) && apart <= toleranceSeconds) return
  throw new WebhookError(`the timestamp is more than ${toleranceSeconds} s from this machine's time`, {
    code: 'timestamp_out_of_range',
    hint: 'Set the clock of this machine. A message that is old may be a repetition that another sender made.',
  })
}

const parse = (id: string, body: Uint8Array): WebhookMessage => {
  try {
    const { timestamp, ...message } = decode(JSON.parse(new TextDecoder().decode(body))) as Omit<WebhookMessage, 'id'>
    return { ...message, id, timestamp: new Date(timestamp) } as WebhookMessage
  } catch (cause) {
    throw new WebhookError('the body is not JSON', {
      ...{ code: 'invalid_body', cause },
      hint: 'Report the webhook-id to the operator of the service.',
    })
  }
}

/**
 * Verifies a message by Standard Webhooks 1.0, and returns it with amounts as `bigint`. Throws a `WebhookError` when it
 * is not from the service, was changed, or is too old.
 *
 * @example
 * const message = await verifyWebhook({ body, headers: request.headers, secrets: [secret] })
 * if (message.type === 'settlement.settled') console.log(message.data.eventId)
 */
export const verifyWebhook = async (options: VerifyOptions): Promise<WebhookMessage> => {
  checkOptions(options)
  const { headers, secrets, toleranceSeconds = 300, now = Date.now } = options
  const [id, timestamp] = [headerOf(headers, 'webhook-id'), headerOf(headers, 'webhook-timestamp')]
  const signatures = signaturesIn(headerOf(headers, 'webhook-signature'))
  checkTime(timestamp, toleranceSeconds, now())
  const body = typeof options.body === 'string' ? bytes.encode(options.body) : options.body
  const prefix = bytes.encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  for (const secret of secrets) {
    const key = await keyOf(secret)
    for (const signature of signatures)
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return parse(id, body)
  }
  throw new WebhookError('no signature matches', {
    code: 'no_matching_signature',
    hint: 'Verify the raw body, with the secret of this endpoint.',
  })
}
