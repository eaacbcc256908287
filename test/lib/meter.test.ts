import { expect, test } from 'vitest'
import { createMeter, meterLine } from '../../src/lib/meter.ts'

test('a progress line shows the rate, and the time left if the total is known', () => {
  expect(meterLine('deposits', 1_200, 3_000, 3)).toBe('deposits 1200 of 3000, 400 a second, 00:05 left')
  expect(meterLine('events', 10, 72_010, 1)).toBe('events 10 of 72010, 10 a second, 2:00:00 left')
  expect(meterLine('wallet lists', 50, null, 2)).toBe('wallet lists 50, 25 a second')
  expect(meterLine('events', 0, 10, 0)).toBe('events 0 of 10, 0 a second')
})

/** A meter with a stream that records its text and a clock that the test sets. */
const listen = (isTTY: boolean) => {
  const written: string[] = []
  const clock = { ms: 0 }
  const meter = createMeter({
    stream: { isTTY, write: (text) => written.push(text) },
    now: () => clock.ms,
  })
  const showAt = (ms: number, done: number): void => {
    clock.ms = ms
    meter.show('rows', done, 100)
  }
  return { written, meter, showAt }
}

test('a stream that is not a terminal gets a line every five seconds', () => {
  const { written, meter, showAt } = listen(false)
  for (let ms = 0; ms <= 12_000; ms += 1_000) showAt(ms, ms / 200)
  meter.close()
  expect(written).toEqual(['rows 25 of 100, 5 a second, 00:15 left\n', 'rows 50 of 100, 5 a second, 00:10 left\n'])
})

test('on a terminal one line is rewritten in place and cleared at the end', () => {
  const { written, meter, showAt } = listen(true)
  for (const ms of [0, 50, 100, 150, 200]) showAt(ms, ms / 10)
  meter.close()
  expect(written).toHaveLength(3)
  expect(written.every((text) => text.startsWith('\r\u001b[K') && !text.includes('\n'))).toBe(true)
  expect(written.at(-1)).toBe('\r\u001b[K')
})

test('another task begins a new count', () => {
  const written: string[] = []
  let ms = 0
  const meter = createMeter({ stream: { write: (text) => written.push(text) }, now: () => ms })
  for (const [at, what, done] of [
    [0, 'rows', 0],
    [10_000, 'rows', 50],
    [11_000, 'events', 0],
    [21_000, 'events', 200],
  ] as const) {
    ms = at
    meter.show(what, done, 100)
  }
  expect(written).toEqual(['rows 50 of 100, 5 a second, 00:10 left\n', 'events 200 of 100, 20 a second, 00:00 left\n'])
})
