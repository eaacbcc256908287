import {
  encodeAbiParameters,
  encodeEventTopics,
  getAddress,
  type Hex,
  numberToHex,
  pad,
  parseAbi,
  parseAbiParameters,
  toEventSelector,
} from 'viem'
import { expect, test } from 'vitest'
import { deployedLogsAbi } from '../../src/abi/protocol.generated.ts'
import { getWholeReceipt } from '../../src/chain/rpc/transactions.ts'
import { effects } from '../../src/reads/transactions/effects.ts'
import { fakeDeployment, rawReceipt } from '../support/fake-chain.ts'
import { SENDER } from '../support/fake-lookup.ts'

const HASH = `0x${'22'.repeat(32)}` as const
const deployment = fakeDeployment(8453)
const owner = getAddress(SENDER)

const log = (address: Hex, topics: readonly unknown[], data: Hex) => ({
  ...{ address, topics, data, blockNumber: '0x7', blockHash: HASH, transactionHash: HASH, logIndex: '0x0' },
})

const effectsOf = (logs: readonly unknown[]) => {
  const receipt = getWholeReceipt(HASH).parse(rawReceipt(HASH, 7, { logs }))
  if (receipt === null) throw new TypeError('expected a receipt')
  return effects(receipt, deployment)
}

test('what a transaction created is listed by kind', () => {
  const { diamond } = deployment
  const topics = (eventName: 'LiquidityDeposited' | 'ProtectionPurchased', ids: object) =>
    encodeEventTopics({ abi: deployedLogsAbi, eventName, args: { eventId: 9n, ...ids } as never })
  const words = (count: number) => `0x${numberToHex(5, { size: 32 }).slice(2).repeat(count)}` as const
  const created = deployedLogsAbi.find((item) => item.name === 'HedgeEventCreated')
  if (created === undefined) throw new TypeError('expected the log')
  const inData = created.inputs.filter(({ indexed }) => !indexed)
  const eventData = encodeAbiParameters(
    inData as never,
    inData.map(({ type }) => (type === 'string' ? 'USD/GHS' : type === 'address' ? owner : 5n)) as never,
  )
  const eventTopics = [toEventSelector(created), numberToHex(1, { size: 32 }), pad(owner)]
  const found = effectsOf([
    log(diamond, eventTopics, eventData),
    log(diamond, topics('LiquidityDeposited', { depositId: 2n, lp: owner }), words(2)),
    log(diamond, topics('ProtectionPurchased', { positionId: 3n, hedger: owner }), words(4)),
  ])
  expect(found.created).toEqual({
    eventIds: [{ id: 1, owner }],
    depositIds: [{ id: 2, owner }],
    positionIds: [{ id: 3, owner }],
  })
  expect(found.logs.map(({ name }) => name)).toEqual(['HedgeEventCreated', 'LiquidityDeposited', 'ProtectionPurchased'])
})

test('a log of the protocol that this version does not know is listed raw', () => {
  const topics = [HASH, pad(SENDER)]
  const { unknownLogs, unknownLogsOmitted, createdIncomplete, logs } = effectsOf([
    log(deployment.diamond, topics, '0x0102'),
  ])
  expect({ unknownLogs, unknownLogsOmitted, createdIncomplete, logs }).toEqual({
    unknownLogs: [{ logIndex: 0, topics, data: '0x0102', dataOmitted: 0 }],
    ...{ unknownLogsOmitted: 0, createdIncomplete: true, logs: [] },
  })
})

test('a failed user operation has its nonce, and the reason of its revert where a log has one', () => {
  const abi = parseAbi([
    'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
    'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
  ])
  const entryPoint = '0x00000000000000000000000000000000000000EE'
  const hashes = ['11', '33'].map((byte): Hex => `0x${byte.repeat(32)}`)
  const ended = (userOpHash: Hex, nonce: bigint) =>
    log(
      entryPoint,
      encodeEventTopics({
        abi,
        eventName: 'UserOperationEvent',
        args: { userOpHash, sender: owner, paymaster: owner },
      }),
      encodeAbiParameters(parseAbiParameters('uint256, bool, uint256, uint256'), [nonce, false, 1n, 1n]),
    )
  const [first = HASH, second = HASH] = hashes
  const reason = log(
    entryPoint,
    encodeEventTopics({ abi, eventName: 'UserOperationRevertReason', args: { userOpHash: first, sender: owner } }),
    encodeAbiParameters(parseAbiParameters('uint256, bytes'), [7n, '0x']),
  )
  expect(effectsOf([reason, ended(first, 7n), ended(second, 8n)]).userOperations).toMatchObject([
    { hash: first, sender: owner, nonce: '7', success: false, revert: { code: 'reverted_without_reason' } },
    { hash: second, nonce: '8', success: false, revert: null },
  ])
})
