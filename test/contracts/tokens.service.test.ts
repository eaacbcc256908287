import { type Address, maxUint256 } from 'viem'
import { beforeEach, expect, test } from 'vitest'
import { deployHostileToken } from '../support/hostile-token.ts'
import { DAY, useProtocol, type WriteArgs, type WriteName } from '../support/use-protocol.ts'

const protocol = await useProtocol()
const { send, read, refuses, outcome, approve, mint, create, buy, settle, client, ...on } = protocol
const { owner, creator, lp, hedger } = on

const UNIT = 10n ** 18n
let token: Address
let hostile: Awaited<ReturnType<typeof deployHostileToken>>
/** Event 1 is settled with everything still unclaimed, event 2 is open. */
beforeEach(async () => {
  hostile = await deployHostileToken(protocol)
  token = hostile.token
  await send(owner, 'setAllowedPaymentToken', [token, true])
  for (const rich of [creator, lp, hedger]) {
    await mint(rich, 1_000_000n * UNIT, token)
    await approve(rich, maxUint256, token)
  }
  await create({ paymentToken: token, initialLiquidity: 10_000n * UNIT })
  await buy(hedger, 1n, 10_000n * UNIT)
  await settle(1n, 12_500_000n)
  await create({ paymentToken: token, initialLiquidity: 10_000n * UNIT, expiryDate: on.start + 60n * DAY })
})

type Action = readonly [from: Address, name: WriteName, args: WriteArgs<WriteName>]

const pulls = (): readonly Action[] => [
  [creator, 'createEvent', [on.newEvent({ paymentToken: token, expiryDate: on.start + 60n * DAY })]],
  [lp, 'deposit', [2n, UNIT]],
  [hedger, 'buyProtection', [2n, UNIT, maxUint256, maxUint256]],
]
const pushes = (): readonly Action[] => [
  [hedger, 'claimPayout', [1n]],
  [creator, 'claimPremiums', [1n]],
  [creator, 'withdrawCapital', [1n]],
  [creator, 'withdrawCreatorEarnings', [1n]],
  [owner, 'withdrawPlatformFeesByToken', [token, 1n]],
]

test('payments in a token with a fee on transfer are rejected', async () => {
  await hostile.behave('takesFee')
  for (const action of pulls()) await refuses('Token took a fee', ...action)
})

test('a token that returns false, or has no code any more, moves nothing and changes no accounts', async () => {
  await hostile.behave('saysNo')
  for (const action of [...pulls(), ...pushes()]) await refuses('Token transfer failed', ...action)
  await client.setCode({ address: token, bytecode: '0x' })
  for (const action of pushes()) await refuses('Token has no code', ...action)
})

test('a token that returns nothing is accepted when the balance moved', async () => {
  await hostile.behave('saysNothing')
  for (const action of [...pulls(), ...pushes()]) expect(await outcome(...action)).toBe('success')
})

/** The result of the token's callback from inside a deposit. The deposit itself succeeds. */
const calledBack = async (functionName: WriteName, args: WriteArgs<WriteName>): Promise<string> => {
  await hostile.behave('callsBack', functionName, args)
  const { logs } = await send(lp, 'deposit', [2n, UNIT])
  expect(logs.map(([name]) => name)).toEqual(expect.arrayContaining(['DepositCreated', 'Transfer']))
  return hostile.answer()
}

test('a token that calls back finds every function that moves money locked', async () => {
  for (const [, name, args] of [...pulls(), ...pushes().slice(0, 4)]) {
    expect([name, await calledBack(name, args)]).toEqual([name, 'Reentrant call'])
  }
  expect(await calledBack('submitRate', [2n, 1n])).toBe('Reentrant call')
})

test('a token that owns the protocol finds the owner’s functions locked too', async () => {
  await send(owner, 'transferOwnership', [token])
  expect(await calledBack('acceptOwnership', [])).toBe('no reason')
  expect(await read('owner')).toBe(token)
  expect(await calledBack('withdrawPlatformFees', [1n])).toBe('Reentrant call')
  expect(await calledBack('withdrawPlatformFeesByToken', [token, 1n])).toBe('Reentrant call')
  expect(await calledBack('rescueETH', [token])).toBe('Reentrant call')
  expect(await calledBack('rescueERC20', [on.usdc, token])).toBe('Reentrant call')
})
