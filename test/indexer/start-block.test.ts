import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchStartBlock } from '../../src/indexer/start-block.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { blockAt, fakeDeployment } from '../support/fake-chain.ts'
import { partOfChain } from '../support/fake-log-chain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A watch of a start block of 100, over a chain whose head is one after the other of these; the last one stays. */
const open = (...heads: (bigint | Error)[]) => {
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const end = new AbortController()
  let reads = 0
  const chain = partOfChain({
    chainId: 8453,
    deployment: { ...fakeDeployment(8453), startBlock: 100n },
    async head() {
      const head = heads[Math.min(reads, heads.length - 1)] ?? expect.unreachable()
      reads += 1
      if (head instanceof Error) throw head
      return blockAt(head)
    },
  })
  const result = { ended: null as unknown }
  const start = () =>
    watchStartBlock({ chain, log }, end.signal).then(
      () => {
        result.ended = 'done'
      },
      (error: unknown) => {
        result.ended = error
      },
    )
  return { lines, end, result, start, reads: () => reads }
}

test('a start block that the chain has reached is fine', async () => {
  for (const head of [100n, 101n]) {
    const { lines, result, start, reads } = open(head)
    await start()
    expect([result.ended, lines, reads()]).toEqual(['done', [], 1])
  }
})

test('one above the newest block is logged each minute, until the chain reaches it', async () => {
  const { lines, result, start, reads } = open(99n, 99n, 100n)
  void start()
  await vi.advanceTimersByTimeAsync(59_999)
  expect(lines).toMatchObject([{ level: 50, chainId: 8453, msg: "the start block is above the chain's newest block" }])
  expect(lines[0]?.fault).toContain('START_BLOCK_8453 is 100, and the newest block of chain 8453 is 99')
  await vi.advanceTimersByTimeAsync(1)
  expect([lines.length, reads()]).toEqual([2, 2])
  await vi.advanceTimersByTimeAsync(60_000)
  expect([result.ended, lines.length, reads()]).toEqual(['done', 2, 3])
})

test('the head is read each second while no node answers', async () => {
  const { lines, result, start, reads } = open(unavailable('down'), unavailable('down'), 100n)
  void start()
  await vi.advanceTimersByTimeAsync(999)
  expect(reads()).toBe(1)
  await vi.advanceTimersByTimeAsync(1_001)
  expect([result.ended, lines, reads()]).toEqual(['done', [], 3])
})

test('the watch ends when the process does, and not by itself', async () => {
  for (const head of [99n, unavailable('down')]) {
    const { end, result, start, reads } = open(head)
    void start()
    await vi.advanceTimersByTimeAsync(10)
    expect(result.ended).toBeNull()
    end.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect([result.ended, reads()]).toEqual(['done', 1])
  }
  const { end, result, start, reads } = open(99n)
  end.abort()
  await start()
  expect([result.ended, reads()]).toEqual(['done', 0])
})

test('any other error is passed on', async () => {
  const mistake = new Error('a mistake')
  const { result, start } = open(mistake)
  await start()
  expect(result.ended).toBe(mistake)
})
