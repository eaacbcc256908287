import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

const seq = (name: string) => bigint(name, { mode: 'number' }).notNull()
const time = (name: string) => timestamp(name, { withTimezone: true })

/** What chooses among the items of a feed. */
export type WebhookFilter = 'wallets' | 'events'

/** What an endpoint can subscribe to: the feed with the items, and the filters that choose among them. */
type Subscribable = {
  readonly feed: 'settlements' | 'final settlements' | 'activity' | 'wallet' | 'event' | 'protocol'
  readonly filters: readonly WebhookFilter[]
}

/** The types of messages. */
export const subscribable = {
  'settlement.settled': { feed: 'settlements', filters: ['wallets', 'events'] },
  'settlement.reverted': { feed: 'settlements', filters: ['wallets', 'events'] },
  'settlement.finalized': { feed: 'final settlements', filters: ['wallets', 'events'] },
  'activity.recorded': { feed: 'activity', filters: ['wallets'] },
  'activity.reverted': { feed: 'activity', filters: ['wallets'] },
  'wallet.changed': { feed: 'wallet', filters: ['wallets'] },
  'event.changed': { feed: 'event', filters: ['events'] },
} as const satisfies Readonly<Record<string, Subscribable>>

export type WebhookType = keyof typeof subscribable

export const webhookTypes = Object.keys(subscribable) as [WebhookType, ...WebhookType[]]

/** Keys of integrators, created by the operator. A key is stored as its hash only. */
export const apiKeys = pgTable('api_keys', {
  id: text('id').primaryKey(),
  /** Whose key it is, for the operator. */
  name: text('name').notNull(),
  /** SHA-256 of the key in hex. */
  hash: text('hash').notNull().unique(),
  createdAt: time('created_at').notNull(),
})

/** The receivers of webhooks, and their position in the feeds. */
export const webhookEndpoints = pgTable('webhook_endpoints', {
  id: text('id').primaryKey(),
  /** The key that registered it, and that it is removed with; null when the operator did. */
  apiKey: text('api_key').references(() => apiKeys.id, { onDelete: 'cascade' }),
  url: text('url').notNull(),
  types: text('types', { enum: webhookTypes }).array().notNull(),
  /** Filters; null does not filter. Addresses in lower case. */
  chainIds: integer('chain_ids').array(),
  wallets: text('wallets').array(),
  eventIds: bigint('event_ids', { mode: 'number' }).array(),
  /** Encrypted (`webhooks/secrets.ts`). The previous secret signs as well until its time, so that receivers can change. */
  secret: text('secret').notNull(),
  previousSecret: text('previous_secret'),
  previousUntil: time('previous_until'),
  /** `paused`: by the operator or after a last attempt; `disabled`: the receiver answered 410. */
  state: text('state', { enum: ['active', 'paused', 'disabled'] })
    .notNull()
    .default('active'),
  /** The cursor: every change up to it was turned into deliveries. */
  epoch: text('epoch').notNull(),
  seq: seq('seq'),
  createdAt: time('created_at').notNull(),
  succeededAt: time('succeeded_at'),
  /** The first failure since the last success; null while deliveries succeed. */
  failingSince: time('failing_since'),
  /** No attempt is made before this time. */
  retryAt: time('retry_at'),
  failure: text('failure'),
})

/** Messages to endpoints. Those that ended are kept for a few days. */
export const deliveries = pgTable(
  'deliveries',
  {
    endpoint: text('endpoint')
      .notNull()
      .references(() => webhookEndpoints.id, { onDelete: 'cascade' }),
    /** The `webhook-id`: the type and the number. */
    id: text('id').notNull(),
    /** The number of the change. */
    seq: seq('seq'),
    /** What the message is about. Messages of one entity are sent one after another. */
    entity: text('entity').notNull(),
    body: text('body').notNull(),
    state: text('state', { enum: ['waiting', 'delivered', 'dead'] })
      .notNull()
      .default('waiting'),
    /** Attempts that ended. */
    attempt: integer('attempt').notNull().default(0),
    /** When it may be sent; while it is sent, when another worker may take it over. */
    nextAt: time('next_at').notNull(),
    /** The start of the last attempt; null before the first. */
    sentAt: time('sent_at'),
    endedAt: time('ended_at'),
    failure: text('failure'),
  },
  (table) => [
    primaryKey({ columns: [table.endpoint, table.id] }),
    index('deliveries_waiting').on(table.endpoint, table.entity, table.seq).where(sql`${table.state} = 'waiting'`),
    index('deliveries_due').on(table.endpoint, table.nextAt).where(sql`${table.state} = 'waiting'`),
    index('deliveries_ended').on(table.endedAt).where(sql`${table.endedAt} IS NOT NULL`),
  ],
)
