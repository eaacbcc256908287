import { type Address, maxUint256 } from 'viem'
import type { Random } from '../../src/sandbox/story/random.ts'
import { createLedger } from './ledger.ts'
import { type Action, createRandomActions } from './random-actions.ts'
import { DAY, USDC, type UsedProtocol } from './use-protocol.ts'

/**
 * A life of events by random actions, with changes of fees, settlements and claims. Events are paid in USDC, in DAI, and
 * in further tokens, of which some have 6 decimals.
 *
 * @example
 * const life = startLife(await useProtocol(), createRandom(seed))
 * await life.live(200)
 */
export const startLife = (
  protocol: UsedProtocol,
  random: Random,
  further: { readonly tokens: readonly Address[]; readonly sixDecimals: readonly Address[] } = {
    ...{ tokens: [], sixDecimals: [] },
  },
) => {
  const {
    send,
    read,
    mineAt,
    now,
    newEvent,
    usdc,
    dai,
    owner,
    creator,
    lp,
    hedger,
    secondHedger,
    oracleAdmin,
    deployment,
  } = protocol
  const ledger = createLedger()
  const tokens = [usdc, dai, ...further.tokens]
  const { sixDecimals } = further
  const { next, chance } = createRandomActions({ protocol, ledger, tokens, sixDecimals, random })
  const eventIds = (): bigint[] => [...ledger.pools.keys()]
  const positionIds = (): bigint[] => [...ledger.pools.values()].flatMap((pool) => pool.positionIds)

  const act = async ([from, name, args]: Action): Promise<void> => {
    const sent = await send(from, name, args).catch(() => undefined)
    if (sent === undefined) return
    ledger.add(sent.logs, name === 'createEvent' ? (args[0] as { readonly paymentToken: Address }).paymentToken : usdc)
    // Pools begin closed in one profile.
    if (name === 'createEvent' && deployment.profile === 'deployed')
      await send(from, 'setPoolSettings', [eventIds().at(-1) ?? 0n, true, chance(90)])
  }

  return {
    ledger,
    eventIds,
    depositIds: () => [...ledger.pools.values()].flatMap((pool) => pool.depositIds),
    positionIds,
    /**
     * The whole life of an event, which random actions seldom complete: two wallets buy, and after its expiry it pays a
     * part. One of them claims, its liquidity providers withdraw, and the other payout is recovered after 100 days or,
     * unless `recovers`, stays for the 10 days that pass.
     */
    async complete({ recovers = true } = {}): Promise<void> {
      const expiryDate = (await now()) + DAY
      const event = newEvent({ expiryDate })
      await act([creator, 'createEvent', [event]])
      const id = eventIds().at(-1) ?? 0n
      const own = () => ledger.pool(id)
      await act([creator, 'setPoolSettings', [id, true, true]])
      await act([lp, 'deposit', [id, 5_000n * USDC + 7n]])
      for (const who of [hedger, secondHedger])
        await act([who, 'buyProtection', [id, 2_345n * USDC + 678_901n, maxUint256, maxUint256]])
      await act([lp, 'claimPremiums', [own().depositIds[1] ?? 0n]])
      await mineAt(expiryDate)
      await act([oracleAdmin, 'settleEvent', [id, (event.strike + event.payoutCap) / 2n]])
      await act([hedger, 'claimPayout', [own().positionIds[0] ?? 0n]])
      for (const [at, who] of [creator, lp].entries()) await act([who, 'withdrawCapital', [own().depositIds[at] ?? 0n]])
      await act([creator, 'withdrawCreatorEarnings', [id]])
      await mineAt(expiryDate + (recovers ? 100n : 10n) * DAY)
      if (recovers) await act([owner, 'recoverExpiredPayouts', [id]])
      const { payouts, capital, recovered } = own()
      if (payouts === 0n || capital === 0n || recovered > 0n !== recovers)
        throw new Error(`event ${id} is not complete`)
    },
    /** Tries actions, and lets days pass now and then. */
    async live(steps: number): Promise<void> {
      for (let step = 0; step < steps; step += 1) {
        await act(await next())
        if (chance(4)) await mineAt((await now()) + BigInt(random.int(1, chance(10) ? 100 : 10)) * DAY)
      }
    },
    /**
     * Claims some of the payouts that are left, and recovers the rest of each event that was settled long enough before.
     */
    async finish(): Promise<void> {
      await act([owner, 'unpause', []])
      for (const id of positionIds())
        if (chance(50)) await act([(await read('getHedgePosition', [id])).hedger, 'claimPayout', [id]])
      for (const id of eventIds()) await act([owner, 'recoverExpiredPayouts', [id]])
    },
  }
}
