import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { changeStream } from '../../../src/api/streams/changes.ts'
import { createStreamCapacity, createStreams } from '../../../src/api/streams/shared.ts'
import type { FeedCursor, FeedFilter, FeedItem, FeedPage } from '../../../src/db/queries/feed.ts'
import { cursorOf } from '../../../src/reads/feeds/changes.ts'
import { createFakeChanges } from '../../support/fake-changes.ts'
import { FakeResponse, settled } from './fake-feed.ts'

/* Open streams of changes while a replica takes the place of the primary: epoch `a` ends, and epoch `b` begins. */

const itemAt = (seq: number): FeedItem => ({
  ...{ seq, chainId: 8453, type: 'event', key: '3', changed: ['events'] },
  ...{ blockNumber: 7n, blockHash: `0x${'ab'.repeat(32)}` },
})

/** A feed that answers as `createFeedQueries` does, with items of these numbers in epoch `a`. */
const createFeed = (...numbers: readonly number[]) => {
  let epoch = 'a'
  let items = numbers.map(itemAt)
  const ended = new Map<string, number>()
  const last = (): number => items.at(-1)?.seq ?? 0
  return {
    append: (seq: number): void => void items.push(itemAt(seq)),
    /** Another server, which has the changes up to a number, commits the change `seq`. */
    promote(kept: number, seq: number): void {
      ended.set(epoch, kept)
      epoch = 'b'
      items = [...items.filter((it) => it.seq <= kept), itemAt(seq)]
    },
    async page(since: FeedCursor | 'now' | null, { chainIds }: FeedFilter, limit: number): Promise<FeedPage> {
      const from = since === 'now' || since === null ? { epoch, seq: 0 } : since
      const isKnown = from.epoch === epoch || (ended.get(from.epoch) ?? -1) >= from.seq
      const start = isKnown && since !== 'now' ? from.seq : last()
      const rest = items.filter((it) => it.seq > start && chainIds.includes(it.chainId))
      const page = rest.slice(0, limit)
      const hasMore = rest.length > limit
      const seq = hasMore ? (page.at(-1)?.seq ?? start) : Math.max(start, last())
      const resets = isKnown ? [] : chainIds.map((chainId) => ({ seq, chainId, reason: 'other_history' as const }))
      return { items: page, resets, next: { epoch, seq }, hasMore }
    },
  }
}

/** Streams of changes over a feed of which this process knows the changes up to a number. */
const openStreams = (feed: ReturnType<typeof createFeed>, known: number) => {
  const index = createFakeChanges()
  index.change(known)
  // The connection that brings notifications breaks with the primary.
  const changes = { ...index.changes, isCurrent: () => false }
  const source = changeStream({ changes, feed })
  const capacity = createStreamCapacity(10, 10)
  const streams = createStreams({ changes, source, capacity, log: pino({ level: 'silent' }), pageSize: 2 })
  onTestFinished(() => streams.close())
  return {
    source,
    async open(from: FeedCursor | 'now', response = new FakeResponse(), filter = source.all) {
      streams.open(response as unknown as ServerResponse, 'a', await source.resume(from, filter), filter)
      await settled()
      return response
    },
    async commit(seq: number) {
      index.change(seq)
      index.commit()
      await settled()
    },
  }
}

/** The events of a stream as `id name`, with the chain of a reset. */
const eventsIn = ({ text }: FakeResponse): string[] =>
  [...text.matchAll(/id: (.*)\nevent: (.*)\ndata:(?: \{"chainId":(\d+),"reason)?/g)].map(([, ...parts]) =>
    parts.filter(Boolean).join(' '),
  )

const resetsTo = (from: string, to: string): string[] => [`${from} reset 8453`, `${to} reset 56`]

test('open streams get the resets of a server without their newest changes, also after another client has found it', async () => {
  const feed = createFeed(10, 20)
  const { open, commit } = openStreams(feed, 20)
  const first = await open('now')
  feed.promote(10, 30)
  const second = await open('now')
  await commit(30)
  expect(eventsIn(first)).toEqual(['a.20 position', ...resetsTo('a.20', 'b.30')])
  feed.append(40)
  await commit(40)
  expect(eventsIn(first).slice(3)).toEqual(['b.40 change'])
  expect(eventsIn(second)).toEqual(['b.30 position', 'b.40 change'])
})

test('open streams go on without a reset on a server that has all of their changes', async () => {
  const feed = createFeed(10, 20)
  const { open, commit } = openStreams(feed, 20)
  const first = await open('now')
  feed.promote(20, 30)
  await open('now')
  await commit(30)
  expect(eventsIn(first)).toEqual(['a.20 position', 'b.30 change'])
})

test('a stream between two pages of its past gets the resets of a server that lacks the first one', async () => {
  const feed = createFeed(10, 20, 30, 40)
  const { open, commit } = openStreams(feed, 40)
  const slow = new FakeResponse()
  slow.writableNeedDrain = true
  const other = await open('now')
  await open({ epoch: 'a', seq: 0 }, slow)
  feed.promote(10, 50)
  await open('now')
  await commit(50)
  slow.writableNeedDrain = false
  slow.emit('drain')
  await settled()
  expect(eventsIn(slow).slice(1)).toEqual(['a.10 change', 'a.20 change', ...resetsTo('a.20', 'b.50')])
  expect(eventsIn(other).slice(1)).toEqual(resetsTo('a.40', 'b.50'))
})

test('a client that leaves an open stream between the resets of two chains gets both of them again', async () => {
  const feed = createFeed(10, 20)
  const { open, commit, source } = openStreams(feed, 20)
  const response = await open('now')
  feed.promote(10, 30)
  await commit(30)
  const [, cut, end] = [...response.text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => cursorOf(id))
  if (cut === undefined || end === undefined) throw new Error('the stream has no resets')
  const again = await source.resume(cut, source.all)
  expect(again).toMatchObject({ after: { epoch: 'b', seq: 30 }, text: response.text.split('data:\n\n')[1] })
  expect(await source.resume(end, source.all)).toEqual({ after: { epoch: 'b', seq: 30 } })
})

test('a reset and a change of one number are one step: only the last of them has the number as its id', async () => {
  const resets = [8453, 56].map((chainId) => ({ seq: 20, chainId, reason: 'unannounced' as const }))
  const items = [itemAt(10), itemAt(20), itemAt(30)]
  const page = async (): Promise<FeedPage> => ({ items, resets, next: { epoch: 'a', seq: 30 }, hasMore: false })
  const source = changeStream({ changes: createFakeChanges().changes, feed: { page } })
  const found = await source.after({ epoch: 'a', seq: 5 }, source.all, 10)
  expect(found.items.map(({ text }) => /^id: (.*)\nevent: (.*)$/m.exec(text)?.slice(1).join(' '))).toEqual([
    ...['a.10 change', 'a.10 reset', 'a.10 reset', 'a.20 change', 'a.30 change'],
  ])
})
