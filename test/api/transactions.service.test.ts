import { setTimeout as delay } from 'node:timers/promises'
import {
  type Address,
  encodeErrorResult,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  maxUint256,
  parseAbi,
} from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { TransactionRecord } from '../../src/reads/transactions/record.ts'
import type { Wallet } from '../../src/sandbox/story/accounts.ts'
import type { openApp } from '../support/app.ts'
import { batchCode, batchOf, ENTRY_POINT, entryPointCode, operationLog, reasonLog } from '../support/entry-point.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { mintTo } from '../support/mint.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm } from '../support/repetitions.ts'

const USDC = 10n ** 6n
const FEES = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }

type Api = Awaited<ReturnType<typeof openApp>>

let indexed: Awaited<ReturnType<typeof startIndexed>>
let world: World
let api: Api
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
/** The same behind the proxy. */
let proxied: Api

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  proxy = await startNodeProxy(world.anvil.url)
  api = await indexed.open()
  proxied = await indexed.open({ nodes: [{ url: proxy.url, deployment: world.deployment }], nodeTimeoutMs: 2_000 })
})
afterEach(() => proxy?.honest())
afterAll(async () => {
  await indexed?.close()
  await proxy?.close()
})

const read = async (hash: Hex, query = '', of = api) => {
  const { status, data, headers, error } = await of.get(`/transactions/8453/${hash}${query}`)
  expect([status, error]).toEqual([200, undefined])
  return { ...TransactionRecord.parse(data), headers }
}

const send = async (wallet: Wallet, to: Address, data: Hex, overrides: object = {}): Promise<Hex> => {
  const { client, node } = world.actions
  const nonce = await client.getTransactionCount({ address: wallet.account.address, blockTag: 'pending' })
  const request = { ...{ chainId: 8453, type: 'eip1559', to, data, nonce, gas: 5_000_000n }, ...FEES, ...overrides }
  const serializedTransaction = await wallet.account.signTransaction(request as never)
  const hash = await client.sendRawTransaction({ serializedTransaction })
  // On a busy machine the node answers before it mines.
  if (await node.getAutomine()) await client.waitForTransactionReceipt({ hash, pollingInterval: 20, timeout: 10_000 })
  return hash
}

const deposit = (eventId: bigint, amount: bigint): Hex =>
  encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [eventId, amount] })
const approve = (amount: bigint): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [world.deployment.diamond, amount] })

/** Runs without mining a block for each transaction. */
const unmined = async (run: () => Promise<void>): Promise<void> => {
  const { node } = world.actions
  await node.setAutomine(false)
  try {
    await run()
  } finally {
    await node.setAutomine(true)
    await node.mine({ blocks: 1 })
  }
}

