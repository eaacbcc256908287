import { type Address, type Hex, hexToBigInt, numberToHex, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { attestationMessage } from '../../src/protocol/attestation.ts'
import { deployHostileToken } from '../support/hostile-token.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { blockingCodes, planOf, refusesOverrides, usePlans } from '../support/plan-apps.ts'
import { byForm } from '../support/repetitions.ts'
import { DAI, DAY, fees, type NewEvent, USDC, useProtocol } from '../support/use-protocol.ts'

/* Over nodes that do not simulate, a plan is executable only when everything that could make it revert was checked. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { creator, lp, hedger, stranger, owner, oracleA, dai, diamond } = protocol
const { send, read, approve, mint, newEvent, now, mineAt, deploy } = protocol

const proxy = await startNodeProxy(protocol.url)
afterAll(proxy.close)
proxy.refuse(refusesOverrides)
const blind = usePlans({ nodes: [{ url: proxy.url, deployment: protocol.deployment }] })
const simulating = usePlans({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })

type Body = Readonly<Record<string, unknown>>

/** Both plans of an action, which have to agree on what makes it revert; returns the codes. */
const codesOf = async (action: string, body: Body): Promise<readonly string[]> => {
  const [plan, simulated] = [await planOf(blind, action, body), await planOf(simulating, action, body)]
  expect([plan.method, simulated.method]).toEqual([null, 'eth_simulateV1'])
  const codes = blockingCodes(plan)
  expect([action, codes, plan.executable]).toEqual([action, blockingCodes(simulated), simulated.executable])
  expect(plan.walletCalls === null).toBe(!plan.executable)
  for (const { message, hint } of plan.issues) expect([message === '', hint === '']).toEqual([false, false])
  return codes
}

const openEvent = async (chosen: Partial<NewEvent> = {}): Promise<bigint> => {
  await send(creator, 'createEvent', [newEvent(chosen)])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, chosen.allowExternalLp ?? true])
  return id
}

const intentOf = (chosen: Partial<NewEvent> = {}): Body => {
  const { expiryDate, ...terms } = newEvent(chosen)
  return { from: creator, ...terms, expiry: expiryDate }
}

