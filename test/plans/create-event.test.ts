import { expect, test } from 'vitest'
import { createEvent } from '../../src/plans/actions/create-event.ts'
import type { Intent } from '../../src/plans/draft/request-body.ts'
import type { PlanSources } from '../../src/plans/planner.ts'
import type { Quote, QuoteRequest } from '../../src/pricing/messages.ts'
import { DIAMOND, deploymentOf, USDC_AT, WALLET } from '../support/plan-chain.ts'

const attestation: NonNullable<Quote['attestation']> = {
  ...{ signature: `0x${'ab'.repeat(65)}`, quoteTimestamp: '1000', quoteNonce: `0x${'cd'.repeat(32)}` },
  ...{ signerAddress: WALLET, expiresAt: '1120' },
}

const quote = (more: object = {}, breakdown: object = {}): Quote =>
  ({
    ...{ premiumRate: 0.02, premiumUsd: 200, maxPayoutUsd: 900, premiumRateFixed6: '20001', attestation, ...more },
    breakdown: { initialRateFixed6: '10000002', strikeFixed6: '12000003', payoutCapFixed6: '13000004', ...breakdown },
  }) as unknown as Quote

const range = {
  ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13, expiryUnixSeconds: 1_800_000_000, notional: 10_000 },
  strikeAbove: true,
}
const seeded = {
  ...{ chainId: 8453, from: WALLET, name: 'Cedi', allowExternalLp: true, initialLiquidity: '7', paymentToken: USDC_AT },
}

const prepared = async (pricing: PlanSources['pricing'], intent: Intent) => {
  const found = await createEvent.prepare?.(pricing, intent, deploymentOf(8453))
  if (found === undefined) throw new Error('the action asks for nothing')
  return found
}

const termsOf = async (body: object, answer: Quote = quote()) => {
  const asked: QuoteRequest[] = []
  const intent = createEvent.body.parse({ ...seeded, ...body })
  const pricing = {
    quote: async (request: QuoteRequest) => {
      asked.push(request)
      return answer
    },
  }
  return { asked, ...(await prepared(pricing, intent)) }
}

const priced = {
  ...{ underlying: 'USD/GHS', strike: 12_000_003n, payoutCap: 13_000_004n, initialRate: 10_000_002n },
  ...{ premiumRate: 20_001n, expiry: 1_800_000_000n, strikeAbove: true },
}
const signature = { signature: attestation.signature, quoteTimestamp: 1_000n, quoteNonce: attestation.quoteNonce }
const unsigned = { signature: '0x', quoteTimestamp: 0n, quoteNonce: `0x${'00'.repeat(32)}` }

test.each([[{}], [{ signed: true }]])('a quote %o is asked for the creator and has its signature', async (signed) => {
  expect(await termsOf({ quote: { ...range, ...signed } })).toEqual({
    asked: [{ ...range, chainId: 8453, diamondAddress: DIAMOND, creator: WALLET }],
    ...{ arguments: { ...priced, ...signature }, expiresAt: 1_120n, issues: [] },
  })
})

test('a quote without a wish for a signature names no creator, and has no issue', async () => {
  expect(await termsOf({ quote: { ...range, signed: false } }, quote({ attestation: null }))).toEqual({
    asked: [range],
    ...{ arguments: { ...priced, ...unsigned }, expiresAt: null, issues: [] },
  })
})

test.each([
  [{}, false],
  [{ signed: true }, true],
])('a quote %o that the engine does not sign has an issue that blocks: %s', async (signed, blocking) => {
  const answer = quote({ attestation: null }, { attestation: { reason: 'the clock is wrong' } })
  const { issues, expiresAt } = await termsOf({ quote: { ...range, ...signed } }, answer)
  expect([issues, expiresAt]).toEqual([
    [
      {
        ...{ code: 'unsigned_quote', blocking },
        message: 'the pricing engine did not sign its quote: the clock is wrong',
        hint: 'Set `quote.signed` to false to create the event without a signature.',
      },
    ],
    null,
  ])
})

test('a quote that is not signed for no reason', async () => {
  const { issues } = await termsOf({ quote: range }, quote({ attestation: null }))
  expect(issues[0]?.message).toBe('the pricing engine did not sign its quote: no reason given')
})

test('a quote without terms in fixed point is an error of the engine', async () => {
  const answer = quote({}, { payoutCapFixed6: '1.5' })
  await expect(termsOf({ quote: range }, answer)).rejects.toMatchObject({ code: 'upstream_error' })
})

test('explicit terms do not ask the engine, and are unsigned unless they have a signature', async () => {
  const terms = { strike: '1', payoutCap: '2', premiumRate: '3', expiry: '4', initialRate: '5', strikeAbove: false }
  const { asked, arguments: given, expiresAt } = await termsOf({ underlying: 'USD/GHS', ...terms })
  expect([asked, expiresAt]).toEqual([[], null])
  expect(given).toMatchObject({ ...unsigned, strike: 1n, payoutCap: 2n, premiumRate: 3n, expiry: 4n, initialRate: 5n })
  const { arguments: signed } = await termsOf({ underlying: 'USD/GHS', ...terms, ...signature, quoteTimestamp: '1000' })
  expect(signed).toMatchObject(signature)
})

test('a field that a body leaves out as undefined does not replace that of an unsigned event', async () => {
  const intent = { chainId: 8453, from: WALLET, signature: undefined, quoteNonce: undefined } as unknown as Intent
  const pricing = { quote: () => Promise.reject(new Error('not asked')) }
  const { arguments: given } = await prepared(pricing, intent)
  expect(given).toEqual({ ...unsigned, chainId: 8453, from: WALLET })
})
