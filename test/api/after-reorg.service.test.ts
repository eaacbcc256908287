import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { startWorld } from '../support/world.ts'

/*
 * A rollback deletes observations. Until they are made again, a filter on them would omit rows, and a portfolio would
 * omit amounts.
 */

let world: World
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  world = await startWorld()
  const { anvil, deployment } = world
  steps = await openIndexSteps(world, anvil.url)
  api = await openApp({ databaseUrl: steps.url, nodes: [{ url: anvil.url, deployment }] })
})
afterAll(async () => {
  await api?.close()
  await steps?.close()
  await world?.close()
})

const claimable = '/v1/hedge/deposits?chainId=8453&claimable=true'
const portfolio = () => `/v1/wallets/${world.creator.account.address}/portfolio?chainId=8453`

const idsOf = (body: string): number[] => JSON.parse(body).data.map(({ id }: { id: number }) => id)

const waiting = async (): Promise<number> => Number(/^fx_waits_open (\d+)$/m.exec(await api.metrics.metrics())?.[1])

/** Observes everything, then replaces a block in which a deposit and its event were observed again. */
beforeEach(async () => {
  await steps.index()
  await steps.observeAll()
  const before = await world.actions.node.snapshot()
  await world.actions.claimPremiums(world.creator, 1n)
  await steps.index()
  await steps.observeAll()
  await world.actions.node.revert({ id: before })
  await world.actions.node.mine({ blocks: 3 })
  await steps.index()
})

test('a list with an observed filter and a portfolio wait for the observations that a rollback deleted', async () => {
  const answers = [api.app.inject(claimable), api.app.inject(portfolio())]
  await expect.poll(waiting).toBe(2)
  await steps.observeAll()
  const [list, wallet] = await Promise.all(answers)
  expect(list?.statusCode).toBe(200)
  expect(idsOf(list?.body ?? '')).toContain(1)
  const { claimables } = JSON.parse(wallet?.body ?? '').data
  expect(claimables).toContainEqual(expect.objectContaining({ kind: 'premiums', id: 1 }))
})

test('a filtered list and a portfolio are a 503 when observations are late, and other lists are read from the chain at once', async () => {
  const [list, wallet, plain] = await Promise.all([
    api.app.inject(claimable),
    api.app.inject(portfolio()),
    api.app.inject('/v1/hedge/deposits?chainId=8453'),
  ])
  expect([list.statusCode, wallet.statusCode]).toEqual([503, 503])
  expect(list.json().error.message).toMatch(/reorg of chain 8453/)
  expect(list.headers['retry-after']).toBeDefined()
  expect(plain.statusCode).toBe(200)
  expect(idsOf(plain.body)).toEqual([4, 3, 2, 1])
})
