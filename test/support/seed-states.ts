import { type Address, getAddress } from 'viem'
import { insertFacts } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import {
  blockOf,
  type Plan,
  putSeeded,
  type SeededDeposit,
  type SeededEvent,
  type SeededPosition,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
} from './seed-index.ts'

/*
 * Entities in every combination of the states on which filters, claims and totals depend, a few rows a block, so that
 * rows share blocks and both chains share times.
 */

const plan: Plan = { token: seedToken, rowsABlock: 5, wallets: 3, events: 8 }

/** A payment token that is not configured. */
export const furtherToken = getAddress(`0x${'a1'.repeat(20)}`)

/** The newest block of the rows. */
export const statesTip = blockOf(30n)

const bit = (number: number, place: number): boolean => ((number >> place) & 1) === 1

/** Events 1 to 8: settled or not, triggered or not, with earnings or without. Expiries are around the newest block. */
const eventOf = (id: number): SeededEvent => {
  const { fact, seen } = seedEvent(id, plan)
  const [settled, triggered, earns] = [bit(id - 1, 0), bit(id - 1, 1), bit(id - 1, 2)]
  const expiryDate = statesTip.timestamp + BigInt((id % 3) - 1)
  return {
    fact: { ...fact, expiryDate },
    seen: {
      ...seen,
      core: { ...seen.core, expiryDate, status: settled ? 1 : 0, poolOpen: id % 3 !== 0, strikeAbove: id % 4 > 1 },
      stats: {
        ...seen.stats,
        ...{ triggered, settledAt: settled ? 1n : 0n, creatorEarnings: earns ? BigInt(id) * 10n : 0n },
        ...{ totalLiquidity: 1_000_003n, totalMaxPayout: triggered ? 333_331n : 0n },
      },
      utilization: { ...seen.utilization, totalLiquidity: 1_000_003n },
      paymentToken: id % 4 === 0 ? furtherToken : seedToken,
    },
  }
}

/** Of each event, deposits with premiums or without, withdrawn or not. */
const depositOf = (id: number): SeededDeposit => {
  const { fact, seen } = seedDeposit(id, { ...plan, wallets: 3 })
  const event = BigInt(1 + ((id - 1) >> 2))
  const terms = { eventId: event, amount: BigInt(10_007 * id), shares: BigInt(9_001 * id) }
  const pending = bit(id - 1, 0) ? BigInt(id) * 3n : 0n
  return {
    fact: { ...fact, ...terms },
    seen: { deposit: { ...seen.deposit, ...terms, withdrawn: bit(id - 1, 1) }, pending },
  }
}

/** Of each event, positions claimed or not, with a payout or without, active or not. */
const positionOf = (id: number): SeededPosition => {
  const { fact, seen } = seedPosition(id, plan)
  const eventId = BigInt(1 + ((id - 1) >> 3))
  const states = {
    claimed: bit(id - 1, 0),
    payoutAmount: bit(id - 1, 1) ? BigInt(id) * 7n : 0n,
    status: bit(id - 1, 2) ? 4 : 0,
  }
  return { fact: { ...fact, eventId }, seen: { position: { ...seen.position, eventId, ...states } } }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

/** The rows of a chain: all of the first one, half of the positions and deposits of the second. */
const rowsOn = (chainId: ChainId) => ({
  events: upTo(8).map(eventOf),
  deposits: upTo(chainId === 8453 ? 32 : 16).map(depositOf),
  positions: upTo(chainId === 8453 ? 64 : 32).map(positionOf),
})

export const states = { 8453: rowsOn(8453), 56: rowsOn(56) } as const

/** An event of no observation, with a deposit and a position of none, on the first chain. */
export const unseen = {
  event: seedEvent(100, plan).fact,
  deposit: { ...seedDeposit(100, plan).fact, eventId: 100n },
  position: { ...seedPosition(100, plan).fact, eventId: 100n },
}

/** The owner of an entity. */
export const ownerOf = (
  fact: { readonly creator: Address } | { readonly lp: Address } | { readonly hedger: Address },
) => ('creator' in fact ? fact.creator : 'lp' in fact ? fact.lp : fact.hedger)

export const owners = [0, 1, 2].map(walletOf)

/** Writes the rows of both chains, and those without observations. */
export const writeStates = async (database: Database): Promise<void> => {
  for (const chainId of [8453, 56] as const)
    await database.transaction(async (handle, copy) => {
      await putSeeded(handle, copy, chainId, statesTip, states[chainId])
      if (chainId === 8453) await insertFacts(copy, chainId, Object.values(unseen))
    })
}
