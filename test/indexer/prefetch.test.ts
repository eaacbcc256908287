import { pino } from 'pino'
import { numberToHex, pad } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { createChain } from '../../src/chain/chain.ts'
import { createRangePrefetcher } from '../../src/indexer/reading/prefetch.ts'
import { sleep } from '../../src/lib/lifecycle.ts'
import { factsOf } from '../support/known-chains.ts'
import { eventually } from '../support/process.ts'
import { type ScriptedCall, startScriptedNode, widthOf } from '../support/scripted-node.ts'

const HEAD = 6_000
const AHEAD = 2
const nobody = '0x000000000000000000000000000000000000dEaD'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const firstOf = (call: ScriptedCall): number => Number(JSON.parse(JSON.stringify(call.params[0])).fromBlock)

const start = async () => {
  const node = await startScriptedNode({ height: HEAD })
  const chain = createChain({
    deployment: {
      chainId: 8453,
      ...factsOf(8453),
      diamond: nobody,
      usdc: nobody,
      usdt: null,
      publicRpcUrl: 'http://node.example',
      startBlock: 1n,
      profile: 'reference',
    },
    rpcUrls: [node.url],
    timeoutMs: 15_000,
    headMaxAgeMs: 1,
    logWidth: 400n,
    log: pino({ level: 'silent' }),
  })
  open.push(node.close, chain.close)
  const head = { number: BigInt(HEAD), hash: pad(numberToHex(HEAD)), timestamp: BigInt(node.time) }
  /** The ranges of logs that were requested from the node since the last call, as [from, upTo]. */
  const asked = () =>
    node
      .requests()
      .flat()
      .flatMap((call) => {
        const width = widthOf(call)
        return width === null ? [] : [[firstOf(call), firstOf(call) + width - 1] as const]
      })
  return { node, ranges: createRangePrefetcher({ chain }), head, asked }
}
type Rig = Awaited<ReturnType<typeof start>>

/** Takes all ranges up to the head and returns the last block of each. The next one has always been requested. */
const takeAll = async ({ ranges, head }: Rig, meanwhile: (taken: number) => unknown = () => {}): Promise<number[]> => {
  const ends: number[] = []
  for (let after = null as { number: bigint; hash: string } | null; after?.number !== head.number; ) {
    const { block } = await ranges.next({ after, head })
    after = block
    expect(ranges.isAhead(block)).toBe(block.number < head.number)
    ends.push(Number(block.number))
    await meanwhile(ends.length)
  }
  return ends
}

const isSeamless = (spans: readonly (readonly [number, number])[]): boolean =>
  [...spans].sort(([a], [b]) => a - b).every(([from], at, all) => from === (at === 0 ? 1 : (all[at - 1]?.[1] ?? 0) + 1))

test('ranges come in order, each block is requested once, and the width grows', async () => {
  const rig = await start()
  const ends = await takeAll(rig)
  const asked = rig.asked()
  expect(ends).toEqual(asked.map(([, end]) => end).sort((a, b) => a - b))
  expect(ends.at(-1)).toBe(HEAD)
  expect(isSeamless(asked), JSON.stringify(asked)).toBe(true)
  expect(asked[0]).toEqual([1, 400])
  expect(Math.max(...asked.map(([from, end]) => end - from + 1))).toBeGreaterThan(600)
})

test('the first range is fetched alone, then a few are prefetched, and the next only after one is taken', async () => {
  const rig = await start()
  const { block } = await rig.ranges.next({ after: null, head: rig.head })
  const seen = [...rig.asked()]
  await eventually('some are fetched ahead', () => seen.push(...rig.asked()) === 1 + AHEAD)
  await sleep(100)
  expect(rig.asked()).toEqual([])
  await rig.ranges.next({ after: block, head: rig.head })
  await eventually('one more is prefetched', () => seen.push(...rig.asked()) === 2 + AHEAD)
  expect(isSeamless(seen), JSON.stringify(seen)).toBe(true)
})

test('a last range of one block is prefetched', async () => {
  const rig = await start()
  const { block } = await rig.ranges.next({ after: null, head: { ...rig.head, number: 401n } })
  expect([block.number, rig.ranges.isAhead(block)]).toEqual([400n, true])
})

test('a prefetched range is used once, and not after it was dropped', async () => {
  const rig = await start()
  const { block } = await rig.ranges.next({ after: null, head: rig.head })
  await eventually('some are fetched ahead', () => rig.asked().some(([from]) => from === 401))
  expect([block, { number: block.number + 1n }].map(rig.ranges.isAhead)).toEqual([true, false])
  rig.ranges.drop()
  expect(rig.ranges.isAhead(block)).toBe(false)
  const again = await rig.ranges.next({ after: block, head: rig.head })
  expect(rig.asked().filter(([from]) => from === 401)).toHaveLength(1)
  // The caller found the range incomplete, so the same range is requested again.
  await rig.ranges.next({ after: block, head: rig.head })
  expect(rig.asked().filter(([from]) => from === 401)).toHaveLength(1)
  expect(again.block.number).toBeGreaterThan(block.number)
})

test('a range that does not follow its predecessor is rejected, and all prefetched ranges are dropped', async () => {
  const rig = await start()
  const { block } = await rig.ranges.next({ after: null, head: rig.head })
  const other = { ...block, hash: pad('0xbad') }
  await expect(rig.ranges.next({ after: other, head: rig.head })).rejects.toThrow('block 400 changed')
  rig.asked()
  expect((await rig.ranges.next({ after: block, head: rig.head })).block.number).toBeGreaterThan(400n)
  expect(rig.asked().some(([from]) => from === 401)).toBe(true)
})

test('the fault of a prefetched range is thrown once, when the range is taken, and does not end the prefetching', async () => {
  const rig = await start()
  rig.node.refuse((call) =>
    widthOf(call) !== null && firstOf(call) === 401 ? { code: 429, message: 'rate limit' } : null,
  )
  const { block } = await rig.ranges.next({ after: null, head: rig.head })
  await eventually('it is requested', () => rig.asked().some(([from]) => from === 401))
  await expect(rig.ranges.next({ after: block, head: rig.head })).rejects.toMatchObject({ code: 'service_unavailable' })
  rig.node.heal()
  await eventually('it continues', () =>
    rig.ranges.next({ after: block, head: rig.head }).then(
      ({ block: next }) => next.number > 400n,
      () => false,
    ),
  )
})

test('no block is left out when a node returns fewer blocks than requested', async () => {
  const rig = await start()
  const ends = await takeAll(rig, (taken) => {
    if (taken === 2) {
      rig.node.refuse((call) =>
        (widthOf(call) ?? 0) > 150 ? { code: -32_005, message: 'block range exceeds 150' } : null,
      )
    }
  })
  expect(ends.at(-1)).toBe(HEAD)
  const widths = ends.map((end, at) => end - (ends[at - 1] ?? 0))
  expect(Math.min(...widths)).toBeGreaterThan(0)
  expect(widths).toContain(150)
})