describe('a plan without a simulation finds what makes a call revert', () => {
  test('the pause of the protocol', async () => {
    const eventId = await openEvent()
    await send(owner, 'pause', [])
    for (const [action, body] of [
      ['deposit', { from: lp, eventId, amount: 100n * USDC }],
      ['buy-protection', { from: hedger, eventId, notional: 100n * USDC }],
      ['create-event', intentOf()],
      ['set-pool-settings', { from: creator, eventId, poolOpen: false, allowExternalLp: false }],
    ] as const)
      expect(await codesOf(action, body)).toEqual(['protocol_paused'])
  })

  test('the capacity of the pool, to the unit', async () => {
    const eventId = await openEvent()
    const { availableCapacity } = await read('getPoolUtilization', [eventId])
    const { initialRate } = await read('getHedgeEventCore', [eventId])
    // The deployed view returns liquidity.
    const capacity =
      profile === 'deployed' ? ((availableCapacity + 1n) * initialRate - 1n) / 1_500_000n : availableCapacity
    expect(await codesOf('buy-protection', { from: hedger, eventId, notional: capacity })).toEqual([])
    expect(await codesOf('buy-protection', { from: hedger, eventId, notional: capacity + 1n })).toEqual([
      'exceeds_capacity',
    ])
  })

  test('amounts that are too small', async () => {
    const eventId = await openEvent({ premiumRate: 1n })
    for (const notional of [1n, 999_999n, 9_999_999n])
      expect(await codesOf('buy-protection', { from: hedger, eventId, notional })).toHaveLength(
        profile === 'reference' && notional > 1_000_000n ? 0 : 1,
      )
    await codesOf('deposit', { from: lp, eventId, amount: 9_999_999n })
  })

  test('liquidity providers that the creator refuses, and closed pools', async () => {
    const closed = await openEvent({ allowExternalLp: false })
    expect(await codesOf('deposit', { from: lp, eventId: closed, amount: 100n * USDC })).toHaveLength(1)
    expect(await codesOf('deposit', { from: creator, eventId: closed, amount: 100n * USDC })).toEqual([])
    await send(creator, 'setPoolSettings', [closed, false, true])
    expect(await codesOf('deposit', { from: lp, eventId: closed, amount: 100n * USDC })).toHaveLength(1)
    expect(await codesOf('buy-protection', { from: hedger, eventId: closed, notional: 100n * USDC })).toHaveLength(1)
  })

  test('rates of accounts that are no oracles, and of oracles that have to wait', async () => {
    const eventId = await openEvent()
    await mineAt((await read('getHedgeEventCore', [eventId])).expiryDate)
    expect(await codesOf('submit-rate', { from: stranger, eventId, price: 13_000_000n })).toEqual(['not_an_oracle'])
    expect(await codesOf('submit-rate', { from: oracleA, eventId, price: 13_000_000n })).toEqual([])
    await send(oracleA, 'submitRate', [eventId, 13_000_000n])
    expect(await codesOf('submit-rate', { from: oracleA, eventId, price: 13_000_000n })).toEqual(
      profile === 'deployed' ? ['resubmit_cooldown'] : [],
    )
  })

  test('every term of a new event', async () => {
    const time = await now()
    const cases: readonly Partial<NewEvent>[] = [
      { name: 'x'.repeat(129) },
      { underlying: 'x'.repeat(33) },
      { strike: 0n },
      { initialRate: 0n },
      { strike: 2n ** 96n, payoutCap: 2n ** 97n },
      { premiumRate: 0n },
      { premiumRate: 1_000_001n },
      { expiryDate: time },
      { expiryDate: time - DAY },
      { expiryDate: time + 366n * DAY },
      { payoutCap: 12_000_000n },
      { payoutCap: 11_000_000n },
      { strikeAbove: false },
      { payoutCap: 0n, strike: 11_400_000n },
      { payoutCap: 0n, strikeAbove: false },
      { paymentToken: diamond },
      { paymentToken: stranger },
      { initialLiquidity: 1n },
      { initialLiquidity: 0n },
      { initialLiquidity: 2n ** 128n },
    ]
    // `plan checks` have the other terms without a node.
    for (const chosen of cases.filter((_, at) => byForm(at % 4 === 0, true))) {
      const [plan, simulated] = [
        await planOf(blind, 'create-event', intentOf(chosen)),
        await planOf(simulating, 'create-event', intentOf(chosen)),
      ]
      expect([chosen, plan.executable, plan.issues.length > 0]).toEqual([
        chosen,
        simulated.executable,
        simulated.issues.length > 0,
      ])
      // A token that does not exist has no allowance either.
      if (chosen.paymentToken === undefined) expect(blockingCodes(plan)).toEqual(blockingCodes(simulated))
    }
    expect(await codesOf('create-event', intentOf({ paymentToken: zeroAddress }))).toEqual([])
  })

  test('a cost that the formula has too low, because the event has other fees', async () => {
    const eventId = await openEvent()
    await send(owner, 'initializeHedgeFees', [
      fees.creationFee,
      fees.hedgerFeeRate - 1_000n,
      fees.payoutFeeRate,
      fees.lpProfitFeeRate,
      fees.creatorLoyaltyRate,
    ])
    const body = { from: hedger, eventId, notional: 1_000n * USDC }
    expect(blockingCodes(await planOf(blind, 'buy-protection', body))).toEqual(['cost_exceeds_max'])
    expect((await planOf(blind, 'buy-protection', { ...body, maxCostBps: 50 })).executable).toBe(true)
  })

  test('a token that takes a fee, or refuses, once it is approved', async () => {
    const { token, behave } = await deployHostileToken(protocol)
    await send(owner, 'setAllowedPaymentToken', [token, true])
    for (const whose of [creator, lp]) {
      await mint(whose, 1_000_000n * DAI, token)
      await approve(whose, 2n ** 256n - 1n, token)
    }
    const eventId = await openEvent({ paymentToken: token, initialLiquidity: 1_000n * DAI })
    for (const manner of ['takesFee', 'saysNo'] as const) {
      await behave(manner, 'claimPayout', [1n])
      await codesOf('deposit', { from: lp, eventId, amount: 100n * DAI })
    }
  })

  test('an address that is no token', async () => {
    for (const token of [stranger, diamond])
      expect(blockingCodes(await planOf(blind, 'revoke-approval', { from: lp, token }))).toContain('not_a_token')
    expect(await codesOf('revoke-approval', { from: lp, token: dai })).toEqual([])
  })
})

