import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import { z } from 'zod'
import { envelope, listingEnvelope, pagedEnvelope, readEnvelope } from '../../src/api/operation.ts'
import { Landing } from '../../src/api/pages/landing.ts'
import { Me } from '../../src/identity/me.ts'
import { ErrorBody } from '../../src/lib/http/problem.ts'
import { Plan } from '../../src/plans/answer/schema.ts'
import * as pricing from '../../src/pricing/messages.ts'
import { RevertRecord } from '../../src/protocol/reverts/record.ts'
import { ActivityPage } from '../../src/reads/activity/records.ts'
import { listings } from '../../src/reads/lists/listings.ts'
import { Balances } from '../../src/reads/portfolio/balances-records.ts'
import { Portfolio } from '../../src/reads/portfolio/records.ts'
import { DepositPoint, EventPoint, ProtocolPoint, seriesBody, WalletPoint } from '../../src/reads/series/records.ts'
import { reads } from '../../src/reads/table/table.ts'
import { TransactionRecord } from '../../src/reads/transactions/record.ts'
import { BuiltTx } from '../../src/tx/build.ts'
import { Broadcast } from '../../src/tx/relay.ts'
import { Webhook, WebhookDelivery } from '../../src/webhooks/records.ts'

type Answer = {
  readonly status: number
  readonly headers: LightMyRequestResponse['headers']
  readonly data: unknown
  readonly meta: unknown
  readonly error: z.output<typeof ErrorBody>['error'] | undefined
}

const pattern = (path: string): RegExp => new RegExp(`^/v1${path.replace(/:\w+/g, '[^/]+')}$`)

const responses: readonly (readonly [RegExp, z.ZodType])[] = [
  [/^\/$/, envelope(Landing)],
  // Longer paths first: `/total` and `/wallet/…` also look like an id.
  ...[...reads]
    .sort((a, b) => staticParts(b.path) - staticParts(a.path))
    .map((read) => [pattern(read.path), read.paged ? pagedEnvelope(read.data) : readEnvelope(read.data)] as const),
  ...listings.map(({ path, data }) => [new RegExp(`^/v1${path}$`), listingEnvelope(data)] as const),
  [/^\/v1\/activity$/, ActivityPage],
  [/^\/v1\/hedge\/events\/[^/]+\/[^/]+\/series$/, seriesBody(EventPoint)],
  [/^\/v1\/hedge\/deposits\/[^/]+\/[^/]+\/series$/, seriesBody(DepositPoint)],
  [/^\/v1\/wallets\/[^/]+\/series$/, seriesBody(WalletPoint)],
  [/^\/v1\/series$/, seriesBody(ProtocolPoint)],
  [/^\/v1\/wallets\/portfolio$/, readEnvelope(z.array(Portfolio))],
  [/^\/v1\/wallets\/[^/]+\/balances$/, readEnvelope(Balances)],
  [/^\/v1\/wallets\//, readEnvelope(Portfolio)],
  [/^\/v1\/transactions\//, envelope(TransactionRecord)],
  [/^\/v1\/plans\//, envelope(Plan)],
  [/^\/v1\/me$/, envelope(Me)],
  [/^\/v1\/tx\/broadcast$/, envelope(Broadcast)],
  [/^\/v1\/tx\//, envelope(BuiltTx)],
  [/^\/v1\/reverts$/, envelope(z.array(RevertRecord))],
  [/^\/v1\/webhooks\/[^/]+\/deliveries$/, envelope(z.array(WebhookDelivery))],
  [/^\/v1\/webhooks\/[^/]+\/ping$/, envelope(WebhookDelivery)],
  // The endpoint that was registered, or all.
  [/^\/v1\/webhooks$/, envelope(z.union([Webhook, z.array(Webhook)]))],
  [/^\/v1\/webhooks\//, envelope(Webhook)],
  [/^\/v1\/pricing\/quote$/, envelope(pricing.Quote)],
  [/^\/v1\/pricing\/backtest$/, envelope(pricing.Backtest)],
  [/^\/v1\/pricing\/health$/, envelope(pricing.Health)],
  [/^\/v1\/pricing\/signer$/, envelope(pricing.Signer)],
]

function staticParts(path: string): number {
  return path.split('/').filter((part) => !part.startsWith(':')).length
}

const Body = z.object({ data: z.unknown(), meta: z.unknown(), error: z.unknown() }).partial()

/**
 * Sends requests to the app as a client does, and checks every response: its own schema or the error envelope, a
 * request id, CORS headers, and no number that JSON parsers would round.
 */
export const createClient = (app: FastifyInstance) => {
  const send = async (options: InjectOptions & { readonly url: string }): Promise<Answer> => {
    const response = await app.inject(options)
    const { statusCode: status, headers, payload } = response
    expect(headers['x-request-id']).toMatch(/^[\w.:-]{1,128}$/)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(payload).not.toMatch(/[:,[]\d{17,}/)

    const raw: unknown = JSON.parse(payload)
    if (status >= 400) {
      const { error } = z.strictObject({ error: ErrorBody.shape.error.strict() }).parse(raw)
      if (status === 400) expect(error.details?.length).toBeGreaterThan(0)
      expect(headers['retry-after'] !== undefined).toBe(status === 503 || status === 429)
      expect(headers['www-authenticate'] !== undefined).toBe(status === 401)
      return { status, headers, data: undefined, meta: undefined, error }
    }
    const path = options.url.split('?', 1)[0] ?? ''
    const schema = responses.find(([regex]) => regex.test(path))?.[1]
    if (schema === undefined) throw new Error(`no response schema for ${path}`)
    // A parse that drops or changes nothing: the body has exactly the fields that are documented.
    expect(schema.parse(raw)).toEqual(raw)
    const { data, meta } = Body.parse(raw)
    return { status, headers, data, meta, error: undefined }
  }

  return {
    send,
    get: (path: string, headers: Record<string, string> = {}) => send({ method: 'GET', url: `/v1${path}`, headers }),
    post: (path: string, body: object) => send({ method: 'POST', url: `/v1${path}`, payload: body }),
  }
}
