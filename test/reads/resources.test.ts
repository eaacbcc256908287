import { expect, test } from 'vitest'
import { blockRefOf, createTags, editionOf, refersTo } from '../../src/api/response-cache/tags.ts'
import { createVersionTable, resourceOf } from '../../src/reads/cache/resources.ts'
import { seedDeployment } from '../support/seed-index.ts'

const chainId = 8453
const hash = `0x${'ab'.repeat(32)}` as const
const a = resourceOf([chainId], 'event:1')
const b = resourceOf([chainId], 'event:2')
const other = resourceOf([56], 'event:1')

const ledgerAt = (seq: number, most?: number) => {
  const ledger = createVersionTable(most)
  ledger.reset(seq)
  return ledger
}

test('a change affects the scopes that it names, on its chain', () => {
  const ledger = ledgerAt(10)
  ledger.add({ seq: 20, before: 10, chainId, scopes: ['event:1'] })
  expect([a, b, other].map(ledger.version)).toEqual([20, 10, 10])
  ledger.add({ seq: 30, before: 20, chainId, scopes: null })
  expect([a, b, other].map(ledger.version)).toEqual([30, 30, 10])
  expect(ledger.version(resourceOf([chainId, 56], 'event:1'))).toBe(30)
})

test('a missed change affects every key', () => {
  const ledger = ledgerAt(10)
  ledger.add({ seq: 20, before: 10, chainId, scopes: ['event:1'] })
  ledger.add({ seq: 40, before: 35, chainId, scopes: ['event:2'] })
  expect([a, b, other].map(ledger.version)).toEqual([35, 40, 35])
})

test('a removed key has the version of the last removed key', () => {
  const ledger = ledgerAt(0, 3)
  for (let seq = 1; seq <= 10; seq += 1) {
    ledger.add({ seq, before: seq - 1, chainId, scopes: [`event:${seq}`] })
    for (let event = 1; event <= seq; event += 1) {
      const version = ledger.version(resourceOf([chainId], `event:${event}`))
      expect(version).toBeGreaterThanOrEqual(event)
    }
  }
  expect(a.keys.length).toBe(2)
  expect(ledger.version(resourceOf([chainId], 'event:10'))).toBe(10)
  expect(ledger.version(other)).toBe(7)
})

test('a database restored from an older backup reuses no known number', () => {
  const ledger = ledgerAt(100)
  ledger.reset(50)
  expect([ledger.last(), ledger.version(a)]).toEqual([100, 100])
})

test('a tag of other chains, of another order of them or of other settings is ignored, since bodies may differ', () => {
  const [base, bnb] = [seedDeployment(8453), seedDeployment(56)]
  const tag = { version: 1, block: null }
  const text = createTags(editionOf([base, bnb])).encode(tag)
  expect(createTags(editionOf([base, bnb])).decode(text)).toEqual([tag])
  const others = [
    [base],
    [bnb, base],
    [base, { ...bnb, profile: 'deployed' } as const],
    [base, bnb, { ...bnb, chainId: 137 }],
    [],
  ]
  for (const other of others) expect(createTags(editionOf(other)).decode(text)).toEqual([])
})

test('a tag decodes to itself, alone, weak or in a list, and any other text is ignored', () => {
  const { encode, decode } = createTags(editionOf([seedDeployment(8453)]))
  const values = [
    { version: 1_800_000_000_000_000, block: null },
    { version: 0, block: blockRefOf({ number: 31_415_926n, hash }) },
  ]
  for (const tag of values) {
    const text = encode(tag)
    expect(text).toMatch(/^W\/"[!#-~]+"$/)
    for (const header of [text, text.slice(2), `"x", ${text}`, `${text}, *`]) expect(decode(header)).toEqual([tag])
    for (const header of ['*', text.slice(1), text.toUpperCase(), text.replace('~', '~0'), `"9${text.slice(3)}`])
      expect([header, decode(header)]).toEqual([header, []])
  }
  expect(decode(values.map(encode).join(','))).toEqual(values)
})

test('a reference to a block does not match a block of another fork', () => {
  const reference = blockRefOf({ number: 7n, hash })
  expect(refersTo(reference, { number: 7n, hash })).toBe(true)
  expect(refersTo(reference, { number: 8n, hash })).toBe(false)
  expect(refersTo(reference, { number: 7n, hash: `0x${'ac'.repeat(32)}` })).toBe(false)
})
