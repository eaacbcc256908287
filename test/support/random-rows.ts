import { getAddress, numberToHex } from 'viem'
import { storeObservations } from '../../src/db/index/observations.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { lockRefreshQueue } from '../../src/db/index/work/refresh-queue.ts'
import { addAnchor, insertFacts, moveCursor } from '../../src/db/index/write.ts'
import type { Database, Handle } from '../../src/db/pool.ts'
import { uniforms } from '../../src/lib/random.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { configuredTokens, type Token } from '../../src/protocol/tokens.ts'
import { heartbeatAt } from './healthy-index.ts'
import { blockOf, type SeededDeposit, type SeededEvent, type SeededPosition } from './seed-index.ts'

/*
 * Random entities, mostly of values at the bounds of what the chain can return, and texts that are chosen to break a
 * reader.
 */

const amounts = [0n, 1n, 10n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 128n, 2n ** 256n - 1n]

/** Texts as the chain's views return them: invalid UTF-8 is decoded to U+FFFD before. */
const hostileTexts = [
  '',
  ' ',
  'USD/GHS',
  '\u0000',
  'a\u0000b',
  '\u001e\u001f',
  '\u001f,"stats":{}',
  '"',
  '\\',
  '\\x00',
  '\\u0000',
  '"}]},{"id":1',
  "'; DROP TABLE events; --",
  '{1,2}',
  'NULL',
  '\u2028\u2029',
  '\ufeffname',
  '\ufffd\ufffd',
  '\u{1f600}\u{10ffff}',
  'e\u0301\u200d\u202e',
  '\t\r\n\b\f\u007f\u0085',
  '__proto__',
  'n'.repeat(256),
] as const

/** A stored token of each hostile symbol, one without a symbol, and those that are configured. */
const tokensOf = (deployment: Deployment): Token[] => [
  ...configuredTokens(deployment),
  ...[null, ...hostileTexts].map((symbol, at) => ({
    token: getAddress(numberToHex(0xabcdef0000n + BigInt(at), { size: 20 })),
    symbol: symbol?.slice(0, 32) ?? null,
    decimals: [0, 6, 18, 255][at % 4] ?? 0,
  })),
]

export type RandomRows = {
  readonly tokens: readonly Token[]
  readonly events: readonly SeededEvent[]
  readonly deposits: readonly SeededDeposit[]
  readonly positions: readonly SeededPosition[]
}

/** The block that random rows are observed at. */
export const observedBlock = blockOf(1_000n)

