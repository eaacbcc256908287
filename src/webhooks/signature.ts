import { createHmac } from 'node:crypto'

/** The headers of a message by Standard Webhooks 1.0. */
export type SignedHeaders = {
  readonly 'webhook-id': string
  /** Unix seconds of the attempt. */
  readonly 'webhook-timestamp': string
  /** One signature of version `v1` per secret, separated by blanks. */
  readonly 'webhook-signature': string
}

/**
 * Signs a message with each of the secrets: HMAC-SHA256 over `id.timestamp.body`
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
export const sign = (
  { id, body }: { readonly id: string; readonly body: string },
  secrets: readonly string[],
  at: Date,
): SignedHeaders => {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
