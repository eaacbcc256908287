import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeErrorResult,
  type Hex,
  keccak256,
  maxUint256,
  numberToHex,
  pad,
  parseAbi,
  toBytes,
  toFunctionSelector,
  zeroAddress,
  zeroHash,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { attestationMessage } from '../../src/protocol/attestation.ts'
import { profiles } from '../../src/protocol/profiles.ts'
import { reverts } from '../../src/protocol/reverts/catalogue.ts'
import { revertOf } from '../../src/protocol/reverts/decode.ts'
import { builders } from '../../src/tx/builders.ts'
import { openApp } from '../support/app.ts'
import { eventBody } from '../support/event-body.ts'
import { deployHostileToken } from '../support/hostile-token.ts'
import { textsByFunction } from '../support/source-texts.ts'
import { DAI, DAY, USDC, useProtocol } from '../support/use-protocol.ts'
import { impossibleTexts, unreachableReverts } from '../vectors/unreachable-reverts.ts'

/*
 * Builds transactions that the chain rejects, and checks what the simulation reports. Every function is rejected with
 * every code that the catalogue has for it and with every text of its source, or `unreachableReverts` has the reason
 * why that cannot be.
 */

const profile = inject('profile')
const isReference = profile === 'reference'

const protocol = await useProtocol(profile)
const { send, read, mint, approve, mineAt, create, buy, start, client, ...on } = protocol
const { owner, oracleAdmin, oracleA, oracleB, oracleC, creator, lp, hedger, stranger, heir, diamond, usdc } = on

const api = await openApp({ nodes: [{ url: on.url, deployment: on.deployment }] })
afterAll(() => api.close())

/** Opens the pool of a new event: it begins open in one profile and closed in the other. */
const open = async (chosen: Parameters<typeof create>[0] = {}): Promise<bigint> => {
  const id = await create(chosen)
  await send(creator, 'setPoolSettings', [id, true, true])
  return id
}
const seedOf = async (eventId: bigint): Promise<string> => String((await read('getEventDepositIds', [eventId]))[0])

/** Settled 90 days ago and before: with an unclaimed and a claimed payout, without payouts, and recovered. */
const won = await open()
const lost = await open()
const recovered = await open()
await buy(hedger, won, 1_000n * USDC)
await buy(hedger, won, 1_000n * USDC)
await buy(hedger, lost, 1_000n * USDC)
await buy(hedger, recovered, 1_000n * USDC)
await on.settle(won, 12_500_000n)
await send(oracleAdmin, 'settleEvent', [lost, 11_000_000n])
await send(oracleAdmin, 'settleEvent', [recovered, 12_500_000n])
await send(hedger, 'claimPayout', [2n])
await send(creator, 'withdrawCapital', [BigInt(await seedOf(won))])
await mineAt(start + 121n * DAY)
await send(owner, 'recoverExpiredPayouts', [recovered])

/** Upgrades that are queued, where the profile has a timelock. */
const selector = (signature: string): Hex => toFunctionSelector(signature)
const facet = await on.deploy('TestToken', ['Facet', 'F', 6])
const viewFacet = await read('facetAddress', [selector('isPaused()')])
type Upgrade = {
  readonly cuts: readonly { facetAddress: Hex; action: number; functionSelectors: readonly Hex[] }[]
  readonly init?: Hex
  readonly initData?: Hex
}
const addName = { facetAddress: facet, action: 0, functionSelectors: [selector('name()')] }
const upgrades = {
  good: { cuts: [addName] },
  cancelled: { cuts: [addName] },
  unmount: { cuts: [{ facetAddress: zeroAddress, action: 2, functionSelectors: [selector('pause()')] }] },
  addExisting: { cuts: [{ ...addName, functionSelectors: [selector('isPaused()')] }] },
  removeMissing: { cuts: [{ ...addName, facetAddress: zeroAddress, action: 2 }] },
  replaceBySame: { cuts: [{ facetAddress: viewFacet, action: 1, functionSelectors: [selector('isPaused()')] }] },
  failingInit: { cuts: [addName], init: usdc, initData: '0xdeadbeef' },
  late: { cuts: [addName] },
} as const satisfies Record<string, Upgrade>
type UpgradeName = keyof typeof upgrades
const proposals = new Map<UpgradeName, Hex>()
const proposalOf = (name: UpgradeName): Hex => proposals.get(name) ?? zeroHash
const cutArgs = ({ cuts, init = zeroAddress, initData = '0x' }: Upgrade) => [cuts, init, initData] as const
const queue = async (name: UpgradeName): Promise<void> => {
  await send(owner, 'diamondCut', cutArgs(upgrades[name]))
  proposals.set(name, (await read('getAllCutIds')).at(-1) ?? zeroHash)
}
if (isReference) {
  for (const name of Object.keys(upgrades) as UpgradeName[]) if (name !== 'late') await queue(name)
  await send(owner, 'cancelCut', [proposalOf('cancelled')])
}

