import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { StoredHead } from '../../src/chain/head/head.ts'
import { openNodes } from '../../src/chain/nodes.ts'
import { eventually } from '../support/process.ts'
import { startNode } from '../support/scripted-node.ts'

type ScriptedNode = Awaited<ReturnType<typeof startNode>>

const open = async (nodes: readonly ScriptedNode[], stored?: StoredHead) => {
  const opened = openNodes({
    ...{ chainId: 8453, rpcUrls: nodes.map(({ url }) => url), timeoutMs: 2_000, headMaxAgeMs: 1_000 },
    leader: stored && { head: async () => stored },
    log: pino({ level: 'silent' }),
  })
  onTestFinished(opened.registry.close)
  await eventually('every node is known', async () => {
    await opened.registry.ranked([])
    return opened.registry.status().endpoints.every(({ height }) => height !== null)
  })
  for (const node of nodes) node.requests()
  return opened
}

test('the only node is asked for its newest block once, and then for that block by its number', async () => {
  const node = await startNode()
  const { head } = await open([node])
  expect((await head.latest()).number).toBe(1_000_000n)
  expect(node.requests().flatMap((calls) => calls.map(({ params: [tag] }) => tag))).toEqual([
    ...['latest', '0xf4240', '0xf423f'],
  ])
})

test('a claim is compared with all nodes, also those that seem to lag, and penalized if no other one has it', async () => {
  const [first, second] = [await startNode(), await startNode()]
  first.height += 10_000
  second.time -= 60
  const { head, registry } = await open([first, second])
  expect((await head.latest()).number).toBe(1_000_000n)
  const [endpoint] = registry.status().endpoints
  expect(endpoint).toMatchObject({
    rank: 'penalized',
    penalty: 'no other node has its newest block 1010000, and it is 10000 blocks above the last one',
  })
})

test.each([
  [1_000, 7n],
  [1_001, 1_000_000n],
])('the head that the leader has stored is used up to the greatest age of a head: %i ms', async (ageMs, number) => {
  const block = { number: 7n, hash: '0x07', timestamp: 1n } as const
  const { head } = await open([await startNode()], { block, ageMs })
  expect((await head.latest()).number).toBe(number)
})
