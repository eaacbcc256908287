import type { Address } from 'viem'
import { getAddress, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { HeldToken } from '../../../src/db/queries/held-tokens.ts'
import { ServiceError, unavailable } from '../../../src/lib/errors.ts'
import { balancesOf } from '../../../src/reads/portfolio/balances.ts'
import { blockOf, seedDeployment, seedToken, walletOf } from '../../support/seed-index.ts'

/* Balances over fake chains and fake held tokens, which see what is read. */

type Sources = Parameters<typeof balancesOf>[0]
type Holding = { readonly wallet: Address; readonly tokens: readonly Address[] }

const tokenOf = (nth: number): Address => getAddress(numberToHex(500 + nth, { size: 20 }))
const heldOf = (nth: number, own: Partial<HeldToken> = {}, symbol: string | null = `T${nth}`): HeldToken => ({
  ...{ wallet: 0, chainId: 8453, token: { token: tokenOf(nth), symbol, decimals: symbol === null ? null : 9 } },
  ...own,
})

const client = { address: '198.51.100.1', disconnected: new AbortController().signal }

type Options = {
  readonly held?: readonly HeldToken[] | null
  /** The chains of which no node answers. */
  readonly down?: readonly number[]
  readonly fault?: Error
  readonly block?: bigint
}

const read = async (options: Options = {}, own: Partial<Parameters<typeof balancesOf>[1]> = {}) => {
  const { held = [], down = [], fault = unavailable('no node is in reach'), block = 70n } = options
  const asked: unknown[][] = []
  const holdingsOf: (readonly Holding[])[] = []
  const heads: bigint[] = []
  const chainWith = (chainId: number) => ({
    deployment: seedDeployment(chainId),
    head: async (atLeast: bigint) => heads.push(atLeast),
    pinned: async (run: (at: unknown) => unknown) => {
      if (down.includes(chainId)) throw fault
      return run(blockOf(block))
    },
    balances: async (_: unknown, holdings: readonly Holding[]) => {
      holdingsOf.push(holdings)
      return holdings.map(({ wallet, tokens }) => ({
        coins: BigInt(wallet) % 1_000n,
        amounts: tokens.map((token) => ({
          balance: BigInt(token) % 7_919n,
          allowance: token === tokenOf(1) ? null : 0n,
        })),
      }))
    },
  })
  let turns = 0
  const sources = {
    chains: new Map([8453, 56].map((chainId) => [chainId, chainWith(chainId)])),
    lists: {
      heldTokens: async (...args: unknown[]) => {
        asked.push(args)
        if (held === null) throw unavailable('the database is out of reach')
        return held
      },
      tokens: {
        known: (chainId: number, token: Address) => ({ token, symbol: `known on ${chainId}`, decimals: 3 }),
      },
    },
  } as unknown as Sources
  const turn = {
    page: async <T>(_: unknown, run: () => Promise<T>): Promise<T> => {
      turns += 1
      return run()
    },
  }
  const found = await balancesOf(sources, {
    ...{ client, turns: turn, wallets: [walletOf(0)], chainIds: [8453], atLeast: null },
    ...own,
  })
  return { ...found, asked, holdingsOf, heads, turns }
}

test('a wallet has its coins and tokens with their amounts at the block of the chain', async () => {
  const { records, freshness, asked, turns } = await read({ held: [heldOf(1)] })
  expect(records).toEqual([
    {
      wallet: walletOf(0),
      chains: [
        {
          ...{ chainId: 8453, status: 'ok' },
          block: { number: 70, hash: blockOf(70n).hash, timestamp: Number(blockOf(70n).timestamp) },
          native: { symbol: 'ETH', decimals: 18, balance: String(BigInt(walletOf(0)) % 1_000n) },
          tokens: [
            {
              token: seedToken,
              symbol: 'USDC',
              decimals: 6,
              balance: String(BigInt(seedToken) % 7_919n),
              allowance: '0',
            },
            {
              token: tokenOf(1),
              symbol: 'T1',
              decimals: 9,
              balance: String(BigInt(tokenOf(1)) % 7_919n),
              allowance: null,
            },
          ],
        },
      ],
    },
  ])
  expect(freshness).toEqual({ source: 'chain', stale: false, block: blockOf(70n) })
  expect(asked).toEqual([[[walletOf(0)], [8453], 20]])
  expect(turns).toBe(1)
})

test.each([
  [18, 19],
  [19, 20],
  [20, 20],
])('with %i held tokens there are %i, the configured ones first', async (count, expected) => {
  const { holdingsOf } = await read({ held: Array.from({ length: count }, (_, nth) => heldOf(nth)) })
  expect(holdingsOf[0]?.[0]?.tokens).toEqual(
    [seedToken, ...Array.from({ length: count }, (_, nth) => tokenOf(nth))].slice(0, expected),
  )
})

test('a configured token is listed once, and tokens of other wallets and chains are not listed', async () => {
  const lower = seedToken.toLowerCase() as Address
  const held = [
    heldOf(1, { wallet: 1 }),
    heldOf(2, { chainId: 56 }),
    { ...heldOf(3), token: { token: lower, symbol: 'X', decimals: 1 } },
    heldOf(4, { wallet: 1, chainId: 56 }),
  ]
  const wallets = [walletOf(0), walletOf(1), walletOf(0)]
  const { records, holdingsOf, asked } = await read({ held }, { wallets, chainIds: [8453, 56] })
  expect(holdingsOf.map((holdings) => holdings.map(({ wallet, tokens }) => [wallet, tokens]))).toEqual([
    [
      [walletOf(0), [seedToken]],
      [walletOf(1), [seedToken, tokenOf(1)]],
    ],
    [
      [walletOf(0), [seedToken, tokenOf(2)]],
      [walletOf(1), [seedToken, tokenOf(4)]],
    ],
  ])
  expect(records.map(({ wallet, chains }) => [wallet, chains.map((it) => it.tokens.length)])).toEqual([
    [walletOf(0), [1, 2]],
    [walletOf(1), [2, 2]],
    [walletOf(0), [1, 2]],
  ])
  expect(asked).toEqual([[[walletOf(0), walletOf(1)], [8453, 56], 20]])
})

test('a token that is stored without decimals is described by what the process knows', async () => {
  const { records } = await read({ held: [heldOf(1, {}, null)] })
  expect(records[0]?.chains[0]?.tokens[1]).toMatchObject({ symbol: 'known on 8453', decimals: 3 })
})

test('without the index only the configured tokens are listed, and the answer is stale', async () => {
  const { records, freshness, holdingsOf } = await read({ held: null })
  expect(holdingsOf[0]?.[0]?.tokens).toEqual([seedToken])
  expect(records[0]?.chains[0]?.status).toBe('stale')
  expect(freshness).toEqual({ source: 'chain', stale: true, block: blockOf(70n) })
})

describe('a chain whose nodes do not answer', () => {
  test('is unavailable next to another one', async () => {
    const { records, freshness, fault } = await read({ down: [8453] }, { chainIds: [8453, 56] })
    expect(records[0]?.chains).toEqual([
      { chainId: 8453, status: 'unavailable', block: null, native: null, tokens: [] },
      expect.objectContaining({ chainId: 56, status: 'ok' }),
    ])
    expect([freshness, fault]).toEqual([{ source: 'chain', stale: true }, null])
  })

  test('is the fault of an answer without any other', async () => {
    const { fault, records } = await read({ down: [8453, 56] }, { chainIds: [8453, 56] })
    expect(fault?.message).toBe('no node is in reach')
    expect(records[0]?.chains.map(({ status }) => status)).toEqual(['unavailable', 'unavailable'])
  })

  test('does not hide a defect', async () => {
    await expect(read({ down: [8453], fault: new TypeError('a defect') })).rejects.toThrow('a defect')
  })
})

test('an answer of several chains has no block', async () => {
  const { freshness } = await read({}, { chainIds: [8453, 56] })
  expect(freshness).toEqual({ source: 'chain', stale: false })
})

test('the nodes have to reach the block that the request requires', async () => {
  const { heads } = await read({ block: 70n }, { atLeast: 70n })
  expect(heads).toEqual([70n])
  const late = await read({ block: 69n }, { atLeast: 70n }).catch((error: unknown) => error)
  expect(late).toBeInstanceOf(ServiceError)
  expect((late as Error).message).toContain('block 70 of chain 8453')
  expect((await read()).heads).toEqual([])
})
