import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { createMarket, type Feed } from '../../../src/pricing/market/market.ts'
import type { Source } from '../../../src/pricing/market/series.ts'

const DAY_MS = 86_400_000
const today = Date.UTC(2026, 10, 20, 12)
const usdGhs = { base: 'USD', quote: 'GHS' }

/** Closes of the weekdays up to a day, oldest first. */
const closesUntil = (until: number, count: number, close: number) => {
  const closes: { date: string; close: number }[] = []
  for (let time = until; closes.length < count; time -= DAY_MS) {
    const date = new Date(time)
    if (date.getUTCDay() % 6 !== 0) closes.unshift({ date: date.toISOString().slice(0, 10), close })
  }
  return closes
}

type Given = { readonly name: string; readonly until?: number; readonly count?: number; readonly close?: number }

const sourceOf = ({ name, until = today, count = 40, close = 11 }: Given, pair = usdGhs): Source => ({
  ...{ name, synthetic: name === 'generated' },
  series: [{ pair, closes: closesUntil(until, count, close) }],
})

/** A feed whose sources the test replaces. */
const feedOf = (sources: readonly Source[]) => {
  let held = sources
  const read = vi.fn<Feed['read']>(async () => held)
  const set = (next: readonly Source[]): void => {
    held = next
  }
  return { name: 'desk', read, set }
}

const marketOf = (feeds: readonly Feed[], now = () => today) => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  return { lines, market: createMarket({ feeds, now, log }) }
}

describe('the history of a pair', () => {
  it('comes from the source with the newest close, whichever feed it is in', async () => {
    const { market } = marketOf([
      feedOf([sourceOf({ name: 'old', until: today - DAY_MS })]),
      feedOf([sourceOf({ name: 'new' }), sourceOf({ name: 'later' })]),
    ])
    await market.refresh()
    expect(market.history(usdGhs)?.source).toBe('new')
  })

  it('needs 30 closes; a newer source with fewer gives the spot, with its own mark', async () => {
    const few = sourceOf({ name: 'generated', count: 5, close: 11.5 })
    const { market } = marketOf([feedOf([sourceOf({ name: 'long', until: today - DAY_MS }), few])])
    await market.refresh()
    expect(market.history(usdGhs)).toMatchObject({
      ...{ source: 'long', synthetic: false, last: { close: 11 } },
      spot: { source: 'generated', synthetic: true, close: 11.5 },
    })
  })

  it('keeps its own spot when the newer rate is at another level', async () => {
    const few = sourceOf({ name: 'few', count: 5, close: 40 })
    const { market } = marketOf([feedOf([sourceOf({ name: 'long', until: today - DAY_MS }), few])])
    await market.refresh()
    expect(market.history(usdGhs)?.spot).toMatchObject({ source: 'long', close: 11 })
  })

  it('is not there for a pair without enough closes, and such a pair is not listed', async () => {
    const { market } = marketOf([feedOf([sourceOf({ name: 'few', count: 29 })])])
    await market.refresh()
    expect([market.history(usdGhs), market.pairs()]).toEqual([undefined, []])
  })
})

it('a pair that sources publish in both directions is listed once, as the first source has it', async () => {
  const inverted = sourceOf({ name: 'inverted', close: 0.1 }, { base: 'GHS', quote: 'USD' })
  const { market } = marketOf([feedOf([sourceOf({ name: 'direct' }), inverted])])
  await market.refresh()
  expect(market.pairs()).toEqual([usdGhs])
})

describe('a refresh', () => {
  it('reports a change only for new sources, and their rates then replace the cached ones', async () => {
    const feed = feedOf([sourceOf({ name: 'desk' })])
    const { market } = marketOf([feed])
    expect([await market.refresh(), await market.refresh()]).toEqual([true, false])
    expect(market.history(usdGhs)?.last.close).toBe(11)
    feed.set([sourceOf({ name: 'desk', close: 12 })])
    expect(await market.refresh()).toBe(true)
    expect(market.history(usdGhs)?.last.close).toBe(12)
  })

  it('reports a new day once, and a close of that day counts from then on', async () => {
    let now = today
    const feed = feedOf([sourceOf({ name: 'desk', until: Date.UTC(2026, 10, 23) })])
    const { market } = marketOf([feed], () => now)
    await market.refresh()
    expect(market.history(usdGhs)?.last.date).toBe('2026-11-20')
    now = Date.UTC(2026, 10, 23)
    expect(market.history(usdGhs)?.last.date).toBe('2026-11-23')
    expect([await market.refresh(), await market.refresh()]).toEqual([true, false])
  })

  it('a clock that was set back takes later closes away again', async () => {
    let now = Date.UTC(2026, 10, 23)
    const { market } = marketOf([feedOf([sourceOf({ name: 'desk', until: now })])], () => now)
    await market.refresh()
    now = today
    expect(market.history(usdGhs)?.last.date).toBe('2026-11-20')
  })

  it('keeps the rates of a feed that fails, with a warning', async () => {
    const feed = feedOf([sourceOf({ name: 'desk' })])
    const { market, lines } = marketOf([feed])
    await market.refresh()
    feed.read.mockRejectedValueOnce(new Error('no connection'))
    expect(await market.refresh()).toBe(false)
    expect(lines).toHaveLength(1)
    expect(market.history(usdGhs)?.source).toBe('desk')
  })

  it('stops at an abort: it reads no further feed, and the failure that the abort causes is not logged', async () => {
    const stop = new AbortController()
    const [first, second] = [feedOf([]), feedOf([])]
    const { market, lines } = marketOf([first, second])
    first.read.mockImplementationOnce(async () => {
      stop.abort()
      throw new Error('aborted')
    })
    expect(await market.refresh(stop.signal)).toBe(false)
    expect([first.read.mock.calls.length, second.read.mock.calls.length, lines]).toEqual([1, 0, []])
    await market.refresh(stop.signal)
    expect([first.read.mock.calls.length, second.read.mock.calls.length]).toEqual([1, 0])
  })
})
