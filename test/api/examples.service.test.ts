import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Recorded } from '../../src/api/openapi/recorded.ts'
import { actions } from '../../src/plans/actions/table.ts'
import { Settlement } from '../../src/reads/feeds/settlements.ts'
import { builders as table } from '../../src/tx/builders.ts'
import { addresses } from '../examples/chain.ts'
import { knownOn, unknownIn } from '../examples/known.ts'
import { record } from '../examples/record.ts'
import { requestsOf } from '../examples/requests.ts'
import { type Story, startStory } from '../examples/story.ts'

let story: Story
let recorded: Record<string, Recorded>
beforeAll(async () => {
  story = await startStory()
  recorded = await record(story)
})
afterAll(() => story?.close())

/** The data of an operation's example. */
const dataOf = <T>(id: string, schema: z.ZodType<T>): T => z.object({ data: schema }).parse(recorded[id]?.response).data

test('every recorded example equals the answer of the API to the same request', async () => {
  await expect(`${JSON.stringify(recorded, null, 2)}\n`).toMatchFileSnapshot('../../docs/examples.json')
})

test('every request of the story belongs to an operation', () => {
  expect(Object.keys(recorded).sort()).toEqual(Object.keys(requestsOf(story)).sort())
})

test('every id, address and hash of an example exists on its chain', async () => {
  const chains = new Map([
    [8453, await knownOn(story.base)],
    [56, await knownOn(story.bnb)],
  ])
  const unknown = Object.entries(recorded).flatMap(([id, { path, query, body, ...answer }]) => {
    const { chainId } = { chainId: undefined, ...path, ...query, ...body }
    return unknownIn({ path, query, body, ...answer }, chains, Number(chainId), [id])
  })
  expect(unknown).toEqual([])
  // An id or an address of another chain is found.
  const other = story.bnb.deployment.diamond
  const body = { chainId: 8453, eventId: 99, spender: other, txHash: story.hash.replace(/.$/, 'z') }
  expect(unknownIn(body, chains, undefined, ['example'])).toEqual([
    'example.eventId = 99 on 8453',
    `example.spender = ${other} on 8453`,
  ])
})

test('every builder and every step of a plan succeeds and has an estimate of its gas', () => {
  const Built = z.object({ estimatedGas: z.string(), simulation: z.object({ status: z.literal('success') }) })
  const ids = Object.keys(recorded)
  const builders = ids.filter((id) => id.startsWith('build'))
  const plans = ids.filter((id) => id.startsWith('plan'))
  expect([builders.length, plans.length]).toEqual([table.length, Object.keys(actions).length])
  for (const id of builders) expect([id, Built.safeParse(dataOf(id, z.json())).error]).toEqual([id, undefined])
  const Plan = z.object({ executable: z.literal(true), steps: z.array(z.object({ transaction: Built })).min(1) })
  for (const id of plans) expect([id, Plan.safeParse(dataOf(id, z.json())).error]).toEqual([id, undefined])
})

test('the settlement of the settled event is the one in the feed and in the stream', () => {
  const Stats = z.object({ settledAt: z.number(), triggered: z.boolean(), settlementPrice: z.string() })
  const id = recorded.getHedgeEventsStatsById?.path?.id
  const feed = dataOf('getHedgeSettlements', z.array(Settlement))
  const item = feed.find(({ eventId }) => eventId === id)
  expect(item).toMatchObject(dataOf('getHedgeEventsStatsById', Stats))
  const sent = (recorded.getHedgeSettlementsStream?.stream ?? '').match(/(?<=^data: ).*$/gm) ?? []
  expect(sent.map((text) => JSON.parse(text))).toEqual(feed)
})

test('the broadcast purchase is the position of the transaction that follows', () => {
  const { txHash } = dataOf('postTxBroadcast', z.object({ txHash: z.string() }))
  expect(recorded.getTransactionsByHash?.path).toEqual({ chainId: 8453, hash: txHash })
  const Result = z.object({ status: z.literal('succeeded'), created: z.object({ positionIds: z.array(z.json()) }) })
  expect(dataOf('getTransactionsByHash', Result).created.positionIds).toEqual([{ id: 7, owner: addresses.hedger }])
})