/** `count` entities of each kind on a deployment's chain; the same of the same seed. */
export const randomRows = (deployment: Deployment, count: number, seed: number): RandomRows => {
  const uniform = uniforms(seed)
  const below = (limit: number): number => Math.floor(uniform() * limit)
  const pick = <T>(values: readonly [T, ...T[]] | readonly T[]): T => values[below(values.length)] as T
  const any = (): bigint => BigInt(Math.floor(uniform() * 2 ** 32)) ** BigInt(below(8))
  const amount = (): bigint => (uniform() < 0.7 ? pick(amounts) : any() % 2n ** 256n)
  const flag = (): boolean => uniform() < 0.5
  const text = (): string =>
    uniform() < 0.8 ? pick(hostileTexts) : pick(hostileTexts).slice(0, 100) + pick(hostileTexts).slice(0, 100)
  const address = () => getAddress(numberToHex(any() % 2n ** 160n, { size: 20 }))
  const status = (): number => pick([0, 1, 2, 3, 4, 5, 255])
  const { timestamp } = observedBlock
  const expiry = (): bigint => (flag() ? timestamp + pick([-1n, 0n, 1n, -86_400n, 86_400n]) : amount())
  const tokens = tokensOf(deployment)
  const origin = (at: number, logIndex: number) => {
    const number = BigInt(Math.ceil((1_000 * (at + 1)) / count))
    const { hash: blockHash, timestamp: blockTimestamp } = blockOf(number)
    const txHash = uniform() < 0.2 ? null : numberToHex(any() % 2n ** 256n, { size: 32 })
    return { blockNumber: number, blockHash, blockTimestamp, txHash, logIndex: txHash === null ? null : logIndex }
  }
  const each = <T>(make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

  return {
    tokens,
    events: each((at) => {
      const id = BigInt(at + 1)
      const [terms, strike] = [
        { creator: address(), underlying: text(), premiumRate: amount(), expiryDate: expiry() },
        amount(),
      ]
      const shape = { initialRate: amount(), strikeAbove: flag() }
      const totals = { totalLiquidity: amount(), totalExposure: amount() }
      return {
        fact: { kind: 'event', id, ...terms, strike, initialLiquidity: flag() ? null : amount(), ...origin(at, 0) },
        seen: {
          core: {
            id,
            ...terms,
            strike,
            ...shape,
            name: text(),
            status: status(),
            poolOpen: flag(),
            allowExternalLp: flag(),
          },
          stats: {
            ...{ settlementPrice: amount(), triggered: flag(), settledAt: amount(), creatorEarnings: amount() },
            ...{
              ...totals,
              totalPremiums: amount(),
              lpCount: amount(),
              hedgerCount: amount(),
              totalMaxPayout: amount(),
            },
          },
          range: { strike, payoutCap: amount(), ...shape },
          utilization: { ...totals, availableCapacity: amount(), utilizationPercent: amount() },
          paymentToken: pick(tokens).token,
        },
      }
    }),
    deposits: each((at) => {
      const terms = {
        id: BigInt(at + 1),
        eventId: BigInt(1 + below(count)),
        lp: address(),
        amount: amount(),
        shares: amount(),
      }
      const seen = { ...terms, premiumsEarned: amount(), premiumsClaimed: amount(), withdrawn: flag() }
      return { fact: { kind: 'deposit', ...terms, ...origin(at, 1) }, seen: { deposit: seen, pending: amount() } }
    }),
    positions: each((at) => {
      const terms = {
        id: BigInt(at + 1),
        eventId: BigInt(1 + below(count)),
        hedger: address(),
        notional: amount(),
        premiumPaid: amount(),
      }
      const fee = amount()
      const seen = { ...terms, platformFeePaid: fee, payoutAmount: amount(), status: status(), claimed: flag() }
      return { fact: { kind: 'position', ...terms, platformFee: fee, ...origin(at, 2) }, seen: { position: seen } }
    }),
  }
}

/** Stores tokens that are not configured, and what was observed at `observedBlock`, as the worker does. */
export const observeRandomRows = async (
  handle: Handle,
  deployment: Deployment,
  { tokens, events, deposits, positions }: RandomRows,
): Promise<void> => {
  const { chainId } = deployment
  const configured = new Set(configuredTokens(deployment).map(({ token }) => token))
  await lockRefreshQueue(handle, chainId)
  await storeTokens(
    handle,
    chainId,
    tokens.filter(({ token }) => !configured.has(token)),
  )
  const seen = {
    events: events.map((it) => it.seen),
    deposits: deposits.map((it) => it.seen),
    positions: positions.map((it) => it.seen),
    protocol: null,
  }
  await storeObservations(handle, chainId, observedBlock, seen)
}

/** Writes rows as the worker does: facts first, then what was observed of them. */
export const writeRandomRows = (database: Database, deployment: Deployment, rows: RandomRows): Promise<void> =>
  database.transaction(async (handle, copy) => {
    const { chainId } = deployment
    const { events, deposits, positions } = rows
    await lockRefreshQueue(handle, chainId)
    await insertFacts(
      copy,
      chainId,
      [...events, ...deposits, ...positions].map(({ fact }) => fact),
    )
    await observeRandomRows(handle, deployment, rows)
    await addAnchor(handle, chainId, observedBlock, true)
    await moveCursor(handle, chainId, observedBlock)
    await saveHeartbeat(handle, chainId, heartbeatAt(observedBlock))
  })
