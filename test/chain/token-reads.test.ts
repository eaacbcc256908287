import { encodeAbiParameters, getAddress, type Hex, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { type Batch, flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome, SendOptions } from '../../src/chain/rpc/transport.ts'
import { createTokens } from '../../src/chain/tokens.ts'
import { unavailable, upstream } from '../../src/lib/errors.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { partOfChain } from '../support/fake-log-chain.ts'
import { seedDeployment } from '../support/seed-index.ts'

/* What is asked of a token, and what is kept of it, with a chain and a clock of the test. */

const CHAIN = 8453
const START = 1_700_000_000_000
const MINUTE = 60_000
const DAY = 86_400_000
const SYMBOL = '0x95d89b41'
const DECIMALS = '0x313ce567'

const addressOf = (nth: number) => getAddress(`0x${'ab'.repeat(19)}${nth.toString(16).padStart(2, '0')}`)
const token = addressOf(0xcd)
const textOf = (text: string): Hex => encodeAbiParameters([{ type: 'string' }], [text])
const numberOf = (value: number): Hex => numberToHex(value, { size: 32 })

const failure = (message: string, code = -32_000, data?: string) => new NodeError({ code, message, data })
const lost = failure('internal error', -32_603)
const reverted = failure('execution reverted', 3)

type Result = Hex | NodeError
type Contract = { symbol: Result; decimals: Result }

const open = (first: Partial<Contract> = {}, kept?: number) => {
  const contract: Contract = { symbol: textOf('HOST'), decimals: numberOf(18), ...first }
  const sent: { readonly requests: readonly Request<unknown>[]; readonly options: SendOptions | undefined }[] = []
  const learned: string[] = []
  const state = { now: START, isForeign: false, error: null as Error | null }
  const outcomeOf = ({ params: [call], parse }: Request<unknown>): Outcome<unknown> => {
    const result = JSON.stringify(call).includes(SYMBOL) ? contract.symbol : contract.decimals
    if (result instanceof NodeError) return { ok: false, error: result }
    try {
      return { ok: true, value: parse(result) }
    } catch (error) {
      if (error instanceof NodeError) return { ok: false, error }
      throw error
    }
  }
  const deployment = { ...seedDeployment(CHAIN), usdc: addressOf(1), usdt: null, paymentDecimals: { USDC: 6 } }
  const chain: Chain = partOfChain({
    chainId: CHAIN,
    deployment,
    learnToken: (address) => void learned.push(address),
    isForeign: () => state.isForeign,
    async send<B extends Batch>(batch: B, options?: SendOptions) {
      const requests = flatten<Request<unknown>>(batch)
      sent.push({ requests, options })
      await Promise.resolve()
      if (state.error !== null) throw state.error
      return unflatten(batch, requests.map(outcomeOf))
    },
  })
  /** A chain whose token is not the same, although its address is. */
  const other: Chain = partOfChain({ ...chain, chainId: 56, deployment: { ...deployment, usdc: addressOf(9) } })
  const chains = new Map<ChainId, Chain>([
    [CHAIN, chain],
    [56, other],
  ])
  const tokens = createTokens(chains, () => state.now, kept)
  return {
    ...{ contract, state, sent, learned, tokens },
    ask: (address: Hex = token) => tokens.ask(CHAIN, address),
    askNamed: (address: Hex = token) => tokens.askNamed(CHAIN, address, 'legs.0.token'),
    known: (address: Hex = token) => tokens.known(CHAIN, address),
    reading: (address: Hex = token) => tokens.reading(CHAIN, address),
  }
}

const host = { token, symbol: 'HOST', decimals: 18 }

describe('a token', () => {
  test('is asked for both values in one batch, with little gas, at the newest block', async () => {
    const { ask, sent, learned } = open()
    expect(await ask()).toEqual(host)
    const call = (data: Hex) => ({
      method: 'eth_call',
      params: [{ to: token, data, gas: numberToHex(300_000n) }, 'latest'],
    })
    expect(sent.map(({ requests, options }) => [requests, options])).toMatchObject([
      [[call(SYMBOL), call(DECIMALS)], undefined],
    ])
    expect(sent[0]?.requests.map(({ maxBytes }) => maxBytes)).toEqual([undefined, undefined])
    expect(learned).toEqual([token])
  })

  test('is one in either case, and has the address with its checksum', async () => {
    const { ask, known, reading, sent } = open()
    const lower: Hex = `0x${token.slice(2).toLowerCase()}`
    const found = await ask(lower)
    expect([found.token, await ask(), known(`0x${token.slice(2).toUpperCase()}`)]).toEqual([token, found, found])
    expect(reading()).toEqual({ readAt: START, contradicts: null })
    expect(sent).toHaveLength(1)
  })

  test('is another one on another chain', async () => {
    const { ask, contract, tokens } = open()
    await ask()
    expect([tokens.known(56, token), tokens.known(56, addressOf(1))]).toEqual([undefined, undefined])
    contract.symbol = textOf('OTHER')
    expect([await tokens.ask(56, token), tokens.known(CHAIN, token)]).toEqual([{ ...host, symbol: 'OTHER' }, host])
  })

  test('is asked once by those that ask at the same time, and each token by itself', async () => {
    const { ask, sent } = open()
    const [one, same, other] = await Promise.all([ask(), ask(), ask(addressOf(7))])
    expect([one === same, other.token, sent.length]).toEqual([true, addressOf(7), 2])
  })

  test('is read again once it is a minute old', async () => {
    const { ask, sent, state, reading, learned } = open()
    const first = await ask()
    state.now += MINUTE - 1
    expect([await ask(), sent.length, learned.length]).toEqual([first, 1, 1])
    state.now += 1
    expect([await ask(), sent.length, learned.length]).toEqual([first, 2, 2])
    expect(reading()?.readAt).toBe(START + MINUTE)
  })

  test.each<[string, Partial<Contract>, object]>([
    ['no code', { symbol: '0x', decimals: '0x' }, { symbol: null, decimals: null }],
    ['a symbol of 32 characters', { symbol: textOf('s'.repeat(32)) }, { symbol: 's'.repeat(32) }],
    ['a symbol of 33 characters', { symbol: textOf('s'.repeat(33)) }, { symbol: null }],
    ['an empty symbol', { symbol: textOf('') }, { symbol: '' }],
    ['255 decimals', { decimals: numberOf(255) }, { decimals: 255 }],
    ['256 decimals', { decimals: numberOf(256) }, { decimals: null }],
    ['no decimals', { decimals: numberOf(0) }, { decimals: 0 }],
    ['other bytes', { symbol: '0x12', decimals: '0x12' }, { symbol: null, decimals: null }],
    ['a revert', { symbol: reverted }, { symbol: null }],
    ['a call without gas', { decimals: failure('out of gas') }, { decimals: null }],
  ])('with %s is kept like that', async (_, answers, expected) => {
    const { ask, known } = open(answers)
    expect([await ask(), known()]).toEqual([
      { ...host, ...expected },
      { ...host, ...expected },
    ])
  })

  test('of a chain that is not configured is unavailable', async () => {
    const { tokens } = open()
    await expect(tokens.ask(1, token)).rejects.toThrow('chain 1 is not configured')
    expect(tokens.known(1, token)).toBeUndefined()
  })

  test('is forgotten when more are kept than allowed, the one that was used least recently', async () => {
    const { ask, known } = open({}, 2)
    await ask(addressOf(2))
    await ask(addressOf(3))
    expect([2, 3].map((nth) => known(addressOf(nth)) !== undefined)).toEqual([true, true])
    await ask(addressOf(4))
    expect([2, 3, 4].map((nth) => known(addressOf(nth)) !== undefined)).toEqual([false, true, true])
  })
})

describe('while nodes do not answer', () => {
  const down = unavailable('no node answers')
  test('a token that was read keeps what is known', async () => {
    const { ask, state, reading } = open()
    const first = await ask()
    state.now += MINUTE
    state.error = down
    expect([await ask(), reading()]).toEqual([first, { readAt: START, contradicts: null }])
  })
  test('a configured one has its values, and another one is unavailable', async () => {
    const { ask, askNamed, state, reading } = open()
    state.error = down
    expect(await ask(addressOf(1))).toEqual({ token: addressOf(1), symbol: 'USDC', decimals: 6 })
    expect(reading(addressOf(1))).toBeUndefined()
    await expect(ask()).rejects.toBe(down)
    state.isForeign = true
    await expect(askNamed()).rejects.toBe(down)
    expect(await askNamed(addressOf(1))).toMatchObject({ symbol: 'USDC' })
  })
  test('any other error is passed on, even if the token is known', async () => {
    const { ask, state } = open()
    await ask()
    state.now += MINUTE
    state.error = upstream('refused')
    await expect(ask()).rejects.toBe(state.error)
  })
})

describe('a part that a node failed to return', () => {
  test.each(['symbol', 'decimals'] as const)('keeps nothing: %s', async (part) => {
    const { ask, known, reading, sent } = open({ [part]: lost })
    expect(await ask()).toEqual({ ...host, [part]: null })
    expect([known(), reading()]).toEqual([undefined, undefined])
    await ask()
    expect(sent).toHaveLength(2)
  })
  test('leaves what was read before', async () => {
    const { ask, contract, state, reading } = open()
    const first = await ask()
    state.now += MINUTE
    contract.symbol = lost
    contract.decimals = numberOf(6)
    expect(await ask()).toBe(first)
    expect(reading()).toEqual({ readAt: START, contradicts: null })
  })
  test('leaves what is configured, and the same goes for one that the token does not return', async () => {
    const { ask, contract, known, state } = open({ symbol: lost, decimals: numberOf(9) })
    expect(await ask(addressOf(1))).toEqual({ token: addressOf(1), symbol: 'USDC', decimals: 6 })
    contract.symbol = '0x'
    const read = { token: addressOf(1), symbol: 'USDC', decimals: 9 }
    expect(await ask(addressOf(1))).toEqual(read)
    expect(known(addressOf(1))).toEqual(read)
    // What was read goes before what is configured.
    state.now += MINUTE
    contract.symbol = lost
    expect(await ask(addressOf(1))).toEqual(read)
    state.now += MINUTE
    Object.assign(contract, { symbol: textOf('USDC'), decimals: '0x' })
    expect(await ask(addressOf(1))).toMatchObject({ decimals: 6 })
  })
})

describe('a reading', () => {
  test('reports a change for a day, and then no more', async () => {
    const { ask, contract, state, reading } = open()
    const first = await ask()
    contract.symbol = textOf('NEW')
    state.now += MINUTE
    const changed = await ask()
    const contradicts = { by: 'reading', token: first }
    expect(reading()).toEqual({ readAt: START + MINUTE, contradicts })
    // Reading the same again keeps the change, and its time.
    state.now += MINUTE
    expect(await ask()).toBe(changed)
    state.now = START + MINUTE + DAY - 1
    expect(reading()).toEqual({ readAt: START + 2 * MINUTE, contradicts })
    state.now += 1
    expect(reading()).toEqual({ readAt: START + 2 * MINUTE, contradicts: null })
  })
  test.each<[string, Contract, Contract]>([
    ['decimals alone', { symbol: textOf('A'), decimals: numberOf(1) }, { symbol: textOf('A'), decimals: numberOf(2) }],
    [
      'its symbol alone',
      { symbol: textOf('A'), decimals: numberOf(1) },
      { symbol: textOf('B'), decimals: numberOf(1) },
    ],
  ])('notices a change of %s', async (_, before, after) => {
    const { ask, contract, state, reading } = open(before)
    const first = await ask()
    Object.assign(contract, after)
    state.now += MINUTE
    expect(await ask()).not.toBe(first)
    expect(reading()?.contradicts?.token).toBe(first)
  })
  test('compares the decimals with the configured ones, and those come first', async () => {
    const { ask, contract, state, reading } = open({ symbol: textOf('OTHER'), decimals: numberOf(6) })
    const configured = { token: addressOf(1), symbol: 'USDC', decimals: 6 }
    await ask(addressOf(1))
    expect(reading(addressOf(1))).toEqual({ readAt: START, contradicts: null })
    contract.decimals = numberOf(8)
    state.now += MINUTE
    await ask(addressOf(1))
    const contradicts = { by: 'configuration', token: configured }
    expect(reading(addressOf(1))).toEqual({ readAt: START + MINUTE, contradicts })
    state.now += 2 * DAY
    expect(reading(addressOf(1))?.contradicts).toEqual(contradicts)
  })
})

describe('a token that a client named', () => {
  test('and that is known needs no request', async () => {
    const { ask, askNamed, sent, state } = open()
    const first = await ask()
    state.isForeign = true
    state.now += MINUTE - 1
    expect([await askNamed(), sent.length]).toEqual([first, 1])
    state.now += 1
    expect([await askNamed(), sent.length]).toEqual([first, 2])
  })
  test('is asked like any other if it is not foreign', async () => {
    const { askNamed, sent, learned } = open()
    expect(await askNamed()).toEqual(host)
    expect([sent[0]?.options, learned]).toEqual([undefined, [token]])
  })
  test('is asked as foreign code and for short answers if it is, and kept', async () => {
    const { askNamed, sent, learned, state, reading } = open()
    state.isForeign = true
    expect(await askNamed()).toEqual(host)
    expect(sent[0]?.options).toEqual({ foreign: true })
    expect(sent[0]?.requests.map(({ maxBytes, params }) => [maxBytes, params[1]])).toEqual([
      [16_384, 'latest'],
      [1_024, 'latest'],
    ])
    expect([learned, reading()]).toEqual([[], { readAt: START, contradicts: null }])
  })
  test.each(['symbol', 'decimals'] as const)(
    'and that runs out of gas is refused with its function: %s',
    async (part) => {
      const { askNamed, state, known } = open({ [part]: failure('out of gas') })
      state.isForeign = true
      await expect(askNamed()).rejects.toMatchObject({
        code: 'validation_error',
        details: [
          {
            path: 'legs.0.token',
            message: expect.stringMatching(`^${part}\\(\\) of ${token} takes more than 300000 gas`),
          },
        ],
      })
      expect(known()).toBeUndefined()
    },
  )
  test.each<[string, NodeError]>([
    ['reverts', reverted],
    ['reverts with such a text', failure('execution reverted: out of gas', 3)],
    ['fails otherwise', failure('invalid opcode')],
    ['is not answered', failure('timed out: out of gas')],
    ['is refused by the node', lost],
  ])('and whose symbol %s has none', async (_, error) => {
    const { askNamed, state } = open({ symbol: error })
    state.isForeign = true
    expect(await askNamed()).toEqual({ ...host, symbol: null })
  })
  test('and that returns too much is refused', async () => {
    const { askNamed, state } = open()
    state.isForeign = true
    state.error = unavailable('no node', new NodeUnreachable('too long', { kind: 'size', usable: null }))
    await expect(askNamed()).rejects.toMatchObject({
      code: 'validation_error',
      details: [{ path: 'legs.0.token', message: expect.stringContaining(`${token} returns more than 8 KiB`) }],
    })
  })
  test('of a chain that is not configured is unavailable', async () => {
    const { tokens } = open()
    await expect(tokens.askNamed(1, token, 'token')).rejects.toThrow('chain 1 is not configured')
  })
})
