import { describeEvent, describePurchase } from 'fx-protection-client'
import { formatUnits } from 'viem'
import { describe, expect, inject, test } from 'vitest'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { DAY, fees, USDC, useProtocol } from '../support/use-protocol.ts'

/* The sentence of a plan, and until when its transactions are accepted. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { creator, hedger, lp, send, read, create, approve, newEvent, mineAt } = protocol
const api = usePlans({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })

const openEvent = async (chosen: Parameters<typeof create>[0] = {}) => {
  const id = await create(chosen)
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  const [{ expiryDate, ...core }, range] = [
    await read('getHedgeEventCore', [id]),
    await read('getHedgeEventRange', [id]),
  ]
  return { id, event: { ...core, ...range, id: Number(id), expiryDate: Number(expiryDate) } }
}

const iso = (seconds: bigint | number): string => new Date(Number(seconds) * 1_000).toISOString().replace('.000', '')
const deadlineOf = ({ steps }: Plan): bigint => BigInt(String(steps.at(-1)?.transaction.args.deadline))
const notional = 1_000n * USDC
const usdc = { symbol: 'USDC', decimals: 6 }

describe('the summary of a purchase', () => {
  test('states pair, side, strike, cap, expiry, greatest payout and cost, and until when to sign', async () => {
    const { id, event } = await openEvent()
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional })
    expect(plan.summary).toBe(
      `Buy protection of 1000 USDC in event ${id} against USD/GHS above 12, capped at 13.5, until the expiry ${iso(event.expiryDate)}: pays at most 131.578947 USDC, costs at most 23.115 USDC. Sign before ${iso(deadlineOf(plan))}.`,
    )
  })

  test('is the sentence of the client, for upward and downward events with a cap or a single strike', async () => {
    for (const terms of [
      {},
      { payoutCap: 0n },
      { strikeAbove: false, strike: 11_000_000n, payoutCap: 10_000_001n },
      { strikeAbove: false, strike: 11_000_000n, payoutCap: 0n },
    ]) {
      const { id, event } = await openEvent(terms)
      const plan = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional, maxCostBps: 50 })
      const purchase = { notional, maxCost: BigInt(plan.cost?.maxCost ?? 0), deadline: Number(deadlineOf(plan)) }
      expect(plan.summary).toBe(describePurchase(event, purchase, usdc))
      expect(plan.summary).toContain(describeEvent(event).slice('Protection against '.length, -1))
    }
  })

  test('names the approval before it', async () => {
    const { id } = await openEvent()
    await approve(hedger, 0n)
    const { summary } = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional })
    expect(summary).toMatch(
      /^Allow the protocol to take 23\.115 USDC, then buy protection of 1000 USDC in event \d+ against /,
    )
  })

  test('of an event that does not exist names no terms and no time', async () => {
    const { summary } = await planOf(api, 'buy-protection', { from: hedger, eventId: 99, notional })
    expect(summary).toBe('Buy protection of 1000000000 units of the token in event 99.')
  })

  test('shows the pair of a hostile creator in quotes and in one line', async () => {
    const { id } = await openEvent({ underlying: 'X above 1: pays 9\n\u202eUSDC' })
    const { summary } = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional })
    expect(summary).toContain('against "X above 1: pays 9  USDC" above 12, ')
  })
})

describe('the deadline of a purchase', () => {
  test('is never after the expiry of the event, however long the request allows', async () => {
    const { id, event } = await openEvent()
    await mineAt(BigInt(event.expiryDate) - 300n)
    for (const more of [{}, { deadlineSeconds: 86_400 }]) {
      const plan = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional, ...more })
      expect([plan.executable, plan.issues]).toEqual([true, []])
      expect([deadlineOf(plan), plan.validUntil.timestamp]).toEqual([
        BigInt(event.expiryDate) - 1n,
        event.expiryDate - 1,
      ])
      expect(plan.summary).toContain(`Sign before ${iso(event.expiryDate - 1)}.`)
    }
    const short = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional, deadlineSeconds: 5 })
    expect(deadlineOf(short)).toBe(BigInt(short.block.timestamp) + 1n + 5n)
  })

  test('seconds before the expiry comes with an issue that does not block', async () => {
    const { id, event } = await openEvent()
    await mineAt(BigInt(event.expiryDate) - 11n)
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional })
    expect([plan.executable, plan.issues]).toEqual([
      true,
      [
        expect.objectContaining({
          code: 'event_expires_soon',
          blocking: false,
          message: `the event expires at ${iso(event.expiryDate)}, 10 s after the time of the plan: a later block refuses the purchase`,
        }),
      ],
    ])
    expect(deadlineOf(plan)).toBe(BigInt(event.expiryDate) - 1n)
  })

  test('after the expiry is over, and the plan reports that the event has expired', async () => {
    const { id, event } = await openEvent()
    for (const late of [0n, 3_600n]) {
      await mineAt(BigInt(event.expiryDate) + late)
      const plan = await planOf(api, 'buy-protection', { from: hedger, eventId: id, notional })
      expect([plan.executable, plan.issues.map(({ code }) => code)]).toEqual([false, ['event_expired']])
      expect(plan.summary).not.toContain('Sign before')
    }
  })
})

describe('the summaries of other plans', () => {
  test('the creation of an event states what it sells, its cost with the fee, and until when to sign', async () => {
    const { expiryDate, ...terms } = newEvent({ initialLiquidity: notional })
    const plan = await planOf(api, 'create-event', { from: creator, ...terms, expiry: expiryDate })
    const total = formatUnits(notional + fees.creationFee, 6)
    expect(plan.summary).toBe(
      `Create an event that sells protection against USD/GHS above 12, capped at 13.5, until the expiry ${iso(expiryDate)}, for 2.3 % of the notional, and seed it with 1000 USDC: costs ${total} USDC. Sign before ${iso(expiryDate - 1n)}.`,
    )
  })

  test('a deposit has no time', async () => {
    const { id } = await openEvent({ expiryDate: newEvent().expiryDate + DAY })
    const { summary } = await planOf(api, 'deposit', { from: lp, eventId: id, amount: notional })
    expect(summary).toBe(`Deposit 1000 USDC into event ${id}.`)
  })
})
