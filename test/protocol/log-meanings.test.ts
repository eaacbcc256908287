import { expect, test } from 'vitest'
import { decodeLog, feeLogsIn } from '../../src/protocol/abi/logs.ts'
import { PackedLog } from '../../src/protocol/abi/packed-log.ts'
import { encode, followed, origin } from '../support/random-logs.ts'

const address = `0x${'ab'.repeat(20)}` as const

/** A log of this name whose integers count from 1; the fact or hint it is decoded to. */
const decodedOf = (name: string, timestamp?: bigint) => {
  const event = followed.find((item) => item.name === name)
  if (event === undefined) throw new Error(`no log ${name}`)
  let next = 0n
  const args = event.inputs.map(({ type }) => {
    if (type === 'address') return address
    if (type === 'string') return 'USD/GHS'
    if (type === 'bool') return true
    if (type === 'uint256') {
      next += 1n
      return next
    }
    return type.endsWith('[]') ? [] : type === 'bytes' ? '0x' : 1
  })
  const log = encode(event, args)
  const named = Object.fromEntries(event.inputs.map(({ name: input = '' }, at) => [input, args[at]]))
  return { log, named, decoded: decodeLog(timestamp === undefined ? log : { ...log, blockTimestamp: timestamp }) }
}

const from = { blockNumber: 7n, blockHash: '0xb10c', blockTimestamp: null, txHash: '0x7f', logIndex: 3 }

test.each([
  ['PoolSettingsUpdated', [], false],
  ['EventSettled', ['deposit', 'position'], true],
  ['OracleEventSettled', ['deposit', 'position'], true],
  ['ConsensusReached', ['deposit', 'position'], false],
  ['CreatorEarningsWithdrawn', [], false],
  ['ExpiredPayoutsRecovered', ['deposit', 'position'], false],
])('the log %s changes its event and its %j, and settles it: %s', (name, members, settles) => {
  const { named, decoded } = decodedOf(name)
  expect(decoded).toEqual({ kind: 'hint', subject: 'event', id: named.eventId, members, settles, ...from })
})

test.each([
  ['PayoutClaimed', 'position', 'positionId'],
  ['PremiumsClaimed', 'deposit', 'depositId'],
  ['CapitalWithdrawn', 'deposit', 'depositId'],
])('the log %s changes one %s', (name, subject, id) => {
  const { named, decoded } = decodedOf(name)
  expect(decoded).toEqual({ kind: 'hint', subject, id: named[id], ...from })
})

test.each([
  ['Paused', 'chain'],
  ['Unpaused', 'chain'],
  ['PricingEngineSignerSet', 'chain'],
  ['PaymentTokenSet', 'chain'],
  ['DiamondCut', 'code'],
])('the log %s changes the %s', (name, subject) => {
  expect(decodedOf(name).decoded).toEqual({ kind: 'hint', subject, ...from })
})

test('the log of the fees has each rate under its own name', () => {
  const { named, decoded } = decodedOf('FeesInitialized', 9n)
  const rates = {
    hedgerFeeRate: named.hedgerFeeRate,
    payoutFeeRate: named.hedgerPayoutFeeRate,
    lpProfitFeeRate: named.lpProfitFeeRate,
    creatorLoyaltyRate: named.creatorLoyaltyRate,
  }
  expect(new Set(Object.values(rates)).size).toBe(4)
  expect(decoded).toEqual({ kind: 'hint', subject: 'chain', feeRates: rates, ...from, blockTimestamp: 9n })
  const paused = decodedOf('Paused').decoded
  if (decoded?.kind !== 'hint' || paused?.kind !== 'hint') throw new Error('not hints')
  expect(feeLogsIn([paused, decoded])).toEqual([{ ...from, blockTimestamp: 9n, ...rates }])
})

test.each([
  ['EventCreated', 'event', 'eventId'],
  ['DepositCreated', 'deposit', 'depositId'],
  ['PositionCreated', 'position', 'positionId'],
])('the log %s creates the %s of its %s', (name, kind, idName) => {
  const { named, decoded } = decodedOf(name)
  const { [idName]: id, ...others } = named
  expect(decoded).toEqual({ kind, id, ...others, ...from })
})

test('a packed log without data for a field is refused, whatever bytes follow it', () => {
  const { log } = decodedOf('PositionCreated')
  const topics = log.topics.slice(1).map((topic) => topic.slice(2))
  const bytes = Buffer.from(`${topics.join('')}${log.data.slice(2)}${'11'.repeat(32)}`, 'hex')
  const parts = (dataLength: number) => ({
    ...{ firstTopic: log.topics[0] ?? '0x', topicsAt: 0, topicCount: log.topics.length },
    ...{ dataAt: topics.length * 32, dataLength, txHashAt: bytes.length - 32 },
  })
  const shared = { address, ...origin, blockTimestamp: null }
  const whole = (log.data.length - 2) / 2
  expect(decodeLog(new PackedLog(shared, bytes, parts(whole)))).toMatchObject({ kind: 'position' })
  expect(() => decodeLog(new PackedLog(shared, bytes, parts(0)))).toThrow()
})
