import fc from 'fast-check'
import { type AbiEvent, decodeEventLog, encodeAbiParameters, encodeEventTopics, type Hex, toEventSelector } from 'viem'
import { expect, test } from 'vitest'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { decodeLog, logTopics } from '../../src/protocol/logs.ts'

const emitted = [...protocolAbi, ...deployedLogsAbi].filter(
  (item): item is Extract<typeof item, { type: 'event' }> => item.type === 'event',
)

const followed = emitted.filter((item) => logTopics.includes(toEventSelector(item)))

const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((raw) => `0x${Buffer.from(raw).toString('hex')}` as const)

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  uint256: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  uint8: fc.bigInt({ min: 0n, max: 255n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  address: hex(20),
  bool: fc.boolean(),
  string: fc.string({ unit: 'grapheme', maxLength: 30 }),
  bytes32: hex(32),
  bytes: hex(70),
  'tuple[]': fc.array(
    fc.record({ facetAddress: hex(20), action: fc.nat(2), functionSelectors: fc.array(hex(4), { maxLength: 3 }) }),
    { maxLength: 3 },
  ),
}

const argsOf = (event: AbiEvent): fc.Arbitrary<unknown[]> =>
  fc.tuple(
    ...event.inputs.map(({ type }) => {
      const value = values[type]
      if (value === undefined) throw new Error(`no arbitrary of type ${type}`)
      return value
    }),
  )

const origin = { blockNumber: 7n, blockHash: '0xb10c', transactionHash: '0x7f', logIndex: 3 } as const

/** A log of these arguments, encoded by viem. */
const encode = (event: AbiEvent, args: readonly unknown[]) => {
  const named = Object.fromEntries(event.inputs.map(({ name = '' }, at) => [name, args[at]]))
  const topics = encodeEventTopics({ abi: [event], eventName: event.name, args: named }).flatMap((topic) => topic ?? [])
  const plain = event.inputs.filter(({ indexed }) => indexed !== true)
  return {
    ...origin,
    topics,
    data: encodeAbiParameters(
      plain,
      plain.map(({ name = '' }) => named[name]),
    ),
  }
}

const lower = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith('0x') ? value.toLowerCase() : value

/** Logs that change no record of the index; the chain alone is asked for what they change. */
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

test.each(followed)('$name is read as viem reads it', (event) => {
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

test('a log nobody follows is nothing', () => {
  expect(decodeLog({ ...origin, topics: [`0x${'11'.repeat(32)}`], data: '0x' })).toBeNull()
  expect(decodeLog({ ...origin, topics: [], data: '0x' })).toBeNull()
})

test.each(followed.filter(({ name }) => /Created|Deposited|Purchased/.test(name)))(
  '$name cut short is refused',
  (event) => {
    expect(() => decodeLog({ ...origin, topics: [toEventSelector(event)], data: '0x' })).toThrow()
  },
)
