import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'

const USDC = 10n ** 6n

type Role = 'creator' | 'lp' | 'hedger' | 'stranger'

let indexed: Awaited<ReturnType<typeof startIndexed>>
let base: World
let worlds: readonly World[]
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  indexed = await startIndexed([8453, 56])
  base = indexed.world
  worlds = indexed.worlds
  api = await indexed.open()
  await indexed.quiet()
})
afterAll(() => indexed?.close())

const addressOf = (who: Role, world = base): Address => world[who].account.address

const ask = async (path: string, tag?: string) => {
  const headers = tag === undefined ? {} : { 'if-none-match': tag }
  const answer = await api.app.inject({ url: `/v1${path}`, headers })
  const { etag } = answer.headers
  return {
    status: answer.statusCode,
    tag: typeof etag === 'string' ? etag : undefined,
    headers: answer.headers,
    body: answer.body,
  }
}

/** The tags of paths, all of which have one. */
const tagsOf = async (paths: readonly string[]): Promise<readonly (readonly [string, string])[]> => {
  await indexed.quiet()
  return Promise.all(
    paths.map(async (path) => {
      let answer = await ask(path)
      await eventually(`${path} is ${answer.status} and has a tag`, async () => {
        answer = await ask(path)
        return answer.tag !== undefined
      })
      return [path, String(answer.tag)] as const
    }),
  )
}

const statuses = (tags: readonly (readonly [string, string])[]) =>
  Promise.all(tags.map(async ([path, tag]) => [path, (await ask(path, tag)).status] as const))

const all = (tags: readonly (readonly [string, string])[], status: number) => tags.map(([path]) => [path, status])

/** What a wallet reads of one chain, or of both. */
const pathsOf = (wallet: Address, chain = ''): string[] => [
  `/hedge/positions?wallet=${wallet}${chain}`,
  `/hedge/deposits?wallet=${wallet}&claimable=true${chain}`,
  `/hedge/events?creator=${wallet}&include=stats${chain}`,
  `/wallets/${wallet}/portfolio?state=active${chain}`,
]

const Ids = z.array(z.looseObject({ id: z.number() })).transform((rows) => rows.map(({ id }) => id))
const Held = z.object({ positions: Ids })

test("a wallet's own purchase is in its list and its portfolio, on both chains", async () => {
  for (let cycle = 0; cycle < byForm(1, 8); cycle += 1) {
    for (const world of worlds) {
      const { chainId } = world.deployment
      const id = Number(await world.actions.buy(world.hedger, 1n, 20n * USDC))
      const { hash, block } = await world.newest()
      const wallet = addressOf('hedger', world)
      const wanted = cycle % 3 === 0 ? `minBlock=${block}&waitMs=10000` : `afterTx=${hash}&waitMs=10000`
      const [list, one, many] = await Promise.all([
        api.get(`/hedge/positions?wallet=${wallet}&chainId=${chainId}&${wanted}`),
        api.get(`/wallets/${wallet}/portfolio?chainId=${chainId}&${wanted}`),
        api.post(`/wallets/portfolio?${wanted}`, { wallets: [wallet], chainIds: [chainId] }),
      ])
      expect([list, one, many].map(({ status, error }) => [cycle, status, error])).toEqual(
        Array.from({ length: 3 }, () => [cycle, 200, undefined]),
      )
      expect(Ids.parse(list.data)).toContain(id)
      expect(Held.parse(one.data).positions).toContain(id)
      expect(z.array(Held).parse(many.data)[0]?.positions).toContain(id)
      for (const { headers } of [list, one, many]) {
        expect(headers).toMatchObject({ 'x-data-source': 'database', 'x-index-lag': expect.stringMatching(/^\d+$/) })
        expect(BigInt(String(headers['x-block-number']))).toBeGreaterThanOrEqual(block)
      }
    }
  }
})