describe('a transaction that succeeded', () => {
  test('is returned with its block, fee, call, logs and what it created', async () => {
    const id = await world.actions.deposit(world.lp, 1n, 20n * USDC)
    const { hash } = await world.newest()
    const receipt = await receiptOf(world.actions.client, hash)
    const block = await world.actions.client.getBlock()
    const { headers, logs, ...found } = await read(hash, '?waitMs=20000')
    const owner = world.lp.account.address
    expect(found).toEqual({
      ...{ chainId: 8453, hash, status: 'succeeded', confirmations: 1, finality: 'latest', indexed: true },
      block: { number: Number(block.number), hash: block.hash, timestamp: Number(block.timestamp) },
      fee: {
        gasUsed: String(receipt.gasUsed),
        effectiveGasPrice: String(receipt.effectiveGasPrice),
        dataFee: null,
        operatorFee: null,
        total: String(receipt.gasUsed * receipt.effectiveGasPrice),
      },
      calls: [{ function: 'deposit', args: { eventId: '1', amount: String(20n * USDC) } }],
      created: { eventIds: [], depositIds: [{ id: Number(id), owner }], positionIds: [] },
      ...{
        createdIncomplete: false,
        logsOmitted: 0,
        logsIncomplete: false,
        unknownLogs: [],
        unknownLogsOmitted: 0,
        userOperations: [],
        revert: null,
        revertStatus: 'none',
        dropped: false,
        replacedBy: null,
      },
    })
    expect(logs.map(({ address, name }) => [address, name])).toEqual(
      expect.arrayContaining([
        [world.deployment.usdc, 'Transfer'],
        [world.deployment.diamond, expect.stringMatching(/DepositCreated|LiquidityDeposited/)],
      ]),
    )
    expect(headers['cache-control']).toBe('no-store')
    expect(headers.etag).toBeUndefined()
    expect([headers['x-data-source'], headers['x-block-hash']]).toEqual(['chain', block.hash])
  })

  test('has the data fee of a chain that charges one', async () => {
    proxy.alter((method, result) =>
      method === 'eth_getTransactionReceipt' && result !== null ? { ...Object(result), l1Fee: '0x3e8' } : result,
    )
    const { hash } = await world.newest()
    const { fee } = await read(hash, '', proxied)
    expect(fee?.dataFee).toBe('1000')
    expect(BigInt(fee?.total ?? 0)).toBe(BigInt(fee?.gasUsed ?? 0) * BigInt(fee?.effectiveGasPrice ?? 0) + 1_000n)
  })

  test.each([
    ['since Isthmus', {}, (gas: bigint) => (gas * 3_000_001n) / 1_000_000n],
    ['since Jovian', { daFootprintGasScalar: '0x190' }, (gas: bigint) => gas * 3_000_001n * 100n],
  ])('has the fee for the operator of an OP-stack network, as it is computed %s', async (_, more, feeOf) => {
    const fields = { l1Fee: '0x3e8', operatorFeeScalar: '0x2dc6c1', operatorFeeConstant: '0x64', ...more }
    proxy.alter((method, result) =>
      method === 'eth_getTransactionReceipt' && result !== null ? { ...Object(result), ...fields } : result,
    )
    const { hash } = await world.newest()
    const { fee } = await read(hash, '', proxied)
    const gas = BigInt(fee?.gasUsed ?? 0)
    const operatorFee = feeOf(gas) + 100n
    expect(fee?.operatorFee).toBe(String(operatorFee))
    expect(BigInt(fee?.total ?? 0)).toBe(gas * BigInt(fee?.effectiveGasPrice ?? 0) + 1_000n + operatorFee)
  })

  test('names the event and the seed deposit that it created', async () => {
    const { actions, creator, upward } = world
    const { eventId } = await actions.createEvent(creator, { ...upward, expiry: (await actions.now()) + 86_400 })
    const { hash } = await world.newest()
    const { created, calls } = await read(hash)
    const owner = creator.account.address
    expect(created.eventIds).toEqual([{ id: Number(eventId), owner }])
    expect(created.depositIds).toEqual([{ id: expect.any(Number), owner }])
    expect(calls?.[0]).toMatchObject({
      function: 'createEvent',
      args: { name: upward.name, expiry: expect.stringMatching(/^\d+$/) },
    })
  })

  test('may be cached for half a minute once it is final', async () => {
    const { hash } = await world.newest()
    // The node reports blocks as safe after 32 blocks, and as final after 64.
    for (const [blocks, finality, cacheControl] of [
      [0, 'latest', 'no-store'],
      [40, 'safe', 'no-store'],
      [40, 'finalized', 'public, max-age=30'],
    ] as const) {
      if (blocks > 0) await world.actions.node.mine({ blocks })
      await indexed.reachHead()
      await expect.poll(async () => (await read(hash)).finality).toBe(finality)
      const { headers, confirmations } = await read(hash)
      expect([finality, headers['cache-control']]).toEqual([finality, cacheControl])
      expect(confirmations).toBeGreaterThan(blocks)
    }
  })
})

