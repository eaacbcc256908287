import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { ENGINE_KEY, findCalibrated, startEngine } from '../support/engine.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { createPlanRunner } from '../support/plan-runner.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

/* Plans that create an event by terms of the caller or of the pricing engine. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { creator, owner, usdc, send, read, newEvent, now, mineAt } = protocol
const { execute, revertOf } = createPlanRunner(protocol)

const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
const engine = await startEngine({ diamond: protocol.diamond, findSet: findCalibrated })
const api = usePlans({ nodes, engineUrl: engine.url })
const keyless = await startEngine({ diamond: protocol.diamond, key: undefined, findSet: findCalibrated })
const unsigned = usePlans({ nodes, engineUrl: keyless.url })
const alone = usePlans({ nodes })
afterAll(() => Promise.all([engine.close(), keyless.close()]))

const quote = async () => ({
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: Number(await now()) + 90 * 86_400,
  notional: 10_000,
  strikeAbove: true,
})

const seeded = {
  from: creator,
  name: 'Cedi',
  allowExternalLp: true,
  initialLiquidity: 1_000n * USDC,
  paymentToken: usdc,
}

/** Sends a plan and checks that it creates the event that it announces. */
const creates = async (plan: Awaited<ReturnType<typeof planOf>>) => {
  expect([plan.issues, plan.executable]).toEqual([[], true])
  for (const { receipt } of await execute(plan))
    expect([receipt.status, await revertOf(receipt)]).toEqual(['success', null])
  const eventId = await read('getTotalHedgeEvents')
  const [depositId = 0n] = await read('getEventDepositIds', [eventId])
  expect(plan.effects.created).toEqual({ eventId: Number(eventId), depositId: Number(depositId), predicted: true })
  expect([plan.cost?.total, plan.cost?.platformFee, plan.cost?.premium]).toEqual([
    String(1_005n * USDC),
    String(5n * USDC),
    null,
  ])
  return { core: await read('getHedgeEventCore', [eventId]), range: await read('getHedgeEventRange', [eventId]) }
}

describe('a plan that creates an event', () => {
  test('takes explicit terms', async () => {
    const { expiryDate, ...terms } = newEvent()
    const { core, range } = await creates(
      await planOf(alone, 'create-event', { ...terms, ...seeded, expiry: expiryDate }),
    )
    expect([core.premiumRate, core.expiryDate, range.strike]).toEqual([23_000n, expiryDate, 12_000_000n])
  })

  test('takes unsigned terms of the engine', async () => {
    const asked = { ...(await quote()), signed: false }
    const plan = await planOf(api, 'create-event', { ...seeded, quote: asked })
    expect(plan.steps.at(-1)?.transaction.args.signature).toBe('0x')
    const { core, range } = await creates(plan)
    expect([core.expiryDate, range.strike, range.payoutCap]).toEqual([
      BigInt(asked.expiryUnixSeconds),
      12_000_000n,
      13_500_000n,
    ])
    const { data } = await api.post('/pricing/quote', await quote())
    expect(core.premiumRate).toBe(BigInt((data as { premiumRateFixed6: string }).premiumRateFixed6))
  })

  test('announces that an engine without a key did not sign, and is executable unless a signature was asked for', async () => {
    for (const [more, executable] of [
      [{}, true],
      [{ signed: true }, false],
    ] as const) {
      const plan = await planOf(unsigned, 'create-event', { ...seeded, quote: { ...(await quote()), ...more } })
      expect([plan.executable, plan.issues]).toMatchObject([
        executable,
        [{ code: 'unsigned_quote', message: expect.stringContaining('no signing key'), blocking: !executable }],
      ])
    }
  })

  describe('with a registered signer', () => {
    beforeEach(async () => {
      // The engine signs at the wall clock's time, behind which the chain is when an earlier test was reverted.
      await mineAt(BigInt(Math.floor(Date.now() / 1_000)))
      await send(owner, 'setPricingEngineSigner', [privateKeyToAddress(ENGINE_KEY as Hex)])
    })

    test('takes signed terms of the engine, which hold until the signature expires', async () => {
      const asked = await quote()
      const plan = await planOf(api, 'create-event', { ...seeded, quote: asked })
      const args = plan.steps.at(-1)?.transaction.args ?? {}
      expect(args.signature).toMatch(/^0x[0-9a-f]{130}$/)
      expect(plan.validUntil.timestamp).toBeGreaterThan(plan.block.timestamp)
      const { core } = await creates(plan)
      expect(core.expiryDate).toBe(BigInt(asked.expiryUnixSeconds))
      // A signature is good for one event.
      const again = await planOf(alone, 'create-event', { ...seeded, ...termsIn(args) })
      expect([again.executable, again.issues.map(({ code }) => code)]).toEqual([false, ['quote_nonce_used']])
    })

    test('announces a signature of another creator', async () => {
      const { steps } = await planOf(api, 'create-event', { ...seeded, quote: await quote() })
      const plan = await planOf(alone, 'create-event', {
        ...seeded,
        ...termsIn(steps.at(-1)?.transaction.args ?? {}),
        from: protocol.lp,
      })
      expect([plan.executable, plan.issues.length]).toEqual([false, 1])
    })
  })

  test('is refused with the faults of the engine', async () => {
    const unreachable = await alone.post('/plans/create-event', body({ quote: await quote() }))
    expect([unreachable.status, unreachable.error?.code]).toEqual([503, 'service_unavailable'])
    const past = { ...(await quote()), expiryUnixSeconds: 1 }
    expect((await api.post('/plans/create-event', body({ quote: past }))).status).toBe(400)
    const both = await api.post('/plans/create-event', body({ quote: await quote(), strike: '12000000' }))
    expect([both.status, both.error?.details?.map(({ path }) => path)]).toEqual([400, ['strike']])
    const neither = await api.post('/plans/create-event', body({}))
    expect(neither.error?.details?.map(({ path }) => path).toSorted()).toEqual([
      'expiry',
      'initialRate',
      'payoutCap',
      'premiumRate',
      'strike',
      'strikeAbove',
      'underlying',
    ])
  })
})

const body = (more: object) => ({ chainId: 8453, ...seeded, initialLiquidity: '1000000000', ...more })

/** The terms of an echoed `createEvent`. */
const termsIn = ({
  name,
  allowExternalLp,
  initialLiquidity,
  paymentToken,
  ...terms
}: Readonly<Record<string, unknown>>) => terms