/** One event that oracles settle, one just settled, one without purchases, one with a closed pool, a tiny zone. */
const soon = { expiryDate: start + 124n * DAY }
const later = { expiryDate: start + 200n * DAY }
const expired = await open(soon)
const fresh = await open(soon)
await buy(hedger, fresh, 1_000n * USDC)
const current = await open(later)
await buy(hedger, current, 1_000n * USDC)
const untouched = await open(later)
const closed = await create(later)
await send(creator, 'setPoolSettings', [closed, false, false])
const internal = await create(later)
await send(creator, 'setPoolSettings', [internal, true, false])
const tiny = await open({ ...later, payoutCap: 12_000_001n })

const hostile = await deployHostileToken(protocol)
await send(owner, 'setAllowedPaymentToken', [hostile.token, true])
for (const rich of [creator, lp, hedger]) {
  await mint(rich, 1_000_000n * DAI, hostile.token)
  await approve(rich, maxUint256, hostile.token)
}
const inHostile = await open({ ...later, paymentToken: hostile.token, initialLiquidity: 10_000n * DAI })

const engine = privateKeyToAccount(`0x${'01'.repeat(32)}`)
await send(owner, 'setPricingEngineSigner', [engine.address])
await mineAt(start + 124n * DAY)
await send(oracleA, 'submitRate', [expired, 12_000_000n])
await send(oracleAdmin, 'settleEvent', [fresh, 12_500_000n])
if (isReference) await queue('late')
const stray = await on.deploy('TestToken', ['Stray', 'STR', 18])
/** A token that the protocol never accepted and holds. */
const strange = await deployHostileToken(protocol)
await mint(diamond, 1n, strange.token)
const now = await on.now()

const seeds = {
  won: await seedOf(won),
  lost: await seedOf(lost),
  untouched: await seedOf(untouched),
  current: await seedOf(current),
}

const newEvent = eventBody(now, usdc)
/** An unsigned quote. It is made when it is needed, because it expires after two minutes. */
const quote = async () => ({
  signature: `0x${'11'.repeat(65)}` as Hex,
  quoteTimestamp: String(await on.now()),
  quoteNonce: pad('0x33') as Hex,
})
const quoted = await quote()
const switches = { poolOpen: true, allowExternalLp: true }
const event = (id: bigint) => ({ eventId: String(id) })
const purchase = { ...event(current), notional: '1000000000', maxCost: '1000000000', deadline: String(now + DAY) }
const deposit = { ...event(current), amount: '10000000' }
const fees = {
  creationFee: '1000000',
  hedgerFeeRate: '5000',
  payoutFeeRate: '5000',
  lpProfitFeeRate: '50000',
  creatorLoyaltyRate: '100000',
}
const abi = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error Unheard(uint256)'])
type State = () => Promise<unknown>
type Call = readonly [path: string, from: Address, body: object | (() => Promise<object>)]
type Row = {
  readonly reason: string
  readonly code: string
  readonly call: Call
  readonly state?: State | undefined
}

const row = (reason: string, code: string, call: Call, state?: State): Row => ({ reason, code, call, state })
/** The same text of several calls. */
const each = (calls: readonly Call[], reason: string, code: string, state?: State): readonly Row[] =>
  calls.map((call) => row(reason, code, call, state))
/** The text of each profile for the same cause. */
const by = (reference: string, deployed: string): string => (isReference ? reference : deployed)
const only = (one: 'reference' | 'deployed', rows: readonly Row[]): readonly Row[] => (one === profile ? rows : [])

const creates = (change: object): Call => ['/tx/hedge/create-event', creator, { ...newEvent, ...change }]
const createsByQuote: Call = ['/tx/hedge/create-event', creator, async () => ({ ...newEvent, ...(await quote()) })]
const deposits = (change: object = {}): Call => ['/tx/hedge/deposit', lp, { ...deposit, ...change }]
const buys = (change: object = {}): Call => ['/tx/hedge/buy-protection', hedger, { ...purchase, ...change }]
const asOwner = (path: string, body: object = {}): Call => [path, owner, body]
const cuts = (change: object, init: Address = zeroAddress): Call =>
  asOwner('/tx/governance/diamond-cut', { cuts: [{ ...addName, ...change }], init, initData: '0x' })
/** An upgrade is checked when it is executed, which is when it is proposed in a profile without a timelock. */
const executes = (name: UpgradeName): Call => {
  const { cuts, init = zeroAddress, initData = '0x' }: Upgrade = upgrades[name]
  return isReference
    ? asOwner('/tx/governance/execute-cut', { proposalId: proposalOf(name) })
    : asOwner('/tx/governance/diamond-cut', { cuts, init, initData })
}