describe('what was created does not depend on who sent the transaction', () => {
  /** A contract whose code makes calls in the name of the account that has it. */
  const batcher: Address = '0x00000000000000000000000000000000000ba7c4'
  const steps = (): (readonly [Address, Hex])[] => [
    [world.deployment.usdc, approve(maxUint256)],
    [world.deployment.diamond, deposit(1n, 30n * USDC)],
  ]

  beforeAll(async () => {
    const { node } = world.actions
    await node.setCode({ address: batcher, bytecode: batchCode })
    await node.setCode({ address: ENTRY_POINT, bytecode: entryPointCode })
  })

  test('a batch of an account with code (EIP-7702) gives the same answer as an ordinary account', async () => {
    const { stranger, anvil, owner, deployment, actions } = world
    const { address } = stranger.account
    await mintTo(anvil.url, owner.account, deployment.usdc, [address], 100n * USDC)
    const nonce = await actions.client.getTransactionCount({ address })
    const authorization = await stranger.account.signAuthorization({
      ...{ contractAddress: batcher, chainId: 8453, nonce: nonce + 1 },
    })
    const serializedTransaction = await stranger.account.signTransaction({
      ...{ chainId: 8453, type: 'eip7702', to: address, data: batchOf(steps()), nonce, gas: 5_000_000n, ...FEES },
      authorizationList: [authorization],
    })
    const hash = await actions.client.sendRawTransaction({ serializedTransaction })
    const { status, created, calls, logs } = await read(hash, '?waitMs=20000')
    expect([status, calls]).toEqual(['succeeded', null])
    expect(created.depositIds).toEqual([{ id: expect.any(Number), owner: address }])
    const [{ id } = { id: 0 }] = created.depositIds
    const { data } = await api.get(`/hedge/deposits/8453/wallet/${address}`)
    expect(data).toContain(id)
    expect(logs.map(({ name }) => name)).toEqual(expect.arrayContaining(['Approval', 'Transfer']))
  })

  test('a bundle names the account of each operation, and lists the operations that failed', async () => {
    const { stranger, anvil, owner, deployment } = world
    // The contract is the account of the operation; the bundler only calls it.
    await mintTo(anvil.url, owner.account, deployment.usdc, [batcher], 100n * USDC)
    const operation = keccak256('0x01')
    const reason = encodeErrorResult({
      ...{ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['Exceeds capacity'] },
    })
    const logs: (readonly [Address, Hex])[] = [
      [ENTRY_POINT, reasonLog(operation, stranger.account.address, reason)],
      [ENTRY_POINT, operationLog(operation, stranger.account.address, false)],
      [ENTRY_POINT, operationLog(keccak256('0x02'), batcher, true)],
      [ENTRY_POINT, operationLog(keccak256('0x03'), batcher, false)],
    ]
    const hash = await send(owner, batcher, batchOf([...steps(), ...logs]))
    const { status, created, calls, userOperations } = await read(hash)
    expect([status, calls]).toEqual(['succeeded', null])
    expect(created.depositIds).toEqual([{ id: expect.any(Number), owner: getAddress(batcher) }])
    expect(userOperations).toEqual([
      {
        ...{ entryPoint: ENTRY_POINT, hash: operation, sender: stranger.account.address, nonce: '7', success: false },
        revert: expect.objectContaining({ code: 'exceeds_capacity', reason: 'Exceeds capacity' }),
      },
      expect.objectContaining({ hash: keccak256('0x03'), success: false, revert: null }),
    ])
  })
})

test('a transaction with more logs than are read has its fee, what it created and the logs of the protocol', async () => {
  const { actions, anvil, owner, deployment } = world
  const batcher: Address = '0x00000000000000000000000000000000000ba7c5'
  const logger: Address = '0x00000000000000000000000000000000000010a5'
  await actions.node.setCode({ address: batcher, bytecode: batchCode })
  // Logs 1.25 MiB of zeros.
  await actions.node.setCode({ address: logger, bytecode: '0x621400005fa000' })
  await mintTo(anvil.url, owner.account, deployment.usdc, [batcher], 100n * USDC)
  const calls: (readonly [Address, Hex])[] = [
    [deployment.usdc, approve(maxUint256)],
    [deployment.diamond, deposit(1n, 30n * USDC)],
    [logger, '0x'],
  ]
  const hash = await send(owner, batcher, batchOf(calls), { gas: 16_000_000n })
  const { gasUsed } = await receiptOf(actions.client, hash)
  const { status, logsIncomplete, fee, created, logs } = await read(hash, '?waitMs=20000')
  expect([status, logsIncomplete, fee?.gasUsed]).toEqual(['succeeded', true, String(gasUsed)])
  expect(created.depositIds).toEqual([{ id: expect.any(Number), owner: getAddress(batcher) }])
  expect(new Set(logs.map(({ address }) => address))).toEqual(new Set([deployment.diamond]))
})

