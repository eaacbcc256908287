import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import {
  createStreamCapacity,
  createStreams,
  type StreamItem,
  type StreamSource,
  type StreamStart,
} from '../../../src/api/streams/shared.ts'
import { createFakeChanges } from '../../support/fake-changes.ts'

/** The response of a client of a stream: what was written to it, and what its connection does. */
export class FakeResponse extends EventEmitter {
  readonly req = { socket: Object.assign(new EventEmitter(), { destroyed: false }) }
  text = ''
  writableLength = 0
  writableNeedDrain = false
  destroyed = false
  writableEnded = false

  write(text: string): boolean {
    this.text += text
    return !this.writableNeedDrain
  }
  end(text = ''): void {
    this.text += text
    this.writableEnded = true
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
  /** The numbers of the items that were written, in order. */
  items(): number[] {
    return [...this.text.matchAll(/^item: (\d+)$/gm)].map(([, seq]) => Number(seq))
  }
  /** The text since the last call. */
  take(): string {
    const { text } = this
    this.text = ''
    return text
  }
}

/** Lets everything run that waits for no timer. */
export const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 12; turns += 1) await turn()
}

/** A filter: the parity of the numbers that it passes, or all. */
export type Parity = 'even' | 'odd' | 'all'

const passes = (filter: Parity, { seq }: StreamItem): boolean =>
  filter === 'all' || (seq % 2 === 0 ? 'even' : 'odd') === filter

type Options = {
  readonly maxBufferedBytes?: number
  readonly maxRecent?: number
  readonly pageSize?: number
  readonly max?: number
  readonly maxPerClient?: number
  readonly onItems?: () => void
}

/** A stream that begins after a number of a feed with one history. */
export const startAt = (seq: number): StreamStart => ({ after: { epoch: '', seq } })

/** The streams of a feed that a test grows, and the reads that they make of it. */
export const openFeed = ({ max = 100, maxPerClient = 100, ...options }: Options = {}) => {
  const index = createFakeChanges()
  const feed: StreamItem[] = []
  const reads: { readonly seq: number; readonly filter: Parity; readonly limit: number }[] = []
  const state = { before: async (): Promise<void> => {} }
  const source: StreamSource<StreamItem, Parity> = {
    all: 'all',
    passes,
    async after(from, filter, limit) {
      const { seq } = from
      reads.push({ seq, filter, limit })
      const rest = feed.filter((item) => item.seq > seq && passes(filter, item))
      await state.before()
      const items = rest.slice(0, limit)
      return { items, next: { ...from, seq: items.at(-1)?.seq ?? seq }, hasMore: rest.length > limit }
    },
    newest: () => index.changes.position(),
    idOf: ({ seq }) => `at-${seq}`,
  }
  const capacity = createStreamCapacity(max, maxPerClient)
  const log = pino({ level: 'silent' })
  const streams = createStreams({ changes: index.changes, source, capacity, log, ...options })
  /** Adds items to the feed, without a commit. */
  const append = (...numbers: readonly number[]): void => {
    for (const seq of numbers) feed.push({ seq, text: `item: ${seq}\n\n` })
    index.change(numbers.at(-1) ?? 0)
  }
  return {
    ...{ index, reads, state, capacity, streams, append },
    /** Adds items to the feed, and has the streams read and send them. */
    async commit(...numbers: readonly number[]) {
      append(...numbers)
      index.commit()
      await settled()
    },
    /** Opens a stream after a position: the newest one unless given. */
    async open(after = index.changes.position(), filter: Parity = 'all', address = '192.0.2.1') {
      const response = new FakeResponse()
      streams.open(response as unknown as ServerResponse, address, startAt(after), filter)
      await settled()
      return response
    },
  }
}
