import { randomBytes } from 'node:crypto'
import { addApiKey } from '../../src/db/api-keys.ts'
import type { Database } from '../../src/db/pool.ts'
import { addEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { hashApiKey, newApiKey } from '../../src/identity/api-keys.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { DAY, NOW } from './clock.ts'

/** The webhook endpoint of the story. */
export const ENDPOINT = 'we_0123456789ab'

/** Stores an integrator's key with an endpoint that it registered a day ago. Returns the key, and what opens its secret. */
export const addIntegrator = async (database: Database) => {
  const [apiKey, vault] = [newApiKey(), createVault([randomBytes(32)])]
  const createdAt = new Date((NOW - DAY) * 1_000)
  const key = { id: 'ak_0123456789ab', name: 'Bank', hash: hashApiKey(apiKey), createdAt }
  await database.run((handle) => addApiKey(handle, key))
  const chosen = {
    ...{ url: 'https://hooks.bank.example/fx', types: ['wallet.changed' as const] },
    ...{ chainIds: [8453], wallets: null, eventIds: null },
  }
  const secret = vault.encrypt(ENDPOINT, newSecret())
  await addEndpoint(database, { ...chosen, id: ENDPOINT, secret, createdAt, apiKey: key.id }, 200)
  return { apiKey, vault }
}