test('a block that is not indexed in time is a 503, and invalid parameters are rejected by name', async () => {
  const { number } = await base.actions.client.getBlock()
  const wallet = addressOf('hedger')
  const late = `minBlock=${number + 50n}&waitMs=50`
  for (const answer of [
    await api.get(`/hedge/positions?chainId=8453&${late}`),
    await api.get(`/wallets/${wallet}/portfolio?chainId=8453&${late}`),
    await api.post(`/wallets/portfolio?${late}`, { wallets: [wallet], chainIds: [8453] }),
  ]) {
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
    expect(answer.error?.message).toContain(`block ${number + 50n} of chain 8453`)
  }
  for (const [answer, path] of [
    [await api.get('/hedge/deposits?minBlock=1'), 'chainId'],
    [await api.get('/hedge/events?chainId=8453,56&minBlock=1'), 'chainId'],
    [await api.get(`/wallets/${wallet}/portfolio?minBlock=1`), 'chainId'],
    [await api.post('/wallets/portfolio?minBlock=1', { wallets: [wallet] }), 'chainIds'],
    [await api.get(`/hedge/events?chainId=8453&minBlock=1&afterTx=0x${'ab'.repeat(32)}`), 'afterTx'],
  ] as const)
    expect([answer.status, answer.error?.details?.[0]?.path]).toEqual([400, path])
})

test('a cursor whose first page is as of an earlier block is rejected with minBlock', async () => {
  const first = await api.get('/hedge/positions?chainId=8453&limit=1')
  const { nextCursor } = z.looseObject({ nextCursor: z.string() }).parse(first.meta)
  expect(first.headers.link).toBe(`<?chainId=8453&limit=1&cursor=${encodeURIComponent(nextCursor)}>; rel="next"`)
  await base.actions.node.mine({ blocks: 2 })
  const { number } = await base.actions.client.getBlock()
  const page = `/hedge/positions?chainId=8453&limit=1&cursor=${nextCursor}`
  const refused = await api.get(`${page}&minBlock=${number}`)
  expect([refused.status, refused.error?.details?.[0]?.path]).toEqual([400, 'cursor'])
  expect((await api.get(`${page}&minBlock=1`)).status).toBe(200)
})

test('pages of an idle wallet stay a 304 while blocks are added and others trade, without requests to database or node', async () => {
  const [mine, chain] = [addressOf('stranger'), '&chainId=8453']
  // The accounts are the same on both chains.
  const idle = await tagsOf([...pathsOf(mine), ...pathsOf(mine, chain)])
  await base.actions.buy(base.hedger, 1n, 30n * USDC)
  await base.actions.node.mine({ blocks: 20 })
  await indexed.quiet()
  const head = await base.actions.client.getBlock()
  const queries = vi.spyOn(api.database, 'rows')
  const reads = [...api.sources.chains.values()].map((chain) => vi.spyOn(chain, 'send'))
  const asked = () => {
    vi.clearAllMocks()
    return statuses(idle)
  }
  await expect.poll(asked).toEqual(all(idle, 304))
  expect([queries, ...reads].map((spy) => spy.mock.calls)).toEqual([[], [], []])
  vi.restoreAllMocks()
  const [, , , , list = ''] = idle.map(([path]) => path)
  const { headers, body } = await ask(list, idle[4]?.[1])
  expect([body, headers['x-block-number'], headers['x-block-hash']]).toEqual(['', String(head.number), head.hash])
})

test("a change ends the 304 of a wallet's pages on its chain", async () => {
  const wallet = addressOf('hedger')
  const [here, there] = [
    await tagsOf(
      [pathsOf(wallet, '&chainId=8453'), pathsOf(wallet)].flatMap(([list = '', , , held = '']) => [list, held]),
    ),
    await tagsOf(pathsOf(wallet, '&chainId=56')),
  ]
  const id = Number(await base.actions.buy(base.hedger, 1n, 40n * USDC))
  await indexed.quiet()
  await expect.poll(() => statuses(there)).toEqual(all(there, 304))
  expect(await statuses(here)).toEqual(all(here, 200))
  const [list = ''] = pathsOf(wallet)
  expect(Ids.parse((await api.get(list)).data)).toContain(id)
})

test('a page that changes with time alone has no tag', async () => {
  await indexed.quiet()
  for (const query of ['state=settled', 'include=stats', 'ids=1,2'])
    await expect
      .poll(async () => [query, (await ask(`/hedge/events?chainId=8453&${query}`)).tag])
      .toEqual([query, expect.any(String)])
  for (const query of ['state=open', 'state=expired', 'finality=safe'])
    expect([query, (await ask(`/hedge/events?chainId=8453&${query}`)).tag]).toEqual([query, undefined])
})

/** A body without the lag of the index. */
const told = (body: string): unknown => {
  const { data } = z.object({ data: z.unknown() }).parse(JSON.parse(body))
  return Array.isArray(data) ? data : { ...z.looseObject({}).parse(data), chains: [] }
}