const withdrawsFees = (amount: string): Call => asOwner('/tx/hedge/withdraw-platform-fees', { amount })
const withdrawsFeesByToken = (amount: string, token = usdc): Call =>
  asOwner('/tx/hedge/withdraw-platform-fees-by-token', { token, amount })
const rescuesCoins = (to: Address): Call => asOwner('/tx/hedge/rescue-eth', { to })
const rescues = (token: Address, to = heir): Call => asOwner('/tx/hedge/rescue-erc20', { token, to })
const allows = (token: Address, allowed = true): Call =>
  asOwner('/tx/hedge/set-allowed-payment-token', { token, allowed })

/** Writes to the storage of the protocol, or of one of its events, to reach limits without hundreds of calls. */
const base = BigInt(keccak256(toBytes('fx.protection.protocol.storage')))
const store = (slot: bigint, value: bigint): Promise<void> =>
  client.setStorageAt({ address: diamond, index: numberToHex(slot, { size: 32 }), value: pad(numberToHex(value)) })
const storeOf = (eventId: bigint, slot: bigint, value: bigint): Promise<void> => {
  const words = encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [eventId, base + 18n])
  return store(BigInt(keccak256(words)) + slot, value)
}

const replaceCode = (address: Address, ...parts: readonly Hex[]) =>
  client.setCode({ address, bytecode: concatHex(parts) })
/** Replaces the code of the hostile token. */
const withCode = (...parts: readonly Hex[]) => replaceCode(hostile.token, ...parts)
/** Calls `claimPayout(0)` of the protocol from every call, and reverts with what that returned. */
const callsBack: State = () =>
  withCode('0x63', selector('claimPayout(uint256)'), '0x5f525f5f6024601c5f73', diamond, '0x5af1503d5f5f3e3d5ffd')
/** Returns 18 for a call without arguments, such as `decimals()`. Reverts with the bytes after the code for others. */
const revertsWith = (data: Hex): State => {
  const length = numberToHex((data.length - 2) / 2, { size: 2 })
  const ofOthers = ['0x61', length, '0x601c5f3961', length, '0x5ffd'] as const
  return () => withCode('0x36600414601357', ...ofOthers, '0x5b60125f5260205ff3', data)
}
const revertsWithText = (text: string): State =>
  revertsWith(encodeErrorResult({ abi, errorName: 'Error', args: [text] }))

const signedEvent: State = async () => {
  const { quoteTimestamp, quoteNonce } = await quote()
  const terms = on.newEvent({
    ...{ expiryDate: BigInt(newEvent.expiry), initialLiquidity: 1_000n * USDC, name: newEvent.name },
    ...{ quoteTimestamp: BigInt(quoteTimestamp), quoteNonce },
  })
  const raw = attestationMessage({ ...terms, chainId: 8453, diamond, creator, expiry: terms.expiryDate })
  await send(creator, 'createEvent', [{ ...terms, signature: await engine.signMessage({ message: { raw } }) }])
}

const ofEvents: readonly Row[] = [
  row('Fees not initialized', 'fees_not_initialized', creates({}), () => store(base + 1n, 0n)),
  row('Bad name length', 'bad_name_length', creates({ name: 'x'.repeat(129) })),
  row('Bad underlying length', 'bad_underlying_length', creates({ underlying: 'x'.repeat(33) })),
  row('Strike is zero', 'strike_is_zero', creates({ strike: '0' })),
  row('Initial rate is zero', 'initial_rate_is_zero', creates({ initialRate: '0' })),
  row('Rate too large', 'rate_too_large', creates({ payoutCap: String(2n ** 96n) })),
  row('Bad premium rate', 'bad_premium_rate', creates({ premiumRate: '1000001' })),
  row('Bad expiry', 'bad_expiry', creates({ expiry: String(now) })),
  row('Strike on wrong side', 'strike_on_wrong_side', creates({ payoutCap: '0', strike: '11400000' })),
  row('Cap on wrong side', 'cap_on_wrong_side', creates({ payoutCap: '12000000' })),
  row('Token not allowed', 'token_not_allowed', creates({ paymentToken: stray })),
  row('Creation fee too high', 'creation_fee_too_high', creates({}), () => store(base + 4n, 1_000n * USDC + 1n)),
  row('Bad signature length', 'bad_signature_length', creates({ ...quoted, signature: '0x1234' })),
  row('Quote nonce required', 'quote_nonce_required', creates({ ...quoted, quoteNonce: zeroHash })),
  row('Quote from the future', 'quote_from_the_future', creates({ ...quoted, quoteTimestamp: String(now + DAY) })),
  row('Quote expired', 'quote_expired', creates({ ...quoted, quoteTimestamp: String(now - DAY) })),
  row('Quote nonce used', 'quote_nonce_used', createsByQuote, signedEvent),
  row('Bad quote signature', 'bad_quote_signature', createsByQuote),
  ...only('reference', [
    ...each(
      [creates({ initialLiquidity: String(2n ** 128n) }), deposits({ amount: String(2n ** 128n) })],
      'Amount too large',
      'amount_too_large',
    ),
    row('No pricing signer', 'no_pricing_signer', creates(quoted), () =>
      send(owner, 'setPricingEngineSigner', [zeroAddress]),
    ),
  ]),
  ...only('deployed', [
    row('Min initial liquidity: 10 USDC', 'initial_liquidity_too_small', creates({ initialLiquidity: '9999999' })),
  ]),
]

