import { encodeErrorResult, type Hex, parseAbi, zeroAddress } from 'viem'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { reverts } from '../../src/protocol/reverts/catalogue.ts'
import { openApp } from '../support/app.ts'
import { factsOf } from '../support/known-chains.ts'
import { startScriptedNode } from '../support/scripted-node.ts'

const node = await startScriptedNode()
const tokens = { usdc: zeroAddress, usdt: null }
const settings = { publicRpcUrl: 'https://base.example/rpc', startBlock: 0n, profile: 'reference' as const }
const deployment = { chainId: 8453 as const, ...factsOf(8453), diamond: zeroAddress, ...tokens, ...settings }
const api = await openApp({ nodes: [{ url: node.url, deployment }] })
afterAll(async () => {
  await api.close()
  await node.close()
})
afterEach(node.heal)

const from = `0x${'1f'.repeat(20)}`
const build = async (body: object = { from }, path = '/tx/hedge/deposit') => {
  const { status, data } = await api.post(path, { chainId: 8453, eventId: 1, amount: '5', ...body })
  expect(status).toBe(200)
  return data as { readonly estimatedGas: string | null; readonly simulation: object | null }
}

/** The node rejects simulations like this, and no other call. */
const refuse = (code: number, message: string, data?: unknown): void =>
  node.refuse(({ method }) => (method === 'eth_estimateGas' ? { code, message, data } : null))

const text = (reason: string): Hex =>
  encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: [reason] })
const nothing = { code: null, reason: null, hint: null }

describe('a simulation', () => {
  test('is one HTTP request for the block number and the estimate', async () => {
    await build()
    node.requests()
    expect(await build()).toMatchObject({
      estimatedGas: '1',
      simulation: { status: 'success', ...nothing, blockNumber: 1 },
    })
    const methods = node.requests().map((calls) => calls.map(({ method }) => method))
    expect(methods).toEqual([['eth_blockNumber', 'eth_estimateGas']])
  })

  test('is null without `from`, and the node is not asked', async () => {
    node.requests()
    expect(await build({})).toMatchObject({ estimatedGas: null, simulation: null })
    expect(node.requests()).toEqual([])
  })

  test.each([
    ['with bytes', 3, 'execution reverted', text('Event settled'), 'event_settled', 'Event settled'],
    [
      'with a word before its bytes',
      -32_015,
      'VM execution error.',
      `Reverted ${text('Paused')}`,
      'protocol_paused',
      'Paused',
    ],
    [
      'with a text in the message alone',
      -32_000,
      'execution reverted: Amount is zero',
      undefined,
      'amount_is_zero',
      'Amount is zero',
    ],
    ['without a reason', 3, 'execution reverted', '0x', 'reverted_without_reason', 'execution reverted'],
    ['with an unknown error', 3, 'execution reverted', '0x12345678', 'unknown_error', '0x12345678'],
    [
      'that ran out of gas',
      -32_000,
      'gas required exceeds allowance (0)',
      undefined,
      'execution_failed',
      'gas required exceeds allowance (0)',
    ],
  ])('of a call %s reports its code, reason and hint', async (_, number, message, data, code, reason) => {
    refuse(number, message, data)
    const hint = reverts.find((row) => row.code === code)?.hint
    const simulation = { status: 'reverted', code, reason, hint, blockNumber: 1 }
    expect(await build()).toMatchObject({ estimatedGas: null, simulation })
  })

  test('decodes a reason by the function that the builder calls', async () => {
    refuse(3, 'execution reverted', text('Paused'))
    expect(await build({ from, eventId: undefined, amount: undefined }, '/tx/hedge/pause')).toMatchObject({
      simulation: { code: 'already_paused' },
    })
  })

  test('of a call that returned a megabyte has a short reason', async () => {
    refuse(3, 'execution reverted', text('x\n'.repeat(100_000)))
    const { simulation } = await build()
    expect(simulation).toMatchObject({ code: 'unknown_reason', reason: expect.stringMatching(/^(x )+x…$/) })
    expect(JSON.stringify(simulation).length).toBeLessThan(600)
  })

  test('without a block number has its other fields', async () => {
    node.refuse(({ method }) => (method === 'eth_blockNumber' ? { code: -32_000, message: 'no' } : null))
    expect(await build()).toMatchObject({ estimatedGas: '1', simulation: { status: 'success', blockNumber: null } })
  })

  // The last one pauses the node for a while.
  test.each([
    ['takes no such request', -32_602, 'invalid argument 0'],
    ['times out', -32_000, 'request timed out'],
    ['limits requests', -32_005, 'rate limit exceeded'],
  ])('is unavailable while the node %s', async (_, code, message) => {
    refuse(code, message)
    const simulation = { status: 'unavailable', ...nothing, blockNumber: null }
    expect(await build()).toMatchObject({ estimatedGas: null, simulation })
  })
})

test('the catalogue is served by code and cacheable', async () => {
  const { status, data, headers } = await api.get('/reverts')
  expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=30'])
  expect(data).toEqual(reverts)
})

test.each([
  ['code=past_deadline', ['past_deadline']],
  ['code=no_such_code', []],
  [`data=${text('Past deadline')}`, ['past_deadline']],
  [`data=${text('Past deadline').toUpperCase().replace('X', 'x')}`, ['past_deadline']],
  [`data=${text('ERC20: transfer amount exceeds balance')}`, ['insufficient_balance']],
  [`data=${text('no such reason')}`, ['unknown_reason']],
  ['data=0x7939f424', ['unknown_error']],
  ['data=0x', ['reverted_without_reason']],
  [`data=0x${'ff'.repeat(1_024)}`, ['unknown_error']],
  [`data=${text('Past deadline')}&code=past_deadline`, ['past_deadline']],
  [`data=${text('Past deadline')}&code=not_owner`, []],
])('the catalogue with %.40s has the entries %j', async (query, codes) => {
  const { status, data } = await api.get(`/reverts?${query}`)
  expect([status, data]).toEqual([200, reverts.filter(({ code }) => codes.includes(code))])
  expect(data).toHaveLength(codes.length)
})

test.each([
  ['code=', 'code'],
  ['code=Past%20deadline', 'code'],
  [`code=${'a'.repeat(65)}`, 'code'],
  ['code=not_owner&code=past_deadline', 'code'],
  ['data=', 'data'],
  ['data=0x1', 'data'],
  ['data=08c379a0', 'data'],
  [`data=0x${'ff'.repeat(1_025)}`, 'data'],
])('the catalogue with the invalid query %.40s is a 400 that names %s', async (query, path) => {
  const { status, error } = await api.get(`/reverts?${query}`)
  expect([status, error]).toMatchObject([400, { details: [{ path }] }])
})
