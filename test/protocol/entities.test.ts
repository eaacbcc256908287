import { encodeAbiParameters, encodeFunctionData, keccak256, numberToHex, toBytes } from 'viem'
import { describe, expect, it } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { call } from '../../src/protocol/abi/outputs.ts'
import { ownerSlot, pendingOwnerSlot } from '../../src/protocol/abi/slots.ts'
import { entities, entityCalls, identityCall, kinds, memberKinds, ownerOf } from '../../src/protocol/entities.ts'
import { MAX_TEXT } from '../../src/protocol/fields/text.ts'
import { statusNumbers, statusText, statusTextOf } from '../../src/protocol/statuses.ts'
import { configuredTokens } from '../../src/protocol/tokens.ts'

const [one, two] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'] as const
const calldata = (functionName: string, ...args: readonly unknown[]) =>
  encodeFunctionData({ abi: protocolAbi, functionName, args } as never)

describe('the kinds of entities', () => {
  it('have their own views', () => {
    const dataOf = (calls: Readonly<Record<string, (id: bigint) => { data: string }>>) =>
      Object.values(calls).map((prepare) => prepare(7n).data)
    const views = ['getHedgeEventCore', 'getHedgeEventStats', 'getHedgeEventRange', 'getPoolUtilization']
    expect(dataOf(entityCalls('event'))).toEqual([...views, 'getEventPaymentToken'].map((view) => calldata(view, 7n)))
    expect(dataOf(entityCalls('deposit'))).toEqual(
      ['getHedgeLpDeposit', 'pendingPremiums'].map((view) => calldata(view, 7n)),
    )
    expect(dataOf(entityCalls('position'))).toEqual([calldata('getHedgePosition', 7n)])
  })

  it('are named by the view of their owner, and listed by the views of a wallet and of an event', () => {
    expect(kinds.map((kind) => identityCall(kind, 7n).data)).toEqual(
      ['getHedgeEventCore', 'getHedgeLpDeposit', 'getHedgePosition'].map((view) => calldata(view, 7n)),
    )
    expect(kinds.map((kind) => [entities[kind].ownerIds, entities[kind].memberIds])).toEqual([
      ['getCreatorEventIds', null],
      ['getLpDepositIds', { view: 'getEventDepositIds', most: 200 }],
      ['getHedgerPositionIds', { view: 'getEventPositionIds', most: 500 }],
    ])
    expect(memberKinds).toEqual(['deposit', 'position'])
  })

  it('have claims with the rate of their own fee', () => {
    const claims = kinds.flatMap((kind) =>
      Object.values(entities[kind].claims).map(({ kind: name, path, id, feeRate }) => [name, path, id, feeRate]),
    )
    expect(claims).toEqual([
      ['creator-earnings', '/v1/tx/hedge/withdraw-creator-earnings', 'eventId', null],
      ['premiums', '/v1/tx/hedge/claim-premiums', 'depositId', 'lpProfitFeeRate'],
      ['capital', '/v1/tx/hedge/withdraw-capital', 'depositId', null],
      ['payout', '/v1/tx/hedge/claim-payout', 'positionId', 'payoutFeeRate'],
    ])
  })

  it('have one owner each', () => {
    expect([ownerOf({ creator: one }), ownerOf({ lp: one }), ownerOf({ hedger: two })]).toEqual([one, one, two])
  })
})

describe('a call of a view', () => {
  it('has its arguments, and names several outputs', () => {
    expect(call('getHedgePosition', [7n]).data).toBe(calldata('getHedgePosition', 7n))
    const { outputs } = protocolAbi
      .filter((item) => item.type === 'function')
      .find(({ name }) => name === 'getPoolUtilization') ?? { outputs: [] }
    const returned = encodeAbiParameters(outputs, outputs.map((_, at) => BigInt(at + 1)) as never)
    expect(call('getPoolUtilization', [7n]).decode(returned)).toEqual(
      Object.fromEntries(outputs.map(({ name }, at) => [name, BigInt(at + 1)])),
    )
  })

  it('truncates the texts of its outputs', () => {
    const { outputs } = protocolAbi
      .filter((item) => item.type === 'function')
      .find(({ name }) => name === 'getHedgeEventCore') ?? { outputs: [] }
    const sampleOf = (type: string) =>
      type === 'string' ? 'x'.repeat(MAX_TEXT + 1) : type === 'address' ? one : type === 'bool' ? true : 1
    const values = outputs.map(({ type }) => (type === 'uint256' ? 1n : sampleOf(type)))
    const core = call('getHedgeEventCore', [7n]).decode(encodeAbiParameters(outputs, values as never))
    expect([core.name, core.underlying]).toEqual(['x'.repeat(MAX_TEXT), 'x'.repeat(MAX_TEXT)])
  })
})

describe('the slots of a diamond', () => {
  const base = BigInt(keccak256(toBytes('diamond.standard.diamond.storage')))
  it('of the owner and the pending owner are the fifth and the sixth', () => {
    expect([ownerSlot.position, pendingOwnerSlot.position]).toEqual(
      [4n, 5n].map((offset) => numberToHex(base + offset, { size: 32 })),
    )
  })

  it('hold an address in their last 20 bytes, and shorter words are refused', () => {
    expect(ownerSlot.decode(`0x${'00'.repeat(12)}${one.slice(2).toLowerCase()}`)).toBe(one)
    expect(() => ownerSlot.decode(`0x${'00'.repeat(12)}${one.slice(4)}`)).toThrow()
  })
})

describe('the texts of statuses', () => {
  it.each([
    ['event', ['unsettled', 'settled', 'expired', 'unknown']],
    ['position', ['active', 'settled_win', 'settled_loss', 'claimed', 'claimable', 'expired', 'unknown']],
    ['proposal', ['pending', 'cancelled', 'executed', 'unknown']],
  ] as const)('of %s are %j', (kind, texts) => {
    expect(texts.map((_, status) => statusText(kind, status))).toEqual(texts)
    expect(texts.map((text) => statusTextOf(kind).parse(text))).toEqual(texts)
  })

  it('are listed with their numbers', () => {
    expect(statusNumbers('proposal')).toBe("The chain's number: 0 pending, 1 cancelled, 2 executed")
  })
})

it('the configured tokens are the dollar tokens of a deployment', () => {
  const paymentDecimals = { USDC: 6, USDT: 18 }
  const usdc = { token: one, symbol: 'USDC', decimals: 6 }
  expect(configuredTokens({ usdc: one, usdt: null, paymentDecimals })).toEqual([usdc])
  expect(configuredTokens({ usdc: one, usdt: two, paymentDecimals })).toEqual([
    usdc,
    { token: two, symbol: 'USDT', decimals: 18 },
  ])
  expect(configuredTokens({ usdc: one, usdt: two, paymentDecimals: { USDC: 6 } })[1]?.decimals).toBeNull()
})
