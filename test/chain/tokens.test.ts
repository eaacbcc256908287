import { pino } from 'pino'
import { getAddress, type Hex, numberToHex, stringToHex, zeroAddress } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { createTokens } from '../../src/chain/tokens.ts'
import { createEventTokens } from '../../src/indexer/reading/event-tokens.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { type ScriptedCall, startNode } from '../support/scripted-node.ts'
import { seedDeployment, seedToken } from '../support/seed-index.ts'

const chainId = 8453
const token = getAddress(`0x${'ab'.repeat(20)}`)
const SYMBOL = '0x95d89b41'

type Answer = { readonly result: Hex } | { readonly error: { readonly code: number; readonly message: string } }

const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
const textOf = (text: string): Hex =>
  `0x${[word(32n), word(BigInt(text.length)), stringToHex(text, { size: 32 * Math.ceil(text.length / 32) })].map((it) => it.slice(2)).join('')}`

const symbol: Answer = { result: textOf('HOST') }
const decimals: Answer = { result: word(18n) }

const isSymbol = ({ params: [call] }: ScriptedCall): boolean => JSON.stringify(call).includes(SYMBOL)

type Contract = { symbol: Answer; decimals: Answer }

const START = 1_700_000_000_000
const MINUTE = 60_000

/** A chain whose only node returns the given answers of one token contract. */
const openToken = async (answers: Contract, configured: Partial<Deployment> = {}) => {
  const node = await startNode()
  node.say((calls) =>
    calls.every(({ method }) => method === 'eth_call')
      ? {
          body: JSON.stringify(
            calls.map((call) => ({
              jsonrpc: '2.0',
              id: call.id,
              ...(isSymbol(call) ? answers.symbol : answers.decimals),
            })),
          ),
        }
      : null,
  )
  const chain = createChain({
    deployment: { ...seedDeployment(chainId), diamond: zeroAddress, ...configured },
    ...{ rpcUrls: [node.url], timeoutMs: 2_000, headMaxAgeMs: 0, log: pino({ level: 'silent' }) },
  })
  onTestFinished(() => chain.close())
  const clock = { now: START }
  const tokens = createTokens(new Map([[chainId, chain]]), () => clock.now)
  const states = () => chain.status().endpoints.map(({ rank }) => rank)
  return {
    ...{ chain, node, clock, states },
    ask: () => tokens.ask(chainId, token),
    askNamed: () => tokens.askNamed(chainId, token, 'token'),
    known: () => tokens.known(chainId, token),
    reading: () => tokens.reading(chainId, token),
  }
}

test.each<[string, { symbol?: Answer; decimals?: Answer }, object]>([
  ['a symbol of 32 bytes without a length', { symbol: { result: stringToHex('MKR', { size: 32 }) } }, { symbol: null }],
  ['a symbol past its end', { symbol: { result: word(1n) } }, { symbol: null }],
  ['one byte', { symbol: { result: '0x01' }, decimals: { result: '0x12' } }, { symbol: null, decimals: null }],
  ['255 decimals', { decimals: { result: word(255n) } }, { decimals: 255 }],
  ['256 decimals', { decimals: { result: word(256n) } }, { decimals: null }],
  ['more decimals than a column holds', { decimals: { result: word(40_000n) } }, { decimals: null }],
  ['decimals of 256 bits', { decimals: { result: word(2n ** 256n - 1n) } }, { decimals: null }],
  ['an endless loop', { symbol: { error: { code: -32_000, message: 'out of gas' } } }, { symbol: null }],
])('an unusual answer of a token is cached and is not a fault of the node: %s', async (_, answers, expected) => {
  const { ask, known, states } = await openToken({ symbol, decimals, ...answers })
  const shown = { token, symbol: 'HOST', decimals: 18, ...expected }
  expect(await ask()).toEqual(shown)
  expect(known()).toEqual(shown)
  expect(states()).toEqual(['ok'])
})

test.each([
  'out of gas',
  'err: out of gas (supplied gas 300000)',
  'gas required exceeds allowance (300000)',
  'EVM error OutOfGas',
  'EVM error: MemoryOOG',
  'OutOfGas',
])(
  'a token that a client named and that uses up its gas is refused with the field, by the text "%s"',
  async (message) => {
    const { askNamed, ask, states } = await openToken({ symbol: { error: { code: -32_000, message } }, decimals })
    await expect(askNamed()).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: 'token', message: expect.stringContaining('symbol() of') }],
    })
    expect(states()).toEqual(['ok'])
    // The token of an event has no symbol.
    expect(await ask()).toEqual({ token, symbol: null, decimals: 18 })
  },
)

test('an answer of a named token that is too long is refused with the field, and is not a fault of the node', async () => {
  const long = { result: textOf('a'.repeat(9_000)) }
  const { askNamed, ask, states } = await openToken({ symbol: long, decimals })
  await expect(askNamed()).rejects.toMatchObject({
    code: 'validation_error',
    details: [{ path: 'token', message: expect.stringContaining('returns more than 8 KiB') }],
  })
  expect(states()).toEqual(['ok'])
  expect(await ask()).toEqual({ token, symbol: null, decimals: 18 })
})

