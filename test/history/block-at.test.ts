import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import type { Moment } from '../../src/protocol/fields/request-fields.ts'
import { blockAt, type PastSources } from '../../src/reads/history/block-at.ts'

/* A chain of blocks 0 to 100 of ten seconds. The index has logs in the blocks 20 and 60, and is at block 90. */

const block = (number: bigint) => ({ number, hash: `0x${number}` as const, timestamp: 1_000n + number * 10n })
const [low, high, tip] = [block(20n), block(60n), block(90n)]

/** Sources whose nodes have the blocks that `has` selects; null: no node is in reach. */
const sourcesOf = (has: ((number: bigint) => boolean) | null, ofNext?: bigint) => {
  const asked: bigint[] = []
  const chain = {
    send: async ({ outcome: { params } }: { outcome: { params: [string] } }) => {
      if (has === null) throw unavailable('no node is in reach')
      const number = BigInt(params[0])
      asked.push(number)
      const timestamp = number > tip.number ? ofNext : undefined
      const found = { ...block(number), ...(timestamp !== undefined && { timestamp }) }
      return { outcome: { ok: true, value: has(number) ? found : null } }
    },
  }
  const history = {
    around: async (_: number, moment: Moment) => {
      const isBefore = (it: typeof low) =>
        'block' in moment ? it.number <= moment.block : it.timestamp <= moment.seconds
      return { before: [high, low].find(isBefore) ?? null, after: [low, high].find((it) => !isBefore(it)) ?? null, tip }
    },
  }
  return { asked, sources: { chains: new Map([[8453, chain]]), history } as unknown as PastSources }
}

const all = () => true
/** Ten seconds after the newest indexed block. */
const now = Number(tip.timestamp + 10n) * 1_000

const read = async (
  has: Parameters<typeof sourcesOf>[0],
  moment: Moment,
  field = 'at',
  at = now,
  /** The time of blocks after the newest indexed one. */
  ofNext?: bigint,
) => {
  const { asked, sources } = sourcesOf(has, ofNext)
  const found = await blockAt(sources, 8453, moment, { field, now: at }).then(
    ({ number }) => number,
    ({ code, message, details }) => [code, details?.[0]?.path ?? null, details?.[0]?.message ?? message],
  )
  return { found, asked }
}

describe('the block of a number', () => {
  test.each([[40n], [0n]])('%i is read from a node', async (number) => {
    expect(await read(all, { block: number })).toEqual({ found: number, asked: [number] })
  })
  test.each([[20n], [60n], [90n]])('%i with a log, or the newest one, is known without a node', async (number) => {
    expect(await read(null, { block: number })).toEqual({ found: number, asked: [] })
  })
  test('is not replaced by an earlier one while no node has it, and is a 503', async () => {
    expect((await read(null, { block: 40n })).found).toEqual(['service_unavailable', null, 'no node is in reach'])
    expect((await read(() => false, { block: 40n })).found).toEqual([
      ...['service_unavailable', null, 'no node of chain 8453 has block 40'],
    ])
  })
  test('above the newest indexed one is a 503', async () => {
    expect((await read(all, { block: 91n })).found).toEqual(['service_unavailable', null, expect.stringMatching(/91/)])
  })
})

describe('the block of a time', () => {
  test('is the newest indexed one only when the block after it is of a later second', async () => {
    const at = { seconds: tip.timestamp }
    expect(await read(all, at)).toEqual({ found: 90n, asked: [91n] })
    const isTip = (number: bigint) => number <= tip.number
    expect((await read(isTip, at)).found).toBe(90n)
    const refused = ['service_unavailable', null, expect.stringContaining('does not have all blocks')]
    expect((await read(all, at, 'at', now, tip.timestamp)).found).toEqual(refused)
    expect((await read(null, at)).found).toEqual(['service_unavailable', null, 'no node is in reach'])
  })

  test.each([
    [1_000n, 0n],
    [1_009n, 0n],
    [1_400n, 40n],
    [1_405n, 40n],
    [1_600n, 60n],
    [1_899n, 89n],
    [1_900n, 90n],
  ])('%i is the last one not after it', async (seconds, number) => {
    const { found, asked } = await read(all, { seconds })
    expect(found).toBe(number)
    // Nodes are asked only for blocks between those with logs.
    expect(asked.filter((each) => each >= (number < 60n ? 60n : 90n) && each <= tip.number)).toEqual([])
  })
  test('is not replaced by an earlier one while no node is in reach or has it, and is a 503', async () => {
    expect((await read(null, { seconds: 1_405n })).found).toEqual(['service_unavailable', null, 'no node is in reach'])
    expect((await read((number) => number < 30n, { seconds: 1_405n })).found).toEqual([
      ...['service_unavailable', null, 'no node of chain 8453 has the block of 1405 s'],
    ])
  })
  test('after the newest indexed block is a 503 up to now, and a 400 of its parameter in the future', async () => {
    const late = [
      'service_unavailable',
      null,
      expect.stringMatching(/^chain 8453 has no later block than 1970-01-01T00:31:40/),
    ]
    expect((await read(all, { seconds: 1_901n })).found).toEqual(late)
    expect((await read(all, { seconds: 1_910n })).found).toEqual(late)
    const future = ['validation_error', 'to', expect.stringMatching(/^expected a time that has passed/)]
    expect((await read(all, { seconds: 1_911n }, 'to')).found).toEqual(future)
    expect((await read(all, { seconds: 1_901_000n }, 'to')).found).toEqual(future)
  })
  test('of a chain whose clock is ahead is found, and is no future', async () => {
    expect((await read(all, { seconds: 1_405n }, 'at', 1_000_000)).found).toBe(40n)
  })
  test('before the chain began is a 400 with the time at which it did', async () => {
    const early = ['validation_error', 'at', expect.stringMatching(/^expected a time from 1970-01-01T00:16:40/)]
    expect((await read(all, { seconds: 999n })).found).toEqual(early)
  })
})
