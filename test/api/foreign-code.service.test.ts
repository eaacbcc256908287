import { type Address, encodeFunctionData, type Hex, maxUint256, parseAbi, toFunctionSelector } from 'viem'
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { openApp } from '../support/app.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { planOf, refusesSimulation } from '../support/plan-apps.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm } from '../support/repetitions.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

/* Contracts that anyone deployed and names as a token, next to requests of honest users on the same chain. */

const protocol = await useProtocol(inject('profile'))
const { creator, lp, owner, stranger, diamond, dai, deploy, transact, newEvent, create, client } = protocol
const proxy = await startNodeProxy(protocol.url)
afterAll(proxy.close)

const open = async (urls: readonly string[] = [proxy.url], nodeTimeoutMs = 15_000) => {
  const app = await openApp({ nodes: [{ urls, deployment: protocol.deployment }], headMaxAgeMs: -1, nodeTimeoutMs })
  onTestFinished(async () => {
    proxy.honest()
    await app.close()
  })
  const endpoints = () => app.sources.chains.get(8453)?.status().endpoints ?? []
  /** Fails unless no endpoint is paused, penalized or known to lack anything. */
  const isUnharmed = async () => {
    for (const endpoint of endpoints()) expect(endpoint).toMatchObject({ rank: 'ok', missing: [] })
    const metrics = (await app.metrics.metrics()).split('\n')
    const ranks = metrics.filter((line) => line.startsWith('fx_node_rank{') && line.includes('chain="8453"'))
    expect(ranks.filter((line) => line.endsWith(' 1')).every((line) => line.includes('rank="ok"'))).toBe(true)
  }
  return { ...app, isUnharmed }
}

type App = Awaited<ReturnType<typeof open>>

const eventId = await create({ initialLiquidity: 10_000n * USDC })

/** A plan and a single read of an honest user are answered in full. */
const isServed = async (app: App): Promise<void> => {
  const plan = await planOf(app, 'deposit', { from: creator, eventId, amount: 100n * USDC })
  expect([plan.executable, plan.method]).toEqual([true, 'eth_simulateV1'])
  const { status, headers } = await app.get(`/hedge/events/8453/${eventId}/stats`)
  expect([status, headers['x-data-source'], headers['x-stale']]).toEqual([200, 'chain', undefined])
}

