import { encodeAbiParameters, encodeFunctionResult, type Hex, keccak256, numberToHex } from 'viem'
import { describe, expect, test, vi } from 'vitest'
import { balancesAbi } from '../../src/abi/balances.generated.ts'
import { createBalanceSlots } from '../../src/chain/balance-slots.ts'
import { createKnownCode } from '../../src/chain/foreign-code.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { createSimulator } from '../../src/chain/simulator.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { address, FOREIGN, FROM, failed, hash, nodeOf, ok } from '../support/fake-node.ts'
import { seedDeployment } from '../support/seed-index.ts'

/* Simulations of several calls, on a state with ample balances, and what counts as foreign code. */

describe('the simulator', () => {
  const sequence = (...targets: Hex[]) => ({
    ...{ from: FROM, blockHash: hash(1), time: 5n, overrides: {} },
    calls: targets.map((to) => ({ to, data: '0x12' as const })),
  })
  const isForeign = (to: Hex): boolean => to === FOREIGN
  const results = [{ ok: true, data: '0x', gas: 1n }]
  const of = (answer: Parameters<typeof nodeOf>[0], ...targets: Hex[]) => {
    const { node, sent } = nodeOf(answer)
    const further = { head: { method: 'eth_blockNumber', params: [], parse: (it: unknown) => it } }
    const instead = { method: 'eth_chainId', params: [], parse: (it: unknown) => it }
    const result = createSimulator(node, { isForeign }).simulateSequence(sequence(...targets), further, () => [instead])
    return { result, sent, methods: () => sent.map(({ requests }) => requests.map(({ method }) => method)) }
  }
  const answering = (...outcomes: readonly (Outcome<unknown> | Error)[]) => {
    const simulated = [...outcomes]
    return (key: string) => (key === 'simulation' ? (simulated.shift() ?? failed('none')) : ok(key))
  }

  test('uses the first method, and sends nothing instead', async () => {
    const { result, methods } = of(answering(ok(results)), address(1))
    expect(await result).toEqual({
      simulated: { method: 'eth_simulateV1', results },
      ...{ outcomes: { head: ok('head') }, instead: [] },
    })
    expect(methods()).toEqual([['eth_blockNumber', 'eth_simulateV1']])
  })

  test.each<[string, Outcome<unknown> | Error]>([
    ['refuses', failed('method not found', -32_601)],
    ['is out of reach', unavailable('no node answers')],
    ['answers too much', unavailable('too long', new NodeUnreachable('x', { kind: 'size', usable: null }))],
  ])('uses the other method when the first one %s', async (_, first) => {
    const { result, methods } = of(answering(first, ok(results)), address(1))
    expect(await result).toMatchObject({ simulated: { method: 'eth_call', results } })
    expect(methods()[1]).toEqual(['eth_blockNumber', 'eth_call'])
  })

  test('sends other requests instead when no method works', async () => {
    const { result, methods } = of(answering(failed('x'), failed('y')), address(1))
    expect(await result).toEqual({ simulated: null, outcomes: { head: ok('head') }, instead: [ok('instead')] })
    expect(methods()[2]).toEqual(['eth_blockNumber', 'eth_chainId'])
  })

  test.each<[string, Outcome<unknown> | Error, object]>([
    ['does not have the block', failed('header not found'), { code: 'service_unavailable' }],
    ['is too slow', unavailable('late', new DOMException('x', 'TimeoutError')), { message: 'late' }],
    ['has an error of a node', unavailable('x', new NodeError({ code: 1, message: 'y' })), { message: 'x' }],
    ['fails otherwise', new RangeError('a bug'), { message: 'a bug' }],
  ])('tries no other method when the node %s', async (_, first, error) => {
    const { result, sent } = of(answering(first), address(1))
    await expect(result).rejects.toMatchObject(error)
    expect(sent).toHaveLength(1)
  })

  test('limits the gas of foreign calls, and the whole is foreign when one of them is', async () => {
    const { result, sent } = of(answering(ok(results)), address(1), FOREIGN)
    await result
    const [block] = Object(sent[0]?.requests[1]?.params[0]).blockStateCalls
    expect(block.calls.map(({ gas }: { gas: Hex }) => Number(gas))).toEqual([10_000_000, 300_000])
    expect(sent[0]?.options).toEqual({ foreign: true })
    const own = of(answering(ok(results)), address(1))
    await own.result
    expect(own.sent[0]?.options).toEqual({ foreign: false })
  })
})

