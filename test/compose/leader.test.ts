import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { sendDemands, storedHeadIn } from '../../src/compose/leader.ts'
import type { Database } from '../../src/db/pool.ts'

const open = () => {
  const clock = { now: 0 }
  const sent: unknown[] = []
  const handle = { execute: async (query: SQL) => void sent.push(new PgDialect().sqlToQuery(query).params[1]) }
  const database = { run: async (body: (given: typeof handle) => unknown) => body(handle) } as unknown as Database
  return { clock, ask: sendDemands(database, () => clock.now), take: () => sent.splice(0) }
}
const broken = { run: () => Promise.reject(new Error('connection lost')) } as unknown as Database

test('a demand is sent once for each chain and block, and again when half of its time is left', () => {
  const { clock, ask, take } = open()
  const [first, second] = [ask(8453), ask(56)]
  first(7n, 1_000)
  second(null, 500)
  expect(take()).toEqual(['8453 7 1000', '56  500'])
  clock.now = 499
  first(7n, 1_000)
  first(null, 1_000)
  expect(take()).toEqual([])
  clock.now = 500
  first(7n, 1_000)
  expect(take()).toEqual(['8453 7 1000'])
  clock.now = 501
  first(7n, 1_000)
  expect(take()).toEqual([])
})

test('a demand for any news does not cover blocks, and one for a later block does not cover earlier ones', () => {
  const { clock, ask, take } = open()
  const send = ask(8453)
  send(null, 1_000)
  send(0n, 1_000)
  send(7n, 1_000)
  send(5n, 1_000)
  expect(take()).toEqual(['8453  1000', '8453 0 1000', '8453 7 1000', '8453 5 1000'])
  clock.now = 1_000
  send(null, 1)
  send(5n, 1_000)
  send(5n, 1_000)
  expect(take()).toEqual(['8453  1', '8453 5 1000'])
})

test('without a database no demand is sent and no head is known', async () => {
  sendDemands(broken)(8453)(1n, 1_000)
  expect(await storedHeadIn(broken)(8453)()).toBeNull()
})
