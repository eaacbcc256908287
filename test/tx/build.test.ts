import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Simulation } from '../../src/chain/simulate.ts'
import { answerSchema, BuiltTx, build, encode } from '../../src/tx/build.ts'
import { builderOf } from '../../src/tx/compiled.ts'
import { DAI_AT, DIAMOND, planChain, WALLET } from '../support/plan-chain.ts'

const caller = { address: 'client', disconnected: new AbortController().signal }

/** A chain whose simulations have this result, and what was simulated. */
const simulating = (simulation: Simulation) => {
  const asked: Parameters<Chain['simulate']>[] = []
  const { chain } = planChain()
  const simulate: Chain['simulate'] = async (...given) => {
    asked.push(given)
    return simulation
  }
  return { asked, chain: { ...chain, simulate } }
}

const deposit = { chainId: 8453, eventId: 5n, amount: 300n }
const from: Address = WALLET

test('a call has the protocol, its calldata, no value and its arguments', () => {
  const { chain } = planChain()
  const call = build(builderOf('deposit'), chain, deposit)
  expect(call).toEqual({
    ...{ chainId: 8453, to: DIAMOND, value: '0', function: 'deposit', args: { eventId: '5', amount: '300' } },
    data: `0xe2bbb158${(5).toString(16).padStart(64, '0')}${(300).toString(16).padStart(64, '0')}`,
    ...{ estimatedGas: null, simulation: null },
  })
  expect(BuiltTx.parse(call)).toEqual(call)
})

test('a call of a token goes to the token of the body', () => {
  const body = { chainId: 8453, token: DAI_AT, spender: DIAMOND, amount: 1n }
  expect(encode(builderOf('approve'), DIAMOND, body).to).toBe(DAI_AT)
  expect(() => encode(builderOf('approve'), DIAMOND, { chainId: 8453, spender: DIAMOND, amount: 1n })).toThrow(
    TypeError,
  )
})

describe('a call for a wallet', () => {
  test('is simulated for the wallet and its caller', async () => {
    const { asked, chain } = simulating({ status: 'success', gas: 81_234n, blockNumber: 7n })
    const built = await build(builderOf('deposit'), chain, { ...deposit, from }, () => caller)
    expect(asked).toEqual([[{ from, to: DIAMOND, data: built.data }, caller]])
    expect([built.estimatedGas, built.simulation]).toEqual([
      '81234',
      { status: 'success', code: null, reason: null, hint: null, blockNumber: 7 },
    ])
  })

  test('without a caller is simulated too', async () => {
    const { asked, chain } = simulating({ status: 'unavailable' })
    const built = await build(builderOf('deposit'), chain, { ...deposit, from })
    expect([asked.length, asked[0]?.[1], built.estimatedGas, built.simulation?.status]).toEqual([
      ...[1, undefined, null, 'unavailable'],
    ])
  })

  test('that reverts has its reason and no gas', async () => {
    const error = new NodeError({ code: 3, message: 'execution reverted: Insufficient balance' })
    const { chain } = simulating({ status: 'reverted', error, blockNumber: null })
    const built = await build(builderOf('deposit'), chain, { ...deposit, from })
    expect([built.estimatedGas, built.simulation?.code, built.simulation?.blockNumber]).toEqual([
      ...[null, 'insufficient_balance', null],
    ])
  })
})

describe('the schema of an answer', () => {
  const plain = { type: 'string', format: 'unsafe' }
  const argumentsOf = (name: string) =>
    (answerSchema(builderOf(name)) as { properties: { args: { properties: object } } }).properties.args.properties

  test('escapes texts that others choose, and no digits', () => {
    expect(argumentsOf('createEvent')).toMatchObject({
      ...{ name: { type: 'string' }, underlying: { type: 'string' }, strike: plain, strikeAbove: { type: 'boolean' } },
      ...{ paymentToken: plain, signature: plain, quoteNonce: plain },
    })
    expect(argumentsOf('diamondCut')).toEqual({ cuts: { type: 'string' }, init: plain, initData: plain })
    expect(argumentsOf('pause')).toEqual({})
    const text = { type: 'string', nullable: true }
    expect(answerSchema(builderOf('deposit'))).toMatchObject({
      properties: {
        ...{ chainId: { type: 'integer' }, to: plain, data: plain, value: plain, function: plain },
        estimatedGas: { ...plain, nullable: true },
        simulation: {
          nullable: true,
          properties: {
            ...{ status: plain, code: { ...plain, nullable: true }, reason: text, hint: text },
            blockNumber: { type: 'integer', nullable: true },
          },
        },
      },
    })
    const { reason, hint } = (
      answerSchema(builderOf('deposit')) as { properties: { simulation: { properties: Record<string, object> } } }
    ).properties.simulation.properties
    expect([reason, hint]).toEqual([text, text])
  })

  test('has small integers as integers', () => {
    const parameter = { type: 'uint8' } as const
    const schema = answerSchema({ ...builderOf('pause'), arguments: [{ name: 'action', parameter }] })
    expect(schema).toMatchObject({ properties: { args: { properties: { action: { type: 'integer' } } } } })
  })
})
