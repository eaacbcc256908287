import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { concat, encodeFunctionResult, type Hex, multicall3Abi, numberToHex, zeroAddress } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createNode } from '../../src/chain/pool/failover.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { getBlock, getChainId, viewCall } from '../../src/chain/rpc/requests.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { call } from '../../src/protocol/abi/outputs.ts'
import { eventually } from '../support/process.ts'
import { type Reply, type ScriptedCall, startNode } from '../support/scripted-node.ts'

const nodeWithin = (timeoutMs: number, ...urls: string[]) => {
  const registry = createEndpointRegistry({ chainId: 8453, urls, timeoutMs, log: pino({ level: 'silent' }) })
  onTestFinished(registry.close)
  return { ...registry, ...createNode({ registry, chainId: 8453, timeoutMs }) }
}

/** A prime number, so that a fraction of it is never a whole number of milliseconds. */
const timeoutMs = 599

const nodeOf = (...urls: string[]) => nodeWithin(timeoutMs, ...urls)

const states = (node: ReturnType<typeof nodeOf>) => node.status().endpoints.map(({ rank }) => rank)

const errors =
  (code: number, message: string): Reply =>
  (calls) => ({ body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }))) })

const garbage: Record<string, Reply> = {
  'HTML of a load balancer': () => ({ status: 502, body: '<html>bad gateway</html>' }),
  'an empty body': () => ({ body: '' }),
  'truncated JSON': () => ({ body: '[{"id":0,"resu' }), // cspell:ignore resu
  'fewer answers than asked': () => ({ body: '[]' }),
  'another id': () => ({ body: '[{"jsonrpc":"2.0","id":7,"result":"0x1"}]' }),
  'another shape': ([first]) => ({ body: JSON.stringify([{ id: first?.id, result: { not: 'a quantity' } }]) }),
  'no answer in time': () => 'hang',
  'a missing block': errors(-32000, 'header not found'),
  'a rate limit in the body': errors(429, 'slow down'),
}

test.each(Object.entries(garbage))('%s from the first node: the second answers', async (_, reply) => {
  const [bad, good] = [await startNode(), await startNode()]
  const node = nodeOf(bad.url, good.url)
  await node.send({ id: getChainId() })
  await eventually('both are known', async () => {
    await node.send({ id: getChainId() })
    return states(node).join() === 'ok,ok'
  })
  bad.requests()
  good.requests()
  bad.say(reply)
  const { id } = await node.send({ id: getChainId() })
  expect(id).toEqual({ ok: true, value: 8453 })
  expect([bad.requests(), good.requests()].map((requests) => requests.length)).toEqual([1, 1])
})

test.each(['truncated JSON', 'no answer in time'])('%s at the start: the second answers', async (name) => {
  const reply = garbage[name] ?? expect.unreachable()
  const [bad, good] = [await startNode(), await startNode()]
  bad.say(reply)
  const { id } = await nodeOf(bad.url, good.url).send({ id: getChainId() })
  expect(id).toEqual({ ok: true, value: 8453 })
})

test('a newest block without a hash is no fault of its node, and another node is asked', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const preconfirmed: Reply = (calls) => ({
    body: JSON.stringify(
      calls.map(({ id, method }) => {
        const block = { number: '0xf4241', hash: null, timestamp: '0x1' }
        return { id, result: method === 'eth_chainId' ? '0x2105' : block }
      }),
    ),
  })
  first.say(preconfirmed)
  const node = nodeOf(first.url, second.url)
  await eventually('both are known', async () => {
    await node.send({ id: getChainId() })
    return states(node).join() === 'ok,ok'
  })
  expect((await node.send({ head: getBlock('latest') })).head).toMatchObject({
    ok: true,
    value: { number: 1_000_000n },
  })
  second.say(preconfirmed)
  expect((await node.send({ head: getBlock('latest') })).head).toMatchObject({
    ok: false,
    error: { number: 1_000_001n },
  })
  expect(states(node)).toEqual(['ok', 'ok'])
})

test('a revert is an answer, and no other node is asked', async () => {
  const [first, second] = [await startNode(), await startNode()]
  first.refuse(({ method }) =>
    method === 'eth_call' ? { code: 3, message: 'execution reverted: rate limit exceeded' } : null,
  )
  const node = nodeOf(first.url, second.url)
  await eventually('the first is known', async () => {
    await node.send({ id: getChainId() })
    return states(node)[0] === 'ok'
  })
  second.requests()
  const isPaused = viewCall('0x0000000000000000000000000000000000000001', call('isPaused'), 'latest')
  const { paused } = await node.send({ paused: isPaused })
  expect(paused.ok || paused.error.message).toBe('execution reverted: rate limit exceeded')
  expect(second.requests()).toEqual([])
})