describe('a step that needs an approval first', () => {
  test('is executable in a configured token, and not in another one, which only the approval makes checkable', async () => {
    const inUsdc = await openEvent()
    const inDai = await openEvent({ paymentToken: dai, initialLiquidity: 1_000n * DAI })
    await approve(lp, 0n)
    await approve(lp, 0n, dai)
    const ofUsdc = await planOf(blind, 'deposit', { from: lp, eventId: inUsdc, amount: 100n * USDC })
    expect([ofUsdc.executable, ofUsdc.steps.map(({ id }) => id)]).toEqual([true, ['approve', 'deposit']])
    const body = { from: lp, eventId: inDai, amount: 100n * DAI }
    const ofDai = await planOf(blind, 'deposit', body)
    expect([ofDai.executable, blockingCodes(ofDai)]).toEqual([false, ['not_simulated']])
    expect(ofDai.issues.find(({ blocking }) => blocking)?.hint).toContain('/v1/tx/erc20/approve')
    await approve(lp, 100n * DAI, dai)
    expect((await planOf(blind, 'deposit', body)).executable).toBe(true)
  })

  test('still finds what else is against it', async () => {
    const eventId = await openEvent({ allowExternalLp: false })
    await approve(lp, 0n)
    await approve(hedger, 0n)
    await approve(creator, 0n)
    expect(await codesOf('deposit', { from: lp, eventId, amount: 100n * USDC })).toHaveLength(1)
    expect(await codesOf('buy-protection', { from: hedger, eventId, notional: 10n ** 12n })).toEqual([
      'exceeds_capacity',
    ])
    expect(await codesOf('create-event', intentOf({ payoutCap: 1n }))).toEqual(['cap_on_wrong_side'])
    expect(blockingCodes(await planOf(blind, 'deposit', { from: stranger, eventId, amount: 1n }))).not.toEqual([])
  })

  test('names a token that changes an allowance only from 0', async () => {
    const token = await deploy('StrictToken')
    await send(owner, 'setAllowedPaymentToken', [token, true])
    for (const whose of [creator, lp]) await mint(whose, 10_000n * USDC, token)
    await approve(creator, 10_000n * USDC, token)
    const eventId = await openEvent({ paymentToken: token, initialLiquidity: 1_000n * USDC })
    await approve(lp, 5n, token)
    const plan = await planOf(blind, 'deposit', { from: lp, eventId, amount: 100n * USDC })
    expect(plan.executable).toBe(false)
    expect(plan.issues.filter(({ blocking }) => blocking)[0]).toMatchObject({
      step: 'approve',
      hint: expect.stringContaining('revoke-approval'),
    })
  })
})

