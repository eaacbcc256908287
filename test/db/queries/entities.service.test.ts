import { sql } from 'drizzle-orm'
import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeTokens } from '../../../src/db/index/tokens.ts'
import type { Database } from '../../../src/db/pool.ts'
import { createQueries } from '../../../src/db/queries/entities.ts'
import { createHeldTokens } from '../../../src/db/queries/held-tokens.ts'
import { type Kind, kinds } from '../../../src/protocol/entities.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'
import { seedToken, walletOf } from '../../support/seed-index.ts'
import { furtherToken, ownerOf, owners, states, statesTip, writeStates } from '../../support/seed-states.ts'

let store: TestDatabase
let database: Database
let queries: ReturnType<typeof createQueries>
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeStates(database)
  queries = createQueries(database)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

type Fact = { readonly id: bigint; readonly eventId?: bigint; readonly txHash: Hex | null }
const factsOf = (kind: Kind, chainId: 8453 | 56) =>
  states[chainId][`${kind}s`].map(({ fact }: { readonly fact: Fact & Parameters<typeof ownerOf>[0] }) => fact)

test.each(kinds)('the ids of kind %s of an owner are ascending, of one chain, in pages', async (kind) => {
  const read = queries.idsByOwner[kind]
  for (const owner of owners) {
    const expected = factsOf(kind, 56)
      .filter((fact) => ownerOf(fact) === owner)
      .map(({ id }) => id)
    expect(await read(56, owner, { after: null, limit: 1_000 })).toEqual(expected)
    const [first, second, third] = expected
    if (first === undefined || second === undefined) throw new Error('no two ids')
    expect(await read(56, owner, { after: null, limit: 1 })).toEqual([first])
    expect(await read(56, owner, { after: first, limit: 1 })).toEqual([second])
    expect(await read(56, owner, { after: first - 1n, limit: 2 })).toEqual([first, second])
    expect(await read(56, owner, { after: second, limit: 1 })).toEqual(third === undefined ? [] : [third])
  }
  expect(await read(56, walletOf(9), { after: null, limit: 10 })).toEqual([])
})

// The server may read the rows by an index, which has an order of its own, or as they are stored.
test.each([
  ['an index', ''],
  ['a scan', `?options=${['index', 'indexonly', 'bitmap'].map((of) => `-c%20enable_${of}scan%3Doff`).join('%20')}`],
])('an id of 0 is on the first page, and on no page after it, by %s', async (_, options) => {
  const reading = openDatabase(`${store.url}${options}`)
  await database.run((handle) =>
    handle.execute(sql`INSERT INTO deposits SELECT (d).* FROM (SELECT json_populate_record(d, '{"id": 0}') AS d
      FROM deposits d WHERE chain_id = 56 AND id = 1) AS zero`),
  )
  const [owner] = owners
  const read = createQueries(reading).idsByEvent.deposit
  expect(owner).toBeDefined()
  expect(await read(56, 1n, { after: null, limit: 2 })).toEqual([0n, 1n])
  expect(await read(56, 1n, { after: 0n, limit: 2 })).toEqual([1n, 2n])
  await database.run((handle) => handle.execute(sql`DELETE FROM deposits WHERE id = 0`))
  await reading.close()
})

test.each(['deposit', 'position'] as const)('the ids of kind %s of an event are of its chain', async (kind) => {
  const expected = (chainId: 8453 | 56, event: bigint) =>
    factsOf(kind, chainId).flatMap(({ id, eventId }) => (eventId === event ? [id] : []))
  const read = queries.idsByEvent[kind]
  for (const event of [1n, 4n, 8n])
    for (const chainId of [8453, 56] as const)
      expect(await read(chainId, event, { after: null, limit: 100 })).toEqual(expected(chainId, event))
})

test.each(kinds)('an entity of kind %s is that of its chain, with the block of its observation', async (kind) => {
  const found = await queries[kind](56, 3n)
  expect(found).toMatchObject({ observedAt: statesTip })
  expect(await queries[kind](56, 999n)).toBeNull()
  expect(await queries[kind](137, 3n)).toBeNull()
  await expect(queries[kind](8453, 100n)).rejects.toThrow(`${kind} 100 is not observed yet`)
  // The other chain has an entity of the same id with another owner.
  const { owner } = { event: { owner: 'creator' }, deposit: { owner: 'lp' }, position: { owner: 'hedger' } }[kind]
  const table = `${kind}s`
  await database.run((handle) =>
    handle.execute(
      sql`UPDATE ${sql.identifier(table)} SET ${sql.identifier(owner)} = '\\x01'::bytea || substr(${sql.identifier(owner)}, 2) WHERE chain_id = 8453 AND id = 3`,
    ),
  )
  expect(await queries[kind](56, 3n)).toEqual(found)
  expect(await queries[kind](8453, 3n)).not.toEqual(found)
})

