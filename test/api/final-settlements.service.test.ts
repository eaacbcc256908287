import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Chain, createChain } from '../../src/chain/chain.ts'
import { finalizeSettlements, newestNotFinal } from '../../src/db/index/settlements.ts'
import { reportFinalSettlements } from '../../src/indexer/finalize.ts'
import { Settlement, SettlementsMeta } from '../../src/reads/feeds/settlements.ts'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { eventually } from '../support/process.ts'

const DAY = 86_400
const USDC = 10n ** 6n

let world: World
let chain: Chain
let indexed: Awaited<ReturnType<typeof startIndexed>>
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  api = await indexed.open({})
  const log = pino({ level: 'silent' })
  const { anvil, deployment } = world
  chain = createChain({ deployment, rpcUrls: [anvil.url], timeoutMs: 15_000, headMaxAgeMs: 1, log })
  await eventually('the index', async () => (await ask('')).statusCode === 200)
  await eventually('the first settlement', async () => (await feed('')).length === 1)
})
afterAll(async () => {
  await chain?.close()
  await indexed?.close()
})

const Page = z.object({ data: z.array(Settlement), meta: SettlementsMeta })

const ask = (query: string, headers: Record<string, string> = {}) =>
  api.app.inject({ url: `/v1/hedge/settlements?chainId=8453&${query}`, headers })

const feed = async (query: string) => Page.parse((await ask(query)).json()).data

const typesOf = async (query: string) => (await feed(query)).map(({ type, eventId }) => `${type} ${eventId}`)

const report = () =>
  reportFinalSettlements({ chain, database: indexed.database }, new AbortController().signal).then(() =>
    indexed.quiet(),
  )

/** An event with a purchase and an external deposit, which may be settled now. */
const expired = async (): Promise<bigint> => {
  const { actions, creator, hedger, upward } = world
  const expiry = (await actions.now()) + DAY
  const { eventId } = await actions.createEvent(creator, { ...upward, name: 'Short', expiry })
  await actions.setPool(creator, eventId, true, true)
  await actions.buy(hedger, eventId, 100n * USDC)
  await actions.node.increaseTime({ seconds: DAY + 1 })
  await actions.node.mine({ blocks: 1 })
  await indexed.quiet()
  return eventId
}

/** Settles an event in the payout zone. Returns the transaction's hash. */
const settle = async (eventId: bigint): Promise<string> => {
  await world.actions.settle(world.owner, eventId, 13_000_000n)
  const { hash } = await world.newest()
  await eventually('the settlement', async () => (await typesOf('')).includes(`settled ${eventId}`))
  await indexed.quiet()
  return hash
}

test('a settlement is reported as final once, when the node calls its block final', async () => {
  expect(await feed('finality=finalized')).toEqual([])
  const { actions } = world
  await report()
  const before = await typesOf('finality=finalized')
  await actions.node.mine({ blocks: 200 })
  await indexed.reachHead()
  await report()
  const [settled] = await feed('')
  const found = await feed('finality=finalized')
  expect(before.length).toBeLessThanOrEqual(1)
  expect(found).toEqual([{ ...settled, type: 'finalized', seq: found[0]?.seq }])
  expect(found[0]?.seq).toBeGreaterThan(settled?.seq ?? 0)
  await report()
  expect(await feed('finality=finalized')).toEqual(found)
  expect(await newestNotFinal(indexed.database, 8453)).toBeNull()
  expect(await feed(`finality=finalized&since=${found[0]?.seq}`)).toEqual([])
})