const ofPools: readonly Row[] = [
  row('Event not found', 'event_not_found', deposits({ eventId: 999 })),
  row('Event settled', 'event_settled', [
    '/tx/hedge/set-pool-settings',
    creator,
    { ...switches, eventId: String(won) },
  ]),
  row(by('Event settled', 'Event not open'), 'event_settled', deposits(event(won))),
  row('Event not settled', 'event_not_settled', ['/tx/hedge/withdraw-capital', creator, { depositId: seeds.current }]),
  row('Too many deposits', 'too_many_deposits', deposits(), () => storeOf(current, 23n, 200n)),
  row('Deposit not found', 'deposit_not_found', ['/tx/hedge/claim-premiums', creator, { depositId: 999 }]),
  row('Not your deposit', 'not_your_deposit', ['/tx/hedge/withdraw-capital', lp, { depositId: seeds.won }]),
  row('No premiums', 'no_premiums', ['/tx/hedge/claim-premiums', creator, { depositId: seeds.untouched }]),
  row('Already withdrawn', 'already_withdrawn', ['/tx/hedge/withdraw-capital', creator, { depositId: seeds.won }]),
  row('Not creator', 'not_creator', ['/tx/hedge/withdraw-creator-earnings', lp, event(won)]),
  row('No earnings', 'no_earnings', ['/tx/hedge/withdraw-creator-earnings', creator, event(untouched)]),
  ...each([withdrawsFees('0'), withdrawsFeesByToken('0')], 'Amount is zero', 'amount_is_zero'),
  ...only('reference', [
    row('Pool closed', 'pool_closed', deposits(event(closed))),
    row('External LP not allowed', 'external_lp_not_allowed', deposits(event(internal))),
    row('Amount is zero', 'amount_is_zero', deposits({ amount: '0' })),
  ]),
  ...only('deployed', [
    row('Pool closed to external LPs', 'external_lp_not_allowed', deposits(event(closed))),
    row('Min deposit: 10 USDC', 'deposit_too_small', deposits({ amount: '9999999' })),
    row('Event not open', 'event_settled', buys(event(won))),
  ]),
]

const claims = (positionId: number, from = hedger): Call => ['/tx/hedge/claim-payout', from, { positionId }]

const ofProtection: readonly Row[] = [
  row(by('Past deadline', 'Transaction deadline expired'), 'past_deadline', buys({ deadline: String(now - 1n) })),
  row('Event expired', 'event_expired', buys(event(expired))),
  row(by('Pool closed', 'Pool not open for hedging'), 'pool_closed', buys(event(closed))),
  row(
    by('Exceeds capacity', 'Insufficient pool liquidity for payout'),
    'exceeds_capacity',
    buys({ notional: '100000000000', maxCost: String(maxUint256) }),
  ),
  row(by('Cost exceeds maxCost', 'Cost exceeds slippage limit'), 'cost_exceeds_max', buys({ maxCost: '1' })),
  row('Too many positions', 'too_many_positions', buys(), () => storeOf(current, 22n, 500n)),
  row('Position not found', 'position_not_found', claims(999)),
  row('Not your position', 'not_your_position', claims(1, lp)),
  row('Already claimed', 'already_claimed', claims(2)),
  row('Event not settled', 'event_not_settled', claims(6)),
  row('No payout', 'no_payout', claims(3)),
  ...only('reference', [
    row('Premium rounds to zero', 'premium_rounds_to_zero', buys({ notional: '43' })),
    row('Payout rounds to zero', 'payout_rounds_to_zero', buys({ ...event(tiny), notional: '11399999' })),
  ]),
  ...only('deployed', [
    row('Min notional: 10 USDC', 'notional_too_small', buys({ notional: '9999999' })),
    row('Panic(0x11)', 'arithmetic_overflow', buys({ notional: String(maxUint256) })),
  ]),
]

const settles = (change: object = {}, from = oracleAdmin): Call => [
  ...(['/tx/hedge/settle-event', from] as const),
  { ...event(expired), settlementPrice: '12000000', ...change },
]
const submits = (change: object = {}, from = oracleB): Call => [
  ...(['/tx/oracle/submit-rate', from] as const),
  { ...event(expired), price: '12000000', ...change },
]
const recovers = (id: bigint): Call => asOwner('/tx/hedge/recover-expired-payouts', event(id))
const consensus: State = () => send(owner, 'activateOracleV2', [])

