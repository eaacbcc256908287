import fc from 'fast-check'
import { type Address, type Hex, keccak256, numberToHex, pad } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { TransactionRecord } from '../../src/reads/transactions/record.ts'
import { openApp } from '../support/app.ts'
import { factsOf } from '../support/known-chains.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { blocks, HEAD, type Script, startScript } from '../support/script.ts'

/* Answers that a real node does not give. No database is in reach. */

const diamond: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const deployment = {
  ...{ chainId: 8453, ...factsOf(8453), diamond, usdc: diamond, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
} as const

const from = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const hash = keccak256('0x01')

const sent = {
  ...{ hash, from, to: '0x00000000000000000000000000000000000000aa', nonce: '0x7', value: '0x0', gas: '0x5208' },
  input: '0x',
}
/** The hash of a block of the honest node. */
const hashAt = (number: number): Hex => pad(numberToHex(number))
const receiptAt = (number: number, changes: object = {}) => ({
  ...{ blockNumber: numberToHex(number), blockHash: pad(numberToHex(number)), status: '0x1', gasUsed: '0x5208' },
  ...{ transactionHash: hash, effectiveGasPrice: '0x7', logs: [], ...changes },
})

const open = async (script: Script) => {
  const node = await startScript((call) => script(call) ?? blocks(call))
  const api = await openApp({ nodes: [{ url: node.url, deployment }] })
  onTestFinished(api.close)
  const read = async (query = '') => {
    const { status, data, error } = await api.get(`/transactions/8453/${hash}${query}`)
    expect([status, error]).toEqual([200, undefined])
    return TransactionRecord.parse(data)
  }
  return { api, node, read }
}

test('a replacement is found, and its block is not read again', async () => {
  const usedIn = HEAD - 100
  const replacement = keccak256('0x02')
  const { read, node } = await open(({ method, params: [first, second] }) => {
    if (method === 'eth_getTransactionByHash') return sent
    if (method === 'eth_getTransactionCount') return second === 'latest' || Number(second) >= usedIn ? '0x8' : '0x7'
    if (method === 'eth_getBlockByNumber' && second === true && Number(first) === usedIn)
      return {
        hash: hashAt(usedIn),
        transactions: [
          { ...sent, hash: keccak256('0x03'), nonce: '0x6' },
          { ...sent, hash: replacement },
        ],
      }
    return undefined
  })
  expect(await read()).toMatchObject({ status: 'unknown', dropped: true, replacedBy: replacement })
  node.requests()
  expect(await read()).toMatchObject({ dropped: true, replacedBy: replacement })
  expect(
    node
      .requests()
      .flat()
      .filter(({ params }) => params[1] === true),
  ).toEqual([])
})

test('a replacement that a reorg removed is not named any more, and the next one is named at once', async () => {
  /** The transaction with the nonce in the newest block but one, and that block's hash. */
  let mined: { readonly by: Hex; readonly in: Hex } | null = null
  const { read } = await open((call) => {
    const { method, params } = call
    const [first, second] = params
    if (method === 'eth_getTransactionByHash') return sent
    const isMinedAt = second === 'latest' || Number(second) >= HEAD - 1
    if (method === 'eth_getTransactionCount') return mined !== null && isMinedAt ? '0x8' : '0x7'
    if (method === 'eth_getTransactionReceipt')
      return mined?.by === hash ? receiptAt(HEAD - 1, { blockHash: mined.in }) : null
    if (method !== 'eth_getBlockByNumber' || Number(first) !== HEAD - 1) return undefined
    return {
      ...Object(blocks(call)),
      hash: mined?.in ?? hashAt(HEAD - 1),
      ...(second === true && { transactions: mined === null ? [] : [{ ...sent, hash: mined.by }] }),
    }
  })
  const [one, other] = [keccak256('0x02'), keccak256('0x03')]
  const [fork, next, last] = [keccak256('0x0a'), keccak256('0x0b'), keccak256('0x0c')]
  const pending = { status: 'pending', dropped: false, replacedBy: null }
  const steps = [
    [
      { by: one, in: fork },
      { status: 'unknown', dropped: true, replacedBy: one },
    ],
    [
      { by: other, in: next },
      { status: 'unknown', dropped: true, replacedBy: other },
    ],
    [null, pending],
    [
      { by: other, in: last },
      { status: 'unknown', dropped: true, replacedBy: other },
    ],
    [
      { by: hash, in: fork },
      { status: 'succeeded', dropped: false, replacedBy: null },
    ],
    [null, pending],
  ] as const
  for (const [state, expected] of steps) {
    mined = state
    expect(await read()).toMatchObject(expected)
  }
})

test('a transaction that a reorg removed and another one replaced is dropped, although nodes forgot it', async () => {
  let phase: 'mined' | 'gone' | 'replaced' = 'mined'
  const replacement = keccak256('0x02')
  const { read } = await open((call) => {
    const { method, params } = call
    const [first, second] = params
    if (method === 'eth_getTransactionByHash') return phase === 'mined' ? sent : null
    if (method === 'eth_getTransactionReceipt') return phase === 'mined' ? receiptAt(HEAD - 1) : null
    const isUsed = phase !== 'gone' && (second === 'latest' || Number(second) >= HEAD - 1)
    if (method === 'eth_getTransactionCount') return isUsed ? '0x8' : '0x7'
    if (method === 'eth_getBlockByNumber' && second === true)
      return {
        hash: keccak256('0x0a'),
        transactions: Number(first) === HEAD - 1 ? [{ ...sent, hash: replacement }] : [],
      }
    return undefined
  })
  expect(await read()).toMatchObject({ status: 'succeeded', dropped: false })
  phase = 'gone'
  expect(await read()).toMatchObject({ status: 'unknown', dropped: false, replacedBy: null })
  phase = 'replaced'
  expect(await read()).toMatchObject({ status: 'unknown', dropped: true, replacedBy: replacement })
})

test('every node is asked before a transaction is unknown', async () => {
  const unaware = await startScript((call) => blocks(call))
  const aware = await startScript((call) => {
    if (call.method === 'eth_getTransactionByHash') return sent
    return call.method === 'eth_getTransactionReceipt' ? receiptAt(HEAD - 1) : blocks(call)
  })
  for (const urls of [
    [unaware.url, aware.url],
    [aware.url, unaware.url],
  ]) {
    const api = await openApp({ nodes: [{ urls, deployment }] })
    onTestFinished(api.close)
    const { data } = await api.get(`/transactions/8453/${hash}`)
    expect(data).toMatchObject({ status: 'succeeded', confirmations: 2 })
  }
})

const refusals = [
  ['as forbidden', { status: 403, body: 'forbidden' }],
  ['as a batch', { status: 400, body: JSON.stringify({ error: { code: -32_600, message: 'not on your plan' } }) }],
  ['as a method', { body: JSON.stringify([{ id: 0, error: { code: -32_601, message: 'method not found' } }]) }],
  ['without an answer', 'hang'],
] as const

test.each(refusals)('a node that refuses traces %s is used for everything else', async (_, refusal) => {
  const node = await startScript((call) => blocks(call))
  const api = await openApp({ nodes: [{ url: node.url, deployment }], nodeTimeoutMs: 1_000 })
  onTestFinished(api.close)
  node.say((calls) => {
    if (calls.some(({ method }) => method === 'debug_traceTransaction')) return refusal
    const answers = calls.map((call) => {
      const { id, method } = call
      if (method === 'eth_getTransactionByHash') return { id, result: sent }
      if (method === 'eth_getTransactionReceipt') return { id, result: receiptAt(HEAD - 1, { status: '0x0' }) }
      if (method === 'eth_call')
        return { id, error: { code: 3, message: 'execution reverted: Past deadline', data: '0x' } }
      return { id, result: blocks(call) }
    })
    return { body: JSON.stringify(answers) }
  })
  const { data } = await api.get(`/transactions/8453/${hash}`)
  expect(data).toMatchObject({ status: 'reverted', revert: { code: 'past_deadline', exact: false } })
  const [endpoint] = api.sources.chains.get(8453)?.status().endpoints ?? []
  // A trace that takes long may be that of a heavy transaction.
  expect(endpoint).toMatchObject({ rank: 'ok', missing: refusal === 'hang' ? [] : ['trace'] })
  expect((await api.get('/hedge/paused/8453')).status).not.toBe(503)
})

test('a receipt that is too long is read without its logs, and is not the fault of the node', async () => {
  const word = `0x${'ab'.repeat(32)}`
  const log = {
    ...{ address: diamond, topics: [word], data: word, blockNumber: numberToHex(HEAD), blockHash: hashAt(HEAD) },
    ...{ transactionHash: hash, logIndex: '0x0' },
  }
  let receipt = receiptAt(HEAD, { logs: Array(10_000).fill(log) })
  const { api, node, read } = await open(({ method, params: [first] }) => {
    if (method === 'eth_getTransactionByHash') return { ...sent, hash: first }
    if (method === 'eth_getLogs') return [log]
    return method === 'eth_getTransactionReceipt' ? receipt : undefined
  })
  const expected = {
    ...{ status: 'succeeded', logsIncomplete: true, logs: [], fee: { gasUsed: String(0x5208) } },
    ...{ createdIncomplete: true, unknownLogs: [{ logIndex: 0, topics: [word], data: word, dataOmitted: 0 }] },
  }
  expect(await read()).toMatchObject(expected)
  // It is kept for some seconds.
  node.requests()
  expect(await read()).toMatchObject(expected)
  const methods = node.requests().flatMap((calls) => calls.map(({ method }) => method))
  expect(methods).not.toContain('eth_getLogs')
  expect(methods.filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(1)

  receipt = receiptAt(HEAD, { transactionHash: keccak256('0x02'), logs: [], extra: 'ab'.repeat(2 ** 24) })
  const { status, error } = await api.get(`/transactions/8453/${keccak256('0x02')}`)
  expect([status, error?.code]).toEqual([502, 'upstream_error'])
  expect(error?.message).toContain(String(2 ** 25))
  const [endpoint] = api.sources.chains.get(8453)?.status().endpoints ?? []
  expect(endpoint).toMatchObject({ rank: 'ok' })
})

// The limits themselves are tried by `test/reads/transaction-limits.test.ts`.
test.runIf(byForm(false, true))('look-ups are limited, and end when their client disconnects', async () => {
  const hashes = Array.from({ length: 524 }, (_, at) => keccak256(numberToHex(at, { size: 2 })))
  const hanging = hashes.slice(0, 8)
  const node = await startScript((call) => blocks(call))
  // Longer than the test may take.
  const api = await openApp({
    nodes: [{ url: node.url, deployment }],
    nodeTimeoutMs: 60_000,
    limits: { trustedProxies: 1 },
  })
  onTestFinished(api.close)
  node.say((calls) => {
    if (calls.some(({ params: [first] }) => hanging.some((its) => its === first))) return 'hang'
    const resultOf = (call: (typeof calls)[number]) =>
      call.method === 'eth_call' ? `0x${'00'.repeat(32)}` : blocks(call)
    return { body: JSON.stringify(calls.map((call) => ({ id: call.id, result: resultOf(call) }))) }
  })
  const origin = await api.app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  // One address has at most half of the look-ups.
  const gone = hanging.map((its, nth) => {
    const url = `${origin}/v1/transactions/8453/${its}?waitMs=3000`
    return fetch(url, { signal: leaving.signal, headers: { 'x-forwarded-for': `198.51.100.${nth % 2}` } }).catch(
      () => 'gone',
    )
  })
  await expect.poll(() => node.connections()).toBeGreaterThanOrEqual(hanging.length)
  const others = hashes.slice(8).map((its) => api.get(`/transactions/8453/${its}`))
  const { status, error } = await api.get(`/transactions/8453/${hash}`)
  expect([status, error?.message]).toEqual([503, 'too many look-ups at once: retry after 1 s'])
  // Other reads still have connections to the node.
  expect((await api.get('/hedge/paused/8453')).status).toBe(200)
  leaving.abort()
  expect(await Promise.all(gone)).toEqual(hanging.map(() => 'gone'))
  const statuses = (await Promise.all(others)).map((other) => other.status)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(statuses.filter((each) => each === 503)).toHaveLength(hashes.length - 8 - 512)
})

test('a transaction with a receipt that is too long can be awaited, and does not delay others', async () => {
  const huge = keccak256('0xff')
  const word = `0x${'ab'.repeat(32)}`
  const log = {
    ...{ address: diamond, topics: [word], data: word, blockNumber: '0x1', blockHash: word, transactionHash: word },
    logIndex: '0x0',
  }
  const logs = Array(25_000).fill(log)
  const { api } = await open(({ method, params: [first] }) => {
    if (method === 'eth_call') return `0x${'00'.repeat(32)}`
    if (method === 'eth_getLogs') return []
    if (method !== 'eth_getTransactionReceipt') return undefined
    return receiptAt(HEAD - 1, { transactionHash: first, ...(first === huge && { logs }) })
  })
  await api.get('/hedge/paused/8453')
  const others = Array.from({ length: 6 }, (_, at) => keccak256(numberToHex(at)))
  const waits = [huge, ...others].map((its) => api.get(`/hedge/paused/8453?afterTx=${its}&waitMs=5000`))
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(waits.map(() => 200))
})

test('a wait ends with the state at that time, or before when the client may not wait', async () => {
  const draining = new AbortController()
  const node = await startScript((call) => blocks(call))
  const limits = { maxWaitsPerClient: 1 }
  const api = await openApp({ nodes: [{ url: node.url, deployment }], limits, draining: draining.signal })
  onTestFinished(api.close)
  const began = performance.now()
  const { status, data } = await api.get(`/transactions/8453/${hash}?waitMs=300`)
  expect([status, data]).toMatchObject([200, { status: 'unknown' }])
  expect(performance.now() - began).toBeGreaterThan(290)

  const waiting = api.get(`/transactions/8453/${hash}?waitMs=30000`)
  await expect.poll(async () => (await api.get(`/transactions/8453/${hash}?waitMs=1`)).status).toBe(429)
  expect((await api.get(`/transactions/8453/${hash}`)).status).toBe(200)
  draining.abort()
  expect((await waiting).error?.code).toBe('service_unavailable')
})

test('a read of the chain after a transaction that reverted reports it, and no other read does', async () => {
  const [reverted, succeeded] = [keccak256('0x0a'), keccak256('0x0b')]
  const { api } = await open(({ method, params: [first] }) => {
    if (method === 'eth_call') return `0x${'00'.repeat(32)}`
    if (method !== 'eth_getTransactionReceipt') return undefined
    return receiptAt(HEAD - 1, { transactionHash: first, status: first === reverted ? '0x0' : '0x1' })
  })
  for (const path of ['/hedge/paused/8453', '/hedge/pricing-engine-signer/8453']) {
    for (const [query, expected] of [
      [`?afterTx=${reverted}`, 'reverted'],
      [`?afterTx=${succeeded}`, undefined],
      ['?minBlock=7', undefined],
      ['', undefined],
    ] as const) {
      const { statusCode, headers, body } = await api.app.inject(`/v1${path}${query}`)
      expect([path, query, statusCode]).toEqual([path, query, 200])
      expect([path, query, headers['x-transaction']]).toEqual([path, query, expected])
      expect([path, query, JSON.parse(body).meta]).toEqual([path, query, expected && { transaction: expected }])
    }
  }
})

test('an answer about another transaction is not taken for the one that was asked for', async () => {
  const { api } = await open(({ method }) =>
    method === 'eth_getTransactionByHash' ? { ...sent, hash: keccak256('0x02') } : undefined,
  )
  const { status, error } = await api.get(`/transactions/8453/${hash}`)
  expect([status, error?.code]).toEqual([503, 'service_unavailable'])
})

test('an answer that is not the receipt is a 503', async () => {
  const logs = [{ address: diamond, topics: [], data: '0x' }]
  for (const odd of [
    7,
    {},
    [],
    receiptAt(HEAD, { gasUsed: '0x' }),
    receiptAt(HEAD, { logs: null }),
    receiptAt(HEAD, { logs }),
    receiptAt(HEAD, { status: undefined }),
    receiptAt(HEAD, { transactionHash: keccak256('0x02') }),
    receiptAt(HEAD, { transactionHash: undefined }),
  ]) {
    const { api } = await open(({ method }) => {
      if (method === 'eth_getTransactionByHash') return sent
      return method === 'eth_getTransactionReceipt' ? odd : undefined
    })
    expect([odd, (await api.get(`/transactions/8453/${hash}`)).status]).toEqual([odd, 503])
  }
})

const RUNS = byForm(30, 5_000)

test(`${RUNS} arbitrary receipts (seed ${seed}) are answered`, { timeout: byForm(60_000, 600_000) }, async () => {
  let receipt: unknown = null
  let transaction: unknown = null
  let trace: unknown = null
  const { read, node } = await open(({ method }) => {
    if (method === 'eth_getTransactionByHash') return transaction
    if (method === 'eth_getTransactionReceipt') return receipt
    return method === 'debug_traceTransaction' ? trace : undefined
  })
  const hex = (bytes: number): fc.Arbitrary<Hex> =>
    fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((it): Hex => `0x${Buffer.from(it).toString('hex')}`)
  const bytes = fc.nat(200).chain(hex)
  const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => numberToHex(value))
  const block = { blockNumber: numberToHex(HEAD), blockHash: pad(numberToHex(HEAD)) }
  const logs = fc.array(
    fc.record({
      ...{ address: fc.constantFrom<Hex>(diamond, from), topics: fc.array(hex(32), { maxLength: 4 }), data: bytes },
      ...{
        blockNumber: fc.constant('0x1'),
        blockHash: hex(32),
        transactionHash: hex(32),
        logIndex: fc.constant('0x0'),
      },
    }),
    { maxLength: 5 },
  )
  const receipts = fc.record({
    ...{
      blockNumber: fc.constant(block.blockNumber),
      blockHash: fc.constant(block.blockHash),
      transactionHash: fc.constant(hash),
      logs,
      gasUsed: quantity,
    },
    ...{
      status: fc.constantFrom('0x0', '0x1'),
      effectiveGasPrice: fc.option(quantity),
      l1Fee: fc.option(quantity),
    },
  })
  const transactions = fc.record({
    ...{ hash: fc.constant(hash), from: hex(20), to: fc.constantFrom(diamond, from, null, undefined), input: bytes },
    ...{ nonce: quantity, value: quantity, gas: quantity },
  })
  const traces = fc.oneof(
    fc.constantFrom<unknown>(null, 7, {}, { error: 5 }, { output: '0x', error: 'out of gas' }),
    fc.record({ output: bytes, error: fc.string() }),
  )
  await fc.assert(
    fc.asyncProperty(receipts, transactions, traces, async (...answers) => {
      ;[receipt, transaction, trace] = answers
      const found = await read()
      expect(found.status).toBe(answers[0].status === '0x0' ? 'reverted' : 'succeeded')
      node.requests()
    }),
    { seed, numRuns: RUNS },
  )
})