test('a reorg removes its rows from lists, and makes earlier tags invalid', { timeout: 120_000 }, async () => {
  const { actions, hedger } = base
  const [list = '', , , held = ''] = pathsOf(addressOf('hedger'), '&chainId=8453')
  const seen: { readonly path: string; readonly tag: string; readonly told: unknown }[] = []
  const collect = async (): Promise<void> => {
    for (const path of [list, held]) {
      const { status, tag, body } = await ask(path)
      expect(status).toBe(200)
      if (tag !== undefined) seen.push({ path, tag, told: told(body) })
    }
  }
  for (let trial = 0; trial < byForm(3, 6); trial += 1) {
    await indexed.quiet()
    await collect()
    const id = Number(await actions.buy(hedger, 1n, BigInt(50 + trial) * USDC))
    if (trial % 2 === 0) await indexed.quiet()
    await collect()
    await actions.node.request({ method: 'anvil_reorg', params: [1 + (trial % 3), []] } as never)
    if (trial % 3 === 0) await collect()
    await actions.node.mine({ blocks: 1 })
    await indexed.quiet()
    const current = new Map([
      [list, await ask(list)],
      [held, await ask(held)],
    ])
    expect(Ids.parse(JSON.parse(current.get(list)?.body ?? '').data)).not.toContain(id)
    for (const it of seen) {
      const { status } = await ask(it.path, it.tag)
      if (status === 304) expect([trial, it.told]).toEqual([trial, told(current.get(it.path)?.body ?? '')])
    }
    expect(seen.length).toBeGreaterThan(trial)
    for (const { path, tag } of seen.slice(0, 2)) expect((await ask(path, tag)).status).toBe(200)
  }
})

test("an event's settlement changes the pages of the wallets with a share in it", async () => {
  const { actions, owner } = base
  const chain = '&chainId=8453'
  const held = pathsOf(addressOf('lp'), chain).filter(
    (path) => !path.includes('creator=') && !path.includes('positions'),
  )
  const idle = await tagsOf(pathsOf(addressOf('stranger'), chain))
  const open = await tagsOf(held)
  await actions.node.increaseTime({ seconds: 31 * 86_400 })
  await actions.node.mine({ blocks: 1 })
  // The state of an event is part of a wallet's pages with `include=event`: an expiry changes them, once.
  await expect.poll(() => statuses(open)).toEqual(all(open, 200))
  const lp = await tagsOf(held)
  await expect.poll(() => statuses(lp)).toEqual(all(lp, 304))
  await actions.settle(owner, 1n, 9_000_000n)
  await indexed.quiet()
  await expect.poll(() => statuses(idle)).toEqual(all(idle, 304))
  expect(await statuses(lp)).toEqual(all(lp, 200))
  const { data } = await api.get(`/wallets/${addressOf('lp')}/portfolio?chainId=8453`)
  const { claimables } = z.object({ claimables: z.array(z.looseObject({ kind: z.string() })) }).parse(data)
  expect(claimables.map(({ kind }) => kind)).toContain('capital')
})

test('lists show a claim, and the feed shows a settlement, with afterTx of its transaction', async () => {
  const { actions, owner, hedger, creator, upward } = base
  const wallet = addressOf('hedger')
  const { eventId } = await actions.createEvent(creator, {
    ...upward,
    name: 'Short',
    expiry: (await actions.now()) + 60,
  })
  await actions.setPool(creator, eventId, true, true)
  const bought = [
    await actions.buy(hedger, eventId, 100n * USDC),
    await actions.buy(hedger, eventId, 200n * USDC),
    await actions.buy(hedger, eventId, 300n * USDC),
  ]
  await actions.node.increaseTime({ seconds: 120 })
  await actions.node.mine({ blocks: 1 })
  await actions.settle(owner, eventId, 13_000_000n)
  const { hash } = await base.newest()
  const feed = await api.app.inject(
    `/v1/hedge/settlements?chainId=8453&eventIds=${eventId}&afterTx=${hash}&waitMs=10000`,
  )
  expect([feed.statusCode, feed.json().data]).toMatchObject([200, [{ type: 'settled', triggered: true }]])
  for (const id of bought) {
    await actions.claimPayout(hedger, id)
    const claim = await base.newest()
    const { data } = await api.get(
      `/hedge/positions?chainId=8453&wallet=${wallet}&claimed=true&afterTx=${claim.hash}&waitMs=10000`,
    )
    expect(Ids.parse(data)).toContain(Number(id))
  }
})
