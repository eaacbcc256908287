import { setTimeout as sleep } from 'node:timers/promises'
import { createTestClient, http } from 'viem'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { eventually } from '../../support/process.ts'
import { byForm } from '../../support/repetitions.ts'
import { newestBlocks } from './blocks.ts'
import { end, resume, sandbox } from './process.ts'

/* The sandbox stops, resumes from its folder with live activity, and loses its parts one after the other. */

/** The newest block of each chain when the sandbox had resumed: its node has no state of earlier ones. */
let resumedAt: readonly bigint[]

const heights = async (): Promise<bigint[]> => (await newestBlocks()).map(({ number }) => number)

/** Success or error; other tests check the payloads against their schemas. */
const Body = z.object({ data: z.any(), error: z.any() }).partial()

const get = async (path: string) => {
  const response = await fetch(`${sandbox.url}${path}`)
  return { status: response.status, headers: response.headers, body: Body.parse(await response.json()) }
}

/** Kills every child whose command line matches; returns how many there were. */
const kill = (pattern: RegExp): number => {
  const pids = sandbox.children(pattern)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  return pids.length
}

const ready = () =>
  eventually('the index is ready again', async () => (await get('/readyz')).body.data?.degraded === false)

const auditIsClean = async (): Promise<void> => {
  const report = await sandbox.audit()
  expect(report.match(/no differences/g), report).toHaveLength(2)
}

const KILLS = 10

const savesEachChain = (): void => {
  for (const chainId of [8453, 56]) {
    expect(sandbox.output()).toMatch(new RegExp(`saving chain ${chainId}: [^]*chain ${chainId} saved +\\d+\\.\\d s`))
  }
}

test.runIf(byForm(true, false))('a stop reports that it saves each chain', async () => {
  await end('SIGINT')
  savesEachChain()
})

/*
 * A second start takes as much of a core as ten files, so the rest is part of the long form. `test/sandbox` resumes a
 * node and a PostgreSQL and restarts a killed service, `test/indexer/reorg` follows a reorg, and `test/api/reads` reads
 * without a node and without a database.
 */
describe.runIf(byForm(false, true))('a sandbox that resumes', () => {
  test('a stop reports that it saves each chain, and a resumed sandbox has a newer block when it is ready', async () => {
    // Other tests have moved the time of the chains ahead: it goes on from there.
    const before = await newestBlocks()
    const asked = Date.now()
    expect(await sandbox.stop('SIGINT')).toEqual({ code: 0, left: [] })
    savesEachChain()
    await resume()
    expect(sandbox.output()).toContain('(resumed)')
    resumedAt = await heights()
    for (const [at, { timestamp }] of (await newestBlocks()).entries()) {
      const seconds = Number(timestamp - (before[at]?.timestamp ?? 0n))
      expect(seconds).toSatisfy((it: number) => it > 0 && it <= (Date.now() - asked) / 1_000 + 10)
    }
  })

  test(`kills of the worker (${KILLS}) during live activity neither lose nor duplicate a row`, async () => {
    for (let times = 0; times < KILLS; times++) {
      // The sandbox waits longer after each crash before it restarts the service.
      await eventually('there is a worker to kill', () => kill(/cli\.js worker/) === 1)
      await sleep(1_500)
    }
    await ready()
    await auditIsClean()
  })

  test('after a reorg of ten blocks with different transactions the tables equal the chain again', async () => {
    await eventually('each chain has mined more than ten blocks since', async () =>
      (await heights()).every((height, at) => height > (resumedAt[at] ?? 0n) + 11n),
    )
    for (const chainId of [8453, 56]) {
      const transport = http(sandbox.rpcUrls[chainId], { timeout: 30_000 })
      const node = createTestClient({ mode: 'anvil', transport })
      // A coin transfer by an account that the activity does not use replaces the transactions of the ten blocks.
      const [from, to] = createAccounts().users.map(({ account }) => account.address)
      const other = { from, to, value: '0x1', gas: '0x5208' }
      await node.request({ method: 'anvil_reorg', params: [10, [[other, 2]]] } as never)
    }
    const isEqual = async () => /no differences[\s\S]*no differences/.test(await sandbox.audit())
    // Each audit is a process.
    await eventually('the index followed the reorg', isEqual, 60_000, 1_000)
    await ready()
  })

  test('with a stopped node, reads are answered from the index and marked', async () => {
    const paths = [
      'events/56/1',
      'events/56/1/stats',
      'events/56/1/range',
      'events/56/1/utilization',
      'positions/56/1',
      'deposits/56/1',
    ]
    const before = new Map<string, unknown>()
    for (const path of paths) before.set(path, (await get(`/v1/hedge/${path}`)).body)
    expect(kill(/anvil.*--chain-id 56/)).toBe(1)
    // The head that the worker has stored is used for some seconds.
    await eventually('no head is left', async () => {
      const answers = await Promise.all(paths.map((path) => get(`/v1/hedge/${path}`)))
      // While there is a head, answers that are known at its block still come from the chain.
      return answers.every(({ headers }) => headers.get('x-data-source') === 'database')
    })
    for (const path of paths) {
      const { status, headers, body } = await get(`/v1/hedge/${path}`)
      expect([path, status, headers.get('x-data-source'), headers.get('x-stale')]).toEqual([path, 200, 'database', '1'])
      expect(body).toEqual(before.get(path))
    }
    expect((await get('/v1/hedge/positions/56/999999')).status).toBe(404)
  })

  test('with PostgreSQL stopped too, entity reads of the other chain and builders still answer', async () => {
    expect(kill(/postgres.* -D /)).toBeGreaterThanOrEqual(1)
    for (const path of [
      'events/8453/1/stats',
      'positions/8453/1',
      'deposits/8453/1',
      'deposits/8453/1/pending',
      'paused/8453',
    ]) {
      const { status, headers } = await get(`/v1/hedge/${path}`)
      expect([path, status, headers.get('x-data-source'), headers.get('x-stale')]).toEqual([path, 200, 'chain', null])
    }
    const list = await get('/v1/hedge/events/8453/1/positions')
    expect([list.status, list.headers.get('x-data-source'), list.headers.get('x-stale')]).toEqual([200, 'chain', '1'])
    for (const chainId of [8453, 56]) {
      const response = await fetch(`${sandbox.url}/v1/tx/hedge/claim-payout`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ chainId, positionId: 1 }),
      })
      expect(response.status).toBe(200)
    }
    const lost = await get('/v1/hedge/positions/56/1')
    expect([lost.status, lost.body.error.code, lost.headers.get('retry-after')]).toEqual([
      503,
      'service_unavailable',
      '1',
    ])
  })
})