describe('a transaction that reverted', () => {
  const refuseTraces = (method: string) =>
    method === 'debug_traceTransaction' ? { code: -32_601, message: 'the method does not exist' } : undefined

  /** A purchase whose deadline is the time of the block before its own. */
  const latePurchase = async (): Promise<Hex> => {
    const deadline = BigInt(await world.actions.now())
    await world.actions.node.increaseTime({ seconds: 60 })
    const args = [1n, 20n * USDC, maxUint256, deadline] as const
    return send(
      world.hedger,
      world.deployment.diamond,
      encodeFunctionData({ abi: protocolAbi, functionName: 'buyProtection', args }),
    )
  }

  const allowance = { code: 'insufficient_allowance' }
  const deadline = { code: 'past_deadline' }

  test('has the reason from a trace, where the node serves one', async () => {
    for (const [hash, expected] of [
      [await send(world.owner, world.deployment.diamond, deposit(1n, 20n * USDC)), allowance],
      [await latePurchase(), deadline],
    ] as const) {
      const { status, revert, created, calls, fee, block } = await read(hash, '?waitMs=20000')
      expect([status, revert]).toEqual(['reverted', expect.objectContaining({ ...expected, exact: true })])
      expect(revert?.reason).not.toBe('')
      expect(revert?.hint).not.toBe('')
      expect(created).toEqual({ eventIds: [], depositIds: [], positionIds: [] })
      expect([calls?.length, fee === null, block === null]).toEqual([1, false, false])
    }
  })

  test('has the reason of the same call at its parent block, as of its own time, where no node serves traces', async () => {
    for (const [hash, expected] of [
      [await send(world.owner, world.deployment.diamond, deposit(1n, 21n * USDC)), allowance],
      [await latePurchase(), deadline],
    ] as const) {
      proxy.refuse(refuseTraces)
      const { status, revert } = await read(hash, '', proxied)
      expect([status, revert]).toEqual(['reverted', expect.objectContaining({ ...expected, exact: false })])
      // The node is not asked for a trace again soon, and the reason is kept.
      proxy.calls()
      expect((await read(hash, '', proxied)).revert).toEqual(revert)
      expect(proxy.calls()).not.toContain('eth_call')
    }
  })

  test('has the reason of the call without overrides, where nodes know none', async () => {
    proxy.refuse((method, params) =>
      method === 'eth_call' && params.length > 2
        ? { code: -32_602, message: 'too many arguments, want at most 2' }
        : refuseTraces(method),
    )
    // The second one is not asked for with overrides any more.
    for (const amount of [220n, 221n]) {
      const hash = await send(world.owner, world.deployment.diamond, deposit(1n, amount * USDC))
      expect((await read(hash, '', proxied)).revert).toMatchObject({ ...allowance, exact: false })
    }
  })

  test('has no reason when no node knows it', async () => {
    const hash = await send(world.owner, world.deployment.diamond, deposit(1n, 23n * USDC))
    proxy.refuse((method) =>
      method === 'eth_call' ? { code: -32_000, message: 'missing trie node' } : refuseTraces(method),
    )
    const { status, revert } = await read(hash, '', proxied)
    expect([status, revert]).toEqual(['reverted', null])
  })

  test('has a reason when its data are too long to be read, and the reason is kept', async () => {
    const contract: Address = '0x00000000000000000000000000000000000de700'
    // Reverts with a megabyte of zeros.
    await world.actions.node.setCode({ address: contract, bytecode: '0x621000005ffd' })
    const hash = await send(world.owner, contract, '0x')
    const expected = { code: 'unknown_reason', reason: 'execution reverted with more data than is read' }
    expect((await read(hash)).revert).toMatchObject({ ...expected, exact: true })
    proxy.refuse(refuseTraces)
    const { status, revert } = await read(hash, '', proxied)
    expect([status, revert]).toMatchObject(['reverted', { ...expected, exact: false }])
    proxy.calls()
    expect((await read(hash, '', proxied)).revert).toEqual(revert)
    expect(proxy.calls()).not.toContain('eth_call')
  })

  test('has the failure of a call that ran out of gas', async () => {
    const hash = await send(world.lp, world.deployment.diamond, deposit(1n, 20n * USDC), { gas: 40_000n })
    const { status, revert } = await read(hash)
    expect([status, revert]).toMatchObject(['reverted', { code: 'execution_failed', exact: true }])
  })
})

