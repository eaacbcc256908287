import { describe, expect, test, vi } from 'vitest'
import { isMissingBlock, isTimeout, isTooLong, NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import { classify, type Fault, isNodeFault } from '../../src/chain/rpc/faults.ts'
import { unavailable, upstream } from '../../src/lib/errors.ts'

/* Each alternative of the texts by which a refusal is classified, and both sides of each number. */

const kindOf = (message: string): Fault['kind'] => classify({ code: -32_000, message }).kind

const texts: Readonly<Record<string, readonly string[]>> = {
  batch: [
    'batch size is too much',
    'the batch limit is 10',
    'batch of more than 1,000 requests',
    'batch too large',
    'batch requests are not allowed',
    'batch requests are not supported',
    'too many requests in a batch',
    'too many requests in the batch',
    'too many requests in batch',
  ],
  rate: [
    'rate limit',
    'ratelimited',
    'rate-limit',
    'too many requests',
    'requests limited to 5',
    'out of compute units',
    'exceeded the quota',
    'daily request count exceeded',
    'timeout on the free tier',
    'timeout on freetier',
  ],
  capability: [
    'safe block not found',
    'finalized block not found',
    'pending block not found',
    "'safe' is not a supported tag",
    'limit exceeded',
    'Limit exceeded.',
    'specify an address in your request',
    ...['disabled', 'not exist', 'not available', 'not supported', 'not allowed', 'not enabled'].map(
      (refused) => `eth_getLogs is ${refused}`,
    ),
    'cannot unmarshal object into Go value of type string',
    'method not found',
    'method not supported',
    'method not available',
    'too many arguments, want at most 2',
  ],
  size: [
    'response size exceeded',
    'response size should not be more',
    'response too big',
    'response is too large',
    'result too large',
    'result is too big',
    'query returned more than 5',
    'more than 5 logs returned',
    'exceeds max results',
    'query must be smaller than size 5',
    'logs matched by query exceeds 5',
  ],
  range: ['block range too wide', 'block range is too large', 'block range limit exceeded'],
  missing: [
    'header not found',
    'unknown block',
    'block not found',
    'could not find block',
    'resource not found',
    'block is out of range',
    'invalid block height',
    'cannot query unfinalized data',
    'after last accepted block',
    'missing trie node',
    'no state found',
    'no state available',
    'state of the block is not available',
    'state of the block is unavailable',
    'state at block 5 is pruned',
    'the range extends beyond current head',
    'invalid block range params',
    'hash 0x5c is not currently canonical',
  ],
  pruned: ['pruned history unavailable'],
  unanswered: ['timed out', 'query timeout', 'unable to complete request', 'no backend is currently healthy'],
  other: [
    '',
    'the limit exceeded by far',
    'operating',
    'eth_getLogs',
    'disabled eth_getLogs',
    'not available state ',
    'contains 3 filters',
    'contains filters, current limit is 5',
  ],
}

describe.each(Object.entries(texts))('the kind %s has the text', (kind, all) => {
  test.each(all)('"%s"', (message) => {
    expect(kindOf(message)).toBe(kind)
    // Nodes write in either case.
    expect(kindOf(message.toUpperCase())).toBe(kind)
  })
})

test.each([
  ['eth_getLogs up to a 5 block range', 5n],
  ['up to an 8 block range', 8n],
  ['limited to 7', 7n],
  ['limited to 1', 1n],
  // The first words that fit decide.
  ['max range: 5, so this block range exceeds 7', 5n],
  ['limited to a 7', 7n],
  ['limited to an 8', 8n],
  ['limited to 0 - 9', 9n],
  ['limited to a 10k range', 10_000n],
  ['limited to a 10K range', 10_000n],
  ['limited to a 1,000,000 range', 1_000_000n],
  ['limited to a 0 range', null],
  ['ranges over 6 blocks are not supported', 6n],
  ['exceeds the range allowed for your plan (20,000 > 5,000)', 5_000n],
  ['max block range: 4', 4n],
  ['maximum block range = 4', 4n],
  ['maximum allowed is 3 blocks', 3n],
  ['too many blocks from 1 to 9, maximum is set to 5', 5n],
  ['blocks distance: 5', 5n],
  ['range exceeds server limit, narrow your filter: 5', 5n],
  ['allowed number of requested blocks is 5', 5n],
  ['max range: 5', 5n],
  ['limit the query to at most 5', 5n],
  ['range is too large, max is 5k', 5_000n],
  ['too wide blocks range, the limit is 5', 5n],
  ['block range greater than 5', 5n],
  ['block range exceeds 5', 5n],
  ['block range exceeds the limit', null],
  ['maximum is set to 5', undefined],
])('the width that "%s" states is %s', (message, usable) => {
  const fault = classify({ code: -32_000, message })
  expect(fault).toEqual(usable === undefined ? { kind: 'other' } : { kind: 'range', usable })
})

test.each<[string, unknown, bigint | null]>([
  ['response too large [0x10, 0x1f]', undefined, 16n],
  ['response too large [0x10,0x10]', undefined, 1n],
  ['response too large [0x11, 0x10]', undefined, null],
  ['response too large, range 10-19', undefined, 10n],
  ['response too large', { from: '0x1', to: '0xA' }, 10n],
  ['response too large', { from: '0x1' }, null],
  ['response too large', { from: '1', to: '9' }, null],
  ['response too large', { from: `0x${'0'.repeat(64)}`, to: '0x0' }, 1n],
  ['response too large', { from: `0x${'0'.repeat(65)}`, to: '0x0' }, null],
  ['response too large, range 10-19', { from: '0x0', to: '0x0' }, 10n],
  ['response too large', { to: '0x9' }, null],
])('the width that "%s" with %j suggests is %s', (message, data, usable) => {
  expect(classify({ code: -32_000, message, data })).toEqual({ kind: 'size', usable })
})

test.each<[string, Fault]>([
  ['batch of more than 1,000 requests', { kind: 'batch', most: 1_000 }],
  ['batch size is 1k', { kind: 'batch', most: 1_000 }],
  ['max batch size', { kind: 'batch', most: null }],
])('"%s" states a number', (message, fault) => {
  expect(classify({ code: -32_000, message })).toEqual(fault)
})

test.each<[object, Fault]>([
  [{ code: 3, message: 'rate limit' }, { kind: 'other' }],
  [{ message: 'Execution reverted: rate limit' }, { kind: 'other' }],
  [{ message: 'rate limit of execution reverted' }, { kind: 'rate', retryAfterMs: null }],
  [
    { status: 429, message: 'header not found', retryAfter: '2' },
    { kind: 'rate', retryAfterMs: 2_000 },
  ],
  [
    { code: 429, message: 'slow down', retryAfter: '3' },
    { kind: 'rate', retryAfterMs: 3_000 },
  ],
  [
    { code: -32_029, message: 'slow down' },
    { kind: 'rate', retryAfterMs: null },
  ],
  [{ code: 429, message: 'header not found' }, { kind: 'missing' }],
  [
    { code: -32_601, message: '' },
    { kind: 'capability', missing: null },
  ],
  [{ code: -32_019, message: '' }, { kind: 'missing' }],
  [{ code: -39_001, message: '' }, { kind: 'missing' }],
  [{ code: 4_444, message: '' }, { kind: 'pruned' }],
  [{ code: 4_444, message: 'header not found' }, { kind: 'missing' }],
  [
    { status: 413, message: '' },
    { kind: 'batch', most: null },
  ],
  ...[408, 502, 503, 504, 522, 524].map((status): [object, Fault] => [{ status, message: '' }, { kind: 'unanswered' }]),
  ...[200, 400, 500, 521].map((status): [object, Fault] => [{ status, message: '' }, { kind: 'other' }]),
  [{ status: 503, message: 'header not found' }, { kind: 'missing' }],
  [{ message: '' }, { kind: 'other' }],
])('%j has a fault by its code or status', (refusal, fault) => {
  expect(classify(refusal as Parameters<typeof classify>[0])).toEqual(fault)
})

test('a date of `Retry-After` counts from now, and one that has passed states nothing', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') })
  const after = (date: string) => classify({ status: 429, message: '', retryAfter: date })
  const [next, now, last] = ['00:01', '00:00', '23:59'].map((time) => after(`Thu, 01 Jan 2026 ${time}:00 GMT`))
  const past = after('Wed, 31 Dec 2025 23:59:59 GMT')
  vi.useRealTimers()
  expect(last).toMatchObject({ retryAfterMs: 86_340_000 })
  expect([next, now, past]).toMatchObject([{ retryAfterMs: 60_000 }, { retryAfterMs: 0 }, { retryAfterMs: null }])
})

