import { expect, test } from 'vitest'
import { classify, type Fault } from '../../src/chain/rpc/faults.ts'

type Recorded = readonly [
  provider: string,
  status: number,
  error: { code?: number; message: string; data?: unknown },
  Fault,
]

const range = (usable: bigint | null = null): Fault => ({ kind: 'range', usable })
const size = (usable: bigint | null = null): Fault => ({ kind: 'size', usable })
const lacks = (what: 'logs' | 'tags' | 'pinned' | null): Fault => ({ kind: 'capability', missing: what })
const rate: Fault = { kind: 'rate', retryAfterMs: null }
const missing: Fault = { kind: 'missing' }
const pruned: Fault = { kind: 'pruned' }
const unanswered: Fault = { kind: 'unanswered' }

/** Recorded errors of providers, each with its expected classification. */
const recorded: readonly Recorded[] = [
  [
    'Alchemy, paid',
    200,
    {
      code: -32_602,
      message:
        'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x1312d00, 0x1312d63]',
    },
    size(100n),
  ],
  [
    'Alchemy, a suggestion that ends before it begins',
    200,
    { code: -32_602, message: 'Log response size exceeded. this block range should work: [0x20, 0x1e]' },
    size(),
  ],
  [
    'Alchemy, free',
    400,
    {
      code: -32_600,
      message:
        'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1312d00, 0x1312d09]. Upgrade to PAYG for expanded block range.',
    },
    range(10n),
  ],
  [
    'Infura',
    200,
    {
      code: -32_005,
      message: 'query returned more than 10000 results. Try with this block range [0x1000, 0x10ff].',
      data: { from: '0x1000', to: '0x10ff', limit: 10_000 },
    },
    size(256n),
  ],
  [
    'Infura, numbers in the data alone',
    200,
    {
      code: -32_005,
      message: 'query returned more than 10000 results',
      data: { from: '0x1', to: '0x40', limit: 10_000 },
    },
    size(64n),
  ],
  [
    'Infura, filters',
    200,
    { code: -32_602, message: 'This query contains 18 filters. The current limit is 10' },
    { kind: 'other' },
  ],
  ['QuickNode', 200, { code: -32_614, message: 'eth_getLogs is limited to a 10,000 range' }, range(10_000n)],
  ['QuickNode, trial', 200, { code: -32_614, message: 'eth_getLogs is limited to a 5 range' }, range(5n)],
  ['Base public', 200, { code: -32_614, message: 'eth_getLogs is limited to a 10,000 range' }, range(10_000n)],
  ['Base public, older', 200, { code: -32_602, message: 'block range too large' }, range()],
  [
    'Base public, proxyd',
    503,
    { code: -32_011, message: 'no backend is currently healthy to serve traffic' },
    unanswered,
  ],
  [
    'Base public, reth behind',
    200,
    { code: -32_602, message: 'query exceeds max results 20000, retry with the range 38000000-38000999' },
    size(1_000n),
  ],
  ['OP proxyd, range', 200, { code: -32_062, message: 'Block range is too large' }, range()],
  ['OP proxyd, size', 200, { code: -32_000, message: 'backend response too large' }, size()],
  ['BSC seed node', 200, { code: -32_005, message: 'limit exceeded' }, lacks('logs')],
  ['BSC geth', 200, { code: -32_000, message: 'exceed maximum block range: 5000' }, range(5_000n)],
  ['publicnode', 200, { code: -32_701, message: 'exceed maximum block range: 50000' }, range(50_000n)],
  [
    'publicnode, no address',
    200,
    {
      code: -32_701,
      message: 'Please specify an address in your request or, to remove restrictions, order a dedicated node',
    },
    lacks('logs'),
  ],
  ['drpc', 200, { code: 35, message: 'ranges over 10000 blocks are not supported on freetier' }, range(10_000n)],
  [
    'drpc, newer',
    200,
    { code: 35, message: 'ranges over 10000 blocks are not supported on free plan' },
    range(10_000n),
  ],
  [
    'drpc, behind',
    200,
    { code: -32_000, message: 'requested too many blocks from 100 to 20100, maximum is set to 10000' },
    range(10_000n),
  ],
  [
    'drpc, batch',
    500,
    { code: 31, message: 'Batch of more than 3 requests are not allowed on free tier' },
    { kind: 'batch', most: 3 },
  ],
  ['Ankr', 200, { code: -32_600, message: 'block range is too wide' }, range()],
  ['Ankr, newer', 200, { code: -32_602, message: 'maximum [from, to] blocks distance: 1000' }, range(1_000n)],
  ['Chainstack', 200, { code: -32_000, message: 'Block range limit exceeded. See more details at the docs.' }, range()],
  [
    'Blast, plan',
    200,
    { code: -32_600, message: 'block range exceeds the range allowed for your plan (20000 > 5000).' },
    range(5_000n),
  ],
  ['Blast', 200, { code: -32_600, message: 'eth_getLogs is limited to a 1000 block range' }, range(1_000n)],
  ['1RPC', 200, { code: -32_602, message: 'eth_getLogs is limited to 0 - 50 blocks range' }, range(50n)],
  ['1RPC, older', 200, { code: -32_602, message: 'eth_getLogs is limited to a 1000 blocks range' }, range(1_000n)],
  ['1RPC, size', 200, { code: -32_602, message: 'response size should not greater than 10000000 bytes' }, size()],
  [
    'BlockPI',
    200,
    { code: -32_602, message: 'eth_getLogs is limited to 1024 block range. Please check the parameter' },
    range(1_024n),
  ],
  [
    'Pocket',
    200,
    { code: -32_600, message: 'query block range exceeds server limit, narrow your filter: 5000' },
    range(5_000n),
  ],
  ['Pocket, newer', 200, { code: -32_602, message: 'query exceeds max block range 10000' }, range(10_000n)],
  ['thirdweb', 200, { code: -32_000, message: 'Maximum allowed number of requested blocks is 1000' }, range(1_000n)],
  [
    'Cloudflare',
    200,
    { code: -32_047, message: 'Invalid eth_getLogs request. range exceeded. Max range: 800' },
    range(800n),
  ],
  ['Coinbase', 200, { code: -32_602, message: 'please limit the query to at most 1000 blocks' }, range(1_000n)],
  ['merkle, 1k', 200, { code: -32_600, message: 'range is too large, max is 1k blocks' }, range(1_000n)],
  ['merkle, 10k', 200, { code: -32_600, message: 'range is too large, max is 10k blocks' }, range(10_000n)],
  ['LlamaRPC', 200, { code: -32_602, message: 'query exceeds max results 20000' }, size()],
  ['LlamaRPC, range', 200, { code: -32_602, message: 'query exceeds max block range 100000' }, range(100_000n)],
  ['reth', 200, { code: -32_008, message: 'Response is too big', data: 'Exceeded max limit of 167772160' }, size()],
  [
    'Morph',
    200,
    {
      code: -32_000,
      message: 'block range is larger than max block range, block range = 20001, max block range = 10000',
    },
    range(10_000n),
  ],
  ['a limit', 200, { code: -32_000, message: 'too wide blocks range, the limit is 100' }, range(100n)],
  ['allowed', 200, { code: -32_000, message: 'block range too wide: maximum allowed is 2000 blocks' }, range(2_000n)],
  ['greater', 200, { code: -32_000, message: 'block range greater than 10000 max' }, range(10_000n)],
  ['exceeds', 200, { code: -32_000, message: 'block range exceeds 10000' }, range(10_000n)],
  ['a number of 400 digits', 200, { message: `block range exceeds ${'9'.repeat(400)}` }, range()],
  ['a batch, words apart', 413, { message: 'The batch of 200 calls is too large' }, { kind: 'batch', most: null }],
  ['a batch, by its size', 200, { message: 'Batch size (200) exceeds the limit' }, { kind: 'batch', most: 200 }],
  ['words in another order', 200, { message: 'too large for a batch' }, { kind: 'other' }],
  ['query size', 200, { code: -32_000, message: 'query must be smaller than size 1024' }, size()],
  ['matched', 200, { code: -32_000, message: 'logs matched by query exceeds limit of 10000' }, size()],
  ['returned', 200, { code: -32_000, message: 'More than 10000 logs returned' }, size()],
  ['topics', 200, { code: -32_000, message: 'exceed max addresses or topics per search position' }, { kind: 'other' }],

  ['time-out', 200, { code: -32_002, message: 'request timed out' }, unanswered],
  ['query time-out', 200, { code: -32_000, message: 'query timeout exceeded' }, unanswered],
  ['unable', 200, { code: -32_001, message: 'Unable to complete request at this time.' }, unanswered],

  [
    'Alchemy in a batch',
    200,
    { code: 429, message: 'Your app has exceeded its compute units per second capacity.' },
    rate,
  ],
  ['code 429 without a text', 200, { code: 429, message: '' }, rate],
  ['15 a second', 200, { code: -32_011, message: 'requests limited to 15/sec' }, rate],
  ['rate limit', 200, { code: -32_005, message: 'daily request count exceeded, request rate limited' }, rate],
  ['too many', 200, { code: -32_005, message: 'Too Many Requests' }, rate],
  ['-32029', 200, { code: -32_029, message: 'slow down' }, rate],
  ['quota', 200, { code: -32_000, message: 'Exceeded the quota usage' }, rate],
  [
    'drpc, free tier',
    408,
    { code: 30, message: 'Request timeout on the free tier, please upgrade your tier to the paid one' },
    rate,
  ],

  ['geth', 200, { code: -32_000, message: 'header not found' }, missing],
  ['unknown block', 200, { code: -32_000, message: 'unknown block' }, missing],
  [
    'geth, state',
    200,
    { code: -32_000, message: 'missing trie node 5c2f (path 0a) state 0x5c is not available' },
    missing,
  ],
  ['geth, path scheme', 200, { code: -32_000, message: 'historical state 5c2f is not available' }, missing],
  ['out of range', 200, { code: -32_019, message: 'block is out of range' }, missing],
  ['height', 200, { code: -32_000, message: 'invalid block height: 45000000' }, missing],
  ['unfinalized', 200, { code: -32_000, message: 'cannot query unfinalized data' }, missing],
  ['accepted', 200, { code: -32_000, message: 'requested from block 5 after last accepted block 4' }, missing],
  ['BSC', 200, { code: -39_001, message: 'unknown block' }, missing],
  ['behind', 200, { code: -32_602, message: 'block range extends beyond current head block' }, missing],
  ['behind, older', 200, { code: -32_602, message: 'invalid block range params' }, missing],
  ['state', 200, { code: -32_000, message: 'state at block #21000000 is pruned' }, missing],
  ['fork', 200, { code: -32_000, message: 'hash 0x5c2f0a is not currently canonical' }, missing],

  ['history', 200, { code: 4444, message: 'pruned history unavailable' }, pruned],
  ['history, by its code', 200, { code: 4444, message: 'blocks before 15537393 expired' }, pruned],

  ['safe', 200, { code: -32_000, message: 'safe block not found' }, lacks('tags')],
  ['finalized', 200, { code: -39_001, message: 'finalized block not found' }, lacks('tags')],
  ['pending', 200, { code: -32_000, message: 'pending block not found' }, lacks('tags')],
  ['tag', 200, { code: -32_602, message: "'finalized' is not a supported commitment level" }, lacks('tags')],
  [
    'no such method',
    200,
    { code: -32_601, message: 'the method eth_getLogs does not exist/is not available' },
    lacks('logs'),
  ],
  ['no method', 200, { code: -32_601, message: 'Method not found' }, lacks(null)],
  [
    'no hash',
    200,
    { code: -32_602, message: 'invalid argument 1: json: cannot unmarshal object into Go value of type string' },
    lacks('pinned'),
  ],

  ['HTTP 429', 429, { message: '' }, rate],
  ['HTTP 503', 503, { message: '' }, unanswered],
  ['HTTP 504', 504, { message: '' }, unanswered],
  ['HTTP 524', 524, { message: '' }, unanswered],

  [
    'a revert with the text of another fault',
    200,
    { code: 3, message: 'execution reverted: rate limit' },
    { kind: 'other' },
  ],
  [
    'the same without its code',
    200,
    { code: -32_000, message: 'execution reverted: limit exceeded' },
    { kind: 'other' },
  ],
  ['an unknown text', 200, { code: -32_000, message: 'stack limit reached 1024' }, { kind: 'other' }],
]

test.each(recorded)('%s (HTTP %i)', (_, status, error, fault) => {
  expect(classify({ status, ...error })).toEqual(fault)
})

test.each([
  ['7', 7_000],
  ['0', 0],
  ['soon', null],
])('a `Retry-After` of %s is parsed', (retryAfter, retryAfterMs) => {
  expect(classify({ status: 429, retryAfter, message: '' })).toEqual({ kind: 'rate', retryAfterMs })
})

test('Retry-After may be a date', () => {
  const retryAfter = new Date(Date.now() + 30_000).toUTCString()
  const fault = classify({ status: 200, code: 429, retryAfter, message: 'rate limit exceeded' })
  expect(fault.kind === 'rate' && fault.retryAfterMs).toSatisfy((ms: number) => ms > 28_000 && ms <= 30_000)
})
