import { type Address, type Hex, toFunctionSelector, zeroAddress } from 'viem'
import { afterAll, describe, expect, test } from 'vitest'
import { builders } from '../../src/tx/builders.ts'
import { openApp } from '../support/app.ts'
import { eventBody } from '../support/event-body.ts'
import { factsOf } from '../support/known-chains.ts'
import { DAY, USDC, useProtocol } from '../support/use-protocol.ts'

/*
 * Runs built transactions on the chain. The chain accepts every builder's transaction in a state that allows it, and
 * rejects it with the reason of the specification in a state that does not.
 */

const { send, read, simulate, approve, mint, mineAt, create, buy, settle, start, client, ...on } = await useProtocol()
const { owner, oracleAdmin, oracleA, oracleB, creator, lp, hedger, stranger, heir, diamond, usdc } = on

const api = await openApp({
  nodes: [
    {
      url: on.url,
      deployment: {
        chainId: 8453,
        ...factsOf(8453),
        diamond,
        usdc,
        usdt: null,
        publicRpcUrl: 'https://base.example/rpc',
        startBlock: 0n,
        profile: 'reference',
      },
    },
  ],
})
afterAll(() => api.close())

/**
 * Settled and triggered so long ago that unclaimed payouts can be swept: position 1 is unclaimed, position 2 is
 * claimed.
 */
const settled = await create()
await buy(hedger, settled, 1_000n * USDC)
await buy(hedger, settled, 1_000n * USDC)
await settle(settled, 12_500_000n)
await send(hedger, 'claimPayout', [2n])
await mineAt(start + 121n * DAY)

/** An upgrade that may be executed, an event that oracles settle, one with an open pool and one with a closed pool. */
const cut = { facetAddress: zeroAddress, action: 2, functionSelectors: [toFunctionSelector('isPaused()')] }
await send(owner, 'diamondCut', [[cut], zeroAddress, '0x'])
const [proposalId] = await read('getAllCutIds')
const expired = await create({ expiryDate: start + 124n * DAY })
const later = { expiryDate: start + 200n * DAY }
const open = await create(later)
await buy(hedger, open, 1_000n * USDC)
const closed = await create(later)
await send(creator, 'setPoolSettings', [closed, false, false])
await mineAt(start + 124n * DAY)
await send(oracleA, 'submitRate', [expired, 12_000_000n])

const stray = await on.deploy('TestToken', ['Stray', 'STR', 18])
await mint(diamond, 1n, stray)
await client.setBalance({ address: diamond, value: 1n })
await send(owner, 'transferOwnership', [heir])

const now = await on.now()
const newEvent = eventBody(now, usdc)
const event = (id: bigint) => ({ eventId: String(id) })
const purchase = { ...event(open), notional: '1000000000', maxCost: '23115000', deadline: String(now + 600n) }
const deposit = { ...event(open), amount: '1000000' }
const fees = {
  creationFee: '1000000',
  hedgerFeeRate: '5000',
  payoutFeeRate: '5000',
  lpProfitFeeRate: '50000',
  creatorLoyaltyRate: '100000',
}

type Row = readonly [path: string, from: Address, body: object]

/** The caller and the body with which each builder's transaction goes through. */
const allowed: readonly Row[] = [
  ['/tx/erc20/approve', stranger, { token: usdc, spender: diamond, amount: '1' }],
  ['/tx/hedge/create-event', creator, newEvent],
  ['/tx/hedge/deposit', lp, deposit],
  ['/tx/hedge/buy-protection', hedger, purchase],
  ['/tx/hedge/claim-payout', hedger, { positionId: 1 }],
  ['/tx/hedge/claim-premiums', creator, { depositId: 1 }],
  ['/tx/hedge/withdraw-capital', creator, { depositId: 1 }],
  ['/tx/hedge/set-pool-settings', creator, { ...event(open), poolOpen: false, allowExternalLp: true }],
  ['/tx/hedge/withdraw-creator-earnings', creator, event(settled)],
  ['/tx/oracle/submit-rate', oracleB, { ...event(expired), price: '12000001' }],
  ['/tx/hedge/initialize-fees', owner, fees],
  ['/tx/hedge/settle-event', oracleAdmin, { ...event(expired), settlementPrice: '12000000' }],
  ['/tx/hedge/pause', owner, {}],
  ['/tx/hedge/activate-oracle-v2', owner, {}],
  ['/tx/hedge/set-oracle-admin', owner, { admin: stranger }],
  ['/tx/hedge/set-pricing-engine-signer', owner, { signer: stranger }],
  ['/tx/hedge/withdraw-platform-fees', owner, { amount: '1' }],
  ['/tx/hedge/withdraw-platform-fees-by-token', owner, { token: usdc, amount: '1' }],
  ['/tx/hedge/rescue-eth', owner, { to: stranger }],
  ['/tx/hedge/rescue-erc20', owner, { token: stray, to: stranger }],
  ['/tx/hedge/set-allowed-payment-token', owner, { token: stray, allowed: true }],
  ['/tx/hedge/recover-expired-payouts', owner, event(settled)],
  ['/tx/oracle/add-oracle', owner, { oracle: stranger }],
  ['/tx/oracle/remove-oracle', owner, { oracle: oracleA }],
  ['/tx/oracle/set-required-signers', owner, { required: '3' }],
  ['/tx/oracle/set-tolerance-bps', owner, { bps: '100' }],
  ['/tx/oracle/clear-stale-submissions', owner, event(expired)],
  ['/tx/ownership/transfer-ownership', owner, { newOwner: stranger }],
  ['/tx/ownership/accept-ownership', heir, {}],
  ['/tx/governance/diamond-cut', owner, { cuts: [cut], init: zeroAddress, initData: '0x' }],
  ['/tx/governance/execute-cut', owner, { proposalId }],
  ['/tx/governance/cancel-cut', owner, { proposalId }],
]