const ofSettlement: readonly Row[] = [
  row('Not oracle admin', 'not_oracle_admin', settles({}, stranger)),
  ...each([settles({ settlementPrice: '0' }), submits({ price: '0' })], 'Price is zero', 'price_is_zero'),
  row('Event not expired', 'event_not_expired', settles(event(current))),
  row('Oracle consensus active', 'oracle_consensus_active', settles(), consensus),
  row('Oracle consensus active', 'oracle_consensus_already_active', asOwner('/tx/hedge/activate-oracle-v2'), consensus),
  row('Grace period', 'grace_period_not_elapsed', recovers(fresh)),
  row('Already recovered', 'already_recovered', recovers(recovered)),
  row('Nothing to recover', 'nothing_to_recover', recovers(lost)),
  row('Not an oracle', 'not_an_oracle', submits({}, stranger)),
  row('Event not expired', 'event_not_expired', submits(event(current))),
  row('Not an oracle', 'oracle_not_registered', asOwner('/tx/oracle/remove-oracle', { oracle: stranger })),
  row('Already an oracle', 'oracle_already_registered', asOwner('/tx/oracle/add-oracle', { oracle: oracleA })),
  row('Too many oracles', 'too_many_oracles', asOwner('/tx/oracle/add-oracle', { oracle: heir }), () =>
    store(base + 11n, 10n),
  ),
  row('Too few oracles', 'too_few_oracles', asOwner('/tx/oracle/remove-oracle', { oracle: oracleB }), () =>
    send(owner, 'removeOracle', [oracleC]),
  ),
  row('Too few oracles', 'exceeds_oracle_count', asOwner('/tx/oracle/set-required-signers', { required: '4' })),
  row('At least two signers', 'at_least_two_signers', asOwner('/tx/oracle/set-required-signers', { required: '1' })),
  row('Tolerance too wide', 'tolerance_too_wide', asOwner('/tx/oracle/set-tolerance-bps', { bps: '1001' })),
  row('Nothing to clear', 'nothing_to_clear', asOwner('/tx/oracle/clear-stale-submissions', event(current))),
  ...only('deployed', [
    row(
      'Resubmit cooldown: wait 5 minutes between submissions for this event',
      'resubmit_cooldown',
      submits({}, oracleA),
    ),
  ]),
]

/** Calls that pull the caller's tokens, and calls that pay the default token. */
const pullsOf = (token: Address, from?: Address): readonly Call[] => {
  const pool = event(token === usdc ? current : inHostile)
  const calls = [creates({ paymentToken: token }), deposits(pool), buys(pool)]
  return calls.map(([path, usual, body]) => [path, from ?? usual, body])
}
const pushes: readonly Call[] = [
  claims(1),
  ['/tx/hedge/claim-premiums', creator, { depositId: seeds.current }],
  ['/tx/hedge/withdraw-capital', creator, { depositId: seeds.lost }],
  ['/tx/hedge/withdraw-creator-earnings', creator, event(won)],
  ...[withdrawsFees('1'), withdrawsFeesByToken('1')],
]

const paused: State = () => send(owner, 'pause', [])
const initializes = (change: object): Call => asOwner('/tx/hedge/initialize-fees', { ...fees, ...change })

const ofAdministration: readonly Row[] = [
  row('Not pending owner', 'not_pending_owner', ['/tx/ownership/accept-ownership', stranger, {}]),
  row('Paused', 'protocol_paused', deposits(), paused),
  row(
    'Paused',
    'protocol_paused',
    ['/tx/hedge/set-pool-settings', creator, { ...switches, ...event(current) }],
    paused,
  ),
  row('Paused', 'already_paused', asOwner('/tx/hedge/pause'), paused),
  row('Not paused', 'not_paused', asOwner('/tx/hedge/unpause')),
  ...each(
    [
      asOwner('/tx/ownership/transfer-ownership', { newOwner: zeroAddress }),
      asOwner('/tx/oracle/add-oracle', { oracle: zeroAddress }),
      ...[allows(zeroAddress), rescuesCoins(zeroAddress), rescues(stray, zeroAddress)],
    ],
    'Zero address',
    'zero_address',
  ),
  row('Creation fee too high', 'creation_fee_too_high', initializes({ creationFee: '1000000001' })),
  row('Fee rate too high', 'fee_rate_too_high', initializes({ payoutFeeRate: '100001' })),
  row('Loyalty rate too high', 'loyalty_rate_too_high', initializes({ creatorLoyaltyRate: '500001' })),
  ...each(
    [withdrawsFees(String(maxUint256)), withdrawsFeesByToken('1', stray)],
    'Exceeds collected fees',
    'exceeds_collected_fees',
  ),
  row('Default token', 'default_token', allows(usdc, false)),
  row('Payment token', 'payment_token', rescues(usdc)),
  ...each([rescues(stray), rescuesCoins(heir)], 'Nothing to rescue', 'nothing_to_rescue'),
  row('Transfer failed', 'coin_transfer_failed', rescuesCoins(facet), () =>
    client.setBalance({ address: diamond, value: 1n }),
  ),
  row('Reentrant call', 'reentrant_call', deposits(event(inHostile)), callsBack),
  // The flag that the protocol sets during a call.
  ...each(
    [...pullsOf(usdc), ...pushes, rescues(stray), rescuesCoins(heir), submits()],
    'Reentrant call',
    'reentrant_call',
    () => store(base, 1n),
  ),
]

