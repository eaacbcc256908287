import { chainVariables } from '../../src/sandbox/chain.ts'
import { factsOf } from './known-chains.ts'
import { seedToken } from './seed-index.ts'

/* The chains that are known, and a third one of which only the environment has the name, symbol and decimals. */

export const THIRD = 137
export const thirdFacts = { name: 'Polygon', symbol: 'POL', paymentDecimals: { USDC: 8 } }

export const threeChains = [
  { chainId: 8453, ...factsOf(8453) },
  { chainId: 56, ...factsOf(56) },
  { chainId: THIRD, ...thirdFacts },
]
export const threeIds = threeChains.map(({ chainId }) => chainId)

/** The variables of chains whose nodes are out of reach. Their only token is the one that rows are seeded with. */
export const unreachable = (chains: readonly (typeof threeChains)[number][]): Readonly<Record<string, string>> =>
  Object.assign(
    {},
    ...chains.map(({ paymentDecimals: { USDC }, ...chain }) =>
      chainVariables({
        ...{ ...chain, rpcUrl: 'http://127.0.0.1:9', diamond: seedToken, deployBlock: 0 },
        tokens: [{ symbol: 'USDC', decimals: USDC, address: seedToken }],
      }),
    ),
  )
