import { expect, test } from 'vitest'
import { isStream } from '../../src/api/accept.ts'

test.each([
  'text/event-stream',
  'Text/Event-Stream; charset=UTF-8',
  'text/event-stream;charset=utf-8;q=0.5',
  'text/event-stream, application/json;q=0.9',
  'application/json;q=0.5, text/event-stream',
  'text/event-stream, */*',
  '*/*;q=0.1, text/event-stream;q=0.2',
  'text/*, application/json;q=0.9',
  'application/json;q=0, */*',
])('a request that accepts %s gets a stream', (accept) => {
  expect(isStream(accept)).toBe(true)
})

test.each([
  undefined,
  '',
  '*/*',
  'application/json',
  'application/json, text/plain, */*',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'text/event-stream;q=0',
  'text/event-stream; q=0.0, */*',
  'text/event-stream ; q = 0',
  'text/event-stream;charset=utf-8;q=0',
  'application/json, text/event-stream;q=0.9',
  'application/json;charset=utf-8, text/event-stream;q=0.9',
  'text/event-stream;q=0.1, */*;q=0.2',
  'text/event-streams',
  'text/html',
])('a request that accepts %s gets JSON', (accept) => {
  expect(isStream(accept)).toBe(false)
})
