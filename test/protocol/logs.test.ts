import fc from 'fast-check'
import { type AbiEvent, decodeEventLog, type Hex, pad, toEventSelector } from 'viem'
import { expect, test } from 'vitest'
import { ledgerLog } from '../../src/protocol/abi/ledger-logs.ts'
import { selectorOf } from '../../src/protocol/abi/log-fields.ts'
import { decodeLog, isKnownTopic, logTopics } from '../../src/protocol/abi/logs.ts'
import { ledgerTypes } from '../../src/protocol/ledger.ts'
import { argsOf, emitted, encode, followed, origin } from '../support/random-logs.ts'

const lower = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith('0x') ? value.toLowerCase() : value

/** Logs that change no record of the index; the values that they change are read from the chain only. */
const unindexed = [
  'PlatformFeesWithdrawn',
  'PlatformFeesByTokenWithdrawn',
  'OracleAdminSet',
  'OracleV2Activated',
  'ETHRescued',
  'ERC20Rescued',
  'OracleAdded',
  'OracleRemoved',
  'OracleConfigUpdated',
  'RateSubmitted',
  'SubmissionsCleared',
  'OwnershipTransferStarted',
  'OwnershipTransferred',
  'CutProposed',
  'CutExecuted',
  'CutCancelled',
]

test('the index follows every log of both profiles, except those that change no record', () => {
  const ignored = emitted.filter((item) => !logTopics.includes(toEventSelector(item)))
  expect(ignored.map(({ name }) => name).sort()).toEqual(unindexed.toSorted())
  expect(followed).toHaveLength(logTopics.length)
})

test('every log of both profiles is known, and no other one is', () => {
  expect(emitted.filter((item) => !isKnownTopic(toEventSelector(item)))).toEqual([])
  expect([isKnownTopic(`0x${'11'.repeat(32)}`), isKnownTopic(undefined)]).toEqual([false, false])
})

test.each(followed)('the log $name is decoded as viem decodes it', (event) => {
  fc.assert(
    fc.property(argsOf(event), (args) => {
      const log = encode(event, args)
      const { args: theirs = {} } = decodeEventLog({
        abi: [event as AbiEvent],
        topics: log.topics as [Hex],
        data: log.data,
      })
      const ours = decodeLog(log)
      expect(ours).toMatchObject({ blockNumber: 7n, blockHash: '0xb10c', txHash: '0x7f', logIndex: 3 })
      if (ours === null) throw new Error('not read')
      const read = Object.fromEntries(Object.entries(theirs).map(([name, value]) => [name, lower(value)]))
      if (ours.kind === 'hint') {
        if ('id' in ours) expect(ours.id).toBe(read[`${ours.subject}Id`])
        return
      }
      const { [`${ours.kind}Id`]: id, ...rest } = read
      expect(ours).toMatchObject({ id, ...rest })
    }),
    { numRuns: 50 },
  )
})

test('a log that the index does not follow is decoded to null', () => {
  expect(decodeLog({ ...origin, topics: [`0x${'11'.repeat(32)}`], data: '0x' })).toBeNull()
  expect(decodeLog({ ...origin, topics: [], data: '0x' })).toBeNull()
})

test.each(followed.filter(({ name }) => /Created|Deposited|Purchased/.test(name)))(
  'a truncated log $name is rejected',
  (event) => {
    const indexed = event.inputs.flatMap((input) => (input.indexed ? [pad('0x1')] : []))
    const log = { ...origin, topics: [toEventSelector(event), ...indexed], data: '0x' } as const
    expect(() => decodeLog(log)).toThrow()
  },
)

test.each(emitted)('a log $name with another number of topics is one that this release does not know', (event) => {
  const topics = [toEventSelector(event), ...event.inputs.flatMap(({ indexed }) => (indexed ? [pad('0x1')] : []))]
  for (const changed of [[...topics, pad('0x1')], topics.slice(0, -1)]) {
    const log = { ...origin, topics: changed, data: pad('0x1') }
    expect([selectorOf(log), decodeLog(log), ledgerLog(log).type]).toEqual([undefined, null, ledgerTypes.unknown.code])
  }
  expect(selectorOf({ ...origin, topics, data: '0x' })).toBe(topics[0])
})
