import { getAddress, isAddress } from 'viem'
import type { environments } from '../../config/environments.ts'
import type { ConfigOf } from '../../config/load.ts'
import { type WebhookFilter, webhookTypes } from '../../db/schema/webhooks.ts'
import type { Subscription } from '../../db/webhooks/endpoints.ts'
import { invalidField } from '../../lib/errors.ts'
import { parseEndpointUrl } from '../../webhooks/address.ts'
import { requireEffect } from '../../webhooks/subscription.ts'
import { checked, type Flags, textOf, wholeNumber } from '../flags.ts'

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
  const given = (['wallets', 'events'] as const).filter((name) => flags[name] !== undefined)
  requireEffect(types, new Map<WebhookFilter, string>(given.map((name) => [name, name])))
  return { url, types, chainIds, wallets, eventIds }
}