describe('a transaction that is not mined', () => {
  test('is unknown when no node has it, and after the wait too', async () => {
    const hash = keccak256('0x1234')
    const began = performance.now()
    const { headers, ...found } = await read(hash, '?waitMs=300')
    expect(performance.now() - began).toBeGreaterThan(290)
    expect(found).toMatchObject({ status: 'unknown', block: null, fee: null, logs: [], indexed: false, dropped: false })
    expect(headers['cache-control']).toBe('no-store')
  })

  test('is pending with its call, and a wait ends when it is indexed', async () => {
    let waiting: ReturnType<typeof read> | undefined
    await unmined(async () => {
      const hash = await send(world.lp, world.deployment.diamond, deposit(1n, 24n * USDC))
      const found = await read(hash, '?waitMs=200')
      expect(found).toMatchObject({ status: 'pending', block: null, confirmations: 0, finality: null })
      expect(found.calls).toEqual([{ function: 'deposit', args: { eventId: '1', amount: String(24n * USDC) } }])
      waiting = read(hash, '?waitMs=30000')
      await delay(300)
    })
    const found = await waiting
    expect(found).toMatchObject({ status: 'succeeded', indexed: true })
    const id = found?.created.depositIds[0]?.id
    const rows = z
      .array(z.looseObject({ id: z.number() }))
      .parse((await api.get('/hedge/deposits?chainId=8453&limit=200')).data)
    expect(rows.map((row) => row.id)).toContain(id)
  })

  test('is dropped when another transaction with its nonce was mined, also for a wait', async () => {
    let hash: Hex = '0x'
    let replacement: Hex = '0x'
    let waiting: ReturnType<typeof read> | undefined
    await unmined(async () => {
      const { address } = world.lp.account
      const nonce = await world.actions.client.getTransactionCount({ address })
      hash = await send(world.lp, world.deployment.diamond, deposit(1n, 25n * USDC), { nonce })
      expect((await read(hash)).status).toBe('pending')
      waiting = read(hash, '?waitMs=30000')
      const more = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n }
      replacement = await send(world.lp, world.deployment.usdc, approve(maxUint256), { nonce, ...more })
    })
    await world.actions.node.mine({ blocks: 20 })
    const dropped = { status: 'unknown', dropped: true, replacedBy: replacement, block: null }
    expect(await read(hash)).toMatchObject(dropped)
    expect(await waiting).toMatchObject(dropped)
    expect(await read(replacement)).toMatchObject({ status: 'succeeded', dropped: false })
  })
})

test('through reorgs, a transaction is dropped exactly while another one with its nonce is on the chain', async () => {
  const { client, node } = world.actions
  const { address } = world.lp.account
  const nonce = await client.getTransactionCount({ address })
  const again = async (): Promise<void> => {
    await node.revert({ id: snapshot })
    snapshot = await node.snapshot()
  }
  let snapshot = await node.snapshot()
  const hash = await send(world.lp, world.deployment.diamond, deposit(1n, 27n * USDC), { nonce })
  expect(await read(hash)).toMatchObject({ status: 'succeeded', dropped: false })
  await again()
  expect(await read(hash)).toMatchObject({ status: 'unknown', dropped: false, replacedBy: null })
  for (const amount of [1n, 2n]) {
    const replacement = await send(world.lp, world.deployment.usdc, approve(amount), { nonce })
    expect(await read(hash)).toMatchObject({ status: 'unknown', dropped: true, replacedBy: replacement, block: null })
    expect(await read(replacement)).toMatchObject({ status: 'succeeded', dropped: false })
    await again()
    expect(await read(hash)).toMatchObject({ status: 'unknown', dropped: false, replacedBy: null })
    expect(await read(replacement)).toMatchObject({ status: 'unknown', dropped: false, replacedBy: null })
  }
  await node.mine({ blocks: 3 })
  expect(await send(world.lp, world.deployment.diamond, deposit(1n, 27n * USDC), { nonce })).toBe(hash)
  expect(await read(hash)).toMatchObject({ status: 'succeeded', dropped: false, replacedBy: null })
  await indexed.reachHead()
})

test('while no node answers, the index answers for recent transactions that created something', async () => {
  const id = await world.actions.deposit(world.lp, 1n, 26n * USDC)
  const { hash } = await world.newest()
  const other = await send(world.lp, world.deployment.usdc, approve(maxUint256))
  await read(other, '?waitMs=20000')
  proxy.say(() => ({ status: 502, body: 'down' }))
  // The other API learns of the block a moment later.
  await expect.poll(async () => (await proxied.get(`/transactions/8453/${hash}`)).status).toBe(200)
  const found = await read(hash, '', proxied)
  expect(found).toMatchObject({
    ...{ status: 'succeeded', indexed: true, fee: null, calls: null, logs: [] },
    created: { eventIds: [], depositIds: [{ id: Number(id), owner: world.lp.account.address }], positionIds: [] },
  })
  expect([found.headers['x-data-source'], found.headers['x-stale']]).toEqual(['database', '1'])
  for (const query of ['', '?waitMs=300']) {
    const { status, headers } = await proxied.get(`/transactions/8453/${other}${query}`)
    expect([query, status, headers['retry-after']]).toEqual([query, 503, '1'])
  }
})

