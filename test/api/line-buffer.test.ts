import { execFileSync } from 'node:child_process'
import { type LoggerOptions, pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLineBuffer } from '../../src/api/line-buffer.ts'

const PROGRAM = `
import { pino } from 'pino'
import { createLineBuffer } from './src/api/line-buffer.ts'
const lines = createLineBuffer(pino({ level: 'info' }))
lines.answered(lines.kind('GET', '/v1/chains', 200), 'request-1', 3, undefined)
process.exit(0)
`

test('buffered lines are written when the process exits', () => {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', PROGRAM]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8' })
  expect(JSON.parse(output)).toMatchObject({ requestId: 'request-1', route: '/v1/chains', status: 200, ms: 3 })
})

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-25T10:00:00Z') }))
afterEach(() => void vi.useRealTimers())

const open = (options: LoggerOptions = {}) => {
  const written: string[] = []
  const log = pino(
    { base: { pid: 7 }, timestamp: pino.stdTimeFunctions.isoTime, ...options },
    {
      write: (text: string) => void written.push(text),
    },
  )
  const lines = createLineBuffer(log)
  const kind = lines.kind('GET', '/v1/chains', 200)
  const answered = (id: string, ms = 3, trace?: string): void => lines.answered(kind, id, ms, trace)
  /** The lines that were written, by write. */
  const parsed = () =>
    written.map((text) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    )
  const ids = (): string[][] => parsed().map((all) => all.map(({ requestId }) => requestId))
  return { lines, written, answered, parsed, ids }
}

test('a line has the fields that the logger would write, in its time', () => {
  const { lines, answered, parsed } = open()
  answered('a')
  vi.advanceTimersByTime(1)
  answered('b', 0.4)
  answered('c', 0.4, 'trace-1')
  lines.answered(lines.kind('POST', undefined, 404), 'd', 0.5, undefined)
  for (const ms of [1, 1.6]) answered('e', ms)
  lines.flush()
  const all = { level: 30, pid: 7, msg: 'answered', time: '2026-11-25T10:00:00.001Z' }
  const get = { ...all, method: 'GET', route: '/v1/chains', status: 200 }
  expect(parsed()).toEqual([
    [
      { ...get, time: '2026-11-25T10:00:00.000Z', requestId: 'a', ms: 3 },
      { ...get, requestId: 'b', ms: 0 },
      { ...get, requestId: 'c', ms: 0, traceId: 'trace-1' },
      { ...all, requestId: 'd', method: 'POST', status: 404, ms: 1 },
      { ...get, requestId: 'e', ms: 1 },
      { ...get, requestId: 'e', ms: 2 },
    ],
  ])
})

test('lines are written together, 100 ms after the first of them', () => {
  const { answered, ids } = open()
  answered('a')
  vi.advanceTimersByTime(60)
  answered('b')
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(39)
  expect(ids()).toEqual([])
  vi.advanceTimersByTime(1)
  expect(ids()).toEqual([['a', 'b']])
  answered('c')
  vi.advanceTimersByTime(100)
  expect(ids()).toEqual([['a', 'b'], ['c']])
})

test('a flush writes at once, and lines after it wait for their own time', () => {
  const { lines, answered, written, ids } = open()
  lines.flush()
  answered('a')
  vi.advanceTimersByTime(50)
  lines.flush()
  expect(ids()).toEqual([['a']])
  answered('b')
  vi.advanceTimersByTime(99)
  lines.flush()
  lines.flush()
  expect(written).toHaveLength(2)
  answered('c')
  vi.advanceTimersByTime(1)
  expect(ids()).toEqual([['a'], ['b']])
})

test('65,536 characters are written at once, and one less waits', () => {
  const { lines, answered, written, ids } = open()
  answered('a')
  lines.flush()
  const rest = (written[0]?.length ?? 0) - 1
  answered('b'.repeat(65_535 - rest))
  expect(written).toHaveLength(1)
  lines.flush()
  answered('c'.repeat(65_536 - rest))
  expect([written.length, written[2]?.length, vi.getTimerCount()]).toEqual([3, 65_536, 0])
  expect(ids()[2]?.[0]).toMatch(/^c+$/)
})

test('secrets are removed from buffered lines too', () => {
  const { lines, answered, ids } = open({ hooks: { streamWrite: (text) => text.replaceAll('hidden', '<secret>') } })
  answered('hidden')
  lines.flush()
  expect(ids()).toEqual([['<secret>']])
})

test('a logger of a higher level has no access log', () => {
  const { lines, answered, written } = open({ level: 'warn' })
  answered('a')
  lines.flush()
  expect([written, vi.getTimerCount()]).toEqual([[], 0])
})
