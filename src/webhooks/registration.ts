import { randomBytes } from 'node:crypto'
import type { Database } from '../db/pool.ts'
import type { NewDelivery } from '../db/webhooks/deliveries.ts'
import { addEndpoint, changeLocked, type Subscription } from '../db/webhooks/endpoints.ts'
import { queues } from '../jobs/queues.ts'
import { bodyOf } from './fill.ts'
import { newSecret, type Vault } from './secrets.ts'

/** How long the previous secret signs as well after a rotation, in milliseconds. */
const BOTH_SECRETS_MS = 24 * 60 * 60 * 1_000

/** Where endpoints and their secrets are stored. */
type Registry = { readonly database: Database; readonly vault: Vault }

/** The key that an endpoint belongs to, and the most endpoints that it may have. */
export type Owner = { readonly apiKey: string; readonly most: number }

/**
 * Registers an endpoint: of a key, or of the operator without one. Throws as `addEndpoint` does. Only the result has the
 * secret as it is.
 */
export const registerEndpoint = async (
  { database, vault }: Registry,
  subscription: Subscription,
  at: Date,
  owner?: Owner,
): Promise<{ readonly id: string; readonly secret: string }> => {
  const id = `we_${randomBytes(6).toString('hex')}`
  const secret = newSecret()
  const given = {
    ...subscription,
    ...{ id, secret: vault.encrypt(id, secret), createdAt: at, apiKey: owner?.apiKey ?? null },
  }
  await addEndpoint(database, given, queues.deliver.concurrency, owner?.most)
  return { id, secret }
}

type Rotation = {
  /** Ends the older of two secrets that sign. */
  readonly endsPrevious: boolean
  /** The error when two secrets sign until a time and the older one may not end. */
  readonly refuse: (until: Date) => Error
  /** Runs before the commit, so that messages are never signed with a secret that was lost. */
  readonly show?: (secret: string, until: Date) => Promise<void>
}

/** Replaces the secret of an endpoint, and returns the new one; undefined when there is no endpoint with this id. */
export const rotateSecret = async (
  { database, vault }: Registry,
  id: string,
  at: Date,
  { endsPrevious, refuse, show }: Rotation,
): Promise<string | undefined> => {
  const secret = newSecret()
  const until = new Date(at.getTime() + BOTH_SECRETS_MS)
  const isFound = await changeLocked(database, id, async (endpoint) => {
    const { previousUntil } = endpoint
    if (previousUntil !== null && previousUntil > at && !endsPrevious) throw refuse(previousUntil)
    // Encrypted again, so that a rotation also replaces the key that it was stored with.
    const previousSecret = vault.encrypt(id, vault.decrypt(id, endpoint.secret))
    await show?.(secret, until)
    return { secret: vault.encrypt(id, secret), previousSecret, previousUntil: until }
  })
  return isFound ? secret : undefined
}

/** A test message to an endpoint. */
export const pingOf = (endpoint: string, at: Date): Omit<NewDelivery, 'seq'> => ({
  id: `webhook.ping.${at.getTime()}`,
  entity: 'ping',
  body: bodyOf({ type: 'webhook.ping', cursor: '', data: { endpoint } }, at),
})