describe('the place of balances of a token', () => {
  const token = address(0xa1)
  /** The answer of a token that reads a place of the overridden ones: the word that is there. */
  const reading = (slot: Hex | null) => (_: string, request: Request<unknown>) => {
    const overrides = Object(request.params[2])
    const [diff] = Object.values(overrides) as { stateDiff: Record<Hex, Hex> }[]
    const value = slot === null ? 5n : BigInt(diff?.stateDiff[slot] ?? 5n)
    const amount = [{ isKnown: true, value }]
    const raw = encodeFunctionResult({ abi: balancesAbi, functionName: 'read', result: [[], amount, amount] })
    return ok(request.parse(raw))
  }
  const mapping = (account: Hex, position: bigint): Hex =>
    keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [account, position]))
  const open = (answer: Parameters<typeof nodeOf>[0]) => {
    const { node, sent } = nodeOf(answer)
    return { ...createBalanceSlots(node, { isForeign: (to) => to === FOREIGN }), sent }
  }
  const ample = numberToHex(2n ** 127n, { size: 32 })

  test.each([0n, 9n, 31n])('is found at position %i, and kept for other accounts', async (position) => {
    const { ampleBalances, sent } = open(reading(mapping(FROM, position)))
    expect(await ampleBalances([token], FROM, hash(1))).toEqual({ [token]: { [mapping(FROM, position)]: ample } })
    const other = address(0xf2)
    expect(await ampleBalances([token], other, hash(2))).toEqual({ [token]: { [mapping(other, position)]: ample } })
    expect(sent).toHaveLength(1)
    expect(sent[0]?.options).toEqual({ foreign: false })
  })

  test('that is not found is left out and not searched again for a minute', async () => {
    const began = performance.now()
    const clock = vi.spyOn(performance, 'now')
    const { ampleBalances, sent } = open(reading(null))
    const askedAt = async (ms: number): Promise<number> => {
      clock.mockReturnValue(began + ms)
      // The cache reads the clock once a millisecond.
      await new Promise((resolve) => setTimeout(resolve, 5))
      expect(await ampleBalances([token], FROM, hash(1))).toEqual({})
      return sent.length
    }
    try {
      expect([await askedAt(0), await askedAt(59_990), await askedAt(60_010)]).toEqual([1, 1, 2])
    } finally {
      clock.mockRestore()
    }
  })

  test.each([failed('x'), unavailable('no node answers')])(
    'is searched again after a failure of the node',
    async (first) => {
      const found = reading(mapping(FROM, 9n))
      const { ampleBalances, sent } = open((key, request, nth) => (nth === 1 ? first : found(key, request)))
      expect(await ampleBalances([token], FROM, hash(1))).toEqual({})
      expect(await ampleBalances([token], FROM, hash(1))).toEqual({ [token]: { [mapping(FROM, 9n)]: ample } })
      expect(sent).toHaveLength(2)
    },
  )

  test('of several tokens is searched in one batch, which is foreign when one of them is', async () => {
    const { ampleBalances, sent } = open(reading(mapping(FROM, 9n)))
    await ampleBalances([token], FROM, hash(1))
    const found = await ampleBalances([FOREIGN, token, address(0xa2)], FROM, hash(1))
    expect(Object.keys(found)).toEqual([FOREIGN, token, address(0xa2)])
    expect(sent.map(({ requests, options }) => [requests.length, options])).toEqual([
      [1, { foreign: false }],
      [2, { foreign: true }],
    ])
    const faulty = open(() => new RangeError('a bug'))
    await expect(faulty.ampleBalances([token], FROM, hash(1))).rejects.toThrow('a bug')
  })
})

describe('foreign code', () => {
  const deployment = seedDeployment(8453)
  const { diamond, usdc } = deployment
  const known = () => createKnownCode(deployment)
  const word = (of: Hex): string => of.slice(2).padStart(64, '0')
  const runs = (to: Hex, data: string): boolean => known().runsForeign({ to, data: data as Hex })

  test('is that of contracts that are neither configured nor learned, in any letter case', () => {
    const code = known()
    expect([code.isForeign(diamond), code.isForeign(usdc), code.isForeign(FOREIGN)]).toEqual([false, false, true])
    expect(code.isForeign(diamond.toUpperCase().replace('0X', '0x') as Hex)).toBe(false)
    code.learnToken(FOREIGN.toUpperCase().replace('0X', '0x') as Hex)
    expect(code.isForeign(FOREIGN)).toBe(false)
  })

  test('of a token is forgotten when a thousand others were learned after it', () => {
    const code = known()
    for (let nth = 0; nth < 1_000; nth += 1) code.learnToken(address(0x10_0000 + nth))
    expect(code.isForeign(address(0x10_0000))).toBe(false)
    code.learnToken(address(0x20_0000))
    expect([code.isForeign(address(0x10_0001)), code.isForeign(address(0x10_0000))]).toEqual([true, false])
  })

  test('runs in a call of the protocol that names its address', () => {
    const selector = '0x12345678'
    expect(runs(diamond, selector)).toBe(false)
    expect(runs(diamond, `${selector}${word(FOREIGN)}`)).toBe(true)
    expect(runs(diamond, `${selector}${word('0x07')}${word(FOREIGN)}`)).toBe(true)
    expect(runs(diamond, `${selector}${word(usdc)}${word(diamond)}`)).toBe(false)
    // Numbers below 2^96 and above 2^160 are no addresses.
    expect(runs(diamond, `${selector}${'0'.repeat(40)}${'f'.repeat(24)}`)).toBe(false)
    expect(runs(diamond, `${selector}${'0'.repeat(39)}1${'0'.repeat(24)}`)).toBe(true)
    expect(runs(diamond, `${selector}${'0'.repeat(23)}1${'f'.repeat(40)}`)).toBe(false)
  })

  test('runs in a call of a known token that is not one of ERC-20', () => {
    for (const selector of ['0xa9059cbb', '0x095ea7b3', '0x23b872dd', '0xA9059CBB'])
      expect(runs(usdc, `${selector}${word(FOREIGN)}`)).toBe(false)
    for (const selector of ['0xd505accf', '0x', '0xa9059c']) expect(runs(usdc, selector)).toBe(true)
    expect(runs(FOREIGN, '0xa9059cbb')).toBe(true)
  })
})
