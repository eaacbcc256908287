import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { learn, type Seen, unseen } from '../../src/chain/endpoint-state.ts'
import { createKeeper } from '../../src/chain/keeper.ts'
import { logWidthOf, statusOf } from '../../src/chain/status.ts'
import { startNode } from '../support/scripted-node.ts'

const START = 1_800_000_000_000

const after = (...seen: readonly Seen[]) => seen.reduce((state, each) => learn(state, each, START), unseen(2_000n))

const right: Seen = { is: 'chain', right: true }
const narrow = after(right, { is: 'range', asked: 2_000n, fault: { kind: 'range', usable: 500n } })
const without = after(
  right,
  { is: 'range', asked: 2_000n, fault: { kind: 'range', usable: 5n } },
  { is: 'fault', fault: { kind: 'capability', lacks: 'logs' }, text: 'no logs', needed: ['logs'] },
)
const wrong = after({ is: 'chain', right: false })

test('the width to rely on is the narrowest of those that serve logs', () => {
  expect(logWidthOf([unseen(2_000n), narrow, after(right), without, wrong], START)).toBe(500n)
  expect(logWidthOf([without, wrong], START)).toBeNull()
})

test('there are logs where an endpoint serves them, or has not shown otherwise', () => {
  const hasLogs = (...states: (typeof narrow)[]): boolean => statusOf(states, START).hasLogs
  expect([hasLogs(without, unseen(1n)), hasLogs(narrow), hasLogs(without), hasLogs(wrong)]).toEqual([
    true,
    true,
    false,
    false,
  ])
})

test('a doubted endpoint is shown with what it contradicted, unless it is down', () => {
  const why = 'another block 7'
  const doubted = learn(narrow, { is: 'doubt', why }, START)
  const silence: Seen = { is: 'fault', fault: { kind: 'unanswered' }, text: 'silent', needed: [] }
  const down = [silence, silence].reduce((state, each) => learn(state, each, START), doubted)
  const shown = (state: typeof doubted, now: number) => statusOf([state], now).endpoints
  expect(shown(doubted, START)).toMatchObject([{ state: 'doubted', doubt: why, fault: null }])
  expect(shown(down, START)).toMatchObject([{ state: 'resting', doubt: why, fault: 'silent' }])
  expect(shown(doubted, START + 5_000)).toMatchObject([{ state: 'ok', doubt: null }])
})

test('a height that was read more than ten seconds ago is shown as stale, with its age', () => {
  const seen = learn(after(right), { is: 'head', number: 7n, timestamp: 1_800_000_000n }, START)
  const shown = (now: number) => statusOf([seen], now).endpoints
  expect(shown(START + 10_000)).toMatchObject([{ state: 'ok', height: 7n, heightAgeSeconds: 10 }])
  expect(shown(START + 10_001)).toMatchObject([{ state: 'stale', height: 7n, heightAgeSeconds: 10 }])
})

test('heights that were read long ago are read again before they are shown', async () => {
  const node = await startNode({ height: 100 })
  const keeper = createKeeper({ chainId: 8453, urls: [node.url], timeoutMs: 3_000, log: pino({ level: 'silent' }) })
  onTestFinished(keeper.close)
  await keeper.refresh()
  expect(keeper.status().endpoints).toMatchObject([{ state: 'ok', height: 100n }])
  node.height = 200
  await expect
    .poll(async () => {
      await keeper.refresh()
      return keeper.status().endpoints
    })
    .toMatchObject([{ state: 'ok', height: 200n }])
})
