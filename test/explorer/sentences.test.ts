import { describe, expect, it } from 'vitest'
import { callParts, callSentences, logParts, logSentences, type Part } from '../../explorer/src/text/sentences.ts'
import * as erc20 from '../../src/abi/erc20.generated.ts'
import * as protocol from '../../src/abi/protocol.generated.ts'

type Entry = {
  readonly type: string
  readonly name?: string
  readonly stateMutability?: string
  readonly inputs?: readonly { readonly name?: string; readonly components?: readonly { readonly name?: string }[] }[]
}
const entries = [...Object.values(protocol), ...Object.values(erc20)]
  .filter((value) => Array.isArray(value))
  .flat() as unknown as readonly Entry[]

const where = { chainId: 56, protocol: `0x${'dd'.repeat(20)}`, token: { symbol: 'USDC', decimals: 6 } }
const wallet = `0x${'ab'.repeat(20)}`
const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : part.text)).join('')

/** The arguments that a sentence names. */
const named = (sentence: string): readonly string[] => [...sentence.matchAll(/\{(\w+)/g)].map(([, name = '']) => name)

/** The arguments of a log or function, without the underscore that the contracts put before some. */
const argumentsOf = ({ inputs = [] }: Entry): readonly string[] =>
  inputs
    .flatMap(({ name = '', components = [] }) => [name, ...components.map((field) => field.name ?? '')])
    .map((name) => name.replace(/^_/, ''))

describe('sentences of logs and calls', () => {
  it('exist for every log of the protocol and name only arguments that it has', () => {
    const logs = entries.filter(({ type }) => type === 'event')
    expect(logs.length).toBeGreaterThan(30)
    for (const log of logs) {
      const sentence = logSentences[log.name ?? '']
      expect(sentence, log.name).toBeDefined()
      expect(argumentsOf(log), log.name).toEqual(expect.arrayContaining([...named(sentence ?? '')]))
    }
  })

  it('name only arguments of the functions that they are of', () => {
    for (const [name, sentence] of Object.entries(callSentences)) {
      const call = entries.find((entry) => entry.type === 'function' && entry.name === name)
      expect(call, name).toBeDefined()
      expect(call && argumentsOf(call), name).toEqual(expect.arrayContaining([...named(sentence)]))
    }
  })

  it('have links to wallets, events, positions and deposits, and amounts in the token', () => {
    const args = { positionId: 30, hedger: wallet, grossPayout: '100', fee: '1500000', netPayout: '4662020000' }
    const parts = logParts('PayoutClaimed', args, where)
    expect(textOf(parts)).toBe('0xabab…abab claimed the payout of position 30: 4,662.02 USDC after a fee of 1.50 USDC.')
    expect(parts.filter((part) => typeof part !== 'string')).toEqual([
      { text: '0xabab…abab', href: `/wallet/${wallet}` },
      { text: '30', href: '/position/56/30' },
    ])
  })

  it('name the protocol instead of its address, in any letter case', () => {
    const args = { from: where.protocol.toUpperCase().replace('X', 'x'), to: wallet, value: '1000000' }
    expect(textOf(logParts('Transfer', args, where))).toBe('The protocol sent 1 USDC to 0xabab…abab.')
  })

  it('show an unlimited approval as any amount, and units where the token is not known', () => {
    const approval = { owner: wallet, spender: where.protocol, value: `${2n ** 256n - 1n}` }
    expect(textOf(logParts('Approval', approval, where))).toContain('spend any amount.')
    const transfer = { from: wallet, to: wallet, value: '7' }
    expect(textOf(logParts('Transfer', transfer, { ...where, token: null }))).toContain('sent 7 units to')
  })

  it('keep texts of the chain short, and arguments of the wrong form as text', () => {
    const args = { eventId: 'javascript:alert(1)', reason: `\u202e${'x'.repeat(500)}` }
    const parts = logParts('SubmissionsCleared', args, where)
    expect(parts.every((part) => typeof part === 'string')).toBe(true)
    expect(textOf(parts)).not.toContain('\u202e')
    expect(textOf(parts).length).toBeLessThan(150)
    expect(textOf(logParts('RateSubmitted', { eventId: 1, oracle: 'no', price: 'high' }, where))).toBe(
      'No submitted the rate high for event 1.',
    )
  })

  it('have a pair that is not one in quotes', () => {
    const args = { underlying: 'USD/MXN, with a strike of 5.', strike: '19200000' }
    expect(textOf(callParts('createEvent', args, where))).toBe(
      'Create an event on “USD/MXN, with a …” with a strike of 19.2.',
    )
    expect(textOf(callParts('createEvent', { ...args, underlying: 'USD/MXN' }, where))).toBe(
      'Create an event on USD/MXN with a strike of 19.2.',
    )
  })

  it('are names and values for logs and calls without a sentence, also for names that all objects have', () => {
    expect(textOf(logParts('Later', { a: 1, b: true }, where))).toBe('Later (a: 1, b: true)')
    expect(textOf(callParts('constructor', {}, where))).toBe('constructor')
    expect(textOf(logParts('PayoutClaimed', {}, where))).toContain('(not known)')
  })
})
