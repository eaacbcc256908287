import { pino } from 'pino'
import { webhookTypes } from '../../src/db/schema/webhooks.ts'
import { addEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { openDatabase } from '../support/open-database.ts'
import { openReceiver } from '../support/webhook-receiver.ts'

/** What receivers do, by their path; of every 20 endpoints one hangs and one fails. */
const KINDS = 20

/**
 * Registers webhook endpoints of all types in a running system, and receives for them: most accept every message, some
 * never answer, some answer 500. `variable` reads a variable of the system.
 */
export const openEndpoints = async (many: number, variable: (name: string) => string) => {
  const counts = { delivered: 0, refused: 0, hung: 0 }
  const receiver = await openReceiver((response, { path }) => {
    receiver.received.length = 0
    const kind = Number(path.slice('/hooks/'.length)) % KINDS
    if (kind === 1) {
      counts.hung += 1
      return
    }
    counts[kind === 2 ? 'refused' : 'delivered'] += 1
    response.writeHead(kind === 2 ? 500 : 204).end()
  })
  const database = openDatabase(variable('DATABASE_URL'), { maxConnections: 1, log: pino({ level: 'silent' }) })
  const vault = createVault([Buffer.from(variable('WEBHOOKS_KEY'), 'hex')])
  for (let nth = 0; nth < many; nth += 1) {
    const id = `we_load${nth}`
    const filters = { chainIds: null, wallets: null, eventIds: null }
    const chosen = { id, url: `${receiver.url}/${nth}`, types: [...webhookTypes], ...filters }
    await addEndpoint(database, { ...chosen, secret: vault.encrypt(id, newSecret()), createdAt: new Date() }, many)
  }
  await database.close()
  return { counts, close: receiver.close }
}