test('a step whose check is not answered is not executable, and has an issue for it', async () => {
  const eventId = await openEvent()
  const blindTo = (method: string, params: readonly unknown[]) =>
    refusesOverrides(method, params) ??
    (method === 'eth_call' && (params[0] as { readonly from?: string }).from !== undefined
      ? { code: -32_000, message: 'unsupported' }
      : undefined)
  proxy.refuse(blindTo)
  const plan = await planOf(blind, 'deposit', { from: lp, eventId, amount: 100n * USDC })
  proxy.refuse(refusesOverrides)
  expect([plan.executable, blockingCodes(plan), plan.walletCalls]).toEqual([false, ['not_simulated'], null])
  expect(plan.issues[0]?.hint).toContain('Request the plan again')
})

describe('a signed quote', () => {
  const engine = privateKeyToAccount(`0x${'01'.repeat(32)}`)

  const signedTerms = async (chosen: { readonly by?: Address; readonly at?: bigint; readonly nonce?: Hex } = {}) => {
    const terms = newEvent()
    const quoteTimestamp = chosen.at ?? (await now())
    const quoteNonce = chosen.nonce ?? (`0x${'07'.repeat(32)}` as Hex)
    const quote = {
      ...{ ...terms, expiry: terms.expiryDate },
      ...{ chainId: 8453, diamond, creator: chosen.by ?? creator, quoteTimestamp, quoteNonce },
    } as const
    const signature = await engine.signMessage({ message: { raw: attestationMessage(quote) } })
    return intentOf({ signature, quoteTimestamp, quoteNonce })
  }

  /** The second form of a signature, with the larger `s`. */
  const mirrored = (signature: Hex): Hex => {
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const s = numberToHex(order - hexToBigInt(`0x${signature.slice(66, 130)}`), { size: 32 }).slice(2)
    return `0x${signature.slice(2, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
  }

  test('is judged as the protocol judges it', async () => {
    expect(await codesOf('create-event', await signedTerms())).toEqual(
      profile === 'deployed' ? [] : ['no_pricing_signer'],
    )
    await send(owner, 'setPricingEngineSigner', [engine.address])
    const good = await signedTerms()
    expect(await codesOf('create-event', good)).toEqual([])
    const signature = good.signature as Hex
    const time = await now()
    const cases: readonly (readonly [string, Body])[] = [
      ['bad_signature_length', { ...good, signature: `${signature}00` }],
      ['bad_quote_signature', { ...good, signature: `0x${'00'.repeat(65)}` }],
      ['bad_quote_signature', { ...good, signature: mirrored(signature) }],
      ['bad_quote_signature', { ...good, strike: 12_000_001n }],
      ['bad_quote_signature', await signedTerms({ by: lp })],
      ['quote_nonce_required', await signedTerms({ nonce: `0x${'00'.repeat(32)}` })],
      ['quote_expired', await signedTerms({ at: time - 200n })],
      ['quote_from_the_future', await signedTerms({ at: time + 3_600n })],
    ]
    for (const [code, body] of cases.filter((_, at) => byForm(at % 3 === 0, true)))
      expect(await codesOf('create-event', body)).toEqual([code])
    const { expiry, ...terms } = good
    await send(creator, 'createEvent', [{ ...terms, expiryDate: expiry } as unknown as NewEvent])
    expect(await codesOf('create-event', good)).toEqual(['quote_nonce_used'])
  })

  test('of the second of the plan is accepted, although the last block is older', async () => {
    await send(owner, 'setPricingEngineSigner', [engine.address])
    const [wall, next] = [BigInt(Math.floor(Date.now() / 1_000)), (await now()) + 1n]
    const at = wall > next ? wall : next
    expect(await codesOf('create-event', await signedTerms({ at }))).toEqual([])
  })
})

test('a claim that would revert has its reason', async () => {
  const eventId = await openEvent()
  const [depositId = 0n] = await read('getEventDepositIds', [eventId])
  expect(await codesOf('claim-premiums', { from: creator, depositId })).toEqual(['no_premiums'])
  expect(await codesOf('withdraw-capital', { from: creator, depositId })).toEqual(['event_not_settled'])
})
