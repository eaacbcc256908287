import { expect, test } from 'vitest'
import type { ListSources } from '../../src/reads/lists/sources.ts'
import { portfoliosOf } from '../../src/reads/portfolio/portfolio.ts'
import { heldRows, listRow, listSources, tipOf } from '../support/list-sources.ts'
import { walletOf } from '../support/seed-index.ts'

const chainId = 8453

/** Sources whose database has a number of positions of each of some wallets. */
const sourcesWith = (wallets: number, positions: number): ListSources => {
  const position = Array.from({ length: wallets * positions }, (_, id) => ({
    ...{ wallet: Math.floor(id / positions), feeRate: 'rates_unknown' as const, isClaimable: false },
    ...{ figures: [5n, 1n, 0n], row: listRow('position', chainId, id) },
  }))
  return listSources({ portfolios: () => ({ tips: [tipOf(chainId)], ...heldRows({ position }), sums: [] }) }).sources
}

/** The portfolios of some wallets, and how many turns of the event loop other work had meanwhile. */
const turnsDuring = async (count: number, positions: number) => {
  let turns = 0
  let isOver = false
  const others = (): void => {
    turns += 1
    if (!isOver) setImmediate(others)
  }
  const sources = sourcesWith(count, positions)
  setImmediate(others)
  const wallets = Array.from({ length: count }, (_, nth) => walletOf(nth))
  const { records } = await portfoliosOf(sources, { wallets, chainIds: [chainId] })
  isOver = true
  return { turns, records }
}

test('other requests are handled between the parts of a portfolio of many wallets', async () => {
  const { turns, records } = await turnsDuring(100, 40)
  expect(turns).toBeGreaterThanOrEqual(15 + 15)
  expect(records.map(({ positions }) => positions.length)).toEqual(Array(100).fill(40))
  expect(records[99]?.positions[0]).toMatchObject({ id: 3_960 })
  expect(records[7]?.totals).toEqual([expect.objectContaining({ notional: '200', premiumPaid: '40' })])
})

test('other requests are handled between the parts of a portfolio of one wallet with many rows', async () => {
  const { turns, records } = await turnsDuring(1, 1_000)
  expect(turns).toBeGreaterThanOrEqual(3)
  expect(records[0]?.positions).toHaveLength(1_000)
})

test('a small portfolio is made in one turn', async () => {
  expect((await turnsDuring(1, 50)).turns).toBe(0)
})
