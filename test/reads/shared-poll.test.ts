import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSharedPoll } from '../../src/reads/freshness/shared-poll.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  // In whole milliseconds: a fraction would be rounded up by timers.
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const EVERY_MS = 100

/** A poll of which each round sees the number of the round, with the times of the rounds, in tens of milliseconds, and their keys. */
const open = ({ atOnce = 10 } = {}) => {
  const began = performance.now()
  const rounds: string[] = []
  let answer: (keys: readonly string[]) => Promise<number> = async () => rounds.length
  const poll = createSharedPoll<number>({
    ...{ everyMs: EVERY_MS, atOnce },
    read: (keys) => {
      rounds.push(`${Math.floor((performance.now() - began) / 10) * 10} ${keys.join()}`)
      return answer(keys)
    },
  })
  const controller = new AbortController()
  /** Waits until a round with this number, and records what it came to. */
  const wait = (key: string, round: number, ms = 60_000, signal = controller.signal) => {
    const seen: number[] = []
    const outcome: { seen: number[]; result?: unknown } = { seen }
    const check = (at: number): string | undefined => {
      seen.push(at)
      return at >= round ? `round ${at}` : undefined
    }
    const late = (at: number): Error => new Error(`late, saw ${at}`)
    const until = poll.until({ key, check, late, deadline: performance.now() + ms, signal })
    until.then(
      (result) => {
        outcome.result = result
      },
      (fault: Error) => {
        outcome.result = fault.message
      },
    )
    return outcome
  }
  return {
    ...{ poll, rounds, wait, controller },
    answers: (to: typeof answer) => {
      answer = to
    },
  }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('a wait polls at once and then at the interval, until its check has a result', async () => {
  const { rounds, wait, controller } = open()
  const one = wait('a', 3)
  await pass(99)
  expect(rounds).toEqual(['0 a'])
  await pass(901)
  expect(rounds).toEqual(['0 a', '100 a', '200 a'])
  expect(one).toEqual({ seen: [1, 2, 3], result: 'round 3' })
  expect([vi.getTimerCount(), getEventListeners(controller.signal, 'abort')]).toEqual([0, []])
  // A wait after all others begins at once again.
  wait('b', 4)
  expect(rounds.at(-1)).toBe('1000 b')
})

test('the round after the last wait ended begins with the next wait, and not at the interval', async () => {
  const { rounds, wait } = open()
  wait('a', 1)
  await pass(1)
  wait('b', 2)
  expect(rounds).toEqual(['0 a', '0 b'])
})

test('waits of one key share its request, and each sees only rounds that began after it', async () => {
  const { rounds, wait } = open()
  const [first, second, third] = [wait('a', 2), wait('a', 2), wait('a', 3)]
  await pass(10)
  expect(rounds).toEqual(['0 a', '10 a'])
  expect([first, second, third.result]).toEqual([
    { seen: [1, 2], result: 'round 2' },
    { seen: [2], result: 'round 2' },
    undefined,
  ])
  await pass(1_000)
  expect([third.seen, rounds.length]).toEqual([[2, 3], 3])
})

test('a new key, or a wake, ends the pause, with a least time between two rounds', async () => {
  const { rounds, wait, poll } = open()
  wait('a', 9)
  await pass(1)
  wait('b', 9)
  await pass(8)
  expect(rounds).toEqual(['0 a'])
  await pass(1)
  expect(rounds).toEqual(['0 a', '10 a,b'])
  await pass(50)
  poll.wake()
  await pass(0)
  expect(rounds.at(-1)).toBe('60 a,b')
})

test('a round asks for so many keys at most, and the others have the next turn', async () => {
  const { rounds, wait } = open({ atOnce: 2 })
  for (const key of ['a', 'b', 'c']) wait(key, 9)
  await pass(320)
  expect(rounds).toEqual(['0 a', '10 a,b', '110 c,a', '210 b,c', '310 a,b'])
})

test('an error ends the waits of its round and no others, and the poll works afterwards', async () => {
  const { wait, answers, rounds } = open()
  answers(() => Promise.reject(new Error('no node')))
  const [first, second] = [wait('a', 1), wait('b', 2)]
  answers(async () => rounds.length)
  await pass(10)
  expect([first.result, second.result]).toEqual(['no node', 'round 2'])
  await pass(1_000)
  expect([rounds.length, vi.getTimerCount()]).toEqual([2, 0])
  const again = wait('a', 3)
  await pass(0)
  expect(again.result).toBe('round 3')
})

test('at its deadline a wait fails with what it saw last, and is polled for no more', async () => {
  const { rounds, wait, controller } = open()
  const one = wait('a', 99, 250)
  await pass(249)
  expect(one.result).toBeUndefined()
  await pass(1)
  expect(one.result).toBe('late, saw 3')
  await pass(1_000)
  expect([rounds.length, getEventListeners(controller.signal, 'abort')]).toEqual([3, []])
})

test('a deadline that passes before the first round ended waits for that round', async () => {
  const { wait, answers } = open()
  let end = (_: number): void => {}
  answers(() => new Promise((resolve) => (end = resolve)))
  const one = wait('a', 99, 50)
  await pass(60)
  expect(one.result).toBeUndefined()
  end(1)
  await pass(0)
  expect(one.result).toBe('late, saw 1')
})

test('an aborted wait ends with its reason, sees no result, and is polled for no more', async () => {
  const { wait, answers, rounds } = open()
  let end = (_: number): void => {}
  answers(() => new Promise((resolve) => (end = resolve)))
  const controller = new AbortController()
  const one = wait('a', 1, 1_000, controller.signal)
  controller.abort(new Error('gone'))
  await pass(0)
  expect(one.result).toBe('gone')
  end(1)
  await pass(2_000)
  expect([one.seen, rounds.length, vi.getTimerCount()]).toEqual([[], 1, 0])
  const late = wait('a', 1, 1_000, controller.signal)
  await pass(1_000)
  expect([late, rounds.length]).toEqual([{ seen: [], result: 'gone' }, 1])
})

test('an aborted wait leaves the other waits of its key', async () => {
  const { wait, rounds } = open()
  const controller = new AbortController()
  wait('a', 9, 1_000, controller.signal)
  const other = wait('a', 3)
  await pass(50)
  controller.abort(new Error('gone'))
  await pass(200)
  expect([other.result, rounds.length]).toEqual(['round 3', 3])
})