test.each(kinds)('what a transaction created of kind %s is found after a block only', async (kind) => {
  const facts = factsOf(kind, 56)
  const [, , third, , , sixth] = facts
  const txHash = third?.txHash ?? '0x'
  await database.run((handle) =>
    handle.execute(
      sql`UPDATE ${sql.identifier(`${kind}s`)} SET tx_hash = decode(${txHash.slice(2)}, 'hex') WHERE chain_id = 56 AND id = 6`,
    ),
  )
  const created = async (after: bigint, chainId = 56) =>
    (await queries.createdIn[kind](chainId, txHash, after)).map(({ id }) => id)
  // Rows 1 to 5 are of block 1, row 6 of block 2.
  expect(await created(0n)).toEqual([3n, 6n])
  expect(await created(1n)).toEqual([6n])
  expect(await created(2n)).toEqual([])
  expect(await created(0n, 137)).toEqual([])
  const [row] = await queries.createdIn[kind](56, txHash, 1n)
  expect(row).toMatchObject({ owner: sixth && ownerOf(sixth), block: { number: 2n } })
})

test('the newest indexed block is that of the chain', async () => {
  await database.run((handle) => handle.execute(sql`UPDATE cursors SET block_number = 29 WHERE chain_id = 56`))
  expect(await queries.indexed(8453)).toEqual(statesTip)
  expect(await queries.indexed(56)).toEqual({ ...statesTip, number: 29n })
  expect(await queries.indexed(137)).toBeNull()
  expect(await queries.reached(56)).toMatchObject({ chainId: 56, block: { number: 29n } })
  expect(await queries.reached(137)).toBeNull()
  expect(await queries.singleton(8453)).toBeNull()
})

test('held tokens are those of own events, the newest first, up to the limit and to the newest rows', async () => {
  await database.transaction((handle) =>
    storeTokens(handle, 8453, [{ token: furtherToken, symbol: 'F\u0000r', decimals: 0 }]),
  )
  const [owner] = owners
  const other = walletOf(9)
  if (owner === undefined) throw new Error('no owner')
  const set = (statement: ReturnType<typeof sql>) => database.run((handle) => handle.execute(statement))
  const held = async (limit: number, maxRows?: number, wallets = [other, owner], chainIds = [8453, 56]) =>
    (await createHeldTokens(database, maxRows)(wallets, chainIds, limit)).map(({ wallet, chainId, token }) => [
      ...[wallet, chainId, token.token, token.symbol, token.decimals],
    ])
  const further = [furtherToken, 'F\u0000r', 0]
  // The other wallet has nothing. On the second chain the token is not stored.
  await set(sql`UPDATE event_observations SET payment_token = decode(${seedToken.slice(2)}, 'hex')`)
  await set(
    sql`UPDATE event_observations SET payment_token = decode(${furtherToken.slice(2)}, 'hex') WHERE id IN (2, 7)`,
  )
  await set(sql`UPDATE events SET payment_token = seen.payment_token FROM event_observations AS seen
    WHERE seen.chain_id = events.chain_id AND seen.id = events.id`)
  await set(sql`UPDATE events SET creator = decode(${walletOf(1).slice(2)}, 'hex')`)
  await set(sql`UPDATE deposits SET lp = decode(${walletOf(1).slice(2)}, 'hex')`)
  await set(sql`UPDATE positions SET hedger = decode(${walletOf(1).slice(2)}, 'hex')`)
  expect(await held(5)).toEqual([])
  const own = (kind: 'creator' | 'lp' | 'hedger', chainId: number, id: number) => {
    const table = { creator: 'events', lp: 'deposits', hedger: 'positions' }[kind]
    return set(sql`UPDATE ${sql.identifier(table)} SET ${sql.identifier(kind)} = decode(${owner.slice(2)}, 'hex')
      WHERE chain_id = ${chainId} AND id = ${id}`)
  }
  // Deposit 26 is of event 7, position 1 of event 1.
  await own('lp', 8453, 26)
  expect(await held(5)).toEqual([[1, 8453, ...further]])
  await own('hedger', 8453, 1)
  expect(await held(5)).toEqual([
    [1, 8453, ...further],
    [1, 8453, seedToken, null, null],
  ])
  expect(await held(1)).toEqual([[1, 8453, ...further]])
  await own('creator', 8453, 8)
  await own('creator', 56, 2)
  const all = [
    [1, 8453, seedToken, null, null],
    [1, 8453, ...further],
    [1, 56, furtherToken, null, null],
  ]
  expect(new Set((await held(5)).map(String))).toEqual(new Set(all.map(String)))
  expect(await held(5, undefined, [owner], [8453])).toEqual(all.slice(0, 2).map(([, ...rest]) => [0, ...rest]))
  // The second newest own event counts only if two rows of a kind are read.
  await own('creator', 56, 3)
  expect(await held(5, 1, [owner], [56])).toEqual([[0, 56, seedToken, null, null]])
  expect(await held(5, 2, [owner], [56])).toEqual([
    [0, 56, seedToken, null, null],
    [0, 56, furtherToken, null, null],
  ])
})

test('held tokens are those of the newest thousand rows of a kind by default', async () => {
  const texts: string[] = []
  const rows = async ({ text }: { readonly text: string }): Promise<never[]> => {
    texts.push(text)
    return []
  }
  await createHeldTokens({ rows })([], [], 1)
  expect(texts[0]?.match(/ORDER BY f\.id DESC LIMIT \d+/g)).toEqual(Array(3).fill('ORDER BY f.id DESC LIMIT 1000'))
})