/** The owner's functions, with a body that the owner could send. */
const ofOwner: readonly (readonly [path: string, body: object])[] = [
  ['/tx/hedge/initialize-fees', fees],
  ['/tx/hedge/pause', {}],
  ['/tx/hedge/unpause', {}],
  ['/tx/hedge/activate-oracle-v2', {}],
  ['/tx/hedge/set-oracle-admin', { admin: heir }],
  ['/tx/hedge/set-pricing-engine-signer', { signer: heir }],
  ['/tx/hedge/withdraw-platform-fees', { amount: '1' }],
  ['/tx/hedge/withdraw-platform-fees-by-token', { token: usdc, amount: '1' }],
  ['/tx/hedge/rescue-eth', { to: heir }],
  ['/tx/hedge/rescue-erc20', { token: stray, to: heir }],
  ['/tx/hedge/set-allowed-payment-token', { token: stray, allowed: true }],
  ['/tx/hedge/recover-expired-payouts', event(won)],
  ['/tx/oracle/add-oracle', { oracle: heir }],
  ['/tx/oracle/remove-oracle', { oracle: oracleA }],
  ['/tx/oracle/set-required-signers', { required: '3' }],
  ['/tx/oracle/set-tolerance-bps', { bps: '100' }],
  ['/tx/oracle/clear-stale-submissions', event(expired)],
  ['/tx/ownership/transfer-ownership', { newOwner: heir }],
]

const ofEvent =
  (path: string, from: Address, body: object = {}) =>
  (id: bigint): Call => [path, from, { ...body, ...event(id) }]
const setsPool = ofEvent('/tx/hedge/set-pool-settings', creator, switches)
const withdrawsEarnings = ofEvent('/tx/hedge/withdraw-creator-earnings', creator)
const clears = ofEvent('/tx/oracle/clear-stale-submissions', owner)
const settlesEvent = ofEvent('/tx/hedge/settle-event', oracleAdmin, { settlementPrice: '12000000' })
const submitsFor = ofEvent('/tx/oracle/submit-rate', oracleB, { price: '12000000' })

/** The same text of further functions. */
const ofOtherFunctions: readonly Row[] = [
  ...[setsPool, withdrawsEarnings, settlesEvent, recovers, submitsFor, clears].map((call) =>
    row('Event not found', 'event_not_found', call(999n)),
  ),
  row('Event not found', 'event_not_found', buys({ eventId: 999 })),
  ...[settlesEvent, submitsFor, clears].map((call) => row('Event settled', 'event_settled', call(won))),
  row('Event not settled', 'event_not_settled', recovers(current)),
  row('Not creator', 'not_creator', ofEvent('/tx/hedge/set-pool-settings', lp, switches)(current)),
  row('Paused', 'protocol_paused', creates({}), paused),
  row('Paused', 'protocol_paused', buys(), paused),
  row('Deposit not found', 'deposit_not_found', ['/tx/hedge/withdraw-capital', creator, { depositId: 999 }]),
  row('Not your deposit', 'not_your_deposit', ['/tx/hedge/claim-premiums', lp, { depositId: seeds.won }]),
]

const proposalId = `0x${'ab'.repeat(32)}` as const
const cancels = (id: Hex): Call => asOwner('/tx/governance/cancel-cut', { proposalId: id })