test('a node that does not have a block yet is skipped for one that has it', async () => {
  const [behind, ahead] = [await startNode({ height: 1_000 }), await startNode({ height: 1_004 })]
  const node = nodeOf(behind.url, ahead.url)
  await eventually('both are known', async () => {
    await node.send({ id: getChainId() })
    return states(node).join() === 'ok,ok'
  })
  const asked = await node.sendBy({ head: getBlock('latest'), block: getBlock(1_003n) })
  expect(asked).toMatchObject({
    endpoint: 1,
    outcomes: { head: { value: { number: 1_004n } }, block: { value: { number: 1_003n } } },
  })
  behind.requests()
  expect(await node.sendBy({ block: getBlock(1_005n) })).toEqual({
    endpoint: 0,
    outcomes: { block: { ok: true, value: null } },
  })
  ahead.requests()
  expect((await node.sendBy({ block: getBlock(1_000n) })).endpoint).toBe(0)
  expect(ahead.requests()).toEqual([])
})

test('if no node answers, the error is service_unavailable and its message contains no node address', async () => {
  const bad = await startNode()
  bad.say(() => ({ status: 500, body: 'oops' }))
  const failure = await nodeOf(bad.url, 'http://127.0.0.1:1/secret-key')
    .send({ id: getChainId() })
    .catch((error) => error)
  expect(failure).toBeInstanceOf(ServiceError)
  expect(failure.code).toBe('service_unavailable')
  expect(failure.message).not.toMatch(/127\.0\.0\.1|secret/)
})

test("the status of a node contains its last fault, without the node's address", async () => {
  const node = await startNode()
  const chain = nodeOf(node.url)
  await chain.send({ id: getChainId() })
  node.refuse(() => ({ code: -32_000, message: `header not found at ${node.url}` }))
  await chain.send({ id: getChainId() })
  expect(chain.status().endpoints).toMatchObject([{ index: 0, rank: 'ok', fault: 'header not found at <node>' }])
})

test('the answers of a batch are matched to its requests even if the node reorders them', async () => {
  const node = await startNode()
  const block = { number: '0x5', hash: `0x${'01'.repeat(32)}`, timestamp: '0x10' }
  const result = ({ method }: ScriptedCall) => (method === 'eth_chainId' ? '0x2105' : block)
  node.say((calls) => ({
    body: JSON.stringify(calls.map((each) => ({ id: each.id, result: result(each) })).reverse()),
  }))
  const { id, head } = await nodeOf(node.url).send({ id: getChainId(), head: getBlock('latest') })
  expect(id).toEqual({ ok: true, value: 8453 })
  expect(head.ok && head.value?.number).toBe(5n)
})

describe('a view that returns bytes which are not its outputs', () => {
  const word = (value: number) => numberToHex(value, { size: 32 })
  const at = { blockHash: word(9) }
  /** One word is what `isPaused` returns, and too little for `getHedgeFeeConfig`. */
  const views = [
    viewCall(zeroAddress, call('isPaused'), at),
    viewCall(zeroAddress, call('getHedgeFeeConfig'), at),
  ] as const
  const returned = [word(1), word(1)]

  /** Answers each view as itself, or all in a merged call. */
  const answering =
    (values: readonly Hex[], isMerged: boolean): Reply =>
    (calls) => {
      if (calls.every(({ method }) => method !== 'eth_call')) return null
      const resultOf = ({ params: [tx] }: ScriptedCall): object => {
        const { data = '0x' } = tx as { readonly data?: Hex }
        const nth = views.findIndex(({ view }) => view?.data === data)
        if (nth >= 0) return { result: values[nth] }
        if (!isMerged) return { error: { code: -32_000, message: 'execution aborted' } }
        const result = values.map((returnData) => ({ success: true, returnData }))
        return { result: encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result }) }
      }
      return { body: JSON.stringify(calls.map((each) => ({ jsonrpc: '2.0', id: each.id, ...resultOf(each) }))) }
    }

  const open = async (isMerged: boolean) => {
    const [first, second] = [await startNode(), await startNode()]
    const node = nodeOf(first.url, second.url)
    await eventually('both are known', async () => {
      await node.send({ id: getChainId() })
      return states(node).join() === 'ok,ok'
    })
    for (const each of [first, second]) each.say(answering(returned, isMerged))
    return { second, node }
  }
  const message = 'getHedgeFeeConfig() returned 32 bytes that are not its outputs: the protocol may have been upgraded'

  test.each([true, false])('has an error of its own, and every node stays in use (merged: %s)', async (isMerged) => {
    const { node } = await open(isMerged)
    for (let times = 0; times < 4; times += 1) {
      const { outcomes } = await node.send({ outcomes: views })
      expect(outcomes).toMatchObject([
        { ok: true, value: true },
        { ok: false, error: { message, data: null, fault: { kind: 'other' } } },
      ])
    }
    expect(node.status().endpoints).toMatchObject(Array(2).fill({ rank: 'ok', penalty: null, fault: null }))
  })

  test.each([true, false])('is asked of the next node, whose answer counts (merged: %s)', async (isMerged) => {
    const { second, node } = await open(isMerged)
    second.say(answering([word(1), concat([1, 2, 3, 4, 5].map(word))], isMerged))
    const { outcomes } = await node.send({ outcomes: views })
    expect(outcomes).toMatchObject([{ value: true }, { value: { eventCreationFee: 1n, creatorLoyaltyRate: 5n } }])
    expect(states(node)).toEqual(['ok', 'ok'])
  })
})

