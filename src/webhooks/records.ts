import { getAddress } from 'viem'
import { z } from 'zod'
import { webhookTypes } from '../db/schema/webhooks.ts'
import type { Delivery } from '../db/webhooks/deliveries.ts'
import type { Endpoint } from '../db/webhooks/endpoints.ts'
import { OfChain } from '../protocol/chains.ts'
import { Account, Id, Integer } from '../protocol/fields/response-fields.ts'

/** A time of a response: Unix seconds. */
const Time = (what: string) => Integer.meta({ description: `${what}, in Unix seconds` })

const OptionalTime = (what: string) => Integer.nullable().meta({ description: `${what}, in Unix seconds` })

const ID = 'we_0123456789ab'

export const EndpointId = z
  .string()
  .regex(/^we_[0-9a-f]{12}$/, { error: `expected the id of an endpoint, such as ${ID}` })
  .meta({ description: 'Id of the endpoint' })

/** A webhook endpoint as its owner sees it. */
export const Webhook = z
  .object({
    id: z.string().meta({ description: 'Id of the endpoint' }),
    url: z.string().meta({ description: 'Where messages are posted' }),
    types: z.array(z.enum(webhookTypes)).meta({ description: 'The types of its messages' }),
    chainIds: z.array(OfChain).nullable().meta({ description: 'Only messages of these chains; null for all' }),
    wallets: z.array(Account).nullable().meta({ description: 'Only messages of these wallets; null for all' }),
    eventIds: z.array(Id).nullable().meta({ description: 'Only messages of these events; null for all' }),
    state: z.enum(['active', 'paused', 'disabled']).meta({
      description:
        '`active`; `paused` by a request, by the operator, or after ten attempts at a message; `disabled` after an answer of 410',
    }),
    createdAt: Time('When it was registered'),
    succeededAt: OptionalTime('The last accepted message; null before the first'),
    failingSince: OptionalTime('The first failed attempt after the last accepted message; null while there is none'),
    failure: z.string().nullable().meta({ description: 'Why the last attempt failed; null while none fails' }),
    previousSecretUntil: OptionalTime('When the secret before the last rotation ends; null when one secret signs'),
    secret: z.string().optional().meta({
      description: 'The secret that signs its messages, only in the response to a registration and to a rotation',
    }),
  })
  .meta({ id: 'Webhook', description: 'A webhook endpoint' })

/** A message to an endpoint. */
export const WebhookDelivery = z
  .object({
    id: z.string().meta({ description: 'The `webhook-id` of the message' }),
    state: z.enum(['waiting', 'delivered', 'dead']).meta({
      description: '`waiting` for its next attempt, `delivered`, or `dead` after the last attempt',
    }),
    attempts: z.int().nonnegative().meta({ description: 'Attempts that ended' }),
    nextAt: OptionalTime('When the next attempt may begin; null when there is none'),
    sentAt: OptionalTime('When the last attempt began; null before the first'),
    endedAt: OptionalTime('When it was delivered or became dead; null while it waits'),
    failure: z.string().nullable().meta({ description: 'Why the last attempt failed; null when none did' }),
  })
  .meta({ id: 'WebhookDelivery', description: 'A message to a webhook endpoint' })

const seconds = (time: Date): number => Math.floor(time.getTime() / 1_000)
const secondsOrNull = (time: Date | null): number | null => time && seconds(time)

/** An endpoint at a time as its owner sees it, with a new secret if there is one. */
export const webhookOf = (it: Endpoint, now: Date, secret?: string): z.output<typeof Webhook> => ({
  ...{ id: it.id, url: it.url, types: it.types, chainIds: it.chainIds, eventIds: it.eventIds, state: it.state },
  wallets: it.wallets?.map((wallet) => getAddress(wallet)) ?? null,
  createdAt: seconds(it.createdAt),
  succeededAt: secondsOrNull(it.succeededAt),
  failingSince: secondsOrNull(it.failingSince),
  failure: it.failure,
  previousSecretUntil: it.previousUntil !== null && it.previousUntil > now ? seconds(it.previousUntil) : null,
  ...(secret !== undefined && { secret }),
})

/** A delivery as the owner of its endpoint sees it. */
export const deliveryOf = (it: Delivery): z.output<typeof WebhookDelivery> => ({
  ...{ id: it.id, state: it.state, attempts: it.attempt, failure: it.failure },
  nextAt: it.state === 'waiting' ? seconds(it.nextAt) : null,
  sentAt: secondsOrNull(it.sentAt),
  endedAt: secondsOrNull(it.endedAt),
})
