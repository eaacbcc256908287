import { expect, test } from 'vitest'
import { createCsvAnswers } from '../../../src/api/csv/answers.ts'
import { activityRoutes } from '../../../src/api/routes/activity.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { fakeTurns, openCache, openRoutes } from './route-app.ts'

/** An empty page of activity, whose logs are complete from a block on; null: from the first one. */
const open = async () => {
  const state = { completeFrom: null as bigint | null, reorged: false }
  const page = async () => {
    const { completeFrom, reorged } = state
    const head = { timestamp: blockAt(50).timestamp, isQuiet: true, ageSeconds: 0 }
    const tip = { chainId: 8453, block: blockAt(50), head, rollback: 0n, reorged, isRefreshing: false }
    const from = completeFrom === null ? [] : [{ chainId: 8453, blockNumber: completeFrom }]
    return { tips: [tip], rows: [], completeFrom: from }
  }
  const app = await openRoutes(async (it) => {
    const { cache } = await openCache(it)
    const csv = createCsvAnswers({ capacity: { take: () => () => {} }, limit: null })
    const sources = { finality: { finalBlock: async () => null }, maxLagSeconds: 60, lists: { activity: { page } } }
    const waits = { changes: { reached: () => undefined } }
    await it.register(activityRoutes, { prefix: '/v1', turns: fakeTurns().turns, cache, csv, waits, sources } as never)
  })
  return { app, state }
}

test('a page has no tag while older logs are read: these may be of none of its wallets', async () => {
  const { app, state } = await open()
  state.completeFrom = 40n
  const page = () => app.inject('/v1/activity?chainId=8453')
  expect((await page()).headers.etag).toBeUndefined()
  state.completeFrom = null
  expect((await page()).headers.etag).toBeDefined()
})

test('CSV names the block from which it is complete, and refuses to continue after a reorg', async () => {
  const { app, state } = await open()
  const csv = () => app.inject('/v1/activity?chainId=8453&format=csv')
  expect((await csv()).headers).not.toHaveProperty('x-complete-from')
  state.completeFrom = 40n
  expect((await csv()).headers['x-complete-from']).toBe('8453=40')
  state.reorged = true
  const { statusCode, body } = await csv()
  expect([statusCode, JSON.parse(body).error]).toMatchObject([409, { code: 'conflict' }])
})
