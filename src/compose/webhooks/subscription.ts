import { getAddress, isAddress } from 'viem'
import type { environments } from '../../config/environments.ts'
import type { ConfigOf } from '../../config/load.ts'
import { subscribable, type WebhookFilter, type WebhookType, webhookTypes } from '../../db/schema/webhooks.ts'
import type { Subscription } from '../../db/webhooks/endpoints.ts'
import { invalidField } from '../../lib/errors.ts'
import { parseEndpointUrl } from '../../webhooks/address.ts'
import { checked, type Flags, textOf, wholeNumber } from '../flags.ts'

/** The filters that have an effect on the messages of a type. */
const filtersOf = (type: WebhookType): readonly WebhookFilter[] => subscribable[type].filters

/** Refuses a filter without an effect, and a type of which the given filters leave out nothing. */
const requireEffect = (types: Subscription['types'], given: readonly WebhookFilter[]): void => {
  for (const filter of given) {
    if (!types.some((type) => filtersOf(type).includes(filter)))
      throw invalidField(filter, `has no effect on ${types.join(', ')}: leave it out, or choose other types`)
  }
  const whole = types.filter((type) => !filtersOf(type).some((filter) => given.includes(filter)))
  const [filter] = given
  if (filter !== undefined && whole.length > 0)
    throw invalidField(filter, `has no effect on ${whole.join(', ')}: register an endpoint of its own for it`)
}

/** What the options of `webhooks add` subscribe to. Throws `validation_error` naming the option. */
export const subscriptionOf = (
  flags: Flags,
  config: Pick<ConfigOf<typeof environments.webhooks>, 'CHAINS' | 'WEBHOOKS_ALLOW_LOOPBACK'>,
): Subscription => {
  const url = parseEndpointUrl(textOf(flags, 'url') ?? '', config.WEBHOOKS_ALLOW_LOOPBACK).href
  const known = `one of ${webhookTypes.join(', ')}`
  const types = checked(flags, 'types', known, (text) => webhookTypes.find((type) => type === text))
  if (types === null) throw invalidField('types', `expected ${known}`)
  const chainIds = checked(flags, 'chains', `one of ${config.CHAINS.join(', ')}`, (text) =>
    config.CHAINS.find((id) => String(id) === text),
  )
  const wallets = checked(flags, 'wallets', 'an address', (text) =>
    isAddress(text, { strict: false }) ? getAddress(text).toLowerCase() : undefined,
  )
  const eventIds = checked(flags, 'events', 'an event id', wholeNumber)
  if (eventIds !== null && chainIds?.length !== 1)
    throw invalidField('events', `expected with one chain, such as --chains ${config.CHAINS[0]}: ids are of one chain`)
  requireEffect(types, [...(wallets ? (['wallets'] as const) : []), ...(eventIds ? (['events'] as const) : [])])
  return { url, types, chainIds, wallets, eventIds }
}
