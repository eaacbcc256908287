import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { zeroAddress } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createNode } from '../../src/chain/failover.ts'
import { createKeeper } from '../../src/chain/keeper.ts'
import { getBlock, getChainId, getLogs, viewCall } from '../../src/chain/requests.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { call } from '../../src/protocol/outputs.ts'
import { eventually } from '../support/process.ts'
import { type Reply, type ScriptedCall, startNode } from '../support/scripted-node.ts'

const nodeWithin = (timeoutMs: number, ...urls: string[]) => {
  const keeper = createKeeper({ chainId: 8453, urls, timeoutMs, log: pino({ level: 'silent' }) })
  onTestFinished(keeper.close)
  return { ...keeper, ...createNode({ keeper, chainId: 8453, timeoutMs }) }
}

/** No multiple of what it is divided by: parts of it are no whole milliseconds. */
const timeoutMs = 599

const nodeOf = (...urls: string[]) => nodeWithin(timeoutMs, ...urls)

const states = (node: ReturnType<typeof nodeOf>) => node.status().endpoints.map(({ state }) => state)

const errors =
  (code: number, message: string): Reply =>
  (calls) => ({ body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }))) })

const garbage: Record<string, Reply> = {
  'HTML of a balancer': () => ({ status: 502, body: '<html>bad gateway</html>' }),
  'an empty body': () => ({ body: '' }),
  'truncated JSON': () => ({ body: '[{"id":0,"resu' }),
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
  await node.send([getChainId()])
  await eventually('both are known', async () => {
    await node.send([getChainId()])
    return states(node).join() === 'ok,ok'
  })
  bad.requests()
  good.requests()
  bad.say(reply)
  const [outcome] = await node.send([getChainId()])
  expect(outcome).toEqual({ ok: true, value: 8453 })
  expect([bad.requests(), good.requests()].map((requests) => requests.length)).toEqual([1, 1])
})

test.each(Object.entries(garbage))('%s at the start: the second answers', async (_, reply) => {
  const [bad, good] = [await startNode(), await startNode()]
  bad.say(reply)
  const [outcome] = await nodeOf(bad.url, good.url).send([getChainId()])
  expect(outcome).toEqual({ ok: true, value: 8453 })
})

test('a revert is the answer and no reason to ask another node', async () => {
  const [first, second] = [await startNode(), await startNode()]
  first.refuse(({ method }) =>
    method === 'eth_call' ? { code: 3, message: 'execution reverted: rate limit exceeded' } : null,
  )
  const node = nodeOf(first.url, second.url)
  await eventually('the first is known', async () => {
    await node.send([getChainId()])
    return states(node)[0] === 'ok'
  })
  second.requests()
  const paused = viewCall('0x0000000000000000000000000000000000000001', call('isPaused'), 'latest')
  const [outcome] = await node.send([paused])
  expect(outcome.ok || outcome.error.message).toBe('execution reverted: rate limit exceeded')
  expect(second.requests()).toEqual([])
})

test('a node that does not have a block yet is passed over for one that has', async () => {
  const [behind, ahead] = [await startNode({ height: 1_000 }), await startNode({ height: 1_004 })]
  const node = nodeOf(behind.url, ahead.url)
  await eventually('both are known', async () => {
    await node.send([getChainId()])
    return states(node).join() === 'ok,ok'
  })
  const asked = await node.sendBy([getBlock('latest'), getBlock(1_003n)])
  expect(asked).toMatchObject({ endpoint: 1, outcomes: [{ value: { number: 1_004n } }, { value: { number: 1_003n } }] })
  behind.requests()
  expect(await node.sendBy([getBlock(1_005n)])).toEqual({ endpoint: 0, outcomes: [{ ok: true, value: null }] })
  ahead.requests()
  expect((await node.sendBy([getBlock(1_000n)])).endpoint).toBe(0)
  expect(ahead.requests()).toEqual([])
})

test('nobody answers: service_unavailable, and the message holds no node address', async () => {
  const bad = await startNode()
  bad.say(() => ({ status: 500, body: 'oops' }))
  const failure = await nodeOf(bad.url, 'http://127.0.0.1:1/secret-key')
    .send([getChainId()])
    .catch((error) => error)
  expect(failure).toBeInstanceOf(ServiceError)
  expect(failure.code).toBe('service_unavailable')
  expect(failure.message).not.toMatch(/127\.0\.0\.1|secret/)
})

test("the state of a node tells its last fault, without the node's address", async () => {
  const node = await startNode()
  const chain = nodeOf(node.url)
  await chain.send([getChainId()])
  node.refuse(() => ({ code: -32_000, message: `header not found at ${node.url}` }))
  await chain.send([getChainId()])
  expect(chain.status().endpoints).toMatchObject([{ index: 0, state: 'ok', fault: 'header not found at <node>' }])
})