test.each<[string, { symbol?: Answer; decimals?: Answer }, object]>([
  ['reverts', { symbol: { error: { code: 3, message: 'execution reverted: out of gas' } } }, { symbol: null }],
  ['is no text', { symbol: { result: word(7n) } }, { symbol: null }],
  ['is 32 bytes', { symbol: { result: stringToHex('MKR', { size: 32 }) } }, { symbol: null }],
])('a named token whose symbol %s has none', async (_, answers, expected) => {
  const { askNamed } = await openToken({ symbol, decimals, ...answers })
  expect(await askNamed()).toEqual({ token, symbol: 'HOST', decimals: 18, ...expected })
})

test('a token is asked again if a node returned only a part of its values', async () => {
  const { ask, known } = await openToken({ symbol: { error: { code: -32_603, message: 'internal error' } }, decimals })
  expect(await ask()).toEqual({ token, symbol: null, decimals: 18 })
  expect(known()).toBeUndefined()
})

const failed: Answer = { error: { code: -32_603, message: 'internal error' } }

test('the tokens of events are stored once each, and only if the node returned all values', async () => {
  const answers: Contract = { symbol: failed, decimals }
  const { chain } = await openToken(answers)
  const tokens = createEventTokens(chain)
  const events = [{ paymentToken: token }, { paymentToken: token }, { paymentToken: getAddress(seedToken) }]
  expect(await tokens.read(events)).toEqual([])
  answers.symbol = symbol
  const found = await tokens.read(events)
  expect(found).toEqual([{ token, symbol: 'HOST', decimals: 18 }])
  // The transaction was rolled back: it is stored with the next one.
  expect(await tokens.read(events)).toEqual(found)
  tokens.stored(found)
  expect(await tokens.read(events)).toEqual([])
})

test('a token that changed its decimals or symbol is noticed after a minute, and an unchanged one is the same object', async () => {
  const answers: Contract = { symbol, decimals }
  const { clock, ask, reading, node } = await openToken(answers)
  const first = await ask()
  expect(reading()).toEqual({ readAt: START, contradicts: null })
  answers.decimals = { result: word(6n) }
  node.requests()
  clock.now += MINUTE - 1
  expect(await ask()).toBe(first)
  expect(node.requests()).toEqual([])
  clock.now += 1
  const changed = await ask()
  expect(changed).toEqual({ token, symbol: 'HOST', decimals: 6 })
  const readAt = START + MINUTE
  expect(reading()).toEqual({ readAt, contradicts: { by: 'reading', token: first } })
  clock.now += MINUTE
  expect(await ask()).toBe(changed)
  expect(reading()).toMatchObject({ readAt: readAt + MINUTE, contradicts: { token: first } })
  answers.symbol = { result: textOf('NEW') }
  clock.now += MINUTE
  expect(await ask()).toEqual({ token, symbol: 'NEW', decimals: 6 })
  expect(reading()?.contradicts?.token).toEqual(changed)
  clock.now += 24 * 60 * MINUTE
  expect(reading()?.contradicts).toBeNull()
})

test('while nodes fail, a token that was read keeps its values and the time of its last reading', async () => {
  const answers: Contract = { symbol, decimals }
  const { clock, ask, reading, node } = await openToken(answers)
  const first = await ask()
  clock.now += MINUTE
  answers.symbol = failed
  expect(await ask()).toBe(first)
  expect(reading()?.readAt).toBe(START)
  node.say(() => ({ status: 502, body: 'down' }))
  expect(await ask()).toBe(first)
  expect(reading()?.readAt).toBe(START)
})

test('a configured token is read too, and other decimals than the configured ones are reported', async () => {
  const configured = { usdc: token, paymentDecimals: { USDC: 6 } }
  const { ask, reading, known } = await openToken({ symbol, decimals }, configured)
  expect(known()).toEqual({ token, symbol: 'USDC', decimals: 6 })
  expect(reading()).toBeUndefined()
  expect(await ask()).toEqual({ token, symbol: 'HOST', decimals: 18 })
  const contradicts = { by: 'configuration', token: { token, symbol: 'USDC', decimals: 6 } }
  expect(reading()).toEqual({ readAt: START, contradicts })
  expect(known()).toEqual({ token, symbol: 'HOST', decimals: 18 })
})

test('a configured token has its configured values while it or the node returns none', async () => {
  const configured = { usdc: token, paymentDecimals: { USDC: 6 } }
  const nothing: Answer = { result: '0x' }
  for (const answer of [nothing, failed]) {
    const { ask, reading } = await openToken({ symbol: answer, decimals: answer }, configured)
    expect(await ask()).toEqual({ token, symbol: 'USDC', decimals: 6 })
    expect(reading()?.contradicts ?? null).toBeNull()
  }
})

test('the token of an event is stored again once it has changed', async () => {
  const answers: Contract = { symbol, decimals }
  const { chain, clock } = await openToken(answers)
  const tokens = createEventTokens(chain, () => clock.now)
  const events = [{ paymentToken: token }]
  tokens.stored(await tokens.read(events))
  clock.now += MINUTE
  expect(await tokens.read(events)).toEqual([])
  answers.decimals = { result: word(6n) }
  clock.now += MINUTE
  expect(await tokens.read(events)).toEqual([{ token, symbol: 'HOST', decimals: 6 }])
})
