import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDemand } from '../../src/indexer/demand.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const open = () => {
  const clock = { now: 0 }
  const demand = createDemand(() => clock.now)
  const stop = new AbortController()
  const begin = (ms = 1_000) => {
    const state = { isOver: false }
    demand.pause(ms, stop.signal).then(() => {
      state.isOver = true
    })
    return state
  }
  /** Whether a pause is over after so many milliseconds. */
  const isOver = async (pause: { readonly isOver: boolean }, ms = 0): Promise<boolean> => {
    await vi.advanceTimersByTimeAsync(ms)
    return pause.isOver
  }
  return { clock, demand, stop, begin, isOver }
}

test.each([
  ['a block', 7n],
  ['any news', null],
])('a demand for %s lasts for its time, and a shorter one does not end it', (_, block) => {
  const { clock, demand } = open()
  const wanted = block === null ? [] : [block]
  expect([demand.isFast(), demand.wanted()]).toEqual([false, []])
  demand.ask(block, 1_000)
  demand.ask(block, 10)
  clock.now = 999
  expect([demand.isFast(), demand.wanted()]).toEqual([true, wanted])
  clock.now = 1_000
  expect([demand.isFast(), demand.wanted()]).toEqual([false, []])
})

test('each block is wanted for the time of its own demands', () => {
  const { clock, demand } = open()
  demand.ask(null, 3_000)
  expect([demand.isFast(), demand.wanted()]).toEqual([true, []])
  demand.ask(2n ** 63n, 1_000)
  demand.ask(5n, 2_000)
  demand.ask(7n, 2_000)
  expect(demand.wanted()).toEqual([2n ** 63n, 5n, 7n])
  clock.now = 1_000
  expect(demand.wanted()).toEqual([5n, 7n])
  clock.now = 2_000
  expect([demand.isFast(), demand.wanted()]).toEqual([true, []])
})

test('readers of a block wait until the index has it, and those of any news for their time', () => {
  const { clock, demand } = open()
  demand.ask(7n, 1_000)
  demand.reached(6n)
  expect([demand.isFast(), demand.wanted()]).toEqual([true, [7n]])
  demand.reached(7n)
  expect([demand.isFast(), demand.wanted()]).toEqual([false, []])
  demand.ask(5n, 1_000)
  demand.ask(9n, 1_000)
  demand.ask(null, 2_000)
  demand.reached(8n)
  expect([demand.isFast(), demand.wanted()]).toEqual([true, [9n]])
  clock.now = 1_000
  expect([demand.isFast(), demand.wanted()]).toEqual([true, []])
  clock.now = 2_000
  expect(demand.isFast()).toBe(false)
})

test('a pause ends after its time', async () => {
  const { begin, isOver } = open()
  const pause = begin()
  expect([await isOver(pause, 999), await isOver(pause, 1)]).toEqual([false, true])
})

test('a pause ends at a new demand: the first one, a later block, and one after the last is over', async () => {
  const { clock, demand, begin, isOver } = open()
  const first = begin()
  demand.ask(null, 1_000)
  expect(await isOver(first)).toBe(true)
  const second = begin()
  demand.ask(null, 1_000)
  expect(await isOver(second)).toBe(false)
  demand.ask(0n, 1_000)
  expect(await isOver(second)).toBe(true)
  const third = begin()
  demand.ask(0n, 1_000)
  expect(await isOver(third)).toBe(false)
  clock.now = 1_000
  demand.ask(null, 1_000)
  expect(await isOver(third)).toBe(true)
})

test('a demand during a step leaves no pause after it, and the next pause is a whole one', async () => {
  const { demand, begin, isOver } = open()
  demand.ask(1n, 1_000)
  expect(await isOver(begin())).toBe(true)
  const next = begin()
  expect([await isOver(next, 999), await isOver(next, 1)]).toEqual([false, true])
})

test('a pause ends when the signal aborts, and does not begin after that', async () => {
  const { stop, begin, isOver } = open()
  const pause = begin()
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  stop.abort()
  expect(await isOver(pause)).toBe(true)
  expect(await isOver(begin())).toBe(true)
})

test('a pause that is over does not listen to the signal any more', async () => {
  const { stop, begin, isOver } = open()
  await isOver(begin(), 1_000)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
})

test('a pause ends at a demand for a block above those that are waited for, and not for one below', async () => {
  const { demand, begin, isOver } = open()
  demand.ask(5n, 1_000)
  await isOver(begin())
  const pause = begin()
  demand.ask(4n, 1_000)
  expect(await isOver(pause)).toBe(false)
  demand.ask(6n, 1_000)
  expect(await isOver(pause)).toBe(true)
})
