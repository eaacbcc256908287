import { getAddress, type Hex, numberToHex, zeroAddress } from 'viem'
import { type Observations, storeObservations } from '../../src/db/index/observations.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { addAnchor, type DatedFact, insertFacts, moveCursor } from '../../src/db/index/write.ts'
import type { Copy, Database, Handle } from '../../src/db/pool.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import type { ChainId, Deployment } from '../../src/protocol/chains.ts'
import { heartbeatAt } from './healthy-index.ts'
import { factsOf } from './known-chains.ts'

/*
 * An index's rows without a chain: generated from their ids alone, so that a test can compute the expected values, and
 * written through the same functions as the indexer's.
 */

type Fact<K extends DatedFact['kind']> = Extract<DatedFact, { kind: K }>
export type SeededEvent = { readonly fact: Fact<'event'>; readonly seen: Observations['events'][number] }
export type SeededDeposit = { readonly fact: Fact<'deposit'>; readonly seen: Observations['deposits'][number] }
export type SeededPosition = { readonly fact: Fact<'position'>; readonly seen: Observations['positions'][number] }

const address = (seed: number, kind: number) =>
  getAddress(numberToHex(kind * 1_000_000_007 + seed * 7_919 + 1, { size: 20 }))

/** The wallet of a number. */
export const walletOf = (seed: number) => address(seed, 1)

/** The block of a number on one of a chain's forks; blocks are two seconds apart. */
export const blockOf = (number: bigint, fork = 0): StoredBlock => ({
  number,
  hash: numberToHex((number << 8n) + BigInt(fork), { size: 32 }),
  timestamp: 1_800_000_000n + 2n * number,
})

const originOf = (number: bigint, logIndex: number, fork: number) => {
  const { hash, timestamp } = blockOf(number, fork)
  const txHash: Hex = numberToHex((number << 40n) + BigInt(logIndex), { size: 32 })
  return { blockNumber: number, blockHash: hash, blockTimestamp: timestamp, txHash, logIndex }
}

export const pairs = ['USD/GHS', 'USD/NGN', 'EUR/KES'] as const

/** The numbers of rows per block, wallets and events. */
export type Plan = {
  readonly token: Hex
  readonly rowsABlock: number
  readonly wallets: number
  readonly events: number
  readonly fork?: number
}

const settledAt = 1_800_000_123n

/** Every fourth event is settled, every eighth triggered. */
const isSettled = (event: number): boolean => event % 4 === 0
const isTriggered = (event: number): boolean => event % 8 === 0

export const seedEvent = (id: number, { token, wallets, rowsABlock, fork = 0 }: Plan): SeededEvent => {
  const origin = originOf(BigInt(Math.ceil(id / rowsABlock)), (id - 1) % rowsABlock, fork)
  const terms = {
    creator: walletOf((id * 7) % wallets),
    underlying: pairs[id % pairs.length] ?? pairs[0],
    strike: 12_000_000n,
    premiumRate: 23_000n,
    expiryDate: 1_800_000_000n + BigInt((id * 37) % 1_000) * 60n,
  }
  const [liquidity, exposure] = [10_000_000_000n + BigInt(id), 4_000_000_000n]
  return {
    fact: { kind: 'event', id: BigInt(id), ...terms, initialLiquidity: 1_000_000n, ...origin },
    seen: {
      core: {
        ...{ id: BigInt(id), ...terms, name: `Event "${id}" \u0000\u001f\u2603`, status: isSettled(id) ? 1 : 0 },
        ...{ poolOpen: id % 3 !== 0, allowExternalLp: true, initialRate: 11_400_000n, strikeAbove: id % 5 !== 0 },
      },
      stats: {
        ...{ settlementPrice: isSettled(id) ? 12_500_000n : 0n, triggered: isTriggered(id) },
        ...{ settledAt: isSettled(id) ? settledAt : 0n, creatorEarnings: id % 2 === 0 ? BigInt(id) : 0n },
        ...{ totalLiquidity: liquidity, totalExposure: exposure, totalPremiums: 5_000n, lpCount: 2n, hedgerCount: 3n },
        totalMaxPayout: isTriggered(id) ? 1_000_000_000n : 0n,
      },
      range: { strike: terms.strike, payoutCap: 13_500_000n, initialRate: 11_400_000n, strikeAbove: id % 5 !== 0 },
      utilization: {
        ...{ totalLiquidity: liquidity, totalExposure: exposure, availableCapacity: 6_000_000_000n },
        utilizationPercent: 24_487_344n,
      },
      paymentToken: getAddress(token),
    },
  }
}

