import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createChainTimes, type SigningDeployment } from '../../src/pricing/chain-times.ts'

const diamond = '0x1111111111111111111111111111111111111111'

/** Two chains whose newest blocks, like the engine's clock and the time that passes, are what a test makes them. */
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

test('nothing is signed for a chain before its newest block is known, and quotes are when it is of now', async () => {
  const { times, reason } = open()
  expect(reason(8453)).toMatch(/no node of chain 8453 answers/)
  await times.look()
  expect(times.of(8453)).toEqual({
    chainId: 8453,
    diamondAddress: diamond,
    newestBlock: 1_000_000,
    clockAheadSeconds: 0,
    reason: null,
  })
})

test('a clock that is fast for every chain is named as fast; set right, it signs again, and both are logged once', async () => {
  const { state, times, reason, lines } = open()
  await times.look()
  state.clock += 3_600
  await times.look()
  await times.look()
  for (const chainId of [8453, 56] as const) expect(reason(chainId)).toMatch(/engine's clock is 3600 s ahead/)
  state.clock -= 3_600
  await times.look()
  expect([reason(8453), reason(56)]).toEqual([null, null])
  expect(lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    '50 no quote is signed',
    '50 no quote is signed',
    '30 quotes are signed again',
    '30 quotes are signed again',
  ])
})

test('a chain that stands still is not mistaken for a fast clock while another agrees with it, and signs again when it moves', async () => {
  const { state, times, reason } = open()
  state.clock += 600
  state.heads[56] = state.clock
  await times.look()
  expect(reason(8453)).toMatch(/newest block of chain 8453 is 600 s old: the chain stands still/)
  expect(reason(56)).toBeNull()
  state.heads[8453] = state.clock
  await times.look()
  expect(reason(8453)).toBeNull()
})

test.each([
  [10, null],
  [11, /clock is 11 s ahead/],
  [-10, null],
  [-11, /clock is 11 s behind/],
])('a clock %i s ahead of the chains: %s', async (ahead, expected) => {
  const { state, times, reason } = open()
  state.clock += ahead
  await times.look()
  if (expected === null) expect(reason(8453)).toBeNull()
  else expect(reason(8453)).toMatch(expected)
})

test('a node that stops answering ends the signing after 15 s, by a clock that no one sets', async () => {
  const { state, times, reason } = open()
  await times.look()
  state.heads[8453] = null
  state.elapsed = 15
  state.clock -= 10
  await times.look()
  expect(reason(8453)).toBeNull()
  state.elapsed = 15.001
  await times.look()
  expect(reason(8453)).toMatch(/no node of chain 8453 answers/)
})

test('a chain without a node or without a deployment is named with the variable that is missing', async () => {
  const { times, reason } = open([{ headTime: undefined }])
  await times.look()
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
