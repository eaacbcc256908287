import { getAddress } from 'viem'
import { expect, test } from 'vitest'
import { createLists } from '../../../src/reads/lists/sources.ts'
import { seedDeployment, seedToken } from '../../support/seed-index.ts'

const OTHER = '0x000000000000000000000000000000000000dEaD'
const USDT = '0x55d398326f99059fF775485246999027B3197955'

const open = () => {
  const deployments = [
    seedDeployment(8453),
    // The spelling of a configured address does not matter.
    { ...seedDeployment(56), usdc: OTHER.toLowerCase(), usdt: USDT, paymentDecimals: { USDC: 18, USDT: 9 } },
  ]
  const chains = new Map(deployments.map((deployment) => [deployment.chainId, { ...deployment, deployment }]))
  const database = { rows: () => expect.unreachable() }
  return createLists({ database, chains } as unknown as Parameters<typeof createLists>[0])
}

test('a token is the configured one of its chain, whatever is stored', () => {
  const { token, tokens } = open()
  const stored = { symbol: 'STORED', decimals: 3 }
  expect(token(8453, seedToken, stored)).toEqual({ token: seedToken, symbol: 'USDC', decimals: 6 })
  expect(token(8453, seedToken, null)).toEqual({ token: seedToken, symbol: 'USDC', decimals: 6 })
  expect(token(56, getAddress(OTHER), null)).toMatchObject({ symbol: 'USDC', decimals: 18 })
  expect(token(56, USDT, stored)).toEqual({ token: USDT, symbol: 'USDT', decimals: 9 })
  expect(token(8453, USDT, stored)).toEqual({ token: USDT, ...stored })
  expect(tokens.known(8453, seedToken)).toEqual({ token: seedToken, symbol: 'USDC', decimals: 6 })
})

test('another token is the stored one, also without a symbol', () => {
  const { token } = open()
  expect(token(8453, OTHER, { symbol: 'STORED', decimals: 3 })).toEqual({ token: OTHER, symbol: 'STORED', decimals: 3 })
  expect(token(8453, OTHER, { symbol: null, decimals: 0 })).toEqual({ token: OTHER, symbol: null, decimals: 0 })
})

test('a token that is not stored, or whose decimals are not, is not known', () => {
  const { token } = open()
  expect(token(8453, OTHER, null)).toBeNull()
  expect(token(8453, OTHER, { symbol: 'STORED', decimals: null })).toBeNull()
  expect(token(1, seedToken, null)).toBeNull()
})