const ofUpgrades: readonly Row[] = [
  ...ofOwner.map(([path, body]) => row('Not owner', 'not_owner', [path, stranger, body])),
  row(by('Not owner', 'LibDiamond: Must be contract owner'), 'not_owner', [
    ...(['/tx/governance/diamond-cut', stranger] as const),
    { cuts: [addName], init: zeroAddress, initData: '0x' },
  ]),
  row('Function exists', 'function_exists', executes('addExisting')),
  row('Function not found', 'cut_of_missing_function', executes('removeMissing')),
  row('Same function', 'same_function', executes('replaceBySame')),
  row('Init reverted', 'init_reverted', executes('failingInit')),
  row('No selectors', 'no_selectors', cuts({ functionSelectors: [] })),
  row('Facet has no code', 'facet_has_no_code', cuts({ facetAddress: heir })),
  row('Facet must be zero', 'facet_must_be_zero', cuts({ action: 2 })),
  row('Init has no code', 'init_has_no_code', cuts({}, heir)),
  ...only('reference', [
    row(
      'Empty cut',
      'empty_cut',
      asOwner('/tx/governance/diamond-cut', { cuts: [], init: zeroAddress, initData: '0x' }),
    ),
    row('Not owner', 'not_owner', ['/tx/governance/execute-cut', stranger, { proposalId }]),
    row('Not owner', 'not_owner', ['/tx/governance/cancel-cut', stranger, { proposalId }]),
    ...each(
      [asOwner('/tx/governance/execute-cut', { proposalId }), cancels(proposalId)],
      'Proposal not found',
      'proposal_not_found',
    ),
    ...each([executes('cancelled'), cancels(proposalOf('cancelled'))], 'Already cancelled', 'already_cancelled'),
    ...each([executes('good'), cancels(proposalOf('good'))], 'Already executed', 'already_executed', () =>
      send(owner, 'executeCut', [proposalOf('good')]),
    ),
    row('Facet has no code', 'facet_has_no_code', executes('good'), () => replaceCode(facet)),
    row('Init has no code', 'init_has_no_code', executes('failingInit'), () => replaceCode(usdc)),
    row('Timelock not elapsed', 'timelock_not_elapsed', executes('late')),
    row('Proposal expired', 'proposal_expired', executes('good'), () => mineAt(now + 40n * DAY)),
    row('Function not found', 'function_not_mounted', asOwner('/tx/hedge/pause'), () =>
      send(owner, 'executeCut', [proposalOf('unmount')]),
    ),
  ]),
  ...only('deployed', [
    row('Diamond: Function does not exist', 'function_not_mounted', asOwner('/tx/hedge/pause'), () =>
      send(owner, 'diamondCut', cutArgs(upgrades.unmount)),
    ),
    row(
      'Diamond: Function does not exist',
      'function_not_mounted',
      asOwner('/tx/governance/execute-cut', { proposalId }),
    ),
  ]),
]

const approves: Call = [
  ...(['/tx/erc20/approve', lp] as const),
  { token: hostile.token, spender: diamond, amount: '1' },
]
const pullsOfHostile = pullsOf(hostile.token)
const pullsOfStranger = pullsOf(usdc, stranger)

const ofTokens: readonly Row[] = [
  ...each(pullsOfStranger, by('Insufficient allowance', 'Transfer amount exceeds allowance'), 'insufficient_allowance'),
  ...each(pullsOfStranger, by('Insufficient balance', 'Transfer amount exceeds balance'), 'insufficient_balance', () =>
    approve(stranger, maxUint256),
  ),
  ...each(
    pullsOfHostile,
    by('Token transfer failed', 'SafeERC20FailedOperation(address)'),
    'token_transfer_failed',
    () => hostile.behave('saysNo'),
  ),
  ...each(pushes, 'Token transfer failed', 'token_transfer_failed', () => replaceCode(usdc, '0x60205ff3')),
  row('Token transfer failed', 'token_transfer_failed', rescues(strange.token), () => strange.behave('saysNo')),
  ...each(pushes, 'Token has no code', 'token_has_no_code', () => replaceCode(usdc)),
  row('Bad token decimals', 'bad_token_decimals', allows(stranger)),
  row('Bad token decimals', 'bad_token_decimals', creates({ paymentToken: hostile.token }), () => withCode()),
  row('Bad token decimals', 'bad_token_decimals', initializes({}), () => replaceCode(usdc)),
  ...only(
    'reference',
    each(pullsOfHostile, 'Token took a fee', 'token_took_a_fee', () => hostile.behave('takesFee')),
  ),
  ...[
    ['Blacklistable: account is blacklisted', 'token_account_blocked'] as const,
    ['Pausable: paused', 'token_paused'] as const,
  ].flatMap(([text, code]) =>
    each([approves, ...(isReference ? [] : pullsOfHostile)], text, code, revertsWithText(text)),
  ),
  row(
    'ERC20: approve to the zero address',
    'token_bad_address',
    approves,
    revertsWithText('ERC20: approve to the zero address'),
  ),
]

/** Whatever a token may answer. */
const ofMachine: readonly Row[] = [
  row('execution reverted', 'reverted_without_reason', approves, () => withCode('0x5f5ffd')),
  row('a text of its own', 'unknown_reason', approves, revertsWithText('a\ntext of its own')),
  row(
    toFunctionSelector('Unheard(uint256)'),
    'unknown_error',
    approves,
    revertsWith(encodeErrorResult({ abi, errorName: 'Unheard', args: [1n] })),
  ),
  row(
    'Panic(0x12)',
    'division_by_zero',
    approves,
    revertsWith(encodeErrorResult({ abi, errorName: 'Panic', args: [0x12n] })),
  ),
]

