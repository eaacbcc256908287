import { maxUint256 } from 'viem'
import { expect, test } from 'vitest'
import { useProtocol } from '../support/use-protocol.ts'

const { send, read, balance, approve, at, now, create, transact, ...on } = await useProtocol()
const { creator, lp, hedger, owner, oracleA, oracleB, oracleC } = on

/** One event in tokens of 6 and of 18 decimals: the amounts of each step, computed independently of the contracts. */
const lives = [
  {
    decimals: 6,
    token: on.usdc,
    premium: 273_220_000n,
    hedgerFee: 1_366_100n,
    reserve: 1_315_789_473n,
    payouts: [0n, 877n, 438_596_491n, 1_315_789_473n],
    netPayout: 434_210_527n,
    premiums: { seed: 178_503_733n, lp: 89_251_867n },
    capital: { seed: 9_707_602_339n, lp: 4_853_801_169n },
    loyalty: 1_121_645n,
    platform: 15_094_818n,
    dust: 2n,
  },
  {
    decimals: 18,
    token: on.dai,
    premium: 273_220_000_000_000_000_000n,
    hedgerFee: 1_366_100_000_000_000_000n,
    reserve: 1_315_789_473_684_210_526_315n,
    payouts: [0n, 877_192_982_456_140n, 438_596_491_228_070_175_438n, 1_315_789_473_684_210_526_315n],
    netPayout: 434_210_526_315_789_473_684n,
    premiums: { seed: 178_503_733_333_333_326_800n, lp: 89_251_866_666_666_663_400n },
    capital: { seed: 9_707_602_339_181_286_549_708n, lp: 4_853_801_169_590_643_274_854n },
    loyalty: 1_121_646_491_228_070_155n,
    platform: 10_094_818_421_057_631_399n,
    dust: 10_000n,
  },
] as const

test.each(lives)(
  'an event in a token of $decimals decimals runs from approval to the last withdrawal, exact to the unit',
  async (life) => {
    const { token, premium, hedgerFee, reserve, premiums, capital, payouts } = life
    const unit = 10n ** BigInt(life.decimals)
    const notional = 10_000n * unit
    const cost = premium + hedgerFee
    const paid = async (name: 'creator' | 'lp' | 'hedger' | 'owner', amount: bigint, sent: ReturnType<typeof send>) =>
      expect(await (await sent).moved(token)).toEqual({ [name]: amount, diamond: -amount })

    // Allowances for exactly the required amounts.
    await approve(creator, 5_000_000n + 10_000n * unit, token)
    await approve(lp, 5_000n * unit, token)
    await approve(hedger, cost, token)
    const id = await create({ premiumRate: 27_322n, paymentToken: token, initialLiquidity: 10_000n * unit })
    await paid('lp', -5_000n * unit, send(lp, 'deposit', [id, 5_000n * unit]))
    await paid('hedger', -cost, send(hedger, 'buyProtection', [id, notional, cost, (await now()) + 60n]))
    expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalPremiums: premium, totalMaxPayout: reserve })

    const rates = [11_999_999n, 12_000_001n, 12_500_000n, 13_500_000n]
    expect(await Promise.all(rates.map((rate) => read('quoteRangePayout', [id, rate, notional])))).toEqual(payouts)
    expect(await read('quoteRangePayout', [id, maxUint256, notional])).toBe(reserve)

    // The first rate disagrees with the others, so two agreeing ones settle at their mean.
    await at((await read('getHedgeEventCore', [id])).expiryDate)
    await send(oracleA, 'submitRate', [id, 20_000_000n])
    await send(oracleB, 'submitRate', [id, 12_400_000n])
    expect(await read('getHedgeEventStats', [id])).toMatchObject({ settledAt: 0n })
    const { logs, time } = await send(oracleC, 'submitRate', [id, 12_600_001n])
    expect(logs).toEqual([
      ['RateSubmitted', { eventId: id, oracle: oracleC, price: 12_600_001n }],
      ['ConsensusReached', { eventId: id, agreedPrice: 12_500_000n, signerCount: 2n }],
      ['OracleEventSettled', { eventId: id, settlementPrice: 12_500_000n, triggered: true }],
    ])
    const settled = {
      settlementPrice: 12_500_000n,
      triggered: true,
      settledAt: await time(),
      totalMaxPayout: payouts[2],
    }
    expect(await read('getHedgeEventStats', [id])).toMatchObject(settled)
    expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: payouts[2], status: 4, claimed: false })

    // One LP withdraws its capital before the payout and its premiums, the other after them.
    await paid('lp', capital.lp, send(lp, 'withdrawCapital', [2n]))
    await paid('hedger', life.netPayout, send(hedger, 'claimPayout', [1n]))
    await paid('lp', premiums.lp, send(lp, 'claimPremiums', [2n]))
    await paid('creator', premiums.seed, send(creator, 'claimPremiums', [1n]))
    await paid('creator', capital.seed, send(creator, 'withdrawCapital', [1n]))
    await paid('creator', life.loyalty, send(creator, 'withdrawCreatorEarnings', [id]))
    expect(await read('getPlatformFeesByToken', [token])).toBe(life.platform)
    await paid('owner', life.platform, send(owner, 'withdrawPlatformFeesByToken', [token, life.platform]))

    // Only the remainders of divisions stay with the protocol.
    expect(await balance(on.diamond, token)).toBe(life.dust)
  },
)