/** Allowed only while the protocol is paused. */
const unpause: Row = ['/tx/hedge/unpause', owner, {}]

/** The same calls, from an account that may not make them or with values that the contract rejects. */
const refused: readonly (readonly [reason: string, ...Row])[] = [
  ['Past deadline', '/tx/hedge/buy-protection', hedger, { ...purchase, deadline: String(now - 1n) }],
  ['Exceeds capacity', '/tx/hedge/buy-protection', hedger, { ...purchase, notional: '100000000000' }],
  ['Cost exceeds maxCost', '/tx/hedge/buy-protection', hedger, { ...purchase, maxCost: '23114999' }],
  ['Insufficient allowance', '/tx/hedge/buy-protection', stranger, purchase],
  ['Insufficient allowance', '/tx/hedge/deposit', stranger, deposit],
  ['Insufficient allowance', '/tx/hedge/create-event', stranger, newEvent],
  ['Already claimed', '/tx/hedge/claim-payout', hedger, { positionId: 2 }],
  ['Pool closed', '/tx/hedge/deposit', lp, { ...deposit, ...event(closed) }],
  ['Not your position', '/tx/hedge/claim-payout', stranger, { positionId: 1 }],
  ['Not your deposit', '/tx/hedge/claim-premiums', stranger, { depositId: 1 }],
  ['Not your deposit', '/tx/hedge/withdraw-capital', stranger, { depositId: 1 }],
  ['Not creator', '/tx/hedge/set-pool-settings', stranger, { ...event(open), poolOpen: true, allowExternalLp: true }],
  ['Not creator', '/tx/hedge/withdraw-creator-earnings', stranger, event(settled)],
  ['Not an oracle', '/tx/oracle/submit-rate', stranger, { ...event(expired), price: '1' }],
  ['Not oracle admin', '/tx/hedge/settle-event', stranger, { ...event(expired), settlementPrice: '1' }],
  ['Not pending owner', '/tx/ownership/accept-ownership', stranger, {}],
  ['Not paused', ...unpause],
  ...[...allowed, unpause].flatMap(([path, from, body]) =>
    from === owner ? [['Not owner', path, stranger, body] as const] : [],
  ),
]

/** Builds a transaction at the API and runs it. It has a gas estimate exactly when the chain accepts it. */
const outcomeOf = async ([path, from, body]: Row): Promise<string> => {
  const { status, data } = await api.post(path, { chainId: 8453, from, ...body })
  expect(status).toBe(200)
  const built = data as { readonly to: Address; readonly data: Hex; readonly estimatedGas: string | null }
  const outcome = await simulate(from, built.to, built.data)
  expect(built.estimatedGas !== null).toBe(outcome === 'success')
  return outcome
}

test('the tables of accepted and rejected calls cover every builder', () => {
  expect([...allowed, unpause].map(([path]) => path).sort()).toEqual(builders.map(({ path }) => path).sort())
  // Every call but an approval is rejected from some account or with some values. Any account may approve.
  expect(new Set(refused.map(([, path]) => path)).size).toBe(builders.length - 1)
})

describe('the chain accepts the built transaction of', () => {
  test.each(allowed)('%s', async (...row) => {
    expect(await outcomeOf(row)).toBe('success')
  })
})

describe('the chain rejects the built transaction with', () => {
  test.each(refused)('%s: %s', async (reason, ...row) => {
    expect(await outcomeOf(row)).toBe(reason)
  })
})

test('while the protocol is paused four calls are rejected, and it can be unpaused', async () => {
  await send(owner, 'pause', [])
  const stopped = ['create-event', 'deposit', 'buy-protection', 'set-pool-settings'].map((name) => `/tx/hedge/${name}`)
  for (const row of allowed) {
    const [path] = row
    const expected = stopped.includes(path) || path === '/tx/hedge/pause' ? 'Paused' : 'success'
    expect([path, await outcomeOf(row)]).toEqual([path, expected])
  }
  expect(await outcomeOf(unpause)).toBe('success')
})

test('a purchase with an approval of less than its cost is rejected', async () => {
  await approve(hedger, 23_114_999n)
  expect(await outcomeOf(['/tx/hedge/buy-protection', hedger, purchase])).toBe('Insufficient allowance')
  await approve(hedger, 23_115_000n)
  expect(await outcomeOf(['/tx/hedge/buy-protection', hedger, purchase])).toBe('success')
})