const rows = [
  ...[...ofEvents, ...ofPools, ...ofProtection, ...ofSettlement],
  ...[...ofAdministration, ...ofOtherFunctions, ...ofUpgrades, ...ofTokens, ...ofMachine],
]

type Built = {
  readonly function: string
  readonly estimatedGas: string | null
  readonly simulation: {
    readonly status: string
    readonly code: string | null
    readonly reason: string | null
    readonly hint: string | null
    readonly blockNumber: number | null
  } | null
}

const build = async ([path, from, body]: Call): Promise<Built> => {
  const fields = typeof body === 'function' ? await body() : body
  const { status, data } = await api.post(path, { chainId: 8453, from, ...fields })
  expect(status).toBe(200)
  return data as Built
}

describe('the simulation of a transaction that the chain rejects reports', () => {
  test.each(rows.map((it) => [it.reason, it.call[0], it.code, it] as const))(
    '"%s" of %s as %s',
    async (reason, _path, code, { call, state }) => {
      await state?.()
      const number = Number(await client.getBlockNumber({ cacheTime: 0 }))
      const built = await build(call)
      const found = reverts.find((it) => it.code === code)
      expect(built.simulation).toEqual({ status: 'reverted', code, reason, hint: found?.hint, blockNumber: number })
      expect(built.estimatedGas).toBeNull()
      if (found?.functions.length) expect(found.functions).toContain(built.function)
    },
  )
})

describe('a simulation', () => {
  test('is a success when the chain accepts the transaction', async () => {
    const built = await build(deposits())
    const number = Number(await client.getBlockNumber({ cacheTime: 0 }))
    expect(built.simulation).toEqual({ status: 'success', code: null, reason: null, hint: null, blockNumber: number })
    expect(Number(built.estimatedGas)).toBeGreaterThan(21_000)
  })

  test('of a call that never ends fails without a revert', async () => {
    await withCode('0x5b5f56')
    const { simulation, estimatedGas } = await build(approves)
    expect([simulation?.status, simulation?.code, estimatedGas]).toEqual(['reverted', 'execution_failed', null])
    expect(simulation?.reason).toMatch(/gas/i)
  })

  test('of a call with an invalid instruction fails without a revert', async () => {
    await withCode('0xfe')
    expect((await build(approves)).simulation).toMatchObject({ status: 'reverted', code: 'execution_failed' })
  })
})

const has = (list: readonly string[]) => (it: string) => list.includes(it)
const functionOf = ([path]: Call): string => builders.find((builder) => builder.path === path)?.function ?? path
const isMounted = (name: string): boolean => !has(profiles[profile].mayLack)(name)

/** Pairs of a code and a function that no transaction of this profile leads to. */
const unreachable = unreachableReverts.flatMap(({ of, pairs }) =>
  of.includes(profile)
    ? pairs.flatMap(([codes, names]) => codes.flatMap((code) => names.map((name) => `${code}: ${name}`)))
    : [],
)
const reached = new Set(rows.map(({ code, call }) => `${code}: ${functionOf(call)}`))

test('every function is rejected with each of its codes of the catalogue, or cannot be', () => {
  const isBuilt = has(builders.map((builder) => builder.function))
  const catalogued = reverts.flatMap(({ code, functions }) =>
    functions.filter((name) => isBuilt(name) && isMounted(name)).map((name) => `${code}: ${name}`),
  )
  const ofAnyFunction = reverts.filter(({ functions }) => functions.length === 0).map(({ code }) => code)
  const ofOne = [...reached].filter((pair) => !ofAnyFunction.some((code) => pair.startsWith(`${code}: `)))
  expect([...ofOne, ...unreachable].toSorted()).toEqual(catalogued.toSorted())
})

test('every function is rejected with each text of its source, or cannot be', () => {
  const texts = textsByFunction(profile)
  expect(texts.length).toBeGreaterThan(120)
  const codeOf = (text: string, name: string): string =>
    revertOf({ data: null, message: `execution reverted: ${text}` }, name).code
  const reachable = texts.flatMap(([name, text]) =>
    unreachable.includes(`${codeOf(text, name)}: ${name}`) ? [] : [`${text}: ${name}`],
  )
  const withTexts = rows.map(({ reason, code, call }) => {
    const name = code === 'function_not_mounted' ? 'fallback' : functionOf(call)
    return `${reason}: ${name}`
  })
  expect(reachable.filter((pair) => !withTexts.includes(pair)).toSorted()).toEqual(impossibleTexts.toSorted())
})
