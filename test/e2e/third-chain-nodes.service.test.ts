import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { MAX_CHAINS } from '../../src/protocol/chains.ts'
import { chainVariables, deployOn, type SandboxChain } from '../../src/sandbox/chain.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { startProcess } from '../faults/process.ts'
import { createTestDatabase } from '../support/database.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { mintTo } from '../support/mint.ts'
import { playLifecycle } from '../support/play-lifecycle.ts'
import { eventually } from '../support/process.ts'
import { THIRD, thirdFacts, threeChains, threeIds, unreachable } from '../support/three-chains.ts'

/*
 * Three chains on real nodes: a worker and an API run as in production, with the life of an event on each chain. Only
 * in the long form, because `third-chain.service.test.ts` tests what the API makes of the rows of three chains.
 */

const closers = createClosers()
const accounts = createAccounts()
const donor = accounts.users.at(-1)
let environment: Readonly<Record<string, string>>
let chains: readonly SandboxChain[]

const startChain = async (local: (typeof threeChains)[number]): Promise<SandboxChain> => {
  const node = await startAnvil({ chainId: local.chainId, blockTime: 1 })
  closers.add(`node ${local.chainId}`, node, (it) => it.close())
  const chain = await deployOn(node.url, local, accounts)
  if (donor === undefined) throw new Error('the sandbox has no users')
  for (const { address, decimals } of chain.tokens)
    await mintTo(node.url, accounts.owner.account, address, [donor.account.address], 10n ** BigInt(decimals + 6))
  return chain
}

const startApi = async (): Promise<string> => {
  const port = await freePort()
  const started = await startProcess('api', { ...environment, HOST: '127.0.0.1', PORT: String(port) })
  closers.add('API', started, (it) => it.stop())
  const url = `http://127.0.0.1:${port}`
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
  await eventually('the API is ready', isReady, 60_000)
  return url
}

/** Runs the life of an event on a chain. */
const play = (url: string, { chainId, rpcUrl }: SandboxChain) => playLifecycle(url, rpcUrl, { chainId, token: 'usdc' })

const Settlements = z.object({ data: z.array(z.looseObject({ chainId: z.number() })) })

describe.runIf(inject('form') === 'long')('on real nodes of three chains', () => {
  beforeAll(async () => {
    const [database, ...started] = await Promise.all([createTestDatabase(), ...threeChains.map(startChain)])
    closers.add('database', database, (it) => it.close())
    chains = started
    environment = {
      ...longTimeouts,
      CHAINS: threeIds.join(),
      ...Object.assign({}, ...chains.map(chainVariables)),
      DATABASE_URL: database.url,
      IDLE_POLL_MS: '100',
      FAST_POLL_MS: '100',
      DRAIN_MS: '0',
      LOG_LEVEL: 'warn',
      METRICS_PORT: 'off',
    }
    const worker = await startProcess('worker', environment)
    closers.add('worker', worker, (it) => it.stop())
  }, 120_000)
  afterAll(() => closers.close())

  test('an event lives on each chain as the equations of the protocol have it, and its settlement is in the feed', async () => {
    const url = await startApi()
    const outcomes = await Promise.all(chains.map((chain) => play(url, chain)))
    for (const outcome of outcomes)
      for (const { actual, expected } of Object.values(outcome)) expect(actual).toBe(expected)
    const settled = async (): Promise<number[]> => {
      const { data } = Settlements.parse(await (await fetch(`${url}/v1/hedge/settlements`)).json())
      return data.map(({ chainId }) => chainId).toSorted()
    }
    await expect.poll(settled).toEqual(threeIds.toSorted())
  })

  test('a worker of as many chains as can be configured writes log lines only, with no warning of the runtime', async () => {
    const others = Array.from({ length: MAX_CHAINS - 1 }, (_, at) => 1_001 + at)
    // Their nodes are out of reach: what the worker does for each chain goes on all the same.
    const many = await startProcess('worker', {
      ...environment,
      CHAINS: [THIRD, ...others].join(),
      ...unreachable(others.map((chainId) => ({ chainId, ...thirdFacts }))),
    })
    closers.add('worker of many chains', many, (it) => it.stop())
    await eventually('the worker has failed to reach every one of them', () =>
      others.every((chainId) => many.logged(new RegExp(`"chainId":${chainId},.*"index step failed"`)).length > 0),
    )
    await many.stop()
    expect(many.logged(/^(?!\{)/)).toEqual([])
  })
})
