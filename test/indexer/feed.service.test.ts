import { afterAll, afterEach, beforeEach, expect, inject, test } from 'vitest'
import { createFeedQueries, type FeedCursor, subjectTypes } from '../../src/db/queries/feed.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import { createLedger } from '../support/ledger.ts'
import { createRandomActions } from '../support/random-actions.ts'
import { byForm, seedsFrom } from '../support/repetitions.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'

const ROUNDS = byForm(4, 200)
const CHAIN = 8453
const ALL = { chainIds: [CHAIN], types: subjectTypes }

const protocol = await useProtocol(inject('profile'))
const { client, send, usdc, dai, people, url, deployment } = protocol

let steps: Awaited<ReturnType<typeof openIndexSteps>>
let api: Awaited<ReturnType<typeof openApp>>
beforeEach(async () => {
  steps = await openIndexSteps({ deployment }, url)
  api = await openApp({ databaseUrl: steps.url, headMaxAgeMs: -1, nodes: [{ url, deployment }] })
})
afterEach(async () => {
  await api?.close()
  await steps?.close()
})
afterAll(() => expect(copied, 'subjects were fetched again').toBeGreaterThan(0))

let copied = 0

const wallets = [...new Set(Object.values(people))].map((address) => address.toLowerCase())

const bodyOf = async (path: string): Promise<unknown> => {
  const response = await api.app.inject(`/v1${path}`)
  expect([response.statusCode, response.body.slice(0, response.statusCode === 200 ? 0 : 500)], path).toEqual([200, ''])
  return response.json()
}

/** A wallet's holdings and what it can claim, without the block that the answer is as of. */
const walletNow = async (wallet: string): Promise<unknown> => {
  const path = `/wallets/${wallet}/portfolio?chainId=${CHAIN}&state=all&include=event`
  const { data } = (await bodyOf(path)) as { data: Record<string, unknown> }
  return { ...data, chains: null }
}

/** An event with its members; null when it does not exist. */
const eventNow = async (id: string): Promise<unknown> => {
  const rows = async (path: string) => ((await bodyOf(path)) as { data: unknown[] }).data
  const [event] = await rows(`/hedge/events?chainId=${CHAIN}&ids=${id}&include=stats,utilization,range`)
  const members = ['deposits', 'positions'].map((kind) =>
    rows(`/hedge/${kind}?chainId=${CHAIN}&eventId=${id}&limit=200`),
  )
  return event === undefined ? null : [event, ...(await Promise.all(members))]
}

const eventIds = async (): Promise<string[]> => {
  const { data } = (await bodyOf(`/hedge/events?chainId=${CHAIN}&limit=200`)) as { data: { id: number }[] }
  return data.map(({ id }) => String(id))
}

type Activity = { readonly eventId: number | null; readonly wallet: string | null }

/** All activity of a wallet or an event; that of the protocol is what names neither. Null without any. */
const activityNow = async (type: string, key: string): Promise<unknown> => {
  const filter = { wallet: `&wallet=${key}`, event: `&eventId=${key}` }[type] ?? ''
  const rows: Activity[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = cursor === '' ? '' : `&cursor=${cursor}`
    const body = await bodyOf(`/activity?chainId=${CHAIN}&limit=200${filter}${page}`)
    const { data, meta } = body as { data: Activity[]; meta: { nextCursor: string | null } }
    rows.push(...data.filter(({ eventId, wallet }) => filter !== '' || (eventId === null && wallet === null)))
    cursor = meta.nextCursor
  }
  return rows.length === 0 ? null : rows
}

/** A copy of all wallets and events, and of their activity, that a client keeps with the feed alone. */
const createCopy = () => {
  const held = new Map<string, unknown>()
  let cursor: FeedCursor | null = null
  let resets = 0

  const everything = async (): Promise<Map<string, unknown>> => {
    const found = new Map<string, unknown>()
    const events = await eventIds()
    for (const wallet of wallets) found.set(`wallet ${wallet}`, await walletNow(wallet))
    for (const id of events) found.set(`event ${id}`, await eventNow(id))
    const subjects = [
      ...wallets.map((wallet) => ['wallet', wallet] as const),
      ...events.map((id) => ['event', id] as const),
      ['protocol', ''] as const,
    ]
    for (const [type, key] of subjects) {
      const activity = await activityNow(type, key)
      if (activity !== null) found.set(`activity of ${type} ${key}`, activity)
    }
    return found
  }

  const hold = (key: string, state: unknown): void => {
    if (state === null) held.delete(key)
    else held.set(key, state)
  }

  return {
    held,
    everything,
    resets: () => resets,
    async follow(limit: number): Promise<void> {
      for (let hasMore = true; hasMore; ) {
        const page = await createFeedQueries(steps.database).page(cursor, ALL, limit, Number.MAX_SAFE_INTEGER)
        if (page.resets.length > 0) {
          resets += 1
          for (const [key, state] of await everything()) held.set(key, state)
        }
        for (const { type, key, changed } of page.items) {
          if (changed.includes('activity')) hold(`activity of ${type} ${key}`, await activityNow(type, key))
          if (type === 'protocol' || changed.every((aspect) => aspect === 'activity')) continue
          copied += 1
          hold(`${type} ${key}`, await (type === 'wallet' ? walletNow(key) : eventNow(key)))
        }
        cursor = page.next
        hasMore = page.hasMore
      }
    },
  }
}

test.each(seedsFrom(byForm(1, 5)))(
  'a client that fetches only what the feed names has the state of a full fetch (seed %i)',
  async (seed) => {
    const random = createRandom(seed)
    const copy = createCopy()
    let isReorged = false
    let ledger = createLedger()
    let actions = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })

    /** Knows the logs of the chain again after it went back. */
    const relearn = async (): Promise<void> => {
      ledger = createLedger()
      actions = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })
      const newest = await client.getBlockNumber()
      for (let block = 0n; block <= newest; block += 1n) ledger.add(await protocol.logsAt(block), usdc)
    }
    const act = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) {
        const [from, name, args] = await actions.next()
        const sent = await send(from, name as 'settleEvent', args as readonly [bigint, bigint]).catch(() => undefined)
        ledger.add(sent?.logs ?? [], usdc)
      }
    }
    /** Indexes, follows the feed, sometimes also before the observation, and compares. */
    const compare = async (what: string): Promise<void> => {
      await steps.index()
      // For seconds after a reorg, portfolios wait for the observation.
      if (!isReorged && random.int(1, 2) === 1) await copy.follow(random.int(1, 50))
      await steps.observeAll()
      await copy.follow(random.int(1, 50))
      expect(Object.fromEntries(copy.held), what).toEqual(Object.fromEntries(await copy.everything()))
    }

    await compare('at the start')
    for (let round = 1; round <= ROUNDS; round += 1) {
      const isReorg = random.int(1, 5) === 1
      const fork = isReorg ? await client.snapshot() : null
      await act(random.int(1, 6))
      if (random.int(1, 4) === 1) await protocol.mineAt((await protocol.now()) + BigInt(random.int(1, 20)) * DAY)
      await compare(`round ${round}`)
      if (fork === null) continue
      await client.revert({ id: fork })
      await relearn()
      await act(random.int(1, 6))
      await client.mine({ blocks: 10 })
      isReorged = true
      await compare(`round ${round}, after a reorg`)
    }
    expect(copy.resets(), 'only the beginning resets').toBe(1)
  },
)
