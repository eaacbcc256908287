import { describe, expect, test } from 'vitest'
import { pricingRoutes } from '../../../src/api/routes/pricing.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { operations } from '../../support/openapi.ts'
import { DIAMOND, deploymentOf, OTHER } from '../../support/plan-chain.ts'
import { openRoutes } from './route-app.ts'

/* Quotes of a fake engine, dated against the newest block of fake chains. */

const NEWEST = 1_800_000_000
const example = operations.find(({ operationId }) => operationId === 'postPricingQuote')
const request = { ...Object(example?.body), chainId: 8453, diamondAddress: DIAMOND }
const recorded = Object(example?.responses[200]?.content['application/json']?.example).data

const open = async ({ signedAt = NEWEST, isDown = false } = {}) => {
  const asked: unknown[] = []
  const signed = { ...recorded.attestation, quoteTimestamp: String(signedAt) }
  const quote = {
    ...recorded,
    attestation: recorded.attestation === null ? null : signed,
    breakdown: { ...recorded.breakdown, attestation: { reason: null } },
  }
  const pricing = {
    async quote(body: object) {
      asked.push(body)
      return quote
    },
  }
  const chainOf = (chainId: 8453 | 56) => ({
    // A configuration may have the address in any letter case.
    deployment: deploymentOf(chainId, { diamond: DIAMOND.toLowerCase() as typeof DIAMOND }),
    async head() {
      asked.push(`head of ${chainId}`)
      if (isDown) throw unavailable('no node is in reach')
      return { timestamp: BigInt(NEWEST) }
    },
  })
  const chains = new Map(([8453, 56] as const).map((chainId) => [chainId, chainOf(chainId)]))
  const app = await openRoutes((it) =>
    it.register(pricingRoutes, { pricing: pricing as never, chains: chains as never }),
  )
  const post = async (own: object = {}) => {
    const payload = JSON.parse(JSON.stringify({ ...request, ...own }))
    const { statusCode: status, body } = await app.inject({ method: 'POST', url: '/pricing/quote', payload })
    return { status, ...JSON.parse(body) }
  }
  return { post, asked }
}

test('the recorded quote is signed, so that these tests are of signatures', () => {
  expect(recorded.attestation).not.toBeNull()
})

describe('a signature', () => {
  test.each([
    [NEWEST - 1, true],
    [NEWEST, true],
    [NEWEST + 1, false],
  ])('of second %i is kept where the chain has reached it: %s', async (signedAt, isKept) => {
    const { post } = await open({ signedAt })
    const { status, data } = await post()
    expect([status, data.attestation?.quoteTimestamp ?? null]).toEqual([200, isKept ? String(signedAt) : null])
    const reason = 'the engine dated its signature 1 s ahead of the newest block: its clock is fast'
    expect(data.breakdown.attestation.reason).toBe(isKept ? null : reason)
    expect(data.premiumRate).toBe(recorded.premiumRate)
    expect(data.breakdown.inputs).toEqual(recorded.breakdown.inputs)
  })

  test('is kept when no node answers, or the request names no chain', async () => {
    const down = await open({ signedAt: NEWEST + 9, isDown: true })
    expect((await down.post()).data.attestation).not.toBeNull()
    expect(down.asked).toContain('head of 8453')
    const { post, asked } = await open({ signedAt: NEWEST + 9 })
    const unnamed = await post({ chainId: undefined, diamondAddress: undefined, creator: undefined })
    expect(unnamed.data.attestation).not.toBeNull()
    expect(asked).toEqual([expect.objectContaining({ pair: request.pair })])
  })
})

test('the diamond has to be that of its chain, in any letter case, before the engine is asked', async () => {
  const { post, asked } = await open()
  const { status, error } = await post({ diamondAddress: OTHER })
  expect([status, error.details, asked]).toEqual([
    400,
    [{ path: 'diamondAddress', message: `expected ${DIAMOND.toLowerCase()}, the diamond of chain 8453` }],
    [],
  ])
  expect((await post({ diamondAddress: DIAMOND.toLowerCase() })).status).toBe(200)
  expect(asked).toHaveLength(2)
})
