import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DatedFact, insertFacts } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { hex } from '../support/random-logs.ts'
import { readAllFacts } from '../support/read-facts.ts'

const chainId = 8453

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const edges = [0n, 1n, 9_999n, 10_000n, 2n ** 53n - 1n, 2n ** 53n, 10n ** 16n, 10n ** 24n, 10n ** 76n, 2n ** 256n - 1n]
const uint = fc.oneof(
  fc.constantFrom(...edges),
  fc.bigInt(0n, 2n ** 256n - 1n),
  fc.tuple(fc.nat(9), fc.nat(76)).map(([digit, zeros]) => BigInt(digit) * 10n ** BigInt(zeros)),
)
const int8 = fc.oneof(fc.constantFrom(0n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n), fc.bigInt(0n, 2n ** 63n - 1n))
const owner = hex(20).map((bytes) => getAddress(bytes))
const log = fc.record({ txHash: fc.option(hex(32)), logIndex: fc.option(fc.nat(2 ** 31 - 1)) })
const seen = fc.record({ blockNumber: int8, blockHash: hex(32), blockTimestamp: int8 })

const fact = fc.oneof(
  fc.record({
    kind: fc.constant('event' as const),
    creator: owner,
    underlying: fc.string({ unit: 'binary', maxLength: 256 }).map((text) => Buffer.from(text).toString()),
    strike: uint,
    premiumRate: uint,
    expiryDate: uint,
    initialLiquidity: fc.option(uint),
  }),
  fc.record({ kind: fc.constant('deposit' as const), eventId: int8, lp: owner, amount: uint, shares: uint }),
  fc.record({
    kind: fc.constant('position' as const),
    eventId: int8,
    hedger: owner,
    notional: uint,
    premiumPaid: uint,
    platformFee: uint,
  }),
)

/** Facts with distinct ids. */
const facts: fc.Arbitrary<DatedFact[]> = fc
  .array(fc.tuple(fact, seen, log), { minLength: 1, maxLength: 200 })
  .map((all) => all.map(([made, block, origin], at) => ({ ...made, ...block, ...origin, id: BigInt(at) })))

test('facts with any amounts, texts and hashes are read back as they were copied in', async () => {
  await fc.assert(
    fc.asyncProperty(facts, async (written) => {
      await database.transaction((_, copy) => insertFacts(copy, chainId, written))
      const { events, deposits, positions } = await readAllFacts(database, chainId)
      const read = [
        ...events.map((row) => ({ kind: 'event', ...row })),
        ...deposits.map((row) => ({ kind: 'deposit', ...row })),
        ...positions.map((row) => ({ kind: 'position', ...row })),
      ]
      await database.run((handle) => handle.execute(sql`TRUNCATE events, deposits, positions`))
      const byId = [...read].sort((a, b) => Number(a.id - b.id))
      // An observation sets the token.
      const whole = written.map((each) => (each.kind === 'event' ? { ...each, paymentToken: null } : each))
      expect(byId).toEqual(whole.map((each) => ({ ...each, chainId })))
    }),
    { numRuns: 30 },
  )
})

test('an id or a block above the range of its column, or a negative amount, is an error and writes nothing', async () => {
  const hash: Hex = `0x${'11'.repeat(32)}`
  const whole = { id: 1n, blockNumber: 1n, blockHash: hash, blockTimestamp: 1n, txHash: hash, logIndex: 0 }
  const deposit = {
    kind: 'deposit' as const,
    eventId: 1n,
    lp: getAddress(`0x${'22'.repeat(20)}`),
    amount: 1n,
    shares: 1n,
  }
  for (const wrong of [{ id: 2n ** 63n }, { blockNumber: 2n ** 256n - 1n }, { amount: -1n }, { logIndex: 2 ** 31 }]) {
    const rows = [{ ...deposit, ...whole, ...wrong }]
    await expect(database.transaction((_, copy) => insertFacts(copy, chainId, rows))).rejects.toThrow(RangeError)
  }
  expect((await readAllFacts(database, chainId)).deposits).toEqual([])
})
