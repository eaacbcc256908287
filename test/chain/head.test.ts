import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { pad, toHex } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { createHead } from '../../src/chain/head/head.ts'
import { createNode } from '../../src/chain/pool/failover.ts'
import { queryAllEndpoints } from '../../src/chain/pool/query-all.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { eventually } from '../support/process.ts'
import { type ScriptedCall, startNode } from '../support/scripted-node.ts'

type ScriptedNode = Awaited<ReturnType<typeof startNode>>

/** A head over nodes that are all known, with a clock that the test sets. */
const headOf = async (...nodes: readonly ScriptedNode[]) => {
  const urls = nodes.map(({ url }) => url)
  const registry = createEndpointRegistry({ chainId: 8453, urls, timeoutMs: 2_000, log: pino({ level: 'silent' }) })
  onTestFinished(registry.close)
  const clock = { now: 1_000_000 }
  const node = createNode({ registry, chainId: 8453, timeoutMs: 3_000 })
  const head = createHead({
    node,
    queryAll: (batch) => queryAllEndpoints({ registry, chainId: 8453 }, batch),
    penalize: registry.penalize,
    isAlone: urls.length === 1,
    maxAgeMs: 200,
    now: () => clock.now,
  })
  const states = (): string[] => registry.status().endpoints.map(({ rank }) => rank)
  /** Advances the clock and returns the number of the newest block, which is requested again. */
  const next = async (afterMs = 201): Promise<bigint> => {
    clock.now += afterMs
    return (await head.latest()).number
  }
  await eventually('every node is known', async () => {
    await next(0)
    await registry.ranked([])
    return states().every((state) => state === 'ok')
  })
  /** Adds blocks until the head knows one that is some seconds old. */
  const settle = async (): Promise<void> => {
    for (let times = 0; times < 3; times += 1) {
      for (const each of nodes) each.height += 1
      await next(2_001)
    }
    for (const each of nodes) each.requests()
  }
  return { ...head, states, next, settle, clock }
}

/** Makes the node return blocks of another fork. */
const forked = (node: ScriptedNode, isOther: (call: ScriptedCall) => boolean = () => true): void =>
  node.say((calls) => {
    const answers = calls.map((call) => {
      const [tag] = call.params
      const number = typeof tag === 'string' && tag.startsWith('0x') ? Number(tag) : node.height
      const hash = pad(isOther(call) ? toHex(number + 0xf000_0000) : toHex(number))
      const result =
        call.method === 'eth_chainId' ? '0x2105' : { number: toHex(number), hash, timestamp: toHex(node.time) }
      return { jsonrpc: '2.0', id: call.id, result }
    })
    return { body: JSON.stringify(answers) }
  })

test('readers within the maximum age of the head share one request', async () => {
  const node = await startNode()
  const head = await headOf(node)
  head.clock.now += 1_000
  node.requests()
  const blocks = await Promise.all(Array.from({ length: 1_000 }, () => head.latest()))
  head.clock.now += 200
  blocks.push(await head.latest())
  expect(new Set(blocks.map(({ hash }) => hash)).size).toBe(1)
  expect(node.requests()).toHaveLength(1)
  head.clock.now += 1
  await head.latest()
  expect(node.requests()).toHaveLength(1)
})

test('a lower head is ignored until it has persisted for ten seconds', async () => {
  const node = await startNode()
  const head = await headOf(node)
  const newest = await head.next()
  node.height -= 3
  for (let waited = 0; waited < 9_000; waited += 1_000) expect(await head.next(1_000)).toBe(newest)
  expect(await head.next(1_001)).toBe(newest - 3n)
})

test('a block that no node has is dropped, and the lower one becomes the head', async () => {
  const node = await startNode()
  const head = await headOf(node)
  const newest = await head.next()
  const block = await head.latest()
  node.height -= 1
  expect(await head.next()).toBe(newest)
  head.drop(block)
  expect((await head.latest()).number).toBe(newest - 1n)
})

test('a reorg at the tip is accepted at once', async () => {
  const node = await startNode()
  const head = await headOf(node)
  await head.settle()
  const before = await head.latest()
  forked(node, ({ params: [tag] }) => tag === 'latest')
  await head.next()
  const after = await head.latest()
  expect([after.number, after.hash === before.hash]).toEqual([before.number, false])
})

test('a first node that is alone on a fork is penalized, and the head is that of the other nodes', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const head = await headOf(first, second)
  await head.settle()
  const { hash } = await head.latest()
  forked(first)
  await head.next()
  expect((await head.latest()).hash).toBe(hash)
  expect(head.states()).toEqual(['penalized', 'ok'])
  first.requests()
  await head.next()
  expect(first.requests()).toEqual([])
})

test('a node on another fork is not trusted merely because the other node does not answer', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const head = await headOf(first, second)
  await head.settle()
  forked(first)
  second.say(() => 'hang')
  await expect(head.next()).rejects.toMatchObject({ code: 'service_unavailable' })
})

test('if all nodes are on another fork and stay there, the head switches to that fork', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const head = await headOf(first, second)
  await head.settle()
  const { hash } = await head.latest()
  for (const node of [first, second]) forked(node)
  await expect(head.next()).rejects.toMatchObject({ code: 'service_unavailable' })
  await expect(head.next(1_999)).rejects.toMatchObject({ code: 'service_unavailable' })
  await head.next(1)
  expect((await head.latest()).hash).not.toBe(hash)
  expect(head.states()).toEqual(['ok', 'ok'])
  // From then on nodes are checked against the new fork.
  await head.settle()
  expect(head.states()).toEqual(['ok', 'ok'])
})

test('a node is penalized when no node has its newest block twice in a row; a single time may be a reorg', async () => {
  const [first, second] = [await startNode(), await startNode()]
  const head = await headOf(first, second)
  await head.next()
  head.drop(await head.latest())
  expect(head.states()).toEqual(['ok', 'ok'])
  head.drop(await head.latest())
  expect(head.states()).toEqual(['penalized', 'ok'])
})

test('a slow answer never overwrites a newer one, because no request is sent while one is pending', async () => {
  const node = await startNode()
  const head = await headOf(node)
  await head.next()
  const answers: string[] = []
  node.say(() => {
    answers.push('asked')
    return 'hang'
  })
  head.clock.now += 1_000
  const readers = [head.latest(), head.latest()]
  await sleep(50)
  readers.push(head.latest())
  expect(answers).toHaveLength(1)
  node.heal()
  const settled = await Promise.allSettled(readers)
  expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
})
