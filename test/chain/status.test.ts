import { expect, test } from 'vitest'
import { learn, type Seen, unseen } from '../../src/chain/endpoint-state.ts'
import { logWidthOf, statusOf } from '../../src/chain/status.ts'

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
