import { pino } from 'pino'
import { expect, vi } from 'vitest'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { type Answer, createFakeEndpoints } from './fake-endpoint.ts'
import { ok, unreachable } from './open-endpoint.ts'

/* A registry with endpoints and a clock of the test, whose timers must be faked. */

export const START = 1_800_000_000_000

const late = <T>(ms: number, value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, ms, value))
export const down = unreachable({ kind: 'unanswered' }, 'down')

export const up: Answer = () => [ok(8453), ok(null)]
export const silent: Answer = ({ options }) =>
  new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(down)))
export const broken: Answer = () => {
  throw down
}
export const upAfter =
  (ms: number): Answer =>
  () =>
    late(ms, [ok(8453), ok(null)])

/** A registry of endpoints in memory that answer like this; `replies` may be changed. */
export const openRegistry = (...answers: readonly Answer[]) => {
  const replies = [...answers]
  const fakes = createFakeEndpoints(answers.map((_, at) => (sent) => (replies[at] ?? up)(sent)))
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const urls = answers.map((_, at) => `http://${at}.example/key`)
  const registry = createEndpointRegistry({ chainId: 8453, urls, timeoutMs: 3_000, log, open: fakes.open })
  const indexes = async (found = registry.ranked([])) => (await found).map(({ endpoint }) => endpoint.index)
  return {
    ...{ ...registry, ...fakes, lines, replies, indexes },
    endpoint: (at: number) => fakes.endpoints[at] ?? expect.unreachable(),
    /** What `work` results in, or `pending` if it has not ended after so many milliseconds. */
    async within<T>(ms: number, work: Promise<T>): Promise<T | 'pending'> {
      let result: T | 'pending' = 'pending'
      void work.then((value) => {
        result = value
      })
      await vi.advanceTimersByTimeAsync(ms)
      return result
    },
  }
}
export type Pool = ReturnType<typeof openRegistry>

/** A pool whose endpoints have answered their first probe. */
export const openProbed = async (...answers: readonly Answer[]): Promise<Pool> => {
  const pool = openRegistry(...answers)
  await pool.within(2_000, pool.ranked([]))
  vi.setSystemTime(START)
  for (const endpoint of pool.endpoints) endpoint.learn({ is: 'head', number: 7n, timestamp: 7n })
  await pool.within(0, pool.ranked([]))
  pool.reports()
  pool.sent()
  return pool
}
