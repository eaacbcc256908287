import fc from 'fast-check'
import {
  type AbiEvent,
  type Address,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  parseAbi,
  toHex,
  zeroAddress,
} from 'viem'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { RawLog } from '../../src/protocol/abi/packed-log.ts'
import {
  effectsOf,
  MAX_LOGS,
  MAX_OPERATIONS,
  MAX_UNKNOWN_BYTES,
  MAX_UNKNOWN_LOGS,
} from '../../src/protocol/abi/receipt-logs.ts'
import { factsOf } from '../support/known-chains.ts'
import { byForm, seed } from '../support/repetitions.ts'

const diamond: Address = '0x610178dA211FEF7D417bC0e6FeD39F05609AD788'
const usdc: Address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const stranger: Address = '0x00000000000000000000000000000000000000AA'
const owner: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const deployment = {
  ...{ chainId: 8453, ...factsOf(8453), diamond, usdc, usdt: null, publicRpcUrl: '', startBlock: 0n },
  profile: 'reference',
} as const

const abi = [...protocolAbi, ...deployedLogsAbi, ...erc20Abi].filter((item) => item.type === 'event')

const logOf = (address: Address, topics: readonly Hex[], data: Hex): RawLog => ({
  ...{ address, topics, data, blockNumber: 1n, blockHash: `0x${'11'.repeat(32)}`, blockTimestamp: null },
  ...{ transactionHash: `0x${'22'.repeat(32)}`, logIndex: 0 },
})

/** A log of the ABI with these arguments. */
const emitted = (address: Address, name: string, args: Readonly<Record<string, unknown>>): RawLog => {
  const event = abi.find((item) => item.name === name) as AbiEvent
  const topics = encodeEventTopics({ abi: [event], eventName: name, args } as never) as Hex[]
  const inData = event.inputs.filter(({ indexed }) => indexed !== true)
  return logOf(
    address,
    topics,
    encodeAbiParameters(
      inData,
      inData.map(({ name: input = '' }) => args[input]),
    ),
  )
}

const position = (address: Address, positionId: bigint, name = 'PositionCreated') =>
  emitted(address, name, {
    ...{
      eventId: 9n,
      positionId,
      hedger: owner,
      notional: 10n ** 20n,
      premiumPaid: 5n,
      platformFee: 1n,
      totalCost: 6n,
    },
  })

test('what a transaction created comes from the logs of the protocol alone, by either name', () => {
  const found = effectsOf(
    [
      position(stranger, 1n),
      position(diamond, 2n),
      position(diamond, 3n, 'ProtectionPurchased'),
      position(diamond, 2n),
    ],
    deployment,
  )
  expect(found.created).toEqual({
    event: [],
    deposit: [],
    position: [
      { id: 2, owner },
      { id: 3, owner },
    ],
  })
  expect(found.logs.map(({ address, name }) => [address, name])).toEqual([
    [diamond, 'PositionCreated'],
    [diamond, 'ProtectionPurchased'],
    [diamond, 'PositionCreated'],
  ])
  expect(found.logs[0]?.args).toEqual({
    ...{ eventId: 9, positionId: 2, hedger: owner },
    ...{ notional: '100000000000000000000', premiumPaid: '5', platformFee: '1', totalCost: '6' },
  })
})

test('transfers count when they are of a configured token, or to or from the protocol', () => {
  const transfer = (token: Address, from: Address, to: Address) =>
    emitted(token, 'Transfer', { from, to, value: 2n ** 255n })
  const found = effectsOf(
    [transfer(usdc, owner, stranger), transfer(stranger, owner, stranger), transfer(stranger, owner, diamond)],
    deployment,
  )
  expect(found.logs).toEqual([
    { address: usdc, name: 'Transfer', args: { from: owner, to: stranger, value: (2n ** 255n).toString() } },
    { address: stranger, name: 'Transfer', args: { from: owner, to: diamond, value: (2n ** 255n).toString() } },
  ])
})

