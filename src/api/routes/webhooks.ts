import type { FastifyPluginAsync, FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify'
import { z } from 'zod'
import { findApiKey } from '../../db/api-keys.ts'
import type { Database } from '../../db/pool.ts'
import { newestDeliveries, storeUnlessWaiting } from '../../db/webhooks/deliveries.ts'
import {
  changeEndpoint,
  type Endpoint,
  readEndpoint,
  readEndpoints,
  removeEndpoint,
} from '../../db/webhooks/endpoints.ts'
import { resumeEndpoint } from '../../db/webhooks/resume.ts'
import { hashApiKey } from '../../identity/api-keys.ts'
import { invalidField, notFound, OperatorError, ServiceError, unauthorized, unavailable } from '../../lib/errors.ts'
import { choice, Flag } from '../../reads/lists/query.ts'
import { requirePublic } from '../../webhooks/address.ts'
import { NewWebhook, subscriptionOf } from '../../webhooks/new-webhook.ts'
import { deliveryOf, EndpointId, Webhook, WebhookDelivery, webhookOf } from '../../webhooks/records.ts'
import { pingOf, registerEndpoint, rotateSecret } from '../../webhooks/registration.ts'
import type { Resolve } from '../../webhooks/resolve.ts'
import type { Vault } from '../../webhooks/secrets.ts'
import type { Refused } from '../limits/limits.ts'
import { type RateLimit, rateLimited } from '../limits/rate-limit.ts'
import { envelope, type Operation, route } from '../operation.ts'

/** What integrators register webhooks with by themselves. */
export type SelfService = {
  /** A role that may write endpoints and deliveries. */
  readonly database: Database
  readonly vault: Vault
  readonly resolve: Resolve
  /** Whether endpoints may have HTTP URLs of this machine. */
  readonly allowsLoopback: boolean
  /** The most endpoints of a key. */
  readonly mostPerKey: number
  /** The time in Unix milliseconds. */
  readonly now: () => number
}

/** Most deliveries of an answer. */
const MOST_SHOWN = 100

const OneEndpoint = z.object({ id: EndpointId })

const flag = (description: string) => Flag.optional().meta({ description })

const RotateQuery = z.object({
  endPrevious: flag('Rotate although two secrets sign: the older of them ends at once. False when omitted'),
})

const ResumeQuery = z.object({
  leaveDead: flag('Do not send the dead messages again. False when omitted'),
})

const DeliveriesQuery = z.object({
  state: choice(['waiting', 'delivered', 'dead'])
    .optional()
    .meta({ description: 'Return only deliveries in this state' }),
})

const about = (summary: string, description: string, more: Partial<Operation> = {}): Operation => ({
  ...{ tag: 'Webhooks', summary, description, apiKey: true, failures: ['unknown_parameter'], ...more },
})

const NO_ENDPOINT = 'the key has no webhook endpoint with this id'

const aboutOne = (summary: string, description: string, more: Partial<Operation> = {}): Operation =>
  about(summary, description, { missing: () => NO_ENDPOINT, ...more })

/** For operations without a body: their options are parameters of the query. */
const refuseBody: preHandlerHookHandler = ({ body }, _, done) => {
  const [field] = Object.keys(Object(body ?? {}))
  done(field === undefined ? undefined : invalidField(field, 'expected no body: options are parameters of the query'))
}

type Options = {
  readonly selfService: SelfService | null
  /** Null for no limit. */
  readonly limit: RateLimit | null
  readonly refused: Pick<Refused, 'rate'>
}

/** A request with a valid key. */
type Called<Query> = SelfService & { readonly apiKey: string; readonly query: Query; readonly at: Date }

/** A request for an endpoint of the key. */
type CalledOne<Query> = Called<Query> & { readonly endpoint: Endpoint }

/**
 * `/webhooks`: endpoints that integrators register with a key of the operator. An endpoint belongs to the key that
 * registered it, and for other keys it does not exist.
 */
export const webhookRoutes: FastifyPluginAsync<Options> = async (app, { selfService, limit, refused }) => {
  /** The key of a request, which counts as a client of its own. */
  const called = async <Query>(request: FastifyRequest, reply: FastifyReply): Promise<Called<Query>> => {
    // The response is for this key only, errors included.
    reply.headers({ 'cache-control': 'no-store', vary: 'x-api-key' })
    if (selfService === null)
      throw new ServiceError(
        'forbidden',
        'self-service for webhooks is off: ask the operator of this service to register your endpoint',
      )
    const { database, now } = selfService
    const given = request.headers['x-api-key']
    const apiKey =
      typeof given === 'string' ? await database.run((handle) => findApiKey(handle, hashApiKey(given))) : undefined
    if (apiKey === undefined) {
      reply.header('www-authenticate', 'ApiKey')
      throw unauthorized('a key in the header x-api-key is required: ask the operator of this service for one')
    }
    const allowance = await limit?.count(`key ${apiKey}`, 'incr')
    if (allowance?.isExceeded === true) {
      refused.rate += 1
      throw rateLimited(allowance)
    }
    return { ...selfService, apiKey, query: request.query as Query, at: new Date(now()) }
  }

  const calledOne = async <Query>(request: FastifyRequest, reply: FastifyReply): Promise<CalledOne<Query>> => {
    const call = await called<Query>(request, reply)
    const { id } = request.params as z.output<typeof OneEndpoint>
    const endpoint = await call.database.run((handle) => readEndpoint(handle, id))
    if (endpoint === undefined || endpoint.apiKey !== call.apiKey) throw notFound(NO_ENDPOINT)
    return { ...call, endpoint }
  }

  /** The endpoint after a change. */
  const changed = async ({ database, endpoint, at }: CalledOne<unknown>, secret?: string) => {
    const now = await database.run((handle) => readEndpoint(handle, endpoint.id))
    if (now === undefined) throw notFound(NO_ENDPOINT)
    return webhookOf(now, at, secret)
  }

  const register = about(
    'Register a webhook endpoint',
    'Registers an endpoint, which gets messages about what changes from now on. `secret` in the response signs them and is not shown again. To repeat a request without a response, list the endpoints first: each request registers one more.',
    { failures: ['too_many_webhooks'] },
  )
  app.post<{ Body: z.output<typeof NewWebhook> }>(
    '/webhooks',
    { ...route(register, envelope(Webhook), { body: NewWebhook }), compress: false },
    async (request, reply) => {
      const call = await called(request, reply)
      const { database, allowsLoopback, resolve, apiKey, mostPerKey, at } = call
      const subscription = subscriptionOf(request.body, allowsLoopback)
      await requirePublic(new URL(subscription.url), resolve)
      const owner = { apiKey, most: mostPerKey }
      const { id, secret } = await registerEndpoint(call, subscription, at, owner).catch((fault: unknown) => {
        if (!(fault instanceof OperatorError)) throw fault
        throw unavailable(
          'the service has as many webhook endpoints as it can serve: ask its operator to remove some',
          fault,
        )
      })
      const endpoint = await database.run((handle) => readEndpoint(handle, id))
      if (endpoint === undefined) throw notFound(NO_ENDPOINT)
      return { data: webhookOf(endpoint, at, secret) }
    },
  )

  const list = about(
    'List the webhook endpoints of the key',
    'Returns the endpoints that the key registered, the oldest first.',
  )
  app.get('/webhooks', { ...route(list, envelope(z.array(Webhook))), compress: false }, async (request, reply) => {
    const { database, apiKey, at } = await called(request, reply)
    const endpoints = await database.run((handle) => readEndpoints(handle, apiKey))
    return { data: endpoints.map((endpoint) => webhookOf(endpoint, at)) }
  })

  /** The operations on one endpoint, in the order of the documentation. */
  const operations = [
    {
      ...{ method: 'GET', path: '', data: Webhook },
      operation: aboutOne('Retrieve a webhook endpoint', 'Returns an endpoint with its state and its last failure.'),
      run: async ({ endpoint, at }: CalledOne<unknown>) => webhookOf(endpoint, at),
    },
    {
      ...{ method: 'POST', path: '/ping', data: WebhookDelivery },
      operation: aboutOne(
        'Send a test message',
        'Lets a worker send the message `webhook.ping` within seconds, and returns it. Its result is among the deliveries. While one waits, it is returned instead.',
      ),
      run: async ({ database, endpoint, at }: CalledOne<unknown>) => {
        const stored = await storeUnlessWaiting(database, endpoint.id, pingOf(endpoint.id, at), at)
        if (stored === undefined) throw notFound(NO_ENDPOINT)
        return deliveryOf(stored)
      },
    },
    {
      ...{ method: 'GET', path: '/deliveries', querystring: DeliveriesQuery, data: z.array(WebhookDelivery) },
      operation: aboutOne(
        'List the newest deliveries of a webhook endpoint',
        `Returns the newest ${MOST_SHOWN} messages that wait or ended. Delivered messages about changes are not kept.`,
      ),
      run: async ({ database, endpoint, query }: CalledOne<z.output<typeof DeliveriesQuery>>) =>
        (await database.run((handle) => newestDeliveries(handle, endpoint.id, query.state, MOST_SHOWN))).map(
          deliveryOf,
        ),
    },
    {
      ...{ method: 'POST', path: '/pause', data: Webhook },
      operation: aboutOne(
        'Pause a webhook endpoint',
        'Stops deliveries until the endpoint is resumed, and then sends what it missed.',
      ),
      run: async (call: CalledOne<unknown>) => {
        await call.database.run((handle) => changeEndpoint(handle, call.endpoint.id, { state: 'paused' }))
        return changed(call)
      },
    },
    {
      ...{ method: 'POST', path: '/resume', querystring: ResumeQuery, data: Webhook },
      operation: aboutOne(
        'Resume a webhook endpoint',
        'Continues deliveries at once, first with the dead messages. An endpoint that was paused after ten attempts or disabled by an answer of 410 is active again.',
      ),
      run: async (call: CalledOne<z.output<typeof ResumeQuery>>) => {
        await resumeEndpoint(call.database, call.endpoint.id, call.query.leaveDead === true, call.at)
        return changed(call)
      },
    },
    {
      ...{ method: 'POST', path: '/rotate', querystring: RotateQuery, data: Webhook },
      operation: aboutOne(
        'Replace the secret of a webhook endpoint',
        'Returns a new `secret`, which is not shown again. The one before it signs as well for 24 hours.',
        { failures: ['unknown_parameter', 'two_secrets'] },
      ),
      run: async (call: CalledOne<z.output<typeof RotateQuery>>) => {
        const endsPrevious = call.query.endPrevious === true
        const refuse = (until: Date) =>
          new ServiceError(
            'conflict',
            `two secrets sign until ${until.toISOString()}, and the older one would end: rotate after that, or at once with endPrevious=true`,
          )
        return changed(call, await rotateSecret(call, call.endpoint.id, call.at, { endsPrevious, refuse }))
      },
    },
    {
      ...{ method: 'DELETE', path: '', data: Webhook },
      operation: aboutOne('Remove a webhook endpoint', 'Removes an endpoint with its messages, and returns it.'),
      run: async ({ database, endpoint, at }: CalledOne<unknown>) => {
        await database.run((handle) => removeEndpoint(handle, endpoint.id))
        return webhookOf(endpoint, at)
      },
    },
  ] as const

  for (const { method, path, operation, data, run, ...input } of operations) {
    const { schema, config } = route(operation, envelope(data), { params: OneEndpoint, ...input })
    app.route({
      ...{ method, url: `/webhooks/:id${path}`, schema, config, compress: false },
      preHandler: refuseBody,
      handler: async (request, reply) => ({ data: await run(await calledOne<never>(request, reply)) }),
    })
  }
}
