import { Client } from 'pg'
import { pino } from 'pino'
import { encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { createChain } from '../../src/chain/chain.ts'
import { announce, reached } from '../../src/db/changes/changes.ts'
import { touchingAll } from '../../src/db/changes/scopes.ts'
import { cursors } from '../../src/db/schema/index-state.ts'
import { createLogGaps } from '../../src/indexer/log-gaps.ts'
import { createObserver } from '../../src/indexer/observer.ts'
import { uniforms } from '../../src/lib/random.ts'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { document } from '../support/openapi.ts'
import { eventually } from '../support/process.ts'
import { byForm, seed } from '../support/repetitions.ts'

const USDC = 10n ** 6n

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
/** Two API processes on one database. */
let apis: readonly [Awaited<ReturnType<typeof openApp>>, Awaited<ReturnType<typeof openApp>>]

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  proxy = await startNodeProxy(world.anvil.url)
  const nodes = [{ url: proxy.url, deployment: world.deployment }]
  apis = [await indexed.open({ nodes }), await indexed.open({ nodes })]
})
afterAll(async () => {
  await indexed?.close()
  await proxy?.close()
})

const ask = async (path: string, { tag, of = 0 }: { tag?: string | undefined; of?: 0 | 1 } = {}) => {
  const headers = tag === undefined ? {} : { 'if-none-match': tag }
  const { statusCode, headers: said, body } = await apis[of].app.inject({ url: `/v1${path}`, headers })
  for (const [name, { schema }] of Object.entries(document.components.headers)) {
    const value = said[name.toLowerCase()]
    if (value !== undefined) expect([name, String(value)]).toEqual([name, expect.stringMatching(schema.pattern ?? '')])
  }
  return { status: statusCode, tag: said.etag === undefined ? undefined : String(said.etag), headers: said, body }
}

/**
 * A tag of changed content never matches again. Any other tag matches as soon as the process is current: after a pause
 * the process first sends complete answers.
 */
const expectHeld = (path: string, options: Parameters<typeof ask>[1]) =>
  expect.poll(async () => (await ask(path, options)).status).toBe(304)

/** The path's tag, as soon as it holds. */
const settle = async (path: string, of: 0 | 1 = 0): Promise<string> => {
  let held = ''
  await eventually(`a tag of ${path} that holds`, async () => {
    const { tag = '' } = await ask(path, { of })
    held = tag
    return tag !== '' && (await ask(path, { of, tag })).status === 304
  })
  return held
}

const walletPage = () => `/hedge/positions/8453/wallet/${world.hedger.account.address}`
const idlePage = () => `/hedge/positions/8453/wallet/${world.stranger.account.address}`
const stats = '/hedge/events/8453/1/stats'
const settled = '/hedge/events/8453/2/stats'

test('reads of an idle wallet and event stay a 304 while blocks are added, without requests to database or node', async () => {
  const paths = [idlePage(), walletPage(), stats, settled, '/hedge/fees', '/hedge/events/8453/1/positions']
  const tags = new Map<string, string>()
  await indexed.quiet()
  for (const path of paths) tags.set(path, await settle(path))
  await world.actions.node.mine({ blocks: 30 })
  await indexed.reachHead()
  const queries = vi.spyOn(apis[0].database, 'run')
  const head = await world.actions.client.getBlock()
  let answers: Awaited<ReturnType<typeof ask>>[] = []
  const statuses = async () => {
    queries.mockClear()
    proxy.requests()
    answers = await Promise.all(paths.map((path) => ask(path, { tag: tags.get(path) })))
    return answers.map(({ status }) => status)
  }
  await expect.poll(statuses).toEqual(paths.map(() => 304))
  for (const [at, { headers, body }] of answers.entries()) {
    expect(body).toBe('')
    expect(headers).toMatchObject({
      etag: tags.get(paths[at] ?? ''),
      vary: 'accept, accept-encoding',
      'x-data-source': 'database',
      'x-index-lag': expect.stringMatching(/^\d+$/),
      'x-block-number': String(head.number),
      'x-block-hash': head.hash,
      'x-request-id': expect.any(String),
      'access-control-allow-origin': '*',
    })
  }
  expect(proxy.requests()).toBe(0)
  // Excludes the queries that read the change log, which run without any request.
  expect(
    queries.mock.calls.filter(([query]) => !/changesAfter|reached/.test(String(query)) && query !== reached),
  ).toEqual([])
  queries.mockRestore()
})

