import { connect } from 'node:net'
import { expect, test } from 'vitest'
import {
  clip,
  detail,
  errorText,
  invalid,
  isUnavailable,
  nullIfUnavailable,
  ServiceError,
  unavailable,
  upstream,
} from '../../src/lib/errors.ts'
import { problem } from '../../src/lib/http/problem.ts'

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

test('a text is cut to its bound with an ellipsis, and one of exactly the bound is not', () => {
  expect([clip('abc', 3), clip('abcd', 3), clip('a\nb', 3)]).toEqual(['abc', 'ab…', 'a b'])
  const [long, cut] = ['x'.repeat(1_000), `${'x'.repeat(999)}…`]
  expect([upstream(long).message, upstream(`${long}x`).message]).toEqual([long, cut])
  expect(detail({ path: 'p'.repeat(61), message: 'm'.repeat(151) })).toEqual({
    ...{ path: `${'p'.repeat(59)}…`, message: `${'m'.repeat(149)}…` },
  })
  const many = Array.from({ length: 21 }, (_, at) => ({ path: `${at}`, message: 'no' }))
  expect(invalid('no', many).details).toHaveLength(20)
})

test('only an error of an unavailable source counts as one', () => {
  const away = unavailable('away', new Error('refused'))
  expect([isUnavailable(away), isUnavailable(upstream('no')), isUnavailable(new Error('away'))]).toEqual([
    true,
    false,
    false,
  ])
  expect([away.retryAfter, away.status, away.cause]).toEqual([1, undefined, new Error('refused')])
  expect(nullIfUnavailable(away)).toBeNull()
  for (const fault of [upstream('no'), new Error('no')]) expect(() => nullIfUnavailable(fault)).toThrow(fault)
})

test('an AggregateError has its own text, or else those of its errors', () => {
  const errors = [new Error('a'), new Error('b')]
  expect(errorText(new AggregateError(errors, 'both'))).toBe('both')
  expect(errorText(new AggregateError(errors))).toBe('a, b')
})

const thrown = (statusCode: number, code = 'FST_ERR_CTP_INVALID_JSON') =>
  Object.assign(new Error('malformed'), { statusCode, code })

test.each<readonly [string, unknown, number, string, number | undefined]>([
  ['an unavailable source', unavailable('away', undefined, 7), 503, 'service_unavailable', 7],
  ['a limit without a time', new ServiceError('rate_limited', 'slow down'), 429, 'rate_limited', 1],
  [
    'an error with a time that is not temporary',
    new ServiceError('conflict', 'no', { retryAfter: 7 }),
    409,
    'conflict',
    undefined,
  ],
  [
    'an error with a more exact status',
    new ServiceError('conflict', 'no', { status: 412 }),
    412,
    'conflict',
    undefined,
  ],
  ['an upstream error', upstream('no'), 502, 'upstream_error', undefined],
  ['a body that the framework refused', thrown(400), 400, 'validation_error', undefined],
  ['a body that is too large', thrown(413), 413, 'validation_error', undefined],
  ['the last client error', thrown(499), 499, 'validation_error', undefined],
  ['an error of the framework itself', thrown(500), 500, 'internal_error', undefined],
  ['no client error', thrown(399), 500, 'internal_error', undefined],
  ['an unknown error', new Error('secret'), 500, 'internal_error', undefined],
])('%s has its status, code and time to retry', (_, fault, status, code, retryAfter) => {
  const answer = problem(fault, 'r-1')
  expect(answer).toMatchObject({ status, body: { error: { code } } })
  expect(answer.retryAfter).toBe(retryAfter)
})

test('a refusal of the framework names the body or the URL, and an internal error only the request', () => {
  const pathOf = (code: string) => problem(thrown(400, code), 'r-1').body.error.details
  expect(pathOf('FST_ERR_CTP_BODY_TOO_LARGE')).toEqual([{ path: 'body', message: 'malformed' }])
  expect(pathOf('FST_ERR_BAD_URL')).toEqual([{ path: 'url', message: 'malformed' }])
  expect(problem(new Error('secret'), 'r-1').body).toEqual({
    error: { code: 'internal_error', message: 'internal error, request r-1' },
  })
})