const terms = (paymentToken: Address): object => {
  const { expiryDate, ...others } = newEvent({ paymentToken })
  const text = (value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
  return Object.fromEntries(
    Object.entries({ ...others, expiry: expiryDate }).map(([name, value]) => [name, text(value)]),
  )
}

/** The requests with which anyone has a contract called. */
const naming = (token: Address): readonly (readonly [path: string, body: object])[] => [
  ['/plans/revoke-approval', { from: lp, token }],
  ['/plans/create-event', { from: creator, ...terms(token) }],
  ['/tx/erc20/approve', { from: lp, token, spender: diamond, amount: '1' }],
  // The protocol calls the token for its decimals.
  ['/tx/hedge/set-allowed-payment-token', { from: owner, token, allowed: true }],
]

const sendAll = (app: App, token: Address) =>
  naming(token).map(([path, body]) => app.post(path, { chainId: 8453, ...body }))

describe('while calls of a contract that anyone named', () => {
  test('hang, others are served by the same node, and the node is not judged', async () => {
    const app = await open([proxy.url], 2_000)
    await isServed(app)
    const token = await deploy('GreedyToken')
    proxy.hold((body) => body.toLowerCase().includes(token.slice(2).toLowerCase()))
    const sent = Array.from({ length: byForm(1, 2) }, () => sendAll(app, token)).flat()
    await vi.waitFor(() => expect(proxy.held()).toBe(2))
    for (let times = 0; times < byForm(1, 3); times += 1) {
      await isServed(app)
      await app.isUnharmed()
      expect(proxy.held()).toBeLessThanOrEqual(2)
    }
    const statuses = new Set((await Promise.all(sent)).map(({ status }) => status))
    expect([...statuses].toSorted()).toEqual([200, 503])
    await app.isUnharmed()
    await isServed(app)
  })

  test('hang, no second node is asked', async () => {
    const second = await startNodeProxy(protocol.url)
    onTestFinished(second.close)
    const app = await open([proxy.url, second.url], 2_000)
    await isServed(app)
    const token = await deploy('GreedyToken')
    const isOfToken = (body: string): boolean => body.toLowerCase().includes(token.slice(2).toLowerCase())
    proxy.hold(isOfToken)
    let others = 0
    second.hold((body) => {
      if (isOfToken(body)) others += 1
      return false
    })
    await Promise.all(sendAll(app, token))
    expect(others).toBe(0)
    await app.isUnharmed()
  })

  test.each([
    ['use up all gas', '0x635b6000566000526004601cf3'],
    ['return 3 MiB', '0x66623000006000f360005260076019f3'],
    ['revert with 3 MiB', '0x66623000006000fd60005260076019f3'],
  ] as const)('%s, they get little gas, and others are served', async (_, data) => {
    const app = await open()
    const hash = await client.sendTransaction({ account: owner, data, chain: null })
    const { contractAddress } = await receiptOf(client, hash)
    const token = contractAddress as Address
    const spent: bigint[] = []
    proxy.alter((method, result, params) => {
      if (method !== 'eth_simulateV1') return result
      const [{ blockStateCalls }] = params as [{ blockStateCalls: [{ calls: { to: string }[] }] }]
      const [{ calls }] = result as [{ calls: { gasUsed: string }[] }]
      for (const [at, { to }] of blockStateCalls[0].calls.entries())
        if (to.toLowerCase() === token.toLowerCase()) spent.push(BigInt(calls[at]?.gasUsed ?? 0))
      return result
    })
    for (const answer of await Promise.all(sendAll(app, token))) expect(answer.status).toBe(200)
    expect(spent.length).toBeGreaterThan(10)
    expect(spent.filter((gas) => gas > 300_000n)).toEqual([])
    await isServed(app)
    await app.isUnharmed()
  })
})

test('while heavy transactions that reverted are looked up, others are served by the same node', async () => {
  const app = await open()
  await isServed(app)
  const heavy: Address = '0x00000000000000000000000000000000000de5ad'
  await client.setCode({ address: heavy, bytecode: '0x5b5f56' })
  const hashes: Hex[] = []
  for (let nth = 0; nth < 8; nth += 1)
    hashes.push(await client.sendTransaction({ account: stranger, to: heavy, gas: 16_000_000n, chain: null }))
  let isOver = false
  const found = Promise.all(hashes.map((hash) => app.get(`/transactions/8453/${hash}`))).finally(() => {
    isOver = true
  })
  do {
    await isServed(app)
    await app.isUnharmed()
  } while (!isOver)
  for (const { data } of await found)
    expect(data).toMatchObject({ status: 'reverted', revert: { code: 'execution_failed', exact: true } })
})

const manners = ['burnsGas', 'returnsMegabyte', 'revertsWithMegabyte', 'returnsKilobytes', 'returnsNumber'] as const

const behave = (token: Address, manner: (typeof manners)[number]) => {
  const abi = parseAbi(['function behave(uint8 manner)'])
  return transact(owner, token, encodeFunctionData({ abi, functionName: 'behave', args: [manners.indexOf(manner)] }))
}

describe('a token whose symbol()', () => {
  test.each([
    ['burnsGas', /symbol\(\) of 0x\w+ takes more than 300000 gas/, ['simulates', 'refuses to simulate']],
    [
      'returnsMegabyte',
      /symbol\(\) of 0x\w+ takes more than 300000 gas/,
      byForm(['simulates'], ['simulates', 'refuses to simulate']),
    ],
    [
      'revertsWithMegabyte',
      /symbol\(\) of 0x\w+ takes more than 300000 gas/,
      byForm(['refuses to simulate'], ['simulates', 'refuses to simulate']),
    ],
    [
      'returnsKilobytes',
      /symbol\(\) or decimals\(\) of 0x\w+ returns more than 8 KiB/,
      ['simulates', 'refuses to simulate'],
    ],
  ] as const)('%s is refused as the field that names it', async (manner, message, nodes) => {
    const token = await deploy('GreedyToken')
    await behave(token, manner)
    for (const kind of nodes) {
      proxy.refuse(kind === 'refuses to simulate' ? refusesSimulation : () => undefined)
      const app = await open()
      for (const [action, body, path] of [
        ['revoke-approval', { from: lp, token }, 'token'],
        ['create-event', { from: creator, ...terms(token) }, 'paymentToken'],
      ] as const) {
        const { status, error } = await app.post(`/plans/${action}`, { chainId: 8453, ...body })
        expect([action, status, error?.code]).toEqual([action, 400, 'validation_error'])
        expect(error?.details).toEqual([{ path, message: expect.stringMatching(message) }])
      }
    }
  })

  test('is no text has no symbol, and can have its approval revoked', async () => {
    const token = await deploy('GreedyToken')
    await behave(token, 'returnsNumber')
    const app = await open()
    const plan = await planOf(app, 'revoke-approval', { from: lp, token })
    expect([plan.executable, plan.issues]).toEqual([true, []])
    expect(plan.summary).toBe(`Take back the protocol's allowance of ${token}.`)
  })
})

test('a token that no event and no configuration has can be approved with the limits of foreign code', async () => {
  const app = await open()
  const token = await deploy('StrictToken')
  const body = { chainId: 8453, from: lp, token, spender: diamond, amount: '1' }
  const { data } = await app.post('/tx/erc20/approve', body)
  expect(data).toMatchObject({ simulation: { status: 'success' } })
  const plan = await planOf(app, 'revoke-approval', { from: stranger, token })
  expect(plan.executable).toBe(true)
})

test('the tokens of events are known after the first plan of the event, and have the gas of the protocol', async () => {
  const app = await open()
  const chain = app.sources.chains.get(8453)
  const inDai = await create({ paymentToken: dai, initialLiquidity: 10_000n * 10n ** 18n })
  expect(chain?.isForeign(dai)).toBe(true)
  await planOf(app, 'deposit', { from: creator, eventId: inDai, amount: 1n })
  expect([chain?.isForeign(dai), chain?.isForeign(stranger)]).toEqual([false, true])
})

test('a call of the protocol runs foreign code when it names a foreign address, and only then', async () => {
  const app = await open()
  const chain = app.sources.chains.get(8453)
  const runs = (data: `0x${string}`, to: Address = diamond) => chain?.runsForeign({ to, data })
  const allows = (token: Address) =>
    encodeFunctionData({ abi: protocolAbi, functionName: 'setAllowedPaymentToken', args: [token, true] })
  expect([runs(allows(stranger)), runs(allows(protocol.usdc)), runs('0x', stranger)]).toEqual([true, false, true])
  const args = [1n, 2n ** 90n, maxUint256, 2n ** 64n - 1n] as const
  expect(runs(encodeFunctionData({ abi: protocolAbi, functionName: 'buyProtection', args }))).toBe(false)
})

test('a call of a known token runs foreign code unless it is a function of ERC-20', async () => {
  const app = await open()
  const chain = app.sources.chains.get(8453)
  const runs = (signature: string) =>
    chain?.runsForeign({ to: protocol.usdc, data: `${toFunctionSelector(signature)}${'00'.repeat(96)}` })
  const plain = ['transfer(address,uint256)', 'approve(address,uint256)', 'transferFrom(address,address,uint256)']
  expect(plain.map(runs)).toEqual([false, false, false])
  // It asks the contract `owner` whether the signature is its own.
  expect(runs('permit(address,address,uint256,uint256,bytes)')).toBe(true)
})