const faults: readonly [Fault, boolean][] = [
  [{ kind: 'capability', missing: null }, true],
  [{ kind: 'rate', retryAfterMs: null }, true],
  [{ kind: 'missing' }, true],
  [{ kind: 'pruned' }, true],
  [{ kind: 'unanswered' }, true],
  [{ kind: 'garbage' }, true],
  [{ kind: 'range', usable: null }, false],
  [{ kind: 'size', usable: null }, false],
  [{ kind: 'other' }, false],
  [{ kind: 'batch', most: null }, false],
  [{ kind: 'other' }, false],
]
test.each(faults)('%j is a fault of the node: %s', (fault, expected) => {
  expect(isNodeFault(fault)).toBe(expected)
})

describe('the cause of an error that no node answered', () => {
  const missing = new NodeError({ code: -32_000, message: 'header not found' })
  const limited = new NodeError({ code: -32_000, message: 'rate limit' })
  const tooLong = new NodeUnreachable('too long', { kind: 'size', usable: null })
  const silent = new NodeUnreachable('silent', { kind: 'unanswered' })
  const late = new DOMException('late', 'TimeoutError')
  const left = new DOMException('left', 'AbortError')
  const shown = (error: unknown) => [isMissingBlock(error), isTooLong(error), isTimeout(error)]
  test.each<[string, unknown, boolean[]]>([
    ['a missing block', unavailable('', missing), [true, false, false]],
    ['another error of a node', unavailable('', limited), [false, false, false]],
    ['an answer that is too long', unavailable('', tooLong), [false, true, false]],
    ['silence', unavailable('', silent), [false, false, false]],
    ['a time-out', unavailable('', late), [false, false, true]],
    ['a caller that left', unavailable('', left), [false, false, false]],
    ['none', unavailable(''), [false, false, false]],
    ['a missing block that nodes refuse', upstream('', missing), [false, false, false]],
    ['a time-out that nodes refuse', upstream('', late), [false, false, false]],
    ['the error of the node itself', missing, [false, false, false]],
    ['the time-out itself', late, [false, false, false]],
    ['an answer that is too long, itself', tooLong, [false, false, false]],
  ])('is %s', (_, error, expected) => {
    expect(shown(error)).toEqual(expected)
  })
})