describe('a first node that', () => {
  const pair = async () => {
    const [first, second] = [await startNode(), await startNode()]
    const node = nodeOf(first.url, second.url)
    await eventually('both are known', async () => {
      await node.send({ id: getChainId() })
      return states(node).join() === 'ok,ok'
    })
    first.requests()
    second.requests()
    return { first, second, node }
  }

  test('hangs delays two calls at most, is then paused, and is used again once it has recovered', async () => {
    const { first, second, node } = await pair()
    first.say(() => 'hang')
    await eventually('it is out of rotation', async () => {
      await node.send({ id: getChainId() })
      return states(node).join() === 'paused,ok'
    })
    // Probes run in addition to the calls and detect the recovery; no call waits for them. The count is one if the
    // first node was slow before it hung.
    expect(first.requests().length).toBeLessThanOrEqual(2)
    first.heal()
    second.requests()
    await eventually('the first answers again', async () => {
      await node.send({ id: getChainId() })
      return first.requests().length > 0
    })
    expect(states(node)).toEqual(['ok', 'ok'])
  })

  test('sends a rate limit is paused for its `Retry-After`', async () => {
    const { first, node } = await pair()
    first.say(() => ({ status: 429, headers: { 'retry-after': '1' }, body: 'Too Many Requests' }))
    const began = performance.now()
    await node.send({ id: getChainId() })
    first.heal()
    expect(first.requests()).toHaveLength(1)
    await eventually('it is asked again', async () => {
      await node.send({ id: getChainId() })
      return first.requests().length > 0
    })
    expect(performance.now() - began).toBeGreaterThan(990)
  })

  test('falls behind is not preferred until it has caught up', async () => {
    const { first, second, node } = await pair()
    first.height -= 60
    first.time -= 60
    // The two heads are compared once both nodes were probed again.
    await eventually('it lags', async () => {
      await node.send({ head: getBlock('latest') })
      return states(node)[0] === 'lagging'
    })
    first.requests()
    const { head } = await node.send({ head: getBlock('latest') })
    expect(head.ok && head.value?.number).toBe(BigInt(second.height))
    expect(first.requests()).toEqual([])
    first.height = second.height
    first.time = second.time
    await eventually('it is preferred again', async () => {
      await node.send({ head: getBlock('latest') })
      return states(node)[0] === 'ok' && first.requests().length > 0
    })
  })
})

test('if every node hangs, callers are rejected at once, except the few whose requests probe a node', async () => {
  const nodes = [await startNode(), await startNode()]
  const node = nodeOf(...nodes.map(({ url }) => url))
  await node.send({ id: getChainId() })
  for (const each of nodes) each.say(() => 'hang')
  await eventually('both are out of rotation', async () => {
    await node.send({ id: getChainId() }).catch(() => {})
    return states(node).join() === 'paused,paused'
  })
  for (const each of nodes) each.requests()
  await Promise.all(
    Array.from({ length: 200 }, async (_, at) => {
      await sleep(at * 2)
      await expect(node.send({ id: getChainId() })).rejects.toMatchObject({ code: 'service_unavailable' })
    }),
  )
  // A caller whose request is sent to no node does not wait.
  expect(nodes.flatMap((each) => each.requests()).length).toBeLessThan(20)
})

