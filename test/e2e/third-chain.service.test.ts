import { createTestClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runLifecycle } from '../../examples/lifecycle.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { MAX_CHAINS } from '../../src/protocol/chains.ts'
import { createAccounts } from '../../src/sandbox/accounts.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { chainVariables, deployOn, type SandboxChain } from '../../src/sandbox/chain.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { startProcess } from '../faults/process.ts'
import { createTestDatabase } from '../support/database.ts'
import { factsOf } from '../support/known-chains.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { mintTo } from '../support/mint.ts'
import { eventually } from '../support/process.ts'

/*
 * A third chain is a change of the environment alone. Three nodes, a worker and an API run as in production, with the
 * life of an event on each chain. The name, symbol and decimals of the third chain come from the environment.
 */

const THIRD = 137
const facts = { name: 'Polygon', symbol: 'POL', paymentDecimals: { USDC: 8 } }
const locals = [
  { chainId: 8453, ...factsOf(8453) },
  { chainId: 56, ...factsOf(56) },
  { chainId: THIRD, ...facts },
]
const ids = locals.map(({ chainId }) => chainId)
const diamond = `0x${'1'.repeat(40)}` as const
const unsupported = 'unsupported chainId: expected one of 8453, 56, 137'

const closers = createClosers()
const accounts = createAccounts()
const donor = accounts.users.at(-1)
let environment: Readonly<Record<string, string>>
let outcomes: readonly Awaited<ReturnType<typeof runLifecycle>>[]
let api: Awaited<ReturnType<typeof startApi>>

const startChain = async (local: (typeof locals)[number]): Promise<SandboxChain> => {
  const node = await startAnvil({ chainId: local.chainId, blockTime: 1 })
  closers.add(`node ${local.chainId}`, node, (it) => it.close())
  const chain = await deployOn(node.url, local, accounts)
  if (donor === undefined) throw new Error('the sandbox has no users')
  for (const { address, decimals } of chain.tokens)
    await mintTo(node.url, accounts.owner.account, address, [donor.account.address], 10n ** BigInt(decimals + 6))
  return chain
}

const Body = z.looseObject({ data: z.any(), meta: z.any().optional(), error: z.any().optional() }).partial()

const startApi = async (more: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const started = await startProcess('api', { ...environment, ...more, HOST: '127.0.0.1', PORT: String(port) })
  closers.add('API', started, (it) => it.stop())
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, init)
    return { status: response.status, ...Body.parse(await response.json()) }
  }
  await eventually(
    'the API is ready',
    () =>
      ask('/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    60_000,
  )
  return { url, ask }
}

/** Time for the actions before an event's expiry, in seconds. */
const OPEN_SECONDS = 120

/** Runs the life of an event on a chain. The node's clock skips the time until its expiry. */
const play = (chain: SandboxChain) => {
  const node = createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl) })
  const skip = (line: string): void => {
    if (line.includes('position')) void node.increaseTime({ seconds: OPEN_SECONDS })
  }
  return runLifecycle(api.url, { chainId: chain.chainId, token: 'usdc' }, skip, OPEN_SECONDS)
}

beforeAll(async () => {
  const [database, ...chains] = await Promise.all([createTestDatabase(), ...locals.map(startChain)])
  closers.add('database', database, (it) => it.close())
  environment = {
    ...longTimeouts,
    CHAINS: ids.join(),
    ...Object.assign({}, ...chains.map(chainVariables)),
    DATABASE_URL: database.url,
    POLL_MS: '100',
    DRAIN_MS: '0',
    LOG_LEVEL: 'warn',
    METRICS_PORT: 'off',
  }
  const worker = await startProcess('worker', environment)
  closers.add('worker', worker, (it) => it.stop())
  api = await startApi()
  outcomes = await Promise.all(chains.map(play))
}, 120_000)
afterAll(() => closers.close())

