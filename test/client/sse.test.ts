import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Message, readMessages } from '../../client/src/sse.ts'
import { createEventStream } from '../support/event-stream.ts'
import { useFastClock } from '../support/fast-clock.ts'

beforeAll(useFastClock)
// A timer that a test left behind does not count in the next one.
beforeEach(() => void vi.clearAllTimers())
afterAll(() => void vi.useRealTimers())

/** The messages of a stream that arrives in these chunks. */
const read = async (...chunks: readonly (string | Uint8Array)[]): Promise<Message[]> => {
  const stream = createEventStream()
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  const messages: Message[] = []
  for await (const message of readMessages(stream.body, () => 1_000)) messages.push(message)
  return messages
}

describe('the messages of a stream', () => {
  test.each<[string, readonly string[], Message[]]>([
    [
      'have their fields',
      ['id: 7\nevent: settled\ndata: {"a":1}\n\n'],
      [{ id: '7', event: 'settled', data: '{"a":1}' }],
    ],
    ['arrive in any chunks', ['id', ': 7\nda', 'ta: x\n', '\nid: 8\n\n'], [{ id: '7', data: 'x' }, { id: '8' }]],
    ['keep colons and spaces of their values', ['data:  a: b\n\n'], [{ data: ' a: b' }]],
    ['need no space and no value', ['data:a\nid\n\n'], [{ data: 'a', id: '' }]],
    ['may be comments', [': ping\n\nretry: 1000\nid: 0\n\n'], [{}, { retry: '1000', id: '0' }]],
    ['that are not complete at the end are left out', ['id: 7\n\nid: 8\n'], [{ id: '7' }]],
  ])('%s', async (_, chunks, messages) => {
    expect(await read(...chunks)).toEqual(messages)
  })

  test('may be cut within a character', async () => {
    const bytes = new TextEncoder().encode('data: é\n\n')
    expect(await read(bytes.slice(0, 7), bytes.slice(7))).toEqual([{ data: 'é' }])
  })
})

describe('a stream', () => {
  test('that is silent for too long ends, and each message begins the time again', async () => {
    const stream = createEventStream()
    const began = Date.now()
    setTimeout(() => stream.write('id: 1\n\n'), 900)
    const limits = [1_000, 3_000]
    const seen: Message[] = []
    const reading = (async () => {
      for await (const message of readMessages(stream.body, () => limits.shift() ?? 0)) seen.push(message)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'timeout', message: 'nothing arrived for 3000 ms' })
    expect([seen, Date.now() - began]).toEqual([[{ id: '1' }], 3_900])
    expect(stream.isCancelled()).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that breaks is an error with its cause', async () => {
    const stream = createEventStream()
    const cause = new TypeError('terminated')
    stream.fail(cause)
    await expect(readMessages(stream.body, () => 1_000).next()).rejects.toMatchObject({ code: 'network_error', cause })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that is left is cancelled', async () => {
    const stream = createEventStream()
    stream.write('id: 1\n\nid: 2\n\n')
    for await (const _ of readMessages(stream.body, () => 1_000)) break
    expect(stream.isCancelled()).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })
})