test('the answers of a batch follow its requests though the node reorders them', async () => {
  const node = await startNode()
  const block = { number: '0x5', hash: '0x01', timestamp: '0x10' }
  const result = ({ method }: ScriptedCall) => (method === 'eth_chainId' ? '0x2105' : block)
  node.say((calls) => ({
    body: JSON.stringify(calls.map((each) => ({ id: each.id, result: result(each) })).reverse()),
  }))
  const [id, found] = await nodeOf(node.url).send([getChainId(), getBlock('latest')])
  expect(id).toEqual({ ok: true, value: 8453 })
  expect(found.ok && found.value?.number).toBe(5n)
})

describe('a first node that', () => {
  const pair = async () => {
    const [first, second] = [await startNode(), await startNode()]
    const node = nodeOf(first.url, second.url)
    await eventually('both are known', async () => {
      await node.send([getChainId()])
      return states(node).join() === 'ok,ok'
    })
    first.requests()
    second.requests()
    return { first, second, node }
  }

  test('hangs holds up two calls at most, is out of rotation after them and back after healing', async () => {
    const { first, second, node } = await pair()
    first.say(() => 'hang')
    await eventually('it is out of rotation', async () => {
      await node.send([getChainId()])
      return states(node).join() === 'resting,ok'
    })
    // Looks beside the traffic tell whether it is back; no call waits for them. It is one where the first was slow before it hung.
    expect(first.requests().length).toBeLessThanOrEqual(2)
    first.heal()
    second.requests()
    await eventually('the first answers again', async () => {
      await node.send([getChainId()])
      return first.requests().length > 0
    })
    expect(states(node)).toEqual(['ok', 'ok'])
  })

  test('limits us rests for as long as it says', async () => {
    const { first, node } = await pair()
    first.say(() => ({ status: 429, headers: { 'retry-after': '1' }, body: 'Too Many Requests' }))
    await node.send([getChainId()])
    first.heal()
    expect(first.requests()).toHaveLength(1)
    const rested = performance.now()
    await eventually('it is asked again', async () => {
      await node.send([getChainId()])
      return first.requests().length > 0
    })
    expect(performance.now() - rested).toBeGreaterThan(900)
  })

  test('falls behind is not preferred until it has caught up', async () => {
    const { first, second, node } = await pair()
    first.height -= 60
    first.time -= 60
    // The two are compared when both were looked at again.
    await eventually('it lags', async () => {
      await node.send([getBlock('latest')])
      return states(node)[0] === 'lagging'
    })
    first.requests()
    const [head] = await node.send([getBlock('latest')])
    expect(head.ok && head.value?.number).toBe(BigInt(second.height))
    expect(first.requests()).toEqual([])
    first.height = second.height
    first.time = second.time
    await eventually('it is preferred again', async () => {
      await node.send([getBlock('latest')])
      return states(node)[0] === 'ok' && first.requests().length > 0
    })
  })
})

test('where every node hangs, callers are told at once, but for the few that try again', async () => {
  const nodes = [await startNode(), await startNode()]
  const node = nodeOf(...nodes.map(({ url }) => url))
  await node.send([getChainId()])
  for (const each of nodes) each.say(() => 'hang')
  await eventually('both are out of rotation', async () => {
    await node.send([getChainId()]).catch(() => {})
    return states(node).join() === 'resting,resting'
  })
  for (const each of nodes) each.requests()
  await Promise.all(
    Array.from({ length: 400 }, async (_, at) => {
      await sleep(at * 5)
      await expect(node.send([getChainId()])).rejects.toMatchObject({ code: 'service_unavailable' })
    }),
  )
  // Whoever asks no node waits for none.
  expect(nodes.flatMap((each) => each.requests()).length).toBeLessThan(20)
})

test('a node of another chain is never used, and set aside', async () => {
  const [wrong, right] = [await startNode({ chainId: 1 }), await startNode()]
  const node = nodeOf(wrong.url, right.url)
  for (let times = 0; times < 5; times += 1) await node.send([getBlock('latest')])
  await eventually('it is known', () => states(node).join() === 'wrong chain,ok')
  expect(wrong.requests()).toEqual([])
  expect(node.status().endpoints[0]?.fault).toBe('serves another chain')
  await expect(nodeOf(wrong.url).send([getBlock('latest')])).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(wrong.requests()).toEqual([])
})

const tenBlocks = Array.from({ length: 10 }, (_, at) => getBlock(BigInt(at)))

test.each([
  ['states its limit', 4, 'batch size limit of 4 exceeded'],
  ['refuses in words of its own', 3, 'nope'],
  ['takes no batches', 1, 'batch requests are not supported'],
])('a node that %s is sent smaller batches from then on', async (_, most, message) => {
  const node = await startNode()
  node.say((calls, isBatch) =>
    calls.length > most || (most === 1 && isBatch)
      ? { status: 400, body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message } }) }
      : null,
  )
  const many = nodeOf(node.url)
  expect((await many.send(tenBlocks)).map((outcome) => outcome.ok && outcome.value?.number)).toEqual(
    tenBlocks.map((_, at) => BigInt(at)),
  )
  node.requests()
  await many.send(tenBlocks)
  const sizes = node.requests().map((calls) => calls.length)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(most)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(10)
})

