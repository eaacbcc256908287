import { decodeFunctionData, type Hex, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { baseOf, type Draft } from '../../src/plans/draft/contents.ts'
import type { Price } from '../../src/plans/draft/price.ts'
import type { Situation } from '../../src/plans/draft/situation.ts'
import { plainIssues, plainRequests } from '../../src/plans/rehearsal/unsimulated.ts'
import { actionStep, approval } from '../../src/plans/steps/step.ts'
import { attestationMessage } from '../../src/protocol/attestation.ts'
import { type ActionName, actions } from '../support/call-actions.ts'
import {
  BLOCK,
  DAI_AT,
  DIAMOND,
  deploymentOf,
  OTHER,
  planChain,
  TIME,
  USDC_AT,
  WALLET,
  type World,
} from '../support/plan-chain.ts'

const deployment = deploymentOf(8453)
const engine = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const terms = {
  ...{ name: 'Cedi', underlying: 'USD/GHS', strike: 11n, payoutCap: 12n, premiumRate: 25n, expiry: TIME + 1n },
  ...{ allowExternalLp: true, initialLiquidity: 70n, initialRate: 10n, strikeAbove: true, paymentToken: USDC_AT },
  ...{ signature: '0x' as Hex, quoteTimestamp: 0n, quoteNonce: `0x${'0'.repeat(64)}` as Hex },
}
const quoteNonce: Hex = `0x${'33'.repeat(32)}`
const signedTerms = async (more: object = {}) => {
  const quote = {
    ...terms,
    chainId: 8453,
    diamond: DIAMOND,
    creator: WALLET,
    quoteTimestamp: TIME,
    quoteNonce,
    ...more,
  }
  const signature = await engine.signMessage({ message: { raw: attestationMessage(quote) } })
  return { ...terms, quoteTimestamp: quote.quoteTimestamp, quoteNonce, signature }
}

const step = (name: ActionName, more: object = {}) =>
  actionStep(
    name,
    actions[name],
    { chainId: 8453, eventId: 5n, amount: 300n, positionId: 9n, ...terms, ...more },
    deployment,
  )
const approve = (token = USDC_AT) => approval('approve', token, 300n, deployment)

const price = (more: Partial<Price> = {}): Price => ({
  ...{ token: USDC_AT, total: 300n, premium: null, exact: false, gas: null, balance: 500n, allowance: 0n },
  needsReset: false,
  ...more,
})

const takes = () => ({ takes: { [USDC_AT]: 300n } })
const usual: Partial<World> = {
  balances: { [USDC_AT]: 500n, [DAI_AT]: 500n },
  calls: { deposit: takes, createEvent: takes, claimPayout: () => ({}) },
  views: { getPricingEngineSigner: () => engine.address, isQuoteNonceUsed: () => false },
}

const judged = async (draft: Partial<Draft> & Pick<Draft, 'steps'>, more: Partial<World> = {}) => {
  const { chain } = planChain({ ...usual, ...more })
  const situation = { name: 'x', intent: { from: WALLET }, chain, block: BLOCK, time: TIME } as Situation
  const base = { ...baseOf(situation), price: price(), maxCost: 300n, createdId: null, tokens: [], facts: [] }
  const whole = { ...base, ...draft }
  const requests = plainRequests(whole, deployment)
  const { outcomes } = await chain.send({ outcomes: requests })
  const issues = await plainIssues(whole, deployment, outcomes)
  return { requests, issues, codes: issues.map(({ step: id, code }) => `${id} ${code}`) }
}

const callsOf = (requests: Awaited<ReturnType<typeof judged>>['requests']) =>
  requests.map(({ params: [call] }) => {
    const { to, data } = call as { to: string; data: Hex }
    const { functionName, args } = decodeFunctionData({ abi: [...protocolAbi, ...erc20Abi], data })
    return [to, functionName, args] as const
  })

const failing =
  (name: string, error: NodeError): World['fails'] =>
  ({ method, params: [call] }) => {
    if (method !== 'eth_call') return undefined
    const { data } = call as { data: Hex }
    const { functionName } = decodeFunctionData({ abi: [...protocolAbi, ...erc20Abi], data })
    return functionName === name ? error : undefined
  }
const busy = new NodeError({ code: -32_000, message: 'too busy' })
const revert = (text: string) => new NodeError({ code: 3, message: `execution reverted: ${text}` })

describe('a step that spends after its approval', () => {
  test('is asked for as the token, the approval, the call and the transfer to the protocol', async () => {
    const { requests } = await judged({
      steps: [approve(), step('deposit')],
      price: price({ balance: 7n, total: 299n }),
    })
    expect(callsOf(requests)).toEqual([
      [USDC_AT, 'balanceOf', [WALLET]],
      [USDC_AT, 'approve', [DIAMOND, 300n]],
      [DIAMOND, 'deposit', [5n, 300n]],
      [USDC_AT, 'transfer', [DIAMOND, 299n]],
    ])
    for (const { params } of requests) expect(params[0]).toMatchObject({ from: WALLET })
  })

  test('is accepted when the call lacks nothing but the allowance and the token takes the transfer', async () => {
    expect((await judged({ steps: [approve(), step('deposit')] })).codes).toEqual([])
  })

  test('of a token that is not configured is not checked', async () => {
    const { codes, issues } = await judged({
      steps: [approve(DAI_AT), step('deposit')],
      price: price({ token: DAI_AT }),
    })
    expect(codes).toEqual(['deposit not_simulated'])
    expect(issues[0]?.blocking).toBe(true)
    expect((await judged({ steps: [approve(), step('deposit')], price: null })).codes).toEqual([
      'deposit not_simulated',
    ])
  })

  test('of a configured token in lower case is checked', async () => {
    const token = USDC_AT.toLowerCase() as Hex
    expect((await judged({ steps: [approve(), step('deposit')], price: price({ token }) })).codes).not.toContain(
      'deposit not_simulated',
    )
  })

  test('fails for any other reason of the call', async () => {
    const calls = { ...usual.calls, deposit: () => ({ reverts: 'Event settled' }) }
    const { codes } = await judged({ steps: [approve(), step('deposit')] }, { calls })
    expect(codes).toEqual([expect.stringMatching(/^deposit (?!not_simulated|insufficient)/)])
  })

  test('fails for the allowance when the plan does not approve', async () => {
    expect((await judged({ steps: [step('deposit')] })).codes).toEqual(['deposit insufficient_allowance'])
    expect((await judged({ steps: [step('deposit')] }, { allowances: { [USDC_AT]: 300n } })).codes).toEqual([])
  })

  test.each([
    [500n, []],
    [501n, ['deposit insufficient_balance']],
  ])('of a balance of 500 pays %d', async (total, codes) => {
    expect((await judged({ steps: [approve(), step('deposit')], price: price({ total }) })).codes).toEqual(codes)
  })

  test('is not checked when a node does not answer the call or the transfer', async () => {
    for (const name of ['deposit', 'transfer'])
      expect((await judged({ steps: [approve(), step('deposit')] }, { fails: failing(name, busy) })).codes).toEqual([
        'deposit not_simulated',
      ])
  })

  test('fails for a transfer that the token refuses', async () => {
    const fails = failing('transfer', revert('Pausable: paused'))
    expect((await judged({ steps: [approve(), step('deposit')] }, { fails })).codes).toEqual(['deposit token_paused'])
  })
})

describe('what a transfer returns', () => {
  const [yes, no] = [`0x${'0'.repeat(63)}1`, `0x${'0'.repeat(64)}`] as const
  test.each<[string, Hex, string[]]>([
    ['true', yes, []],
    ['nothing', '0x', []],
    ['false', no, ['deposit token_transfer_failed']],
    ['something else', '0x01', ['deposit token_transfer_failed']],
  ])('%s', async (_, value, codes) => {
    const draft = { steps: [approve(), step('deposit')] }
    const { chain } = planChain(usual)
    const situation = { name: 'x', intent: { from: WALLET }, chain, block: BLOCK, time: TIME } as Situation
    const whole = {
      ...baseOf(situation),
      price: price(),
      maxCost: 1n,
      createdId: null,
      tokens: [],
      facts: [],
      ...draft,
    }
    const { outcomes } = await chain.send({ outcomes: plainRequests(whole, deployment) })
    const issues = await plainIssues(whole, deployment, [...outcomes.slice(0, -1), { ok: true, value }])
    expect(issues.map(({ step: id, code }) => `${id} ${code}`)).toEqual(codes)
  })
})

describe('an approval', () => {
  test('of an address that does not answer as a token is one of no token', async () => {
    const { codes } = await judged({ steps: [approve(OTHER)], price: null })
    expect(codes).toEqual(['approve not_a_token'])
  })

  test('of an address that returns bytes, but no number, is one of no token', async () => {
    const { codes } = await judged({ steps: [approve(OTHER)], price: null }, { others: () => '0x01' })
    expect(codes).toEqual(['approve not_a_token'])
  })

  test.each([
    [0n, 'Send'],
    [1n, 'Revoke the allowance first'],
    [null, 'Send'],
  ])('that reverts while the allowance is %s has its hint', async (allowance, hint) => {
    const fails = failing('approve', revert('ERC20: approve from the zero address'))
    const { issues } = await judged({ steps: [approve()], price: price({ allowance }) }, { fails })
    expect(issues).toEqual([expect.objectContaining({ code: 'token_bad_address', step: 'approve', blocking: true })])
    expect(issues[0]?.hint.startsWith(hint)).toBe(true)
  })

  test('that lacks an allowance is not excused by itself', async () => {
    const fails = failing('approve', revert('ERC20: insufficient allowance'))
    expect((await judged({ steps: [approve()] }, { fails })).codes).toEqual(['approve insufficient_allowance'])
  })
})

test('a call that spends nothing has no transfer, and its own reason', async () => {
  const { requests, codes } = await judged({ steps: [approve(), step('claim-payout')] })
  expect([callsOf(requests).map(([, name]) => name), codes]).toEqual([['balanceOf', 'approve', 'claimPayout'], []])
  const fails = failing('claimPayout', revert('ERC20: insufficient allowance'))
  expect((await judged({ steps: [approve(), step('claim-payout')] }, { fails })).codes).toEqual([
    'claim-payout insufficient_allowance',
  ])
})

describe('a new event', () => {
  const allowances = { [USDC_AT]: 1_000n }
  const create = async (more: object = {}, world: Partial<World> = {}) =>
    judged({ steps: [step('create-event', more)] }, { allowances, ...world })

  test.each([
    ['a second after the plan', TIME + 1n, []],
    ['at the time of the plan', TIME, ['create-event bad_expiry']],
    ['before the plan', TIME - 1n, ['create-event bad_expiry']],
  ])('that expires %s', async (_, expiry, codes) => {
    expect((await create({ expiry })).codes).toEqual(codes)
  })

  test('without a signature asks for no signer', async () => {
    expect(callsOf((await create()).requests).map(([, name]) => name)).toEqual(['createEvent'])
  })

  test('is called without its signature, which is checked for the next block', async () => {
    const signed = await signedTerms()
    const { requests, codes } = await create(signed)
    expect(codes).toEqual([])
    const [call, ...others] = callsOf(requests)
    expect(call?.[2]?.[0]).toMatchObject({ signature: '0x', quoteNonce, strike: 11n })
    expect(others.map(([, name, args]) => [name, args ?? []])).toEqual([
      ['getPricingEngineSigner', []],
      ['isQuoteNonceUsed', [quoteNonce]],
    ])
  })

  const views = (signer: Hex, used: boolean): World['views'] => ({
    ...{ getPricingEngineSigner: () => signer, isQuoteNonceUsed: () => used },
  })
  test.each([
    ['a used nonce', views(engine.address, true), 'quote_nonce_used'],
    ['another signer', views(OTHER, false), 'bad_quote_signature'],
    ['no signer', views(zeroAddress, false), 'no_pricing_signer'],
    ['a signer that is not answered', { isQuoteNonceUsed: () => false }, 'not_simulated'],
    ['a nonce that is not answered', { getPricingEngineSigner: () => engine.address }, 'not_simulated'],
  ] as const)('with a signature and %s', async (_, chosen, code) => {
    expect((await create(await signedTerms(), { views: chosen })).codes).toEqual([`create-event ${code}`])
  })

  test.each([
    ['in its last second', -120n, []],
    ['one second after it', -121n, ['create-event quote_expired']],
    ['one second before it was signed', 1n, ['create-event quote_from_the_future']],
  ])('with a signature %s', async (_, shift, codes) => {
    expect((await create(await signedTerms({ quoteTimestamp: TIME + shift }))).codes).toEqual(codes)
  })

  test('with the signature of another creator is refused', async () => {
    expect((await create(await signedTerms({ creator: OTHER }))).codes).toEqual(['create-event bad_quote_signature'])
  })
})

test('each step is judged by its own answers', async () => {
  const steps = ['1', '2', '3'].map((id) => ({ ...step('claim-payout', { positionId: BigInt(id) }), id }))
  const claimPayout = ([id]: readonly unknown[]) => (id === 2n ? { reverts: 'Already claimed' } : {})
  expect((await judged({ steps }, { calls: { claimPayout } })).codes).toEqual(['2 already_claimed'])
})

test('a call that runs out of gas fails, and one whose node fails is not checked', async () => {
  const gas = new NodeError({ code: -32_000, message: 'out of gas' })
  const codesOf = async (error: NodeError) =>
    (await judged({ steps: [step('claim-payout')] }, { fails: failing('claimPayout', error) })).codes
  expect(await codesOf(gas)).toEqual(['claim-payout execution_failed'])
  expect(await codesOf(busy)).toEqual(['claim-payout not_simulated'])
})