test('invalid parameters are rejected by name', async () => {
  const hash = `0x${'ab'.repeat(32)}`
  for (const [path, field] of [
    [`/transactions/8453/${hash.slice(0, -2)}`, 'hash'],
    ['/transactions/8453/1', 'hash'],
    [`/transactions/1/${hash}`, 'chainId'],
    [`/transactions/8453/${hash}?waitMs=30001`, 'waitMs'],
    [`/transactions/8453/${hash}?waitMs=-1`, 'waitMs'],
    [`/transactions/8453/${hash}?wait=1`, 'wait'],
  ] as const) {
    const { status, error } = await api.get(path)
    expect([path, status, error?.details?.[0]?.path]).toEqual([path, 400, field])
  }
})

describe('a read after a transaction that reverted', () => {
  const paths = () => {
    const wallet = world.lp.account.address
    const all = [
      '/hedge/events/8453/1',
      '/hedge/events/8453/1/stats',
      '/hedge/deposits/8453/1',
      `/hedge/deposits/8453/wallet/${wallet}`,
      `/hedge/deposits/8453/wallet/${wallet}?limit=1`,
      '/hedge/deposits?chainId=8453',
      `/wallets/${wallet}/portfolio?chainId=8453`,
      `/wallets/${wallet}/portfolio?chainId=8453&include=event,balances`,
      `/wallets/${wallet}/balances?chainId=8453`,
      '/hedge/settlements?chainId=8453',
    ]
    // By default a record, a list of ids, a portfolio and a feed.
    return all.filter((_, at) => byForm(at % 3 === 0, true))
  }
  const afterTx = (path: string, hash: Hex): string =>
    `${path}${path.includes('?') ? '&' : '?'}afterTx=${hash}&waitMs=10000`

  const Meta = z.looseObject({ transaction: z.string().optional() })
  const fetched = async (path: string) => {
    const { statusCode, headers, body } = await api.app.inject(`/v1${path}`)
    const { meta } = z.object({ meta: Meta.optional() }).parse(JSON.parse(body))
    return { status: statusCode, header: headers['x-transaction'], meta }
  }

  test('reports it in its meta and in a header, from the cache as well, and other reads do not', async () => {
    const reverted = await send(world.owner, world.deployment.diamond, deposit(1n, 27n * USDC))
    const succeeded = await send(world.lp, world.deployment.usdc, approve(maxUint256))
    for (const path of paths()) {
      const plain = await fetched(path)
      expect([path, plain.status, plain.header, plain.meta?.transaction]).toEqual([path, 200, undefined, undefined])
      // The second answer may come from the cache.
      for (const hash of [reverted, succeeded, reverted, succeeded]) {
        const { status, meta, header } = await fetched(afterTx(path, hash))
        const expected = hash === reverted ? 'reverted' : undefined
        expect([path, status, header, meta?.transaction]).toEqual([path, 200, expected, expected])
        if (hash === succeeded) expect([path, meta === undefined]).toEqual([path, plain.meta === undefined])
      }
      const again = await fetched(path)
      expect([path, again.header, again.meta?.transaction]).toEqual([path, undefined, undefined])
    }
    const body = { wallets: [world.lp.account.address], chainIds: [8453] }
    const { meta } = await api.post(afterTx('/wallets/portfolio', reverted), body)
    expect(meta).toEqual({ transaction: 'reverted' })
    // A list as a whole has no other meta; with it, the fields of a page are complete.
    const whole = await api.get(afterTx(`/hedge/deposits/8453/wallet/${world.lp.account.address}`, reverted))
    expect(whole.meta).toEqual({ limit: 10_000, hasMore: false, nextCursor: null, transaction: 'reverted' })
  })

  test('reports it in the header of a 304, for a tag of any URL', async () => {
    const reverted = await send(world.owner, world.deployment.diamond, deposit(1n, 28n * USDC))
    const path = `/hedge/deposits/8453/wallet/${world.lp.account.address}`
    await indexed.quiet()
    const { headers } = await api.get(path)
    const tags = { 'if-none-match': String(headers.etag) }
    for (const [url, expected] of [
      [afterTx(path, reverted), 'reverted'],
      [path, undefined],
      [afterTx(path, reverted), 'reverted'],
    ] as const) {
      const answer = await api.app.inject({ url: `/v1${url}`, headers: tags })
      expect([url, answer.statusCode, answer.headers['x-transaction']]).toEqual([url, 304, expected])
      // Fills the cache of this URL, so that the next 304 comes from it.
      await api.get(url)
    }
  })
})
