import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { webhookTypes } from '../../../src/db/schema/webhooks.ts'
import { addEndpoint } from '../../../src/db/webhooks/endpoints.ts'
import { errorText } from '../../../src/lib/errors.ts'
import { findRedis } from '../../../src/sandbox/parts/redis.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import { createVault, newSecret } from '../../../src/webhooks/secrets.ts'
import { openDatabase } from '../../support/open-database.ts'
import { openReceiver } from '../../support/webhook-receiver.ts'
import { killWhileItFinalizes } from '../finalizing.ts'
import { expectedMessages, faultsOf, signatureFault } from '../messages.ts'
import { openIndex } from '../rig.ts'
import type { Failure, Target } from '../target.ts'

const KILLS = 20
const REORG_EVERY = 4
const SETTLE_EVERY = 2
const FLUSH_AT = 10
const WITHIN_MS = 90_000

/**
 * Kills the worker 20 times, five of them while it stores that settlements are final, empties Redis once, reorganises
 * the chain five times and lets the receiver fail, while the chain has traffic and settlements. Pauses of hours are shortened: the times of the deliveries are moved instead of the clock.
 */
export const webhooks: Target = {
  claim: `webhooks under ${KILLS} kill -9 of the worker, ${KILLS / REORG_EVERY} reorgs, an emptied Redis and a failing receiver`,
  figure: 'the newest state of every entity and every settlement arrives, in order and signed',
  async run({ store, chains, seeds }) {
    const { traffic } = chains
    const failures: Failure[] = []
    let messages = 0
    for (const seed of seeds) {
      traffic.reseed(seed)
      const random = createRandom(seed)
      const index = await openIndex({ store, chains, seed, ledger: 'all' })
      const redis = await findRedis({ redisUrl: undefined })
      const client = new Client(index.database.url)
      const database = openDatabase(index.database.url, { maxConnections: 1 })
      let status = 204
      const secret = newSecret()
      const refused: string[] = []
      const receiver = await openReceiver((response, message) => {
        const fault = signatureFault(message, secret)
        if (fault !== null) refused.push(fault)
        response.writeHead(status).end()
      })
      try {
        if (redis === null) throw new Error('Redis is missing: install redis-server')
        await client.connect()
        const key = randomBytes(32)
        const more = {
          ...{ REDIS_URL: redis.url, JOBS_PREFIX: redis.prefix },
          ...{ WEBHOOKS_KEY: key.toString('hex'), WEBHOOKS_ALLOW_LOOPBACK: 'true' },
        }
        let worker = await index.start('worker', 'worker', more)
        const fromBlock = await traffic.mine(1)
        await index.untilExact(fromBlock, WITHIN_MS)
        const chosen = { url: receiver.url, types: [...webhookTypes], chainIds: null, wallets: null, eventIds: null }
        const stored = createVault([key]).encrypt('we_1', secret)
        await addEndpoint(database, { id: 'we_1', ...chosen, secret: stored, createdAt: new Date() }, 1)
        const begin = Date.now() * 1_000
        /** Changes all rows of a table while nothing else does: a worker that changes several would be in its way. */
        const changeAll = async (table: string, change: string): Promise<void> => {
          await client.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE; UPDATE ${table} SET ${change}; COMMIT`)
        }
        /** Lets six hours pass for what waits. */
        const pass = async (): Promise<void> => {
          await changeAll('deliveries', `next_at = next_at - interval '6 hours' WHERE state = 'waiting'`)
          await changeAll('webhook_endpoints', `retry_at = retry_at - interval '6 hours'`)
        }
        for (let kill = 1; kill <= KILLS; kill += 1) {
          status = random.int(1, 3) === 1 ? 503 : 204
          const replace = kill % REORG_EVERY === 0 ? await traffic.fork() : null
          await traffic.mine(random.int(1, 5))
          const settledAt = kill % SETTLE_EVERY === 0 ? await traffic.settle() : null
          if (settledAt !== null && kill % REORG_EVERY !== 0) {
            await killWhileItFinalizes({ client, worker, traffic, settledAt, withinMs: WITHIN_MS })
          } else {
            await sleep(random.int(500, 8_000))
            await worker.kill()
          }
          if (kill === FLUSH_AT) {
            const connection = new Redis(redis.url)
            await connection.flushall()
            connection.disconnect()
          }
          if (replace !== null) {
            index.proxy.hold()
            await replace().finally(() => index.proxy.release())
          }
          worker = await index.start('worker', 'worker', more)
          await pass()
        }
        status = 204
        await traffic.makeFinal()
        await index.untilExact(await traffic.mine(1), WITHIN_MS)
        const deadline = Date.now() + WITHIN_MS
        for (let found = ['nothing was compared']; found.length > 0; await sleep(1_000)) {
          await pass()
          const expected = await expectedMessages({ client, node: traffic.node, begin, fromBlock })
          found = [...refused, ...faultsOf(receiver.received, expected)]
          if (found.length > 0 && Date.now() > deadline) throw new Error(found.slice(0, 3).join('; '))
        }
        messages += receiver.received.length
      } catch (fault) {
        failures.push({ seed, what: errorText(fault) })
      } finally {
        await Promise.all([client.end(), database.close(), receiver.close()])
        await index.close()
        await redis?.close()
      }
    }
    return {
      measured: `${messages} messages in ${seeds.length} seeds, ${failures.length} seeds with a fault`,
      met: failures.length === 0,
      failures,
    }
  },
}
