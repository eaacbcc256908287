import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { type EndpointReport, type EndpointState, initialState, learn } from '../../src/chain/endpoints/state.ts'
import { logWidthOf, statusOf } from '../../src/chain/endpoints/status.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { startNode } from '../support/scripted-node.ts'

const START = 1_800_000_000_000

const after = (...seen: readonly EndpointReport[]) =>
  seen.reduce((state, each) => learn(state, each, START), initialState(2_000n))

const right: EndpointReport = { is: 'chain', right: true }
const narrow = after(right, { is: 'range', asked: 2_000n, upTo: 0n, fault: { kind: 'range', usable: 500n } })
const without = after(
  right,
  { is: 'range', asked: 2_000n, upTo: 0n, fault: { kind: 'range', usable: 5n } },
  { is: 'fault', fault: { kind: 'capability', missing: 'logs' }, text: 'no logs', needed: ['logs'] },
)
const wrong = after({ is: 'chain', right: false })

test('the log width of a chain is the smallest one of the endpoints that serve logs', () => {
  const widthOf = (...states: readonly EndpointState[]) => logWidthOf(statusOf(states, START))
  expect(widthOf(initialState(2_000n), narrow, after(right), without, wrong)).toBe(500n)
  expect(widthOf(without, wrong)).toBeNull()
})

test('a chain has logs when an endpoint serves them or has not refused them yet', () => {
  const hasLogs = (...states: (typeof narrow)[]): boolean => statusOf(states, START).hasLogs
  expect([hasLogs(without, initialState(1n)), hasLogs(narrow), hasLogs(without), hasLogs(wrong)]).toEqual([
    true,
    true,
    false,
    false,
  ])
})

test('logs are not waited for that only an endpoint has which does not answer for 30 seconds', () => {
  const silence: EndpointReport = { is: 'fault', fault: { kind: 'unanswered' }, text: 'silent', needed: [] }
  const down = after(right, { is: 'head', number: 7n, timestamp: 1_800_000_000n }, ...Array(9).fill(silence))
  const never = after(silence, silence)
  const hasLogs = (seconds: number, ...others: (typeof narrow)[]) => {
    const now = START + seconds * 1_000
    const refused: EndpointReport = {
      ...{ is: 'fault', fault: { kind: 'capability', missing: 'logs' }, text: 'no logs', needed: ['logs'] },
    }
    return statusOf([...others, learn(after(right), refused, now)], now).hasLogs
  }
  expect([hasLogs(29, down), hasLogs(30, down), hasLogs(0, never)]).toEqual([true, false, false])
  expect([hasLogs(30, down, after(right)), hasLogs(0, initialState(1n), never)]).toEqual([true, true])
  // While no endpoint answers, each of them may be the first that does.
  expect(statusOf([down], START + 60_000).hasLogs).toBe(true)
})

test('the status of a penalized endpoint names the contradiction, under the new and the deprecated names', () => {
  const why = 'another block 7'
  const penalized = learn(narrow, { is: 'contradiction', why }, START)
  const silence: EndpointReport = { is: 'fault', fault: { kind: 'unanswered' }, text: 'silent', needed: [] }
  const down = [silence, silence].reduce((state, each) => learn(state, each, START), penalized)
  const shown = (state: typeof penalized, now: number) => statusOf([state], now).endpoints
  expect(shown(penalized, START)).toMatchObject([{ rank: 'penalized', penalty: why, fault: null }])
  expect(shown(down, START)).toMatchObject([{ rank: 'paused', penalty: why, fault: 'silent' }])
  expect(shown(penalized, START + 5_000)).toMatchObject([{ rank: 'ok', penalty: null }])
  const incomplete = learn(narrow, { is: 'missing logs', why: 'the log of event 3' }, START)
  expect(shown(incomplete, START)).toMatchObject([{ rank: 'incomplete logs', penalty: 'the log of event 3' }])
})

test('an endpoint whose height was read more than twenty seconds ago is stale', () => {
  const seen = learn(after(right), { is: 'head', number: 7n, timestamp: 1_800_000_000n }, START)
  const shown = (now: number) => statusOf([seen], now).endpoints
  expect(shown(START + 20_000)).toMatchObject([{ rank: 'ok', height: 7n, heightAgeSeconds: 20 }])
  expect(shown(START + 20_001)).toMatchObject([{ rank: 'stale', height: 7n, heightAgeSeconds: 20 }])
})

test('a refresh reads outdated heights again', async () => {
  const node = await startNode({ height: 100 })
  const registry = createEndpointRegistry({
    chainId: 8453,
    urls: [node.url],
    timeoutMs: 3_000,
    log: pino({ level: 'silent' }),
  })
  onTestFinished(registry.close)
  await registry.refresh()
  expect(registry.status().endpoints).toMatchObject([{ rank: 'ok', height: 100n }])
  node.height = 200
  await expect
    .poll(async () => {
      await registry.refresh()
      return registry.status().endpoints
    })
    .toMatchObject([{ rank: 'ok', height: 200n }])
})
