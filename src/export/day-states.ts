import { z } from 'zod'
import { hasOpenGap, idsAliveIn } from '../db/queries/export.ts'
import type { Row } from '../protocol/fields/flat-fields.ts'
import { Id, integer } from '../protocol/fields/response-fields.ts'
import { foldAt } from '../protocol/history/history.ts'
import { InexactPast, pastsOf, TooManyLogs } from '../reads/history/past.ts'
import { eventFigures, eventState } from '../reads/series/figures.ts'
import { totalsOf } from '../reads/series/protocol.ts'
import { protocolFigures } from '../reads/series/protocol-figures.ts'
import { EventPoint, ProtocolPoint } from '../reads/series/records.ts'
import { figuresOf, tokenOf } from '../reads/series/series.ts'
import type { Day, Source } from './source.ts'

/*
 * Tables with the state at the end of a day: the points of the series of events and of the protocol. A row is written once,
 * so a state that can still become another one is not written.
 */

const { chainId, ...point } = EventPoint.shape

/** Two events at once: all can have as many logs as are read of one. */
const SIZES = { firstEvents: 2, eventsAtOnce: 2, logsAtOnce: Number.POSITIVE_INFINITY }

export const EventDay = z.object({ chainId, eventId: Id, ...point })
export const TokenDay = ProtocolPoint

/**
 * The events from the day of their creation to that of their settlement, and on later days with a log of theirs, in the
 * order of their ids. Anyone can add logs to an event, so one with too many has a row without figures.
 */
export async function* eventDays(source: Source, day: Day): AsyncGenerator<Row> {
  const { chainId, high, time } = day
  // The fee rates of an event can be in logs before its own.
  if (await hasOpenGap(source.rows, chainId)) throw new InexactPast('the worker still reads logs of the past')
  let after = -1n
  for (;;) {
    const ids = await idsAliveIn(source.rows, day, after, source.pageRows)
    for await (const { id, event } of pastsOf(source, chainId, ids, SIZES)) {
      if (event === null) throw new InexactPast(`event ${id} is not read yet`)
      const { seen, history } = event
      const token = await tokenOf(source, chainId, seen.paymentToken)
      const point = { chainId, eventId: integer(id), ...token, time: Number(time) }
      if (history instanceof TooManyLogs) yield point
      else if (history instanceof InexactPast) throw history
      else yield { ...point, ...figuresOf(eventFigures, {}, eventState(foldAt(history, high), time)) }
    }
    const last = ids.at(-1)
    if (last === undefined || ids.length < source.pageRows) return
    after = last
  }
}

/** The tokens from the day of their first event on, in the order of their addresses. */
export async function* tokenDays(source: Source, { chainId, high, time }: Day): AsyncGenerator<Row> {
  // As of the next day: where the stored sums go beyond the block, those of all days before it are used.
  const days = await source.lists.totals.daysUpTo(chainId, { number: high, timestamp: time + 1n })
  if (days === null) throw new InexactPast('the ledger is not complete or not summed yet')
  for (const { token, points } of totalsOf(chainId, days, [time])) {
    const shown = await tokenOf(source, chainId, token)
    for (const { of } of points) yield { chainId, ...shown, time: Number(time), ...figuresOf(protocolFigures, {}, of) }
  }
}