/** The settlements of all chains, once the index has them. */
const settlements = async ({ ask }: typeof api, count: number): Promise<{ chainId: number }[]> => {
  let found: { chainId: number }[] = []
  await eventually('every settlement is in the feed', async () => {
    found = (await ask('/v1/hedge/settlements')).data
    return found.length === count
  })
  return found
}

describe('with a third chain in the environment', () => {
  test('an event lives on each chain as the equations of the protocol have it', () => {
    for (const outcome of outcomes)
      for (const { actual, expected } of Object.values(outcome)) expect(actual).toBe(expected)
  })

  test('the chains are listed in the order of CHAINS, with the facts of the environment', async () => {
    const { data } = await api.ask('/v1/chains')
    expect(data.map(({ chainId }: { chainId: number }) => chainId)).toEqual(ids)
    expect(data[2]).toMatchObject({ chainId: THIRD, ...facts, usdt: null })
  })

  test('readiness and status report every chain', async () => {
    for (const path of ['/readyz', '/status']) {
      const { status, data } = await api.ask(path)
      expect([path, status]).toEqual([path, 200])
      expect(data.chains.map(({ chainId }: { chainId: number }) => chainId)).toEqual(ids)
    }
  })

  test('lists and the feed merge the rows of every chain, and narrow them to the chains that are asked for', async () => {
    const chainsOf = async (query: string): Promise<number[]> => {
      const { data, meta } = await api.ask(`/v1/hedge/events?order=asc${query}`)
      expect(meta.asOf.map(({ chainId }: { chainId: number }) => chainId)).toHaveLength(data.length)
      return data.map(({ chainId }: { chainId: number }) => chainId)
    }
    expect(new Set(await chainsOf(''))).toEqual(new Set(ids))
    expect(new Set(await chainsOf(`&chainId=${THIRD},56`))).toEqual(new Set([THIRD, 56]))
    expect(await chainsOf(`&chainId=${THIRD}`)).toEqual([THIRD])
    expect(new Set((await settlements(api, 3)).map(({ chainId }) => chainId))).toEqual(new Set(ids))
  })

  test('the pages of a list cover every chain', async () => {
    const seen: number[] = []
    for (let cursor = ''; ; ) {
      const { data, meta } = await api.ask(`/v1/hedge/deposits?limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...data.map(({ chainId }: { chainId: number }) => chainId))
      if (meta.nextCursor === null) break
      cursor = encodeURIComponent(meta.nextCursor)
    }
    expect(seen.toSorted()).toEqual(ids.flatMap((id) => [id, id]).toSorted())
  })

  test('a portfolio has a part for every chain, and shows what the wallet has on the third', async () => {
    const { data: events } = await api.ask(`/v1/hedge/events?chainId=${THIRD}`)
    const wallet: string = events[0].creator
    const { data: one } = await api.ask(`/v1/wallets/${wallet}/portfolio?state=all`)
    expect(one.chains).toMatchObject(ids.map((chainId) => ({ chainId, status: 'ok' })))
    expect(one.events).toMatchObject([{ chainId: THIRD, symbol: 'USDC', decimals: 8 }])
    const { data: many } = await api.ask('/v1/wallets/portfolio', { wallets: [wallet], chainIds: [56, THIRD] })
    expect(many[0].chains.map(({ chainId }: { chainId: number }) => chainId)).toEqual([56, THIRD])
  })

  test('reads that name no chain are of the first', async () => {
    expect((await api.ask('/v1/hedge/fees')).data.chainId).toBe(8453)
    expect((await api.ask(`/v1/hedge/fees?chainId=${THIRD}`)).data.chainId).toBe(THIRD)
  })

  test('an unknown chain is refused in paths, queries and bodies, and the refusal names the three', async () => {
    const refusals = await Promise.all([
      api.ask('/v1/hedge/events/1/1'),
      api.ask('/v1/hedge/fees?chainId=1'),
      api.ask('/v1/hedge/events?chainId=8453,1'),
      api.ask('/v1/hedge/settlements?chainId=1'),
      api.ask('/v1/wallets/portfolio', { wallets: [donor?.account.address], chainIds: [1] }),
      api.ask('/v1/tx/hedge/pause', { chainId: 1 }),
      api.ask('/v1/tx/broadcast', { chainId: 1, signedTx: '0x02' }),
    ])
    for (const { status, error } of refusals) {
      expect([status, error.code]).toEqual([400, 'validation_error'])
      expect(error.details).toMatchObject([{ message: unsupported }])
    }
  })

  test('the served API description lists the three', async () => {
    const served = await (await fetch(`${api.url}/v1/openapi.json`)).text()
    expect(served).toContain('"enum":[8453,56,137]')
    expect(served).not.toContain('"enum":[8453,56]')
  })
})

test('rows of chains that are not configured any more are left out, and the others are answered as before', async () => {
  await settlements(api, 3)
  const alone = await startApi({ CHAINS: String(THIRD) })
  const listed = async (path: string): Promise<number[]> =>
    (await alone.ask(path)).data.map(({ chainId }: { chainId: number }) => chainId)
  expect(await listed('/v1/chains')).toEqual([THIRD])
  expect(await listed('/v1/hedge/events')).toEqual([THIRD])
  expect(await listed('/v1/hedge/settlements')).toEqual([THIRD])
  // A client that kept an answer of the three chains gets the other answer, and not a 304.
  for (const path of ['/v1/hedge/events', '/v1/hedge/settlements', `/v1/wallets/${donor?.account.address}/portfolio`]) {
    let tag: string | null = null
    await eventually(`a tag of ${path}`, async () => {
      tag = (await fetch(`${api.url}${path}`)).headers.get('etag')
      return tag !== null
    })
    await eventually(`a tag of ${path} without the other chains`, async () => {
      const { headers, status } = await fetch(`${alone.url}${path}`, { headers: { 'if-none-match': String(tag) } })
      expect([path, status]).toEqual([path, 200])
      return headers.has('etag')
    })
  }
  expect((await alone.ask('/v1/hedge/fees')).data.chainId).toBe(THIRD)
  expect((await alone.ask('/v1/hedge/events/8453/1')).error.details).toMatchObject([
    { message: `unsupported chainId: expected one of ${THIRD}` },
  ])
  // Every example of the description is of a chain that it lists.
  const described = await (await fetch(`${alone.url}/v1/openapi.json`)).text()
  expect(described).toContain(`"chainId":${THIRD}`)
  expect(described.match(/"chainId":\d+/g)?.filter((text) => text !== `"chainId":${THIRD}`)).toEqual([])
  expect(described).not.toContain('"8453,56"')
})

test('a worker of as many chains as can be configured writes log lines only, with no warning of the runtime', async () => {
  const others = Array.from({ length: MAX_CHAINS - 1 }, (_, at) => 1_001 + at)
  // Their nodes are out of reach: what the worker does for each chain goes on all the same.
  const ofOthers = others.map((chainId) => ({
    ...chainVariables({ chainId, rpcUrl: 'http://127.0.0.1:9', diamond, ...facts, tokens: [], deployBlock: 0 }),
    [`USDC_ADDRESS_${chainId}`]: diamond,
    [`USDC_DECIMALS_${chainId}`]: '6',
  }))
  const chains = { CHAINS: [THIRD, ...others].join(), ...Object.assign({}, ...ofOthers) }
  const many = await startProcess('worker', { ...environment, ...chains })
  closers.add('worker of many chains', many, (it) => it.stop())
  await eventually('the worker has failed to reach every one of them', () =>
    others.every((chainId) => many.logged(new RegExp(`"chainId":${chainId},.*"index step failed"`)).length > 0),
  )
  await many.stop()
  expect(many.logged(/^(?!\{)/)).toEqual([])
})
