import { z } from 'zod'
import { type WebhookFilter, webhookTypes } from '../db/schema/webhooks.ts'
import type { Subscription } from '../db/webhooks/endpoints.ts'
import { invalidField } from '../lib/errors.ts'
import { BodyChainId, MAX_CHAINS } from '../protocol/chains.ts'
import { Address20, AT_LEAST_ONE, scalarsAtMost } from '../protocol/fields/request-fields.ts'
import { parseEndpointUrl } from './address.ts'
import { requireEffect } from './subscription.ts'

/** Most values of a filter. */
const MOST_VALUES = 1_000

const filter = <I extends z.ZodType>(item: I, what: string, max = MOST_VALUES) =>
  scalarsAtMost(z.array(item).min(1, AT_LEAST_ONE), max)
    .optional()
    .meta({ description: `Only messages of these ${what}, 1 to ${max}; of all when omitted` })

/** The body of a registration. */
export const NewWebhook = z.strictObject({
  url: z.string().meta({
    description: 'Where messages are posted: HTTPS, and a public name or address; at most 2,000 characters',
  }),
  types: scalarsAtMost(z.array(z.enum(webhookTypes)).min(1, AT_LEAST_ONE), webhookTypes.length).meta({
    description: 'The types of the messages',
  }),
  chainIds: filter(BodyChainId, 'chains', MAX_CHAINS),
  wallets: filter(Address20, 'wallets'),
  eventIds: filter(z.int().nonnegative(), 'events of the one chain in `chainIds`'),
})

/** The field of each filter. */
const fields = [
  ['wallets', 'wallets'],
  ['events', 'eventIds'],
] as const satisfies readonly (readonly [WebhookFilter, keyof z.output<typeof NewWebhook>])[]

/** The different values of a list; null without one. */
const distinct = <T>(values: readonly T[] | undefined): T[] | null =>
  values === undefined ? null : [...new Set(values)]

/** What a body subscribes to. Throws `validation_error` naming the field. */
export const subscriptionOf = (body: z.output<typeof NewWebhook>, allowsLoopback: boolean): Subscription => {
  const chainIds = distinct(body.chainIds)
  if (body.eventIds !== undefined && chainIds?.length !== 1)
    throw invalidField('eventIds', 'expected with one chain in chainIds: ids are of one chain')
  requireEffect(body.types, new Map(fields.filter(([, field]) => body[field] !== undefined)))
  return {
    ...{ url: parseEndpointUrl(body.url, allowsLoopback).href, types: [...new Set(body.types)], chainIds },
    ...{ wallets: distinct(body.wallets?.map((it) => it.toLowerCase())), eventIds: distinct(body.eventIds) },
  }
}