test('an id that no path takes is left out', () => {
  expect(effectsOf([position(diamond, 2n ** 60n)], deployment).created.position).toEqual([])
})

test('logs beyond the limit are counted and not returned', () => {
  const found = effectsOf(
    Array.from({ length: MAX_LOGS + 7 }, (_, at) => position(diamond, BigInt(at))),
    deployment,
  )
  expect([found.logs.length, found.logsOmitted, found.created.position.length]).toEqual([MAX_LOGS, 7, MAX_LOGS + 7])
})

describe('logs that the ABI does not have', () => {
  const topic: Hex = `0x${'ab'.repeat(32)}`
  const unknown = (address: Address, topics: readonly Hex[], data: Hex = '0x12', logIndex = 0): RawLog => ({
    ...logOf(address, topics, data),
    logIndex,
  })

  test('are listed raw when the protocol emitted them, and what was created is then incomplete', () => {
    const other = emitted(diamond, 'OwnershipTransferred', { previousOwner: owner, newOwner: stranger })
    const logs = [
      unknown(stranger, [topic]),
      unknown(diamond, [topic, `0x${'01'.repeat(32)}`], '0x1234', 5),
      position(diamond, 2n),
      other,
      unknown(diamond.toLowerCase() as Address, [], '0x', 8),
    ]
    const found = effectsOf(logs, deployment)
    expect(found).toMatchObject({ createdIncomplete: true, unknownLogsOmitted: 0 })
    expect(found.unknownLogs).toEqual([
      { logIndex: 5, topics: [topic, `0x${'01'.repeat(32)}`], data: '0x1234', dataOmitted: 0 },
      { logIndex: 8, topics: [], data: '0x', dataOmitted: 0 },
    ])
    expect(found.logs.map(({ name }) => name)).toEqual(['PositionCreated', 'OwnershipTransferred'])
    expect(found.created.position).toEqual([{ id: 2, owner }])
  })

  test('are also those whose form the ABI does not have', () => {
    const { address, topics, data } = position(diamond, 2n)
    const found = effectsOf([unknown(address, topics, data.slice(0, -64) as Hex, 5)], deployment)
    expect(found).toMatchObject({ createdIncomplete: true, logs: [], created: { position: [] } })
    expect(found.unknownLogs).toMatchObject([{ logIndex: 5, topics }])
  })

  test('are not those of other contracts, nor those that the index does not follow', () => {
    const other = emitted(diamond, 'OwnershipTransferred', { previousOwner: owner, newOwner: stranger })
    const found = effectsOf([unknown(usdc, [topic]), other, position(diamond, 2n)], deployment)
    expect(found).toMatchObject({ createdIncomplete: false, unknownLogs: [], unknownLogsOmitted: 0 })
  })

  test('are listed up to the limits of their number and of the length of their data', () => {
    const bytes = (count: number): Hex => `0x${'cd'.repeat(count)}`
    const many = [MAX_UNKNOWN_BYTES, MAX_UNKNOWN_BYTES + 3, ...Array(MAX_UNKNOWN_LOGS).fill(1)].map((count) =>
      unknown(diamond, [topic], bytes(count)),
    )
    const found = effectsOf(many, deployment)
    expect([found.unknownLogs.length, found.unknownLogsOmitted]).toEqual([MAX_UNKNOWN_LOGS, 2])
    expect(found.unknownLogs.slice(0, 2).map(({ data, dataOmitted }) => [data, dataOmitted])).toEqual([
      [bytes(MAX_UNKNOWN_BYTES), 0],
      [bytes(MAX_UNKNOWN_BYTES), 3],
    ])
    expect(effectsOf(many.slice(2), deployment).unknownLogsOmitted).toBe(0)
  })
})

const RUNS = byForm(400, 50_000)

