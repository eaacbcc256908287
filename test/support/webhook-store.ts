import { randomBytes } from 'node:crypto'
import { asc, sql } from 'drizzle-orm'
import { feed, feedFloors } from '../../src/db/schema/feed.ts'
import { changeCounter, settlements } from '../../src/db/schema/index-state.ts'
import { ledger, ledgerReversals } from '../../src/db/schema/ledger.ts'
import { deliveries, webhookTypes } from '../../src/db/schema/webhooks.ts'
import { addEndpoint, type Endpoint, readEndpoint } from '../../src/db/webhooks/endpoints.ts'
import { knownTokens } from '../../src/protocol/tokens.ts'
import { createVault, newSecret } from '../../src/webhooks/secrets.ts'
import { createTestDatabase } from './database.ts'
import { openDatabase } from './open-database.ts'

/** The chain of the rows below, unless they name another one. */
export const CHAIN = 8453

/** The history of the feed. */
export const EPOCH = 'e1'

const hash = `0x${'ab'.repeat(32)}` as const

/**
 * A database with webhook endpoints, their messages, and feeds that they are made of, without an index or a chain.
 * `clear` empties it, and begins the feed of a chain at 0.
 */
export const openWebhookStore = async () => {
  const store = await createTestDatabase()
  const database = openDatabase(store.url)
  const vault = createVault([randomBytes(32)])
  const secret = newSecret()
  const tokens = knownTokens([])

  const add = (
    id: string,
    chosen: Partial<Parameters<typeof addEndpoint>[1]> = {},
    most = 200,
    ofKey = most,
  ): Promise<void> => {
    const given = {
      id,
      url: 'http://localhost/',
      types: [...webhookTypes],
      chainIds: null,
      wallets: null,
      eventIds: null,
    }
    const stored = vault.encrypt(id, secret)
    return addEndpoint(database, { ...given, secret: stored, createdAt: new Date(), ...chosen }, most, ofKey)
  }

  /** Stores a message that waits and is due, of an entity of its own. */
  const storeMessage = (endpoint: string, seq: number, to: Partial<typeof deliveries.$inferInsert> = {}) => {
    const id = `event.changed.${seq}`
    const row = { endpoint, id, seq, entity: `event ${seq}`, body: '{}', nextAt: new Date(0) }
    return database.run((handle) => handle.insert(deliveries).values({ ...row, ...to }))
  }

  return {
    ...{ url: store.url, database, tokens, vault, secret, add, store: storeMessage },
    endpoint: async (id: string): Promise<Endpoint> => {
      const found = await database.run((handle) => readEndpoint(handle, id))
      if (found === undefined) throw new Error(`there is no endpoint ${id}`)
      return found
    },
    /** The messages of all endpoints by their numbers. */
    stored: () =>
      database.run((handle) => handle.select().from(deliveries).orderBy(asc(deliveries.seq), asc(deliveries.endpoint))),
    /** Sets the last number of the feeds, and their history. */
    count: (last: number, epoch = EPOCH) =>
      database.run(async (handle) => {
        const row = { one: 1, last, before: 0, fed: last, server: 's', epoch }
        await handle.insert(changeCounter).values(row).onConflictDoUpdate({ target: changeCounter.one, set: row })
      }),
    /** Makes the feed of a chain complete from a number on. */
    floor: (chainId: number, seq: number, reason: 'backfill' | 'rebuilt' = 'backfill') =>
      database.run((handle) =>
        handle
          .insert(feedFloors)
          .values({ chainId, seq, reason })
          .onConflictDoUpdate({ target: feedFloors.chainId, set: { seq, reason } }),
      ),
    /** Adds or replaces the newest change of a wallet or an event. */
    change: (type: 'wallet' | 'event', key: string, seq: number, to: Partial<typeof feed.$inferInsert> = {}) =>
      database.run(async (handle) => {
        const none = { events: 0, deposits: 0, positions: 0, claimables: 0, blockNumber: 1n, blockHash: hash }
        const row = { chainId: CHAIN, type, key, seq, ...none, deposits: seq, ...to }
        const target = [feed.chainId, feed.type, feed.key]
        await handle.insert(feed).values(row).onConflictDoUpdate({ target, set: row })
      }),
    settle: (seq: number, to: Partial<typeof settlements.$inferInsert> = {}) =>
      database.run((handle) =>
        handle.insert(settlements).values({
          ...{ seq, type: 'settled', chainId: CHAIN, eventId: BigInt(seq), settledAt: 1n, triggered: true },
          ...{ settlementPrice: 1n, blockNumber: 1n, blockHash: hash, ...to },
        }),
      ),
    /** Adds a row of the ledger, or the removal of one, with its number. */
    act: (seq: number, wallet: string, to: Partial<typeof ledger.$inferInsert> = {}, isReverted = false) =>
      database.run(async (handle) => {
        const row: typeof ledger.$inferInsert = {
          ...{ chainId: CHAIN, blockNumber: BigInt(seq), blockHash: hash, blockTimestamp: 1n, logIndex: 0 },
          ...{
            txHash: hash,
            topics: '0x' as const,
            data: '0x' as const,
            type: 4,
            wallet: wallet as `0x${string}`,
            amount: 7n,
            ...to,
          },
        }
        if (isReverted) await handle.insert(ledgerReversals).values({ ...row, seq })
        else await handle.insert(ledger).values({ seq, ...row })
      }),
    async clear(): Promise<void> {
      const tables = [
        'webhook_endpoints',
        'feed',
        'feed_floors',
        'feed_epochs',
        'settlements',
        'change_counter',
        'ledger',
        'ledger_reversals',
      ]
      // Of a few rows faster than TRUNCATE. Messages are deleted with their endpoints.
      const statements = tables.map((table) => `DELETE FROM ${table}`).join('; ')
      await database.run((handle) => handle.execute(sql.raw(statements)))
    },
    async close(): Promise<void> {
      await database.close()
      await store.close()
    },
  }
}

export type WebhookStore = Awaited<ReturnType<typeof openWebhookStore>>
