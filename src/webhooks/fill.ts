import { z } from 'zod'
import type { Database } from '../db/pool.ts'
import { type Aspect, aspectNames } from '../db/queries/feed.ts'
import { lockEndpoint, type NewDelivery, storeDeliveries, takeBack, waitingOf } from '../db/webhooks/deliveries.ts'
import type { KnownTokens } from '../protocol/tokens.ts'
import { type Message, messagesAfter } from './messages.ts'

/** How much is turned into deliveries. */
export type FillSizes = {
  /** Items of each feed that one transaction turns into deliveries; 500 by default. */
  readonly page?: number | undefined
  /** Deliveries of an endpoint that wait, before its cursor stops; 10,000 by default. The feeds keep what comes after it. */
  readonly maxWaiting?: number | undefined
}

/** The body of a message: type, time and data as Standard Webhooks recommends, and the cursor of the feed. */
export const bodyOf = ({ type, cursor, data }: Pick<Message, 'type' | 'cursor' | 'data'>, at: Date): string =>
  JSON.stringify({ type, timestamp: at.toISOString(), cursor, data })

const Changed = z.looseObject({ changed: z.array(z.enum(aspectNames)) })
const Body = z.object({ type: z.string(), cursor: z.string(), data: Changed })

/** A message with the aspects of the one that it replaces. */
const merged = (message: Message, replaced: Message): Message => {
  const all = new Set<Aspect>([message, replaced].flatMap(({ data }) => Changed.parse(data).changed))
  return { ...message, data: { ...message.data, changed: aspectNames.filter((name) => all.has(name)) } }
}

/** Messages, of which the last one about an entity replaces the others. */
const combined = (messages: readonly Message[]): Message[] => {
  const kept = new Map<string, Message>()
  for (const message of messages) {
    const key = message.replaces ? message.entity : `${message.type}.${message.seq}`
    const earlier = kept.get(key)
    kept.set(key, earlier === undefined ? message : merged(message, earlier))
  }
  return [...kept.values()]
}

/**
 * Turns what changed after the cursor of an endpoint into deliveries, a page at a time, in one transaction each: a
 * process that ends meanwhile loses and repeats nothing. Returns whether there is more. A message about a changed entity
 * replaces the one that waits for it and was never sent.
 *
 * @example while (await fillDeliveries({ database, tokens }, endpoint, new Date()));
 */
export const fillDeliveries = (
  { database, tokens }: { readonly database: Database; readonly tokens: KnownTokens },
  id: string,
  now: Date,
  { page = 500, maxWaiting = 10_000 }: FillSizes = {},
): Promise<boolean> =>
  database.transaction(async (handle) => {
    const endpoint = await lockEndpoint(handle, id)
    if (endpoint === undefined || (await waitingOf(handle, id)) >= maxWaiting) return false
    const { messages: found, next, isMore } = await messagesAfter(handle, tokens, endpoint, page)
    const replacing = found.filter(({ replaces }) => replaces).map(({ entity }) => entity)
    const replaced = replacing.length === 0 ? [] : await takeBack(handle, id, replacing)
    const waiting = replaced.map(
      ({ entity, seq, body }): Message => ({ ...Body.parse(JSON.parse(body)), entity, seq, replaces: true }),
    )
    const messages = combined([...waiting, ...found])
    const rows = messages.map((message): NewDelivery => {
      const { type, seq, entity } = message
      return { id: `${type}.${seq}`, seq, entity, body: bodyOf(message, now) }
    })
    await storeDeliveries(handle, id, rows, next, now)
    return isMore
  })
