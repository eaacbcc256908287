import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHeldOutput } from '../../src/sandbox/parts/held-output.ts'
import { createProgress } from '../../src/sandbox/progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('while a step takes long, a line appears every four to five seconds', async () => {
  const printed: { readonly at: number; readonly line: string }[] = []
  const began = Date.now()
  const progress = createProgress((line) => printed.push({ at: Date.now() - began, line }))
  let end = (): void => {}
  const long = progress.step('generated history', () => new Promise<void>((resolve) => (end = resolve)))
  const short = progress.step('PostgreSQL', async () => 7)
  expect(await short).toBe(7)
  await vi.advanceTimersByTimeAsync(60_000)
  end()
  await long
  progress.close()
  const times = printed.map(({ at }) => at)
  const pauses = times.slice(1).map((at, nth) => at - (times[nth] ?? 0))
  expect(Math.max(...pauses)).toBeLessThanOrEqual(5_000)
  // The end of the step has a line in any case.
  expect(Math.min(...pauses.slice(0, -1))).toBeGreaterThanOrEqual(4_000)
  expect([times.at(-1), printed.at(-1)?.line]).toEqual([60_000, expect.stringMatching(/ 60\.0 s$/)])
  expect(printed.map(({ line }) => line.trim().replace(/ +[\d.]+ s$/, ''))).toEqual([
    'PostgreSQL',
    ...Array.from({ length: printed.length - 2 }, () => '… generated history'),
    'generated history',
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a step that fails is reported no more', async () => {
  const printed: string[] = []
  const progress = createProgress((line) => printed.push(line))
  await expect(progress.step('node', () => Promise.reject(new Error('no node')))).rejects.toThrow('no node')
  await vi.advanceTimersByTimeAsync(20_000)
  progress.close()
  expect(printed).toEqual([])
})

test('the lines of processes are held until the start has succeeded, and shown when it fails', () => {
  const printed: string[] = []
  const start = () => createHeldOutput((line) => printed.push(line))
  const succeeding = start()
  succeeding.line('{"level":50,"msg":"database out of reach"}')
  succeeding.open()
  succeeding.line('later')
  expect(printed.splice(0)).toEqual(['later'])
  const failing = start()
  for (let nth = 0; nth < 1_000; nth += 1) failing.line(String(nth))
  expect(printed).toEqual([])
  failing.show()
  expect(printed).toHaveLength(200)
  expect(printed.at(-1)).toBe('999')
})