test(`the logs of ${RUNS} arbitrary receipts (seed ${seed}) are decoded without an error`, () => {
  const bytes = (least: number, most: number): fc.Arbitrary<Hex> =>
    fc.uint8Array({ minLength: least, maxLength: most }).map((it) => toHex(it))
  const selectors = abi.map((event) => encodeEventTopics({ abi: [event] } as never)[0] as Hex)
  // UserOperationEvent and UserOperationRevertReason.
  const operations: Hex[] = [
    '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f',
    '0x1c4fada7374c0a9ee8841fc38afe82932dc0f8e69012e927f061a8bae611a201',
  ]
  const word = fc.oneof(
    bytes(32, 32),
    fc.constantFrom<Hex>(`0x${'00'.repeat(31)}20`, `0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`),
  )
  const data = fc.oneof(
    bytes(0, 400),
    fc.array(word, { maxLength: 12 }).map((words): Hex => `0x${words.map((it) => it.slice(2)).join('')}`),
  )
  const first = fc.constantFrom(...selectors, ...operations)
  const topics = fc.oneof(
    fc.array(word, { maxLength: 4 }),
    fc.tuple(first, fc.array(word, { maxLength: 3 })).map(([topic, others]) => [topic, ...others]),
  )
  const address = fc.constantFrom(diamond, usdc, stranger, zeroAddress, diamond.toLowerCase() as Address)
  const log = fc.tuple(address, topics, data).map(([of, its, bytesOf]) => logOf(of, its, bytesOf))
  fc.assert(
    fc.property(fc.array(log, { maxLength: 8 }), (logs) => {
      const found = effectsOf(logs, deployment)
      expect(found.logs.length).toBeLessThanOrEqual(logs.length)
      expect(found.failedOperations.length).toBeLessThanOrEqual(MAX_OPERATIONS)
      expect(found.createdIncomplete).toBe(found.unknownLogs.length > 0)
      // A number that JSON parsers would round, or a value that is not JSON.
      expect(JSON.stringify([found.logs, found.created])).not.toMatch(/[:,[]\d{17,}/)
    }),
    { seed, numRuns: RUNS },
  )
})

describe('user operations', () => {
  const hashOf = (at: number): Hex => `0x${at.toString(16).padStart(64, '0')}`
  const entryPoint: Address = '0x0000000071727De22E5E9d8BAf0edAc6f37da032'
  const abi = parseAbi([
    'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
    'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
  ])
  const ended = (at: number, success: boolean): RawLog => {
    const args = { userOpHash: hashOf(at), sender: owner, paymaster: zeroAddress }
    const topics = encodeEventTopics({ abi, eventName: 'UserOperationEvent', args }) as Hex[]
    const types = [{ type: 'uint256' }, { type: 'bool' }, { type: 'uint256' }, { type: 'uint256' }] as const
    return logOf(entryPoint, topics, encodeAbiParameters(types, [BigInt(at), success, 1n, 2n]))
  }
  const reverted = (at: number, address = entryPoint): RawLog => {
    const args = { userOpHash: hashOf(at), sender: owner }
    const topics = encodeEventTopics({ abi, eventName: 'UserOperationRevertReason', args }) as Hex[]
    return logOf(address, topics, encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes' }], [BigInt(at), '0x12']))
  }
  const failed = (logs: readonly RawLog[]) => effectsOf(logs, deployment).failedOperations

  test('that failed are listed with the bytes of their own revert, and those that succeeded are not', () => {
    const logs = [ended(1, true), reverted(2), ended(2, false), ended(3, false), reverted(3, stranger)]
    expect(failed(logs)).toEqual([
      { entryPoint, hash: hashOf(2), sender: owner, nonce: 2n, revert: '0x12' },
      { entryPoint, hash: hashOf(3), sender: owner, nonce: 3n, revert: null },
    ])
  })

  test('are listed up to the limit', () => {
    const many = Array.from({ length: MAX_OPERATIONS + 1 }, (_, at) => ended(at, false))
    expect([failed(many.slice(1)).length, failed(many).length]).toEqual([MAX_OPERATIONS, MAX_OPERATIONS])
  })
})
