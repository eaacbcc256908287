import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openEndpoint } from '../support/open-endpoint.ts'

const START = 1_800_000_000_000
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('the log of an endpoint has', () => {
  const fields = { chainId: 8453, node: 3 }

  test('a node of another chain, once', () => {
    const { learn, lines } = openEndpoint()
    learn({ is: 'chain', right: false })
    learn({ is: 'chain', right: false })
    expect(lines).toMatchObject([{ ...fields, level: 50, msg: 'node serves another chain and is not used' }])
    learn({ is: 'chain', right: true })
    learn({ is: 'chain', right: false })
    expect(lines).toHaveLength(2)
  })

  test('a narrower log width, and no wider one', () => {
    const { learn, lines } = openEndpoint()
    learn({ is: 'range', asked: 100n, upTo: 0n, fault: null })
    expect(lines).toEqual([])
    learn({ is: 'range', asked: 151n, upTo: 0n, fault: { kind: 'range', usable: 40n } })
    expect(lines).toMatchObject([{ ...fields, level: 30, width: '40', msg: 'log width of the node reduced' }])
  })

  test('the first, second and fourth failure in a row', () => {
    const { learn, lines } = openEndpoint()
    const counted: unknown[] = []
    for (let times = 1; times <= 5; times += 1) {
      vi.setSystemTime(START + times * 10_000)
      learn({ is: 'fault', fault: { kind: 'unanswered' }, text: 'the text', needed: [] })
      counted.push(lines.splice(0))
    }
    const line = (failures: number) => ({ ...fields, level: 40, failures, kind: 'unanswered', fault: 'the text' })
    expect(counted).toMatchObject([[line(1)], [line(2)], [], [line(4)], []])
    vi.setSystemTime(START + 100_000)
    learn({ is: 'answer', needed: [] })
    learn({ is: 'fault', fault: { kind: 'batch', most: null }, text: 'no batch', needed: [] })
    // A refused batch is no fault of the node.
    expect(lines).toEqual([])
    // A missing block is one, but no failure.
    learn({ is: 'fault', fault: { kind: 'missing' }, text: 'no block', needed: [] })
    expect(lines).toEqual([])
  })

  test('silence, but no race that was lost', () => {
    const { learn, lines } = openEndpoint()
    learn({ is: 'overtaken', since: START })
    expect(lines).toEqual([])
    learn({ is: 'silent', since: START })
    expect(lines).toMatchObject([{ ...fields, level: 40, failures: 2, fault: 'no answer', msg: 'node failed' }])
    // It has answered something else since then.
    learn({ is: 'response' })
    learn({ is: 'silent', since: START - 1 })
    expect(lines).toHaveLength(1)
  })

  test('each new penalty with its reason and its length', () => {
    const { learn, lines } = openEndpoint()
    const contradict = (why: string) => learn({ is: 'contradiction', why })
    contradict('the first')
    contradict('the same')
    vi.setSystemTime(START + 5_000)
    contradict('the second')
    learn({ is: 'answer', needed: [] })
    const line = { ...fields, level: 40, msg: 'node is penalized and asked last' }
    expect(lines).toMatchObject([
      { ...line, why: 'the first', times: 1, seconds: 5 },
      { ...line, why: 'the second', times: 2, seconds: 10 },
    ])
  })

  test('each new time that logs were left out', () => {
    const { learn, lines } = openEndpoint()
    for (const ms of [0, 1, 5_000]) {
      vi.setSystemTime(START + ms)
      learn({ is: 'missing logs', why: `at ${ms}` })
    }
    const line = { ...fields, level: 40, msg: 'node leaves logs out' }
    expect(lines).toMatchObject([
      { ...line, why: 'at 0', times: 1 },
      { ...line, why: 'at 5000', times: 2 },
    ])
  })

  test('each capability that is refused', () => {
    const { learn, lines } = openEndpoint()
    const fault = { kind: 'capability', missing: null } as const
    learn({ is: 'fault', fault, text: 'no', needed: ['tags'] })
    learn({ is: 'fault', fault, text: 'no', needed: ['tags'] })
    learn({ is: 'fault', fault, text: 'no', needed: ['logs'] })
    learn({ is: 'answer', needed: ['logs'] })
    const line = { ...fields, level: 40, msg: 'node lacks a capability' }
    expect(lines).toMatchObject(['tags', 'tags', 'logs'].map((missing) => ({ ...line, missing })))
    expect(lines).toHaveLength(3)
  })
})
