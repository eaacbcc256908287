import { expect, test } from 'vitest'
import { UNIT } from '../../src/db/rendering.ts'
import { portfoliosOf } from '../../src/reads/listings/portfolio.ts'
import type { ListSources } from '../../src/reads/listings/sources.ts'
import { blockOf, seedDeployment, walletOf } from '../support/seed-index.ts'

const chainId = 8453
const token = '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'

/** Sources whose database has a number of positions of each of some wallets. */
const sourcesWith = (wallets: number, positions: number): ListSources => {
  const rowOf = (nth: number, id: number): string => {
    const text = JSON.stringify({ id, chainId, token, symbol: 'USDC', decimals: 6 })
    return `${[nth + 1, chainId, id, token.slice(2).toLowerCase(), '', 'f', 5, 1, 0].join()}${UNIT}${text}`
  }
  const position = Array.from({ length: wallets * positions }, (_, id) => rowOf(Math.floor(id / positions), id))
  const tip = { chainId, block: blockOf(1n), head: null, rollback: 0n, reorged: false, isRefreshing: false }
  const lists = {
    renderer: () => ({ key: 1n }),
    portfolios: { of: async () => ({ tips: [tip], holdings: { position, deposit: [], event: [] } }) },
  }
  const chains = new Map([[chainId, { deployment: seedDeployment(chainId) }]])
  return { chains, lists, maxLagSeconds: 60 } as unknown as ListSources
}

/** The portfolios of some wallets, and how many turns of the event loop other work had meanwhile. */
const turnsDuring = async (count: number, positions: number) => {
  let turns = 0
  let isOver = false
  const others = (): void => {
    turns += 1
    if (!isOver) setImmediate(others)
  }
  setImmediate(others)
  const wallets = Array.from({ length: count }, (_, nth) => walletOf(nth))
  const { records } = await portfoliosOf(sourcesWith(count, positions), { wallets, chainIds: [chainId] })
  isOver = true
  return { turns, records: records.map((text): { positions: object[]; totals: object[] } => JSON.parse(text)) }
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

test('a small portfolio is rendered in one turn', async () => {
  expect((await turnsDuring(1, 50)).turns).toBe(0)
})
