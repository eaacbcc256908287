import fc from 'fast-check'
import { type AbiEvent, encodeAbiParameters, encodeEventTopics, type Hex, toEventSelector } from 'viem'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { logTopics } from '../../src/protocol/abi/logs.ts'

/** The logs of both profiles. */
export const emitted = [...protocolAbi, ...deployedLogsAbi].filter(
  (item): item is Extract<typeof item, { type: 'event' }> => item.type === 'event',
)

/** The logs that the index follows. */
export const followed = emitted.filter((item) => logTopics.includes(toEventSelector(item)))

export const hex = (bytes: number): fc.Arbitrary<Hex> =>
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

/** Arguments of a log: any values of their types. */
export const argsOf = (event: AbiEvent): fc.Arbitrary<unknown[]> =>
  fc.tuple(
    ...event.inputs.map(({ type }) => {
      const value = values[type]
      if (value === undefined) throw new Error(`no arbitrary of type ${type}`)
      return value
    }),
  )

export const origin = { blockNumber: 7n, blockHash: '0xb10c', transactionHash: '0x7f', logIndex: 3 } as const

/** A log of these arguments, encoded by viem. */
export const encode = (event: AbiEvent, args: readonly unknown[]) => {
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