test('an item names the transaction of its settlement, and what the wallets can claim from the event', async () => {
  const eventId = await expired()
  const hash = await settle(eventId)
  const of = async (wallets: string) => feed(`eventIds=${eventId}&wallet=${wallets}`)
  const [hedger, creator, stranger] = [world.hedger, world.creator, `0x${'77'.repeat(20)}`].map((it) =>
    typeof it === 'string' ? it : it.account.address,
  )
  const [item] = await of(`${hedger},${stranger}`)
  expect(item).toMatchObject({ type: 'settled', transactionHash: hash, triggered: true })
  expect(item?.claimables).toMatchObject([{ kind: 'payout', wallet: hedger, eventId: Number(eventId) }])
  const kinds = (await of(`${creator}`))[0]?.claimables?.map(({ kind }) => kind)
  expect(kinds).toContain('capital')
  expect(await of(`${stranger}`)).toEqual([])
  // Every item is of the wallet's events, and has the claims that the portfolio lists.
  const { data } = await api.get(`/wallets/${hedger}/portfolio?chainId=8453`)
  const { claimables } = z.object({ claimables: z.array(z.looseObject({})) }).parse(data)
  const page = Page.parse((await ask(`wallet=${hedger}`)).json())
  expect(page.meta.claimablesComplete).toBe(true)
  const all = page.data.flatMap((it) => it.claimables ?? [])
  const byId = (claims: readonly object[]) => claims.map((claim) => JSON.stringify(claim)).sort()
  expect(byId(all.map(({ wallet: _, eventId: __, ...claim }) => claim))).toEqual(byId(claimables))
})

test('a reorg reverts a final settlement in both feeds, and one that was not final in one', async () => {
  const { actions } = world
  const [early, late] = [await expired(), await expired()]
  await settle(early)
  const block = await newestNotFinal(indexed.database, 8453)
  if (block === null) throw new Error('nothing to finalize')
  const other = { ...block, hash: `0x${'11'.repeat(32)}` as const }
  expect(await finalizeSettlements(indexed.database, 8453, other)).toBe(0)
  expect(await finalizeSettlements(indexed.database, 8453, block)).toBeGreaterThan(0)
  await settle(late)
  await actions.node.request({ method: 'anvil_reorg', params: [2, []] } as never)
  await actions.node.mine({ blocks: 3 })
  await indexed.reachHead()
  const ofBoth = `eventIds=${early},${late}`
  await eventually('the reversals', async () => (await feed(ofBoth)).length === 4)
  expect(await typesOf(`${ofBoth}&finality=finalized`)).toEqual([`finalized ${early}`, `reverted ${early}`])
  const items = await feed(ofBoth)
  for (const id of [early, late]) {
    const [settled, reverted] = items.filter(({ eventId }) => BigInt(eventId) === id)
    expect(reverted).toEqual({ ...settled, type: 'reverted', seq: reverted?.seq })
  }
  await report()
  expect(await typesOf(`${ofBoth}&finality=finalized`)).toHaveLength(2)
})

test('a stream of final settlements has the items of their pages, also those that become final meanwhile', async () => {
  const base = await api.app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  const url = `${base}/v1/hedge/settlements/stream?finality=finalized&since=0&chainId=8453`
  const response = await fetch(url, { signal: leaving.signal })
  let text = ''
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
  })().catch(() => {})
  const items = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => Settlement.parse(JSON.parse(data)))
  await settle(await expired())
  await world.actions.node.mine({ blocks: 200 })
  await indexed.reachHead()
  await report()
  const pages = await feed('finality=finalized')
  expect(pages.at(-1)).toMatchObject({ type: 'finalized' })
  await eventually('the items', async () => items().length >= pages.length)
  expect(items()).toEqual(pages)
  leaving.abort()
  await reading
})

test('the filters of pages are refused by name where they are wrong, and by streams', async () => {
  const wallets = Array.from({ length: 101 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`)
  const stream = { accept: 'text/event-stream' }
  for (const [query, headers] of [
    ['wallet=0x12', {}],
    [`wallet=${wallets.join()}`, {}],
    ['finality=safe', {}],
    [`wallet=${wallets[1]}`, stream],
  ] as const) {
    const answer = await ask(query, headers)
    const [field] = query.split('=')
    expect([query, answer.statusCode, answer.json().error?.details[0].path]).toEqual([query, 400, field])
  }
})
