import { expect, onTestFinished, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import type { ChainStatus } from '../../src/chain/endpoints/status.ts'
import { measureChains } from '../../src/chain/metrics.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Odd } from '../../src/chain/rpc/odd.ts'
import { nodeRequests } from '../../src/chain/rpc/request-channel.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import { partOfChain } from '../support/fake-log-chain.ts'

type EndpointStatus = ChainStatus['endpoints'][number]

const endpoint = (index: number, changes: Partial<EndpointStatus> = {}): EndpointStatus => ({
  ...{ index, rank: 'ok', height: 100n, width: 1n, batch: 1, missing: [] },
  ...{ penalty: null, fault: null, ...changes },
})

const open = (chains: Readonly<Record<number, Partial<ChainStatus>>>) => {
  const metrics = createMetrics()
  const entries = Object.entries(chains).map(([id, status]): [number, Chain] => [
    Number(id),
    partOfChain({
      chainId: Number(id) as Chain['chainId'],
      status: () => ({ endpoints: [], halted: false, hasLogs: true, ...status }),
    }),
  ])
  const stop = measureChains(metrics, new Map(entries))
  onTestFinished(stop)
  return {
    stop,
    /** The samples of a metric, without those that are 0. */
    async samples(name: string): Promise<string[]> {
      const lines = (await metrics.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`))
      return lines.filter((line) => !line.endsWith(' 0')).map((line) => line.slice(name.length))
    },
    async all(name: string): Promise<number> {
      return (await metrics.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`)).length
    },
  }
}

test('each node has its height, its distance to the highest of its chain, and its rank', async () => {
  const { samples, all } = open({
    8453: {
      endpoints: [
        endpoint(0, { height: 97n, rank: 'lagging' }),
        endpoint(1, { height: 100n, rank: 'penalized' }),
        endpoint(2, { height: null, rank: 'unknown' }),
        endpoint(3, { height: 99n }),
      ],
    },
    56: { endpoints: [endpoint(0, { height: 5n })] },
  })
  expect((await samples('fx_node_height_blocks')).toSorted()).toEqual([
    '{chain="56",node="0"} 5',
    '{chain="8453",node="0"} 97',
    '{chain="8453",node="1"} 100',
    '{chain="8453",node="3"} 99',
  ])
  expect(await samples('fx_node_behind_blocks')).toEqual(['{chain="8453",node="0"} 3', '{chain="8453",node="3"} 1'])
  expect(await all('fx_node_behind_blocks')).toBe(4)
  expect((await samples('fx_node_rank')).toSorted()).toEqual([
    '{chain="56",node="0",rank="ok"} 1',
    '{chain="8453",node="0",rank="lagging"} 1',
    '{chain="8453",node="1",rank="penalized"} 1',
    '{chain="8453",node="2",rank="unknown"} 1',
    '{chain="8453",node="3",rank="ok"} 1',
  ])
  expect(await all('fx_node_rank')).toBe(5 * 8)
})

test('requests are counted by their method and outcome until the measurement is stopped', async () => {
  const { samples, stop } = open({})
  const failed = (message: string): Outcome<unknown> => ({
    ok: false,
    error: new NodeError({ code: -32_000, message }),
  })
  const send = (methods: string[], run: () => Promise<Outcome<unknown>[]>, signal?: AbortSignal) =>
    nodeRequests.trace({ chainId: 8453, node: 2, methods, signal, odd: new Set() }, run).catch(() => null)
  const end = async (error: Error): Promise<never> => {
    throw error
  }
  await send(['a', 'b', 'a'], async () => [{ ok: true, value: 1 }, failed('header not found'), failed('rate limit')])
  await send(['c'], () => end(new NodeUnreachable('late', { kind: 'unanswered' })))
  await send(['c', 'd'], () => end(new NodeUnreachable('late', { kind: 'unanswered' })), AbortSignal.abort())
  await send(['e'], () => end(new Error('a mistake')), new AbortController().signal)
  const expected = [
    '{chain="8453",node="2",method="a",outcome="ok"} 1',
    '{chain="8453",node="2",method="a",outcome="rate"} 1',
    '{chain="8453",node="2",method="b",outcome="missing"} 1',
    '{chain="8453",node="2",method="c",outcome="abandoned"} 1',
    '{chain="8453",node="2",method="c",outcome="unanswered"} 1',
    '{chain="8453",node="2",method="d",outcome="abandoned"} 1',
    '{chain="8453",node="2",method="e",outcome="fault"} 1',
  ]
  expect((await samples('fx_node_requests_total')).toSorted()).toEqual(expected)
  expect(await samples('fx_node_request_duration_seconds_count')).toEqual(['{chain="8453",node="2"} 4'])
  stop()
  await send(['a'], async () => [{ ok: true, value: 1 }])
  expect((await samples('fx_node_requests_total')).toSorted()).toEqual(expected)
})

test('odd answers are counted by their kind', async () => {
  const { samples } = open({})
  const about = { chainId: 8453, node: 2, methods: ['a', 'b'], signal: undefined, odd: new Set<Odd>() }
  await nodeRequests.trace(about, async () => {
    about.odd.add('id').add('compressed')
    return []
  })
  await nodeRequests.trace({ ...about, node: 0, odd: new Set<Odd>(['id']) }, async () => [])
  expect((await samples('fx_node_odd_answers_total')).toSorted()).toEqual([
    '{chain="8453",node="0",kind="id"} 1',
    '{chain="8453",node="2",kind="compressed"} 1',
    '{chain="8453",node="2",kind="id"} 1',
  ])
})

test('the duration of a request is in seconds', async () => {
  const { samples } = open({})
  const wait = () => new Promise<[]>((resolve) => void setTimeout(resolve, 30, []))
  await nodeRequests.trace({ chainId: 8453, node: 0, methods: [], signal: undefined, odd: new Set() }, wait)
  const [sum = ''] = await samples('fx_node_request_duration_seconds_sum')
  const seconds = Number(sum.split(' ')[1])
  expect(seconds).toBeGreaterThan(0.02)
  expect(seconds).toBeLessThan(10)
})
