import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { openApp } from '../support/app.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import type { World } from '../support/indexing.ts'
import { startWorld } from '../support/world.ts'

/*
 * Reads that wait until entities are observed again: after a transaction, and after a rollback, which deletes
 * observations. Until they are made again, a filter on them would omit rows, and a portfolio would omit amounts.
 */

let world: World
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let api: Awaited<ReturnType<typeof openApp>>
/** Delays what the API process learns about changes. */
let learning = Promise.resolve()

beforeAll(async () => {
  world = await startWorld()
  const { anvil, deployment } = world
  steps = await openIndexSteps(world, anvil.url)
  api = await openApp({
    databaseUrl: steps.url,
    nodes: [{ url: anvil.url, deployment }],
    changesFrom: (database) => ({
      async run(query) {
        await learning
        return database.run(query)
      },
    }),
  })
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

/** A promise and the function that resolves it. */
const gate = () => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const deposits = '/v1/hedge/deposits?chainId=8453&eventId=1'
const premiumsOf = (body: string): string[] =>
  JSON.parse(body).data.map(({ premiumsEarned }: { premiumsEarned: string }) => premiumsEarned)

/** Indexes a purchase in event 1, whose deposits earn premiums by it. */
const buyAndIndex = async () => {
  await world.actions.buy(world.hedger, 1n, 500n * 10n ** 6n)
  await steps.index()
  const { hash, block } = await world.newest()
  await expect.poll(() => api.sources.changes.reached(8453)?.block.number).toBe(block)
  return { hash, block }
}

describe('after a purchase', () => {
  beforeEach(async () => {
    await steps.index()
    await steps.observeAll()
  })

  test('reads of its block wait for the deposits that are to be refreshed', async () => {
    const before = premiumsOf((await api.app.inject(deposits)).body)
    const { hash, block } = await buyAndIndex()
    const wallet = world.lp.account.address
    const answers = [
      api.app.inject(`${deposits}&afterTx=${hash}&waitMs=10000`),
      api.app.inject(`${deposits}&minBlock=${block}&waitMs=10000`),
      api.app.inject(`/v1/wallets/${wallet}/portfolio?chainId=8453&minBlock=${block}&waitMs=10000`),
      api.app.inject({
        ...{ method: 'POST', url: `/v1/wallets/portfolio?afterTx=${hash}&waitMs=10000` },
        payload: { wallets: [wallet], chainIds: [8453] },
      }),
      api.app.inject(`/v1/transactions/8453/${hash}?waitMs=10000`),
    ]
    await expect.poll(waiting).toBe(answers.length)
    /** Waits share polls: when these are over, every earlier wait has seen the queue too. */
    const expectNotRefreshed = async (): Promise<void> => {
      for (const wanted of [`minBlock=${block}`, `afterTx=${hash}`]) {
        const { statusCode, body } = await api.app.inject(`${deposits}&${wanted}&waitMs=1`)
        expect([statusCode, body]).toEqual([503, expect.stringContaining('not refreshed yet')])
      }
    }
    await expectNotRefreshed()

    const { open, opened } = gate()
    let isHeld = false
    const held: Chain = {
      ...steps.chain,
      async readAt(at, calls) {
        isHeld ||= calls.some((call) => 'name' in call && call.name === 'getHedgeLpDeposit')
        if (isHeld) await opened
        return steps.chain.readAt(at, calls)
      },
    }
    const observer = createObserver({ chain: held, database: steps.database, log: pino({ level: 'silent' }) })
    const observed = observer.observeAll(new AbortController().signal)
    const queued = async (): Promise<unknown[]> =>
      steps.database.rows({ name: 'queued', text: 'SELECT DISTINCT subject FROM refresh_queue', values: [] })
    await expect.poll(() => isHeld).toBe(true)
    expect(await queued()).toContainEqual(['deposit'])
    await expectNotRefreshed()
    expect(await waiting()).toBe(answers.length)
    open()
    await observed

    const [list, other, one, many, transaction] = (await Promise.all(answers)).map(({ statusCode, body }) => {
      expect([statusCode, body]).toEqual([200, body])
      return body
    })
    const after = premiumsOf((await api.app.inject(deposits)).body)
    for (const [at, premiums] of after.entries()) expect(BigInt(premiums)).toBeGreaterThan(BigInt(before[at] ?? 0))
    expect([premiumsOf(list ?? ''), premiumsOf(other ?? '')]).toEqual([after, after])
    const [portfolio] = JSON.parse(many ?? '').data
    expect(portfolio.deposits).toEqual(JSON.parse(one ?? '').data.deposits)
    for (const { eventId, premiumsEarned } of portfolio.deposits)
      if (eventId === 1) expect(after).toContain(premiumsEarned)
    expect(JSON.parse(transaction ?? '').data.indexed).toBe(true)
  })

  test('a read of its block is never a 304 for rows that were observed again without the process knowing it yet', async () => {
    const { block } = await buyAndIndex()
    const { number, hash, timestamp } = await world.actions.client.getBlock()
    const heartbeat: Parameters<typeof saveHeartbeat>[2] = {
      ...{ head: { number, hash, timestamp }, proven: null, isQuiet: false, source: 'logs', problem: null },
      nodes: { endpoints: [], halted: false, hasLogs: true },
    }
    // The rows of the event, but not of its deposits, are current.
    await expect
      .poll(async () => {
        await steps.database.run((handle) => saveHeartbeat(handle, 8453, heartbeat))
        return (await api.app.inject(deposits)).headers.etag
      })
      .toBeDefined()
    const stale = await api.app.inject(deposits)
    const { open, opened } = gate()
    learning = opened
    try {
      await steps.observeAll()
      const headers = { 'if-none-match': String(stale.headers.etag) }
      const ask = (waitMs: number) => api.app.inject({ url: `${deposits}&minBlock=${block}&waitMs=${waitMs}`, headers })
      expect((await ask(1)).statusCode).toBe(503)
      const answer = ask(10_000)
      open()
      const { statusCode, body } = await answer
      expect(statusCode).toBe(200)
      expect(premiumsOf(body)).not.toEqual(premiumsOf(stale.body))
    } finally {
      open()
    }
  })
})

describe('after a reorg', () => {
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
})