test('a refusal that no smaller batch helps is not taken for a limit', async () => {
  const node = await startNode()
  const many = nodeOf(node.url)
  await many.send([getChainId()])
  node.requests()
  node.say(() => ({ body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"nope"}}' }))
  await expect(many.send(tenBlocks)).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(node.requests().length).toBeLessThanOrEqual(4)
  expect(many.status().endpoints[0]).toMatchObject({ batch: 100, fault: 'node refused the batch: nope' })
})

test('a chain that stands still is told from a node that does not answer', async () => {
  const [first, second] = [await startNode(), await startNode()]
  first.time -= 600
  second.time -= 600
  const node = nodeOf(first.url, second.url)
  await eventually('both are known', async () => {
    await node.send([getBlock('latest')])
    return states(node).join() === 'ok,ok'
  })
  expect(node.status().halted).toBe(true)
  second.height += 1
  second.time += 600
  await eventually('one goes on', async () => {
    await node.send([getBlock('latest')])
    return !node.status().halted
  })
  expect(states(node)).toEqual(['lagging', 'ok'])
})

describe('a node that is slower than it mostly is', () => {
  /** Two nodes, the first of which is known to answer quickly. None of them is silent for long enough to be asked whether it is there. */
  const pair = async () => {
    const [first, second] = [await startNode(), await startNode()]
    const node = nodeWithin(30_000, first.url, second.url)
    await eventually('both are known', async () => {
      await node.send([getChainId()])
      return states(node).join() === 'ok,ok'
    })
    for (let times = 0; times < 30; times += 1) await node.send([getChainId()])
    first.requests()
    second.requests()
    return { first, second, node }
  }

  test('is not waited for alone, and its request is given up once another has answered', async () => {
    const { first, second, node } = await pair()
    first.say(() => 'hang')
    const [outcome] = await node.send([getChainId()])
    expect(outcome).toEqual({ ok: true, value: 8453 })
    expect([first, second].map((each) => each.requests().length)).toEqual([1, 1])
    await eventually('its connection is closed', () => first.connections() === 0)
  })

  test('and what was under way together, counts once', async () => {
    const { first, node } = await pair()
    first.say(() => 'hang')
    await Promise.all(Array.from({ length: 20 }, () => node.send([getChainId()])))
    expect(states(node)).toEqual(['ok', 'ok'])
    await node.send([getChainId()])
    expect(states(node)).toEqual(['resting', 'ok'])
  })
})

test('an answer that contradicts counts where nobody gives another; where somebody does, it is doubted', async () => {
  const [first, second] = [await startNode({ height: 5 }), await startNode({ height: 7 })]
  const node = nodeOf(first.url, second.url)
  await eventually('both are known', async () => {
    await node.send([getChainId()])
    return states(node).join() === 'ok,ok'
  })
  const contradicts = (least: bigint) => (outcomes: readonly unknown[]) => {
    const [head] = outcomes
    return Object(head).value.number < least ? 'too low' : null
  }
  expect((await node.sendBy([getBlock('latest')], { contradicts: contradicts(6n) })).endpoint).toBe(1)
  expect(node.status().endpoints[0]).toMatchObject({ state: 'doubted', doubt: 'too low' })
  await node.sendBy([getBlock('latest')], { contradicts: contradicts(8n) })
  expect(states(node)).toEqual(['doubted', 'ok'])
})

/** A node alone, which has answered, and is given longer than the time-out it is judged by. */
const alone = async (timeoutMs: number) => {
  const node = await startNode()
  const keeper = createKeeper({ chainId: 8453, urls: [node.url], timeoutMs: 60_000, log: pino({ level: 'silent' }) })
  onTestFinished(keeper.close)
  const { send } = createNode({ keeper, chainId: 8453, timeoutMs })
  await send([getChainId()])
  return { node, send }
}

test('who waits for the only node is let go once it is taken to be down', async () => {
  const { node, send } = await alone(600)
  node.say(() => 'hang')
  await expect(send([getChainId()])).rejects.toMatchObject({ code: 'service_unavailable' })
  node.requests()
  // Known to be down, it is not even asked.
  await expect(send([getChainId()])).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(node.requests()).toEqual([])
})

test('who waits for a node that is slow at their request, and at no other, gets their answer', async () => {
  const { node, send } = await alone(3_000)
  node.say(async (calls) => {
    if (calls.some(({ method }) => method === 'eth_getLogs')) await sleep(2_500)
    return null
  })
  const slow = getLogs({ address: zeroAddress, topics: [], fromBlock: 1n, toBlock: 2n })
  expect(await send([slow])).toEqual([{ ok: true, value: [] }])
})
