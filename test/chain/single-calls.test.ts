import { keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import { broadcast } from '../../src/chain/broadcast.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { simulate } from '../../src/chain/simulate.ts'
import { type SignedCall, simulateSigned } from '../../src/chain/simulate-signed.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { FOREIGN, FROM, failed, hash, nodeOf, type Options, ok } from '../support/fake-node.ts'

/* Simulations of single calls, and broadcasts. */

const revert = failed('execution reverted: Expired', 3)

const atOnce = <T>(run: () => Promise<T>): Promise<T> => run()

describe('a simulation', () => {
  const tx = { from: FROM, to: FOREIGN, data: '0x12' } as const
  const of = (gas: Outcome<unknown>, head: Outcome<unknown> = ok(7n), foreignGas?: bigint) => {
    const { node, sent } = nodeOf((key) => (key === 'head' ? head : gas))
    return { result: simulate(node, tx, atOnce, foreignGas), sent }
  }

  test('has the gas or the revert, with the block if the node gives it', async () => {
    expect(await of(ok(21n)).result).toEqual({ status: 'success', gas: 21n, blockNumber: 7n })
    expect(await of(ok(21n), failed('x')).result).toEqual({ status: 'success', gas: 21n, blockNumber: null })
    expect(await of(revert).result).toMatchObject({ status: 'reverted', blockNumber: 7n, error: { code: 3 } })
    expect(await of(failed('out of gas')).result).toMatchObject({ status: 'reverted' })
  })

  test.each([failed('slow down', 429), failed('header not found'), failed('internal error', -32_603)])(
    'without an answer is unavailable',
    async (gas) => {
      expect(await of(gas).result).toEqual({ status: 'unavailable' })
    },
  )

  test('never throws', async () => {
    const { node } = nodeOf(() => unavailable('down'))
    expect(await simulate(node, tx, atOnce)).toEqual({ status: 'unavailable' })
    const busy = () => Promise.reject(unavailable('too many'))
    expect(await simulate(node, tx, busy)).toEqual({ status: 'unavailable' })
  })

  test('of foreign code has a limit of its gas', async () => {
    for (const [gas, foreign] of [
      [undefined, false],
      [5n, true],
    ] as const) {
      const { result, sent } = of(ok(21n), ok(7n), gas)
      await result
      expect(sent[0]?.options).toMatchObject({ foreign, signal: expect.any(AbortSignal) })
      expect(sent[0]?.requests[1]?.params).toEqual([foreign ? { ...tx, gas: '0x5' } : tx])
    }
  })
})

describe('a simulation of a signed call', () => {
  const call: SignedCall = {
    ...{ from: FROM, to: FOREIGN, value: 5n, gas: 100n, input: '0x12', authorizationList: undefined },
    ...{ hash: hash(1), nonce: 4n },
  }
  const of = async (answers: Record<string, Outcome<unknown> | Error>, given = call, foreign = false) => {
    const { node, sent } = nodeOf((key) => answers[key] ?? failed('none'))
    return { result: await simulateSigned(node, given, atOnce, foreign), sent }
  }
  const next = { known: ok(null), count: ok(4n) }

  test.each<[string, Record<string, Outcome<unknown> | Error>, object | null]>([
    ['succeeds', { ...next, done: ok('0x') }, { error: null }],
    ['reverts', { ...next, done: revert }, { error: expect.objectContaining({ code: 3 }) }],
    ['is not answered', { ...next, done: failed('slow down', 429) }, null],
    ['is known already', { ...next, known: ok({ hash: hash(1) }), done: ok('0x') }, null],
    ['may be known', { ...next, known: failed('x'), done: ok('0x') }, null],
    ['has a later nonce', { ...next, count: ok(3n), done: revert }, null],
    ['has an earlier nonce', { ...next, count: ok(5n), done: revert }, null],
    ['has an unknown nonce', { ...next, count: failed('x'), done: revert }, null],
    ['is of a node that is down', { known: unavailable('down') }, null],
  ])('that %s', async (_, answers, expected) => {
    expect((await of(answers)).result).toEqual(expected)
  })

  test('of foreign code has ten million gas at most, and other code what was signed', async () => {
    for (const [gas, foreign, sent] of [
      [10_000_000n, true, 10_000_000],
      [10_000_001n, true, 10_000_000],
      [9_999_999n, true, 9_999_999],
      [30_000_000n, false, 30_000_000],
    ] as const) {
      const made = await of({ ...next, done: ok('0x') }, { ...call, gas }, foreign)
      expect(Number(Object(made.sent[0]?.requests[2]?.params[0]).gas)).toBe(sent)
      expect(made.sent[0]?.options).toMatchObject({ foreign })
    }
  })

  test('has an answer once its call is answered, whatever else is missing', async () => {
    const { sent } = await of({ ...next, done: ok('0x') })
    const { isAnswer }: Options = sent[0]?.options ?? {}
    const done = (outcome: Outcome<unknown>) => isAnswer?.({ known: ok(null), done: outcome })
    expect([done(ok('0x')), done(revert), done(failed('header not found'))]).toEqual([true, true, false])
  })
})

describe('a broadcast', () => {
  const signed = '0x02f8' as const
  const own = keccak256(signed)
  const of = (answers: Record<string, Outcome<unknown> | Error>) => {
    const { node, sent } = nodeOf((key) => answers[key] ?? ok(null))
    const penalized: unknown[] = []
    const penalize = (...given: unknown[]) => void penalized.push(given)
    return { result: broadcast({ node, penalize }, { bytes: signed, hash: own }), sent, penalized }
  }

  test('succeeds when the node confirms the hash', async () => {
    const { result, sent, penalized } = of({ sent: ok(own) })
    await result
    expect([sent.map(({ keys }) => keys), penalized, sent[0]?.contradicts]).toEqual([[['sent']], [], null])
  })

  test('with another hash penalizes the node, and looks the transaction up', async () => {
    const lost = of({ sent: ok(hash(9)) })
    await expect(lost.result).rejects.toThrow('answered with another hash')
    expect(lost.penalized).toEqual([[3, 'answered a broadcast with the hash of another transaction']])
    expect(lost.sent[0]?.contradicts).toBe('answered a broadcast with the hash of another transaction')
    await of({ sent: ok(hash(9)), receipt: ok({}) }).result
    await of({ sent: ok(hash(9)), tx: ok({}) }).result
  })

  test('that the node knows already succeeds without a look-up', async () => {
    const { result, sent } = of({ sent: failed('already known') })
    await result
    expect(sent).toHaveLength(1)
  })

  test('that is refused for its nonce succeeds when the transaction is mined', async () => {
    await of({ sent: failed('nonce too low'), receipt: ok({}) }).result
    const other = of({ sent: failed('nonce too low') })
    await expect(other.result).rejects.toMatchObject({ code: 'upstream_error', message: 'nonce too low' })
    const unknown = of({ sent: failed('nonce too low'), tx: unavailable('down') })
    await expect(unknown.result).rejects.toMatchObject({ code: 'upstream_error' })
    await expect(of({ sent: failed('nonce too low'), tx: new RangeError('a bug') }).result).rejects.toThrow('a bug')
  })

  test('that no node takes now is to be sent again after five seconds, and its reason names no node', async () => {
    const { result } = of({ sent: failed('txpool is full at https://node.example/key') })
    await expect(result).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 5 })
    await expect(result).rejects.toThrow('(txpool is full at <node>)')
  })
})
