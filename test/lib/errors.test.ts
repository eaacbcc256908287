import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { errorText, invalid, upstream } from '../../src/lib/errors.ts'
import { problem } from '../../src/lib/problem.ts'

test('the text of a thrown value is never empty', async () => {
  expect(errorText(new Error('no'))).toBe('no')
  expect(errorText('no')).toBe('no')
  // A host with two addresses that both refuse a connection, with the error of the operating system.
  const both = await new Promise<unknown>((resolve) =>
    connect({
      ...{ host: 'both', port: 9, autoSelectFamily: true },
      lookup: (_, __, done) =>
        done(null, [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ]),
    }).once('error', resolve),
  )
  expect(both).toBeInstanceOf(AggregateError)
  expect(errorText(both)).toMatch(/127\.0\.0\.1:9.*, .*::1/)
})

test('an error that quotes long texts of other services has a body of at most 16 KB', () => {
  // In order: three bytes in UTF-8, six bytes in JSON, a surrogate pair that a cut may split, and two bytes in JSON.
  for (const character of ['\uffee', '\u0001', '\u{1f600}', '"']) {
    const text = character.repeat(500_000)
    const details = Array.from({ length: 10_000 }, () => ({ path: text, message: text }))
    for (const error of [upstream(text), invalid(text, details)]) {
      const { body } = problem(error, 'request')
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(16_384)
      expect(body.error.details?.length ?? 20).toBe(20)
    }
  }
})

test('a short text of a node is relayed unchanged, on one line', () => {
  expect(upstream('nonce too low: next 7, got 0').message).toBe('nonce too low: next 7, got 0')
  expect(upstream('refused:\nnonce too low').message).toBe('refused: nonce too low')
})
