import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createChainTimes, type SigningDeployment } from '../../src/pricing/chain-times.ts'

const diamond = '0x1111111111111111111111111111111111111111'

/** Two chains. The test sets their newest blocks, the engine's clock and the elapsed time. */
const open = (others: readonly Partial<SigningDeployment>[] = []) => {
  const state = {
    clock: 1_000_000,
    elapsed: 0,
    heads: { 8453: 1_000_000, 56: 1_000_000 } as Record<number, number | null>,
  }
  const lines: { readonly level: number; readonly msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const headTime = (chainId: number) => async () => {
    const head = state.heads[chainId]
    if (head == null) throw new Error('out of reach')
    return BigInt(head)
  }
  const times = createChainTimes({
    deployments: [
      { chainId: 8453, diamond, headTime: headTime(8453), ...others[0] },
      { chainId: 56, diamond, headTime: headTime(56), ...others[1] },
    ],
    now: () => state.clock * 1_000,
    elapsed: () => state.elapsed * 1_000,
    log,
  })
  return { state, times, lines, reason: (chainId: 8453 | 56) => times.of(chainId).reason }
}

test('quotes for a chain are signed only once its newest block is read and recent', async () => {
  const { times, reason } = open()
  expect(reason(8453)).toMatch(/no node of chain 8453 answers/)
  await times.readNewestBlocks()
  expect(times.of(8453)).toEqual({
    chainId: 8453,
    diamondAddress: diamond,
    newestBlock: 1_000_000,
    clockAheadSeconds: 0,
    reason: null,
  })
})

test('a clock that is fast on every chain is reported as fast, and each change of the state is logged once', async () => {
  const { state, times, reason, lines } = open()
  await times.readNewestBlocks()
  state.clock += 3_600
  await times.readNewestBlocks()
  await times.readNewestBlocks()
  for (const chainId of [8453, 56] as const) expect(reason(chainId)).toMatch(/engine's clock is 3600 s ahead/)
  state.clock -= 3_600
  await times.readNewestBlocks()
  expect([reason(8453), reason(56)]).toEqual([null, null])
  expect(lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    '50 quotes are not signed',
    '50 quotes are not signed',
    '30 quotes are signed again',
    '30 quotes are signed again',
  ])
})

test('a stalled chain is not mistaken for a fast clock while another chain agrees with the clock, and signing resumes with its next block', async () => {
  const { state, times, reason } = open()
  state.clock += 600
  state.heads[56] = state.clock
  await times.readNewestBlocks()
  expect(reason(8453)).toMatch(/newest block of chain 8453 is 600 s old: the chain has stalled/)
  expect(reason(56)).toBeNull()
  state.heads[8453] = state.clock
  await times.readNewestBlocks()
  expect(reason(8453)).toBeNull()
})

test.each([
  [10, null],
  [11, /clock is 11 s ahead/],
  [-10, null],
  [-11, /clock is 11 s behind/],
])('a clock %i s ahead of the chains gives the reason %s', async (ahead, expected) => {
  const { state, times, reason } = open()
  state.clock += ahead
  await times.readNewestBlocks()
  if (expected === null) expect(reason(8453)).toBeNull()
  else expect(reason(8453)).toMatch(expected)
})

test('a node that stops answering ends the signing after 15 s of a monotonic clock', async () => {
  const { state, times, reason } = open()
  await times.readNewestBlocks()
  state.heads[8453] = null
  state.elapsed = 15
  state.clock -= 10
  await times.readNewestBlocks()
  expect(reason(8453)).toBeNull()
  state.elapsed = 15.001
  await times.readNewestBlocks()
  expect(reason(8453)).toMatch(/no node of chain 8453 answers/)
})

test('a chain without a node or a deployment is reported with the missing variable', async () => {
  const { times, reason } = open([{ headTime: undefined }])
  await times.readNewestBlocks()
  expect(reason(8453)).toMatch(/no node of chain 8453: set RPC_URLS_8453/)
  const none = createChainTimes({ deployments: [], now: Date.now, log: pino({ level: 'silent' }) })
  expect(none.of(56)).toEqual({
    chainId: 56,
    diamondAddress: null,
    newestBlock: null,
    clockAheadSeconds: null,
    reason: expect.stringContaining('set DIAMOND_ADDRESS_56'),
  })
})
