import { expect, test } from 'vitest'
import { statusRoutes } from '../../../src/api/routes/health.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { healthyIndex, healthyNodes } from '../../support/healthy-index.ts'
import { openRoutes } from './route-app.ts'

/* `/status` over healthy indexes, nodes and webhooks, each of which a test may fail. */

const endpoint = {
  ...{ index: 0, rank: 'ok', height: 100n, timestamp: 1_000n, heightAgeSeconds: 1, width: 100n },
  ...{ missing: [], fault: null },
}

const open = async ({ isLimitShared = true, endpoints = [] as readonly object[] } = {}) => {
  const health: Record<number, () => Promise<unknown>> = {
    8453: async () => healthyIndex,
    56: async () => healthyIndex,
  }
  const state = {
    webhooks: async (): Promise<unknown> => ({
      ...{ endpoints: 2, waiting: 3 },
      failing: [{ id: 'w1', state: 'disabled', failingSeconds: 7_200 }],
    }),
  }
  const chainOf = (chainId: number) => ({
    deployment: { chainId, name: `chain ${chainId}`, startBlock: 0n },
    refresh: async () => {},
    status: () => ({ ...healthyNodes, endpoints }),
  })
  const sources = {
    chains: new Map([8453, 56].map((chainId) => [chainId, chainOf(chainId)])),
    healthOf: (chainId: number) => health[chainId]?.(),
    maxLagSeconds: 60,
    checks: { of: () => [] },
    lags: { of: () => [{ at: 60, lagSeconds: 1 }] },
    webhooksHealth: () => state.webhooks(),
  }
  const app = await openRoutes((it) =>
    it.register(statusRoutes, { sources: sources as never, isLimitShared: () => isLimitShared }),
  )
  const ask = async () => {
    const { statusCode, body } = await app.inject('/status')
    return { statusCode, ...JSON.parse(body) }
  }
  return { ask, health, state }
}

const gone = (reason: string) => () => Promise.reject(unavailable(reason))
const bug = () => Promise.reject(new Error('a bug'))
const stopped = expect.stringMatching(/^Webhook endpoint w1 is disabled /)
const alone = expect.stringMatching(/^This process counts requests on its own/)

test('the status has each chain in the configured order, and the webhooks with their alarms', async () => {
  const { ask } = await open()
  expect(await ask()).toMatchObject({
    statusCode: 200,
    data: {
      chains: [
        { chainId: 8453, state: 'following', indexedBlock: 99, lags: [{ at: 60, lagSeconds: 1 }], alarms: [] },
        { chainId: 56, state: 'following', indexedBlock: 99 },
      ],
      webhooks: { endpoints: 2, waiting: 3, failing: [{ id: 'w1' }] },
      alarms: [stopped],
    },
  })
})

test.each([
  [true, [stopped]],
  [false, [alone, stopped]],
])('with a limit that is shared (%s) the alarms are %j', async (isLimitShared, alarms) => {
  const { ask } = await open({ isLimitShared })
  expect((await ask()).data.alarms).toEqual(alarms)
})

test('without the health of the webhooks the status has all else, unless the reason is unexpected', async () => {
  const { ask, state } = await open()
  state.webhooks = gone('the database is out of reach')
  const { statusCode, data } = await ask()
  expect([statusCode, data.chains.length, data.webhooks, data.alarms]).toEqual([200, 2, null, []])
  state.webhooks = bug
  expect((await ask()).statusCode).toBe(500)
})

test('the status is complete for the other chains when the health of one is out of reach', async () => {
  const { ask, health } = await open()
  health[8453] = gone('no database')
  const { statusCode, data } = await ask()
  expect([statusCode, data.chains.map((it: { readonly indexedBlock: unknown }) => it.indexedBlock)]).toEqual([
    200,
    [null, 99],
  ])
})

test('the status is that of the nodes when no index is known, and the first fault when no node is known either', async () => {
  for (const [endpoints, statusCode] of [
    [[endpoint], 200],
    [[{ ...endpoint, height: null }], 503],
    [[], 503],
  ] as const) {
    const { ask, health } = await open({ endpoints })
    health[8453] = gone('no database for 8453')
    health[56] = gone('no database for 56')
    const answer = await ask()
    expect(answer.statusCode).toBe(statusCode)
    if (statusCode === 503) expect(answer.error.message).toBe('no database for 8453')
    else expect(answer.data.chains[1].endpoints.api).toMatchObject([{ height: 100 }])
  }
})

test('an unexpected fault of the health of an index is a 500', async () => {
  const { ask, health } = await open()
  health[56] = bug
  expect((await ask()).statusCode).toBe(500)
})
