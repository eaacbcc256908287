import { describe, expect, it } from 'vitest'
import { byToken } from '../../explorer/src/charts/by-token.ts'
import { shareText, weiText } from '../../explorer/src/text/amount.ts'
import { tokenOfLog } from '../../explorer/src/text/tokens.ts'
import { claimableOf, holdingsOf } from '../../explorer/src/text/wallet.ts'

const point = (chainId: number, token: `0x${string}`, time: number) => ({
  chainId,
  token,
  symbol: token,
  decimals: 6,
  time,
})
const total = (chainId: number, token: `0x${string}`) => ({
  ...{ chainId, token, symbol: token, decimals: 6, notional: 0n, premiumPaid: 0n, deposited: 5n },
  ...{ payout: 0n, premiums: 0n, capital: 0n, creatorEarnings: 0n },
})

describe('the holdings of a wallet', () => {
  it('join the totals and the series of each chain and token', () => {
    const points = [point(56, '0xA', 1), point(8453, '0xA', 1), point(56, '0xA', 2), point(56, '0xB', 2)]
    const holdings = holdingsOf([total(8453, '0xA'), total(56, '0xA'), total(8453, '0xC')], byToken(points))
    expect(
      holdings.map(({ chainId, token, total, points }) => [chainId, token, total?.deposited, points.length]),
    ).toEqual([
      [8453, '0xA', 5n, 1],
      [56, '0xA', 5n, 2],
      [8453, '0xC', 5n, 0],
      [56, '0xB', undefined, 1],
    ])
  })

  it('can be claimed in four kinds, and what a point lacks counts as 0', () => {
    expect(claimableOf({ payout: 1n, premiums: 20n, capital: 300n, creatorEarnings: 4_000n })).toBe(4_321n)
    expect(claimableOf({ premiums: 20n })).toBe(20n)
  })
})

describe('figures of wallets and transactions', () => {
  it('show the fee of a transaction with four significant digits', () => {
    expect([97_731_000_684_117n, 1n, 0n, 2n * 10n ** 18n].map(weiText)).toEqual([
      '0.00009773',
      '0.000000000000000001',
      '0',
      '2',
    ])
  })

  it('show a yield as a percentage', () => {
    expect([62_712n, 2_285_786n, 0n].map(shareText)).toEqual(['6.27 %', '228.57 %', '0.00 %'])
  })
})

describe('the token of a log', () => {
  const chain = { usdc: '0xAA' as const, usdt: null, paymentDecimals: { USDC: 18 } }
  const row = { log: 'PayoutClaimed', args: { fee: '1' }, token: '0xBB' as const, symbol: 'USDT', decimals: 6 }

  it('is that of the row of activity with the same name and arguments', () => {
    const log = { address: '0xDD' as const, name: 'PayoutClaimed', args: { fee: '1' } }
    expect(tokenOfLog(log, [{ ...row, args: { fee: '2' }, symbol: 'OTHER' }, row], chain)?.symbol).toBe('USDT')
    expect(tokenOfLog({ ...log, args: { fee: '3' } }, [row], chain)).toBeNull()
  })

  it('is the contract of a transfer, in any letter case, when a row or the chain has it', () => {
    const log = { address: '0xbb' as const, name: 'Transfer', args: {} }
    expect(tokenOfLog(log, [row], chain)).toMatchObject({ symbol: 'USDT', decimals: 6 })
    expect(tokenOfLog({ ...log, address: '0xaa' as const }, [], chain)).toEqual({ symbol: 'USDC', decimals: 18 })
    expect(tokenOfLog({ ...log, address: '0xcc' as const }, [row], chain)).toBeNull()
    expect(tokenOfLog(log, [{ ...row, decimals: null }], chain)).toBeNull()
  })
})