test('a node of another chain is excluded and never used', async () => {
  const [wrong, right] = [await startNode({ chainId: 1 }), await startNode()]
  const node = nodeOf(wrong.url, right.url)
  for (let times = 0; times < 5; times += 1) await node.send({ head: getBlock('latest') })
  await eventually('it is known', () => states(node).join() === 'wrong chain,ok')
  expect(wrong.requests()).toEqual([])
  expect(node.status().endpoints[0]?.fault).toBe('serves another chain')
  await expect(nodeOf(wrong.url).send({ head: getBlock('latest') })).rejects.toMatchObject({
    code: 'service_unavailable',
  })
  expect(wrong.requests()).toEqual([])
})

const tenBlocks = Array.from({ length: 10 }, (_, at) => getBlock(BigInt(at)))

test.each([
  ['states its limit', 4, 'batch size limit of 4 exceeded'],
  ['refuses with an unknown message', 3, 'nope'],
  ['does not accept batches', 1, 'batch requests are not supported'],
])('a node that %s receives smaller batches from then on', async (_, most, message) => {
  const node = await startNode()
  node.say((calls, isBatch) =>
    calls.length > most || (most === 1 && isBatch)
      ? { status: 400, body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message } }) }
      : null,
  )
  const many = nodeWithin(10_000, node.url)
  const { blocks } = await many.send({ blocks: tenBlocks })
  expect(blocks.map((outcome) => outcome.ok && outcome.value?.number)).toEqual(tenBlocks.map((_, at) => BigInt(at)))
  node.requests()
  await many.send({ blocks: tenBlocks })
  // Without the checks of its height.
  const isAsked = ({ method, params: [tag] }: ScriptedCall) => method === 'eth_getBlockByNumber' && tag !== 'latest'
  const sizes = node.requests().map((calls) => calls.filter(isAsked).length)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(most)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(10)
})

test('a refusal that also occurs with smaller batches is not treated as a batch limit', async () => {
  const node = await startNode()
  const many = nodeOf(node.url)
  await many.send({ id: getChainId() })
  node.requests()
  node.say(() => ({ body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"nope"}}' }))
  await expect(many.send({ blocks: tenBlocks })).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(node.requests().length).toBeLessThanOrEqual(4)
  expect(many.status().endpoints[0]).toMatchObject({ batch: 100, fault: 'node refused the batch: nope' })
})

describe('a node that is slower than usual', () => {
  /**
   * Two nodes, the first one known to answer quickly. Neither is silent for long enough to trigger a liveness check.
   */
  const pair = async () => {
    const [first, second] = [await startNode(), await startNode()]
    const node = nodeWithin(30_000, first.url, second.url)
    await eventually('both are known', async () => {
      await node.send({ id: getChainId() })
      return states(node).join() === 'ok,ok'
    })
    for (let times = 0; times < 30; times += 1) await node.send({ id: getChainId() })
    first.requests()
    second.requests()
    return { first, second, node }
  }

  test('is raced against another node, and its request is cancelled once the other one has answered', async () => {
    const { first, second, node } = await pair()
    first.say(() => 'hang')
    const { id } = await node.send({ id: getChainId() })
    expect(id).toEqual({ ok: true, value: 8453 })
    expect([first, second].map((each) => each.requests().length)).toEqual([1, 1])
    await eventually('its connection is closed', () => first.connections() === 0)
  })
})

/** A single node that has answered. Its transport time-out is longer than the time-out of the failover. */
const alone = async (timeoutMs: number) => {
  const node = await startNode()
  const registry = createEndpointRegistry({
    chainId: 8453,
    urls: [node.url],
    timeoutMs: 60_000,
    log: pino({ level: 'silent' }),
  })
  onTestFinished(registry.close)
  const { send } = createNode({ registry, chainId: 8453, timeoutMs })
  await send({ id: getChainId() })
  return { node, send }
}

test('a caller that waits for the only node is rejected once the node counts as down', async () => {
  const { node, send } = await alone(600)
  node.say(() => 'hang')
  await expect(send({ id: getChainId() })).rejects.toMatchObject({ code: 'service_unavailable' })
  node.requests()
  // The node is known to be down and receives no request.
  await expect(send({ id: getChainId() })).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(node.requests()).toEqual([])
})