export const seedDeposit = (id: number, { wallets, rowsABlock, events, fork = 0 }: Plan): SeededDeposit => {
  const event = 1 + (id % events)
  const terms = {
    id: BigInt(id),
    eventId: BigInt(event),
    lp: walletOf((id * 11) % wallets),
    amount: BigInt(id) * 1_000n,
    shares: BigInt(id) * 1_000n,
  }
  const pending = id % 3 === 0 ? BigInt(id) : 0n
  return {
    fact: {
      kind: 'deposit',
      ...terms,
      ...originOf(BigInt(Math.ceil(id / rowsABlock)), 2_000 + ((id - 1) % rowsABlock), fork),
    },
    seen: {
      deposit: {
        ...terms,
        premiumsEarned: pending,
        premiumsClaimed: BigInt(id % 7),
        withdrawn: isSettled(event) && id % 2 === 0,
      },
      pending,
    },
  }
}

export const seedPosition = (id: number, { wallets, rowsABlock, events, fork = 0 }: Plan): SeededPosition => {
  const event = 1 + (id % events)
  const terms = {
    eventId: BigInt(event),
    hedger: walletOf((id * 13) % wallets),
    notional: 1_000_000_000n + BigInt(id),
    premiumPaid: 23_000_000n,
  }
  const isDue = isTriggered(event)
  const claimed = isDue && id % 2 === 0
  return {
    fact: {
      ...{ kind: 'position', id: BigInt(id), ...terms, platformFee: 115_000n },
      ...originOf(BigInt(Math.ceil(id / rowsABlock)), 4_000 + ((id - 1) % rowsABlock), fork),
    },
    seen: {
      position: {
        ...{ id: BigInt(id), ...terms, platformFeePaid: 115_000n, claimed, payoutAmount: isDue ? 43_000_000n : 0n },
        status: claimed ? 3 : isDue ? 4 : isSettled(event) ? 5 : 0,
      },
    },
  }
}

/** The token that rows are seeded with, and a deployment that is configured with it. */
export const seedToken = '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'
export const seedDeployment = (chainId: ChainId): Deployment => ({
  ...{ chainId, diamond: zeroAddress, usdc: seedToken, usdt: null, publicRpcUrl: 'http://node.example' },
  ...factsOf(chainId),
  ...{ startBlock: 0n, profile: 'reference' },
})

type Rows = {
  readonly events?: readonly SeededEvent[]
  readonly deposits?: readonly SeededDeposit[]
  readonly positions?: readonly SeededPosition[]
}

/** Rows 1 to a number of each kind. */
export const seedRows = (
  plan: Plan,
  { events = 0, deposits = 0, positions = 0 }: { readonly [kind in keyof Rows]?: number },
): Required<Rows> => {
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)
  return {
    events: upTo(events).map((id) => seedEvent(id, plan)),
    deposits: upTo(deposits).map((id) => seedDeposit(id, plan)),
    positions: upTo(positions).map((id) => seedPosition(id, plan)),
  }
}

/** Records that the worker saw the chain, with this block as its newest. */
export const seedHeartbeat = (handle: Handle, chainId: ChainId, head: StoredBlock): Promise<void> =>
  saveHeartbeat(handle, chainId, heartbeatAt(head))

/**
 * Writes rows up to a block, which becomes the newest, and records that the worker saw the chain. Rows are rendered for
 * a deployment that is configured with the seeded token, unless another is given.
 */
export const putSeeded = async (
  handle: Handle,
  copy: Copy,
  chainId: ChainId,
  upTo: StoredBlock,
  rows: Rows,
): Promise<void> => {
  const { events = [], deposits = [], positions = [] } = rows
  await insertFacts(
    copy,
    chainId,
    [...events, ...deposits, ...positions].map(({ fact }) => fact),
  )
  await storeObservations(handle, chainId, upTo, {
    events: events.map(({ seen }) => seen),
    deposits: deposits.map(({ seen }) => seen),
    positions: positions.map(({ seen }) => seen),
    protocol: null,
  })
  await addAnchor(handle, chainId, upTo, true)
  await moveCursor(handle, chainId, upTo)
  await seedHeartbeat(handle, chainId, upTo)
}

/** The same in a separate transaction. */
export const writeSeeded = (database: Database, chainId: ChainId, upTo: StoredBlock, rows: Rows): Promise<void> =>
  database.transaction((handle, copy) => putSeeded(handle, copy, chainId, upTo, rows))
