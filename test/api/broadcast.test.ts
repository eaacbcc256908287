import { type Address, encodeErrorResult, encodeFunctionData, keccak256, maxUint256, numberToHex, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { openApp } from '../support/app.ts'
import { factsOf } from '../support/known-chains.ts'
import { blocks, Failure, type Script, startScript } from '../support/script.ts'
import type { ScriptedCall } from '../support/scripted-node.ts'

/* Broadcasts to nodes that a real one rarely is: slow, without the transaction, with earlier transactions pending. */

const diamond: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const other: Address = '0x000000000000000000000000000000000000dEaD'
const deployment = {
  ...{ chainId: 8453, ...factsOf(8453), diamond, usdc: other, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
} as const

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const NONCE = 7
const fees = { maxFeePerGas: 7n, maxPriorityFeePerGas: 1n, gas: 300_000n }
const purchase = encodeFunctionData({
  ...{ abi: protocolAbi, functionName: 'buyProtection', args: [1n, 5n, maxUint256, 0n] },
})

const signed = (to: Address = diamond) =>
  account.signTransaction({ type: 'eip1559', chainId: 8453, to, data: purchase, nonce: NONCE, ...fees })

const late = encodeErrorResult({
  ...{ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['Past deadline'] },
})
const warning = { code: 'past_deadline', reason: 'Past deadline', hint: expect.any(String) }

/** Every call of the protocol reverts here. */
const reverting: Script = ({ method }) => {
  if (method === 'eth_getTransactionCount') return numberToHex(NONCE)
  if (method === 'eth_call') return new Failure(3, 'execution reverted', late)
  return undefined
}

const open = async (script: Script) => {
  const asked: ScriptedCall[] = []
  const node = await startScript((call) => {
    asked.push(call)
    const result = script(call)
    if (result !== undefined) return result
    return call.method === 'eth_sendRawTransaction' ? keccak256(call.params[0] as Address) : blocks(call)
  })
  const api = await openApp({ nodes: [{ url: node.url, deployment }], nodeTimeoutMs: 20_000 })
  onTestFinished(api.close)
  const send = async (signedTx: string, more: object = {}) =>
    api.post('/tx/broadcast', { chainId: 8453, signedTx, ...more })
  return { api, node, send, isSent: () => asked.some(({ method }) => method === 'eth_sendRawTransaction'), asked }
}

test('a transaction that would revert is sent with a warning, or not at all if the request asks so', async () => {
  const { send, isSent, asked } = await open(reverting)
  const transaction = await signed()
  // A busy machine may take longer than the simulation, and the transaction is sent then.
  const attempt = async () => {
    asked.splice(0)
    const answer = await send(transaction, { rejectIfReverts: true })
    return answer.status === 409 ? answer : null
  }
  const refused = await vi.waitUntil(attempt, { timeout: 30_000 })
  expect(refused.error?.code).toBe('conflict')
  expect(refused.error?.details).toEqual([{ path: 'signedTx', message: 'past_deadline' }])
  expect(refused.error?.message).toMatch(/^not sent, because it would revert: Past deadline \(past_deadline\)\. [A-Z]/)
  expect(isSent()).toBe(false)
  const call = asked.find(({ method }) => method === 'eth_call')?.params[0]
  expect(call).toMatchObject({ from: account.address, data: purchase, value: '0x0', gas: numberToHex(300_000) })
  const isWarned = async () => (await send(transaction)).data
  await expect.poll(isWarned).toEqual({ txHash: keccak256(transaction), simulated: true, warning, warnings: [] })
  expect(isSent()).toBe(true)
})

test('a transaction is sent without a warning when the simulation does not show that it would revert', async () => {
  const cases: readonly (readonly [string, Script])[] = [
    ['it succeeds', ({ method }) => (method === 'eth_call' ? '0x' : reverting({ id: 0, method, params: [] }))],
    ['earlier ones are pending', ({ method }) => (method === 'eth_getTransactionCount' ? '0x6' : undefined)],
    ['its nonce is used', ({ method }) => (method === 'eth_getTransactionCount' ? '0x8' : undefined)],
    [
      'a node has it',
      ({ method }) =>
        method === 'eth_getTransactionByHash'
          ? {
              ...{
                hash: keccak256('0x'),
                from: other,
                to: diamond,
                nonce: '0x7',
                value: '0x0',
                gas: '0x1',
                input: '0x',
              },
            }
          : undefined,
    ],
    [
      'the node refuses the simulation',
      ({ method }) => (method === 'eth_call' ? new Failure(-32_601, 'no') : undefined),
    ],
  ]
  for (const [name, script] of cases) {
    const { send } = await open((call) => script(call) ?? reverting(call))
    const transaction = await signed()
    const { status, data } = await send(transaction, { rejectIfReverts: true })
    const simulated = name === 'it succeeds'
    expect([name, status, data]).toEqual([
      name,
      200,
      { txHash: keccak256(transaction), simulated, warning: null, warnings: [] },
    ])
  }
})

test('a transaction to another contract is not simulated', async () => {
  const { send, asked } = await open(reverting)
  const { status, data } = await send(await signed('0x00000000000000000000000000000000000000AA'))
  expect([status, data]).toMatchObject([200, { simulated: false, warning: null }])
  expect(asked.map(({ method }) => method)).not.toContain('eth_call')
})

test('a slow simulation delays a broadcast by 300 ms at most', async () => {
  const { node, send } = await open(reverting)
  await send(await signed('0x00000000000000000000000000000000000000AA'))
  node.say(async (calls) => {
    if (calls.some(({ method }) => method === 'eth_call')) return 'hang'
    const results = calls.map((call) => {
      const result = call.method === 'eth_sendRawTransaction' ? keccak256(call.params[0] as Address) : blocks(call)
      return { id: call.id, result }
    })
    return { body: JSON.stringify(results) }
  })
  const began = performance.now()
  const { status, data } = await send(await signed(), { rejectIfReverts: true })
  const took = performance.now() - began
  expect([status, data]).toMatchObject([200, { simulated: false, warning: null }])
  expect(took).toBeGreaterThan(290)
  // A busy machine may pause.
  expect(took).toBeLessThan(10_000)
})

test('a transaction that a node refuses although it has it is a success, pending or mined', async () => {
  const transaction = await signed()
  const tx = {
    ...{ hash: keccak256(transaction), from: account.address, to: diamond, nonce: '0x7', value: '0x0', gas: '0x1' },
    input: '0x',
  }
  const mined = { transactionHash: tx.hash, blockNumber: '0x1', blockHash: keccak256('0x'), status: '0x0' }
  for (const known of [{ eth_getTransactionByHash: tx }, { eth_getTransactionReceipt: mined }, {}] as const) {
    const { send } = await open((call) => {
      if (call.method === 'eth_sendRawTransaction')
        return new Failure(-32_000, 'nonce too low: next nonce 8, tx nonce 7')
      if (call.method === 'eth_getTransactionCount') return '0x8'
      return (known as Record<string, unknown>)[call.method]
    })
    const { status, data, error } = await send(transaction)
    if ('eth_getTransactionByHash' in known || 'eth_getTransactionReceipt' in known)
      expect([status, data]).toMatchObject([200, { txHash: keccak256(transaction), simulated: false, warning: null }])
    else expect([status, error?.code]).toEqual([502, 'upstream_error'])
  }
})

const wrong = keccak256('0x02')
const refusing =
  (message: string): Script =>
  ({ method }) =>
    method === 'eth_sendRawTransaction' ? new Failure(-32_000, message) : undefined
const lying: Script = ({ method }) => (method === 'eth_sendRawTransaction' ? wrong : undefined)

/** An API whose nodes answer by scripts, and take every transaction otherwise. */
const openAll = async (...scripts: readonly Script[]) => {
  const nodes = await Promise.all(
    scripts.map((script) =>
      startScript((call) => {
        const result = script(call)
        if (result !== undefined) return result
        return call.method === 'eth_sendRawTransaction' ? keccak256(call.params[0] as Address) : blocks(call)
      }),
    ),
  )
  const api = await openApp({ nodes: [{ urls: nodes.map(({ url }) => url), deployment }], nodeTimeoutMs: 20_000 })
  onTestFinished(api.close)
  const send = (signedTx: string) => api.post('/tx/broadcast', { chainId: 8453, signedTx })
  const ranks = () =>
    api.sources.chains
      .get(8453)
      ?.status()
      .endpoints.map(({ rank }) => rank)
  return { send, ranks }
}

test('a node that answers with another hash is penalized, and the next node gets the transaction', async () => {
  const { send, ranks } = await openAll(lying, () => undefined)
  const transaction = await signed()
  const { status, data } = await send(transaction)
  expect([status, data]).toMatchObject([200, { txHash: keccak256(transaction) }])
  expect(ranks()).toEqual(['penalized', 'ok'])
})

test('while the only node answers with another hash, a transaction is a success only if the node has it', async () => {
  const transaction = await signed()
  const hash = keccak256(transaction)
  const tx = { hash, from: account.address, to: diamond, nonce: '0x7', value: '0x0', gas: '0x1', input: '0x' }
  let has = false
  const { send, ranks } = await openAll((call) => {
    if (call.method === 'eth_getTransactionByHash' && has) return tx
    return lying(call)
  })
  const { status, error, headers } = await send(transaction)
  expect([status, error?.code, headers['retry-after']]).toEqual([503, 'service_unavailable', '1'])
  expect(ranks()).toEqual(['penalized'])
  has = true
  expect(await send(transaction)).toMatchObject({ status: 200, data: { txHash: hash } })
})

test('a hash in upper case is the same hash', async () => {
  const upper: Script = ({ method, params: [bytes] }) =>
    method === 'eth_sendRawTransaction'
      ? `0x${keccak256(bytes as Address)
          .slice(2)
          .toUpperCase()}`
      : undefined
  const { send, ranks } = await openAll(upper)
  const transaction = await signed()
  expect(await send(transaction)).toMatchObject({ status: 200, data: { txHash: keccak256(transaction) } })
  expect(ranks()).toEqual(['ok'])
})

test('a transaction that one node does not take now goes to the next one, and does not count against the first', async () => {
  const { send, ranks } = await openAll(refusing('txpool is full'), () => undefined)
  const transaction = await signed()
  expect(await send(transaction)).toMatchObject({ status: 200, data: { txHash: keccak256(transaction) } })
  expect(ranks()).toEqual(['ok', 'ok'])
})

test.each([
  'txpool is full',
  'in-flight transaction limit reached for delegated accounts',
  'sender is over rate limit',
])('a transaction that no node takes now, with "%s", is a 503 with the time to send it again', async (message) => {
  const { send, ranks } = await openAll(refusing(message), refusing(message))
  const { status, error, headers } = await send(await signed())
  expect([status, error?.code, headers['retry-after']]).toEqual([503, 'service_unavailable', '5'])
  expect(error?.message).toContain(message)
  expect(ranks()).toEqual(['ok', 'ok'])
})

test('a transaction that a node reports as known is a success with its hash', async () => {
  for (const message of [
    'ALREADY_EXISTS: already known',
    'AlreadyKnown',
    'Known transaction',
    'tx already in mempool',
  ]) {
    const { send } = await openAll(refusing(message))
    const transaction = await signed()
    expect(await send(transaction)).toMatchObject({ status: 200, data: { txHash: keccak256(transaction) } })
  }
})

test('an unknown type of transaction is refused, and not taken for a known transaction', async () => {
  const { send } = await openAll(refusing('unknown transaction type'))
  const { status, error } = await send(await signed())
  expect([status, error?.code]).toEqual([502, 'upstream_error'])
  expect(error?.message).toContain('unknown transaction type')
})

test.each([
  ['a byte after it', (transaction: string) => `${transaction}00`, 'after the complete transaction: 1'],
  [
    'another transaction after it',
    (transaction: string) => transaction + transaction.slice(2),
    'after the complete transaction: ',
  ],
  ['an odd number of digits', (transaction: string) => `${transaction}0`, 'even number of hex digits'],
  ['an odd number of digits, the last one missing', (transaction: string) => transaction.slice(0, -1), 'even number'],
])('a transaction with %s is a 400 that names signedTx', async (_, spoil, text) => {
  const { send, isSent } = await open(() => undefined)
  const legacy = await account.signTransaction({ type: 'legacy', chainId: 8453, to: other, gas: 21_000n, gasPrice: 7n })
  for (const transaction of [await signed(), legacy]) {
    const { status, error } = await send(spoil(transaction))
    expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, 'validation_error', 'signedTx'])
    expect(error?.details?.[0]?.message).toContain(text)
  }
  expect(isSent()).toBe(false)
})

test('a transaction without a chain id is sent with a warning', async () => {
  const { send } = await open(() => undefined)
  const call = { type: 'legacy', to: other, gas: 21_000n, gasPrice: 7n } as const
  for (const [transaction, codes] of [
    [await account.signTransaction(call), ['no_chain_id']],
    [await account.signTransaction({ ...call, chainId: 8453 }), []],
  ] as const) {
    const { status, data } = await send(transaction)
    expect([status, data]).toMatchObject([200, { warnings: codes.map((code) => ({ code })) }])
  }
})
