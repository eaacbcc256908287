import { asc, count, eq } from 'drizzle-orm'
import type { Handle } from './pool.ts'
import { apiKeys, webhookEndpoints } from './schema/webhooks.ts'

type ApiKey = Readonly<typeof apiKeys.$inferSelect>

/** Stores a new key. */
export const addApiKey = async (handle: Handle, key: ApiKey): Promise<void> => {
  await handle.insert(apiKeys).values(key)
}

/** All keys with the number of their webhook endpoints, the oldest first. */
export const readApiKeys = (handle: Handle) =>
  handle
    .select({ id: apiKeys.id, name: apiKeys.name, createdAt: apiKeys.createdAt, endpoints: count(webhookEndpoints.id) })
    .from(apiKeys)
    .leftJoin(webhookEndpoints, eq(webhookEndpoints.apiKey, apiKeys.id))
    .groupBy(apiKeys.id)
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))

/** The id of the key with this hash; undefined when there is none. */
export const findApiKey = async (handle: Handle, hash: string): Promise<string | undefined> =>
  (await handle.select({ id: apiKeys.id }).from(apiKeys).where(eq(apiKeys.hash, hash)))[0]?.id

/** Replaces the hash of a key. Returns false when there is no key with this id. */
export const replaceApiKey = async (handle: Handle, id: string, hash: string): Promise<boolean> =>
  (await handle.update(apiKeys).set({ hash }).where(eq(apiKeys.id, id)).returning({ id: apiKeys.id })).length > 0

/** Removes a key with its webhook endpoints and their deliveries. Returns false when there is no key with this id. */
export const removeApiKey = async (handle: Handle, id: string): Promise<boolean> =>
  (await handle.delete(apiKeys).where(eq(apiKeys.id, id)).returning({ id: apiKeys.id })).length > 0