test('a change ends the 304 of its wallet and event, and of no others', async () => {
  await indexed.quiet()
  const [wallet, idle, event] = [await settle(walletPage()), await settle(idlePage()), await settle(stats)]
  const before = await ask(walletPage())
  await world.actions.buy(world.hedger, 1n, 50n * USDC)
  await indexed.reachHead()
  await expectHeld(idlePage(), { tag: idle })
  const after = await ask(walletPage(), { tag: wallet })
  expect(after.status).toBe(200)
  expect(after.tag).not.toBe(wallet)
  expect(JSON.parse(after.body).data.length).toBe(JSON.parse(before.body).data.length + 1)
  expect((await ask(stats, { tag: event })).status).toBe(200)
})

test('a tag of one process is valid for the other, and a tag of another release is not', async () => {
  await indexed.quiet()
  const tag = await settle(walletPage(), 0)
  await settle(walletPage(), 1)
  await expectHeld(walletPage(), { tag, of: 1 })
  await expectHeld(walletPage(), { tag: `"x", ${tag}`, of: 1 })
  // One tag stands for every encoding, so it is weak; compared weakly, its strong form is the same.
  expect(tag).toMatch(/^W\/"/)
  await expectHeld(walletPage(), { tag: tag.slice(2), of: 1 })
  // What a compressing proxy makes of it.
  await expectHeld(walletPage(), { tag: tag.replace(/"$/, '-gzip"'), of: 1 })
  for (const other of [tag.replace(/^W\/"[^~]+/, 'W/"9.9.9'), '"x"', '*', tag.slice(1), tag.replace('"', '"0')]) {
    expect([other, (await ask(walletPage(), { tag: other })).status]).toEqual([other, 200])
  }
})

test('a process that has lost its notifications serves nothing from the cache until they are back', async () => {
  await indexed.quiet()
  const tag = await settle(walletPage())
  const other = await settle(idlePage())
  const client = new Client(indexed.url)
  await client.connect()
  try {
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fx-protection changes' AND datname = current_database()`
    expect((await client.query(kill)).rowCount).toBe(2)
    await eventually('the loss is noticed', () => !apis[0].sources.changes.isCurrent([8453]))
    // Nothing that is kept is used: neither a tag nor a page.
    const gone = await ask(walletPage(), { tag })
    if (!apis[0].sources.changes.isCurrent([8453])) expect([gone.status, gone.tag]).toEqual([200, undefined])
    await client.query(kill)
    await world.actions.buy(world.hedger, 1n, 50n * USDC)
  } finally {
    await client.end()
  }
  await eventually('the connection is back', () => apis[0].sources.changes.isCurrent([8453]))
  await indexed.reachHead()
  await expectHeld(idlePage(), { tag: other })
  expect((await ask(walletPage(), { tag })).status).toBe(200)
})

/** Reorgs that are tried at least; more of them until a tag was found to hold after one. */
const TRIALS = byForm(2, 100)
const MOST_TRIALS = byForm(150, 500)
/** The most tags that are tried after a reorg, the newest ones. */
const MOST_TAGS = byForm(8, 60)

test('a reorg never leads to a 304 for outdated data', { timeout: byForm(180_000, 900_000) }, async () => {
  const random = uniforms(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const { actions, deployment, lp, hedger } = world
  const paths = [
    walletPage(),
    // No reorg changes this page.
    idlePage(),
    stats,
    `/hedge/deposits/8453/wallet/${lp.account.address}`,
    '/hedge/events/8453/1/utilization',
  ]
  /** Bodies by path and tag. */
  const seen = new Map<string, { readonly path: string; readonly tag: string; readonly body: string }>()
  const collect = async (): Promise<void> => {
    for (const path of paths) {
      const { status, tag, body } = await ask(path, { of: below(2) === 0 ? 0 : 1 })
      expect(status).toBe(200)
      if (tag !== undefined) seen.set(`${path} ${tag}`, { path, tag, body })
    }
    for (const [oldest] of seen) if (seen.size > MOST_TAGS) seen.delete(oldest)
  }
  const call = (functionName: 'deposit' | 'buyProtection', args: readonly bigint[]) => ({
    from: (functionName === 'deposit' ? lp : hedger).account.address,
    to: deployment.diamond,
    gas: '0x2dc6c0',
    data: encodeFunctionData({ abi: protocolAbi, functionName, args } as never),
  })
  let [held, refused] = [0, 0]
  for (let trial = 0; trial < TRIALS || (held === 0 && trial < MOST_TRIALS); trial += 1) {
    await actions.node.mine({ blocks: 3 })
    if (below(2) === 0) await actions.buy(hedger, 1n, BigInt(20 + below(30)) * USDC)
    if (below(3) === 0) await actions.deposit(lp, 1n, BigInt(20 + below(30)) * USDC)
    if (below(2) === 0) await collect()
    if (below(2) === 0) await indexed.reachHead()
    await collect()
    const far = (await actions.client.getBlock()).timestamp + 86_400n
    const others = [
      [call('buyProtection', [1n, BigInt(20 + below(30)) * USDC, 1_000n * USDC, far]), 0],
      [call('deposit', [1n, BigInt(20 + below(30)) * USDC]), 1],
    ].slice(below(3))
    await actions.node.request({ method: 'anvil_reorg', params: [2 + below(4), others] } as never)
    if (below(2) === 0) await collect()
    await actions.node.mine({ blocks: 1 })
    await indexed.reachHead()
    // Tags of the new fork, which may hold once it has another block.
    await collect()
    await actions.node.mine({ blocks: 1 })
    await indexed.reachHead()
    for (const path of paths) {
      const current = (await ask(path)).body
      for (const it of seen.values()) {
        if (it.path !== path) continue
        for (const of of [0, 1] as const) {
          const { status } = await ask(path, { tag: it.tag, of })
          if (status !== 304) refused += 1
          else {
            held += 1
            expect([seed, trial, path, it.body]).toEqual([seed, trial, path, current])
          }
        }
      }
    }
  }
  console.log(`reorg trials: ${held} times 304, ${refused} times 200`)
  expect(held).toBeGreaterThan(0)
})

test('the tag of a list with payouts ends when an event is settled, and when fee rates become known', async () => {
  const { actions, creator, hedger, owner, upward, deployment } = world
  const expiry = (await actions.now()) + 86_400
  const { eventId } = await actions.createEvent(creator, { ...upward, expiry })
  await actions.setPool(creator, eventId, true, true)
  await actions.buy(hedger, eventId, 500n * USDC)
  const path = `/hedge/positions?chainId=8453&eventId=${eventId}&include=payout`
  const seen: string[] = []
  /** Expects another answer for the tag, from both processes, and that the new tag holds. */
  const expectNew = async (before: string, part: string): Promise<string> => {
    await indexed.quiet()
    for (const of of [0, 1] as const) {
      const { status, body } = await ask(path, { tag: before, of })
      expect([status, body]).toEqual([200, expect.stringContaining(part)])
      seen.push(body)
    }
    return settle(path)
  }
  await indexed.quiet()
  const open = await settle(path)
  expect((await ask(path)).body).toContain('"payout":null')
  await actions.node.increaseTime({ seconds: 2 * 86_400 })
  await actions.node.mine({ blocks: 1 })
  await actions.settle(owner, eventId, 12_500_000n)
  const settled = await expectNew(open, '"fee":"219298","net":"21710526"')
  const chain = createChain({
    ...{ deployment, rpcUrls: [world.anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1 },
    log: pino({ level: 'silent' }),
  })
  const history = createLogGaps({ chain, database: indexed.database, log: pino({ level: 'silent' }) })
  await indexed.database.transaction(async (handle) => {
    await handle.update(cursors).set({ feesNumber: null, feesHash: null })
    await announce(handle, 8453, touchingAll('repaired'))
  })
  const unknown = await expectNew(settled, '"fee":null,"net":null')
  const { signal } = new AbortController()
  await history.fill(signal)
  await createObserver({ chain, database: indexed.database, log: pino({ level: 'silent' }) }).observeAll(signal)
  await expectNew(unknown, '"fee":"219298","net":"21710526"')
  expect(seen).toHaveLength(6)
  await chain.close()
})
