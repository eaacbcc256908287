import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { blockOf, seedRows, seedToken, walletOf, writeSeeded } from '../support/seed-index.ts'

/* The limits of the series of wallets. Rows without logs have no known past, which is the answer within the limits. */

const MOST = 1_000

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  api = await openApp({ databaseUrl: store.url })
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const write = (chainId: 8453 | 56, positions: number) => {
  const rows = seedRows({ token: seedToken, rowsABlock: 100, wallets: 1, events: 3 }, { events: 3, positions })
  return writeSeeded(api.database, chainId, blockOf(100n), rows)
}

test('the series of a wallet counts its positions of each chain on their own', async () => {
  const read = async (query = '') => {
    const { status, error } = await api.get(`/wallets/${walletOf(0)}/series?interval=week${query}`)
    return [status, error?.message]
  }
  await write(8453, MOST)
  await write(56, MOST + 1)
  const within = [503, expect.stringMatching(/^the past of event \d is not known/)]
  const beyond = [400, expect.stringContaining('at most 1000 of a kind on a chain')]
  expect(await read('&chainId=8453')).toEqual(within)
  expect(await read('&chainId=56')).toEqual(beyond)
  expect(await read()).toEqual(beyond)
  await api.database.run((handle) => handle.execute(`DELETE FROM positions WHERE chain_id = 56 AND id = ${MOST + 1}`))
  expect(await read()).toEqual(within)
})
