import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { encodeEventTopics } from 'viem'
import { z } from 'zod'
import { protocolAbi } from '../../../src/abi/protocol.generated.ts'
import { errorText } from '../../../src/lib/errors.ts'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import { untilRow, untilWaiting, withoutSettlementWrites } from '../database-rows.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import type { Failure, Target } from '../target.ts'
import type { Traffic } from '../traffic.ts'

const ROUNDS = 8
const WITHIN_MS = 60_000

/** The longest pause before a kill or a reorg for which the state of the database does not decide, in milliseconds. */
const SOON_MS = 3_000

/** When the worker is killed. The reorg comes after that, but for the last moment. */
const moments = ['after the log', 'after the observation', 'at any time', 'during the rollback'] as const

const [SETTLED] = encodeEventTopics({ abi: protocolAbi, eventName: 'EventSettled' })

const Item = z.object({ seq: z.int(), eventId: z.int(), type: z.enum(['settled', 'reverted']) })
type Item = z.output<typeof Item>
const Page = z.object({ data: z.array(Item), meta: z.object({ nextCursor: z.string(), hasMore: z.boolean() }) })
const Logs = z.array(z.object({ topics: z.array(z.string()) }))

const inOrder = (ids: readonly number[]): string => ids.toSorted((a, b) => a - b).join()

/** The events whose newest item is a settlement. */
const settledIn = (items: readonly Item[]): string => {
  const newest = new Map(items.map(({ eventId, type }) => [eventId, type]))
  return inOrder([...newest].flatMap(([eventId, type]) => (type === 'settled' ? [eventId] : [])))
}

/** The events that are settled on the chain. */
const settledOn = async (traffic: Traffic, address: string): Promise<string> => {
  const filter = { address, fromBlock: '0x0', topics: [SETTLED] }
  const logs = Logs.parse(await traffic.node.send('eth_getLogs', [filter]))
  return inOrder(logs.map(({ topics: [, id] }) => Number(id)))
}

/** A client of the stream, which connects once and keeps what it gets. */
const listen = async (url: string) => {
  const items: Item[] = []
  const end = new AbortController()
  const { body } = await fetch(url, { signal: end.signal })
  if (body === null) throw new Error('the stream has no body')
  const read = async (): Promise<void> => {
    let rest = ''
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const [, data] = /^data: (\{.*"eventId".*)$/m.exec(part) ?? []
        if (data !== undefined) items.push(Item.parse(JSON.parse(data)))
      }
    }
  }
  read().catch(() => {})
  return { items, close: () => end.abort() }
}

/** A client of the feed, which continues where it was. */
const createPoller = (get: Awaited<ReturnType<typeof startApi>>['get']) => {
  const items: Item[] = []
  let since = ''
  return {
    items,
    async poll(): Promise<void> {
      for (let hasMore = true; hasMore; ) {
        const { status, body } = await get(`/v1/hedge/settlements?chainId=8453&since=${since || 0}`)
        if (status !== 200) throw new Error(`the feed answered ${status}: ${body.slice(0, 200)}`)
        const { data, meta } = Page.parse(JSON.parse(body))
        items.push(...data)
        since = meta.nextCursor
        hasMore = meta.hasMore
      }
    },
  }
}

/**
 * Settles events in blocks that a reorg soon replaces, and kills the worker at each point between. A client of the feed
 * and one of the stream must end with the settlements of the chain: each other one that they got has its reversal.
 */
export const reversals: Target = {
  claim: `settlements that a reorg removes within seconds, with a kill -9 at each point between (${ROUNDS} a seed)`,
  figure: 'each one that the feed or the stream has shown gets its reversal',
  async run({ store, chains, seeds }) {
    const { traffic, chain } = chains
    const failures: Failure[] = []
    const counts = { shown: 0, reverted: 0 }
    for (const seed of seeds) {
      traffic.reseed(seed)
      const random = createRandom(seed)
      const index = await openIndex({ store, chains, seed, ledger: 'all' })
      const client = new Client(index.database.url)
      await client.connect()
      try {
        let worker = await index.start('worker')
        const { url, get } = await startApi(index)
        await index.untilExact(await traffic.mine(1), WITHIN_MS)
        const poller = createPoller(get)
        const stream = await listen(`${url}/v1/hedge/settlements/stream?chainId=8453&since=0`)
        for (let round = 0; round < ROUNDS; round += 1) {
          const moment = moments[round % moments.length]
          const replace = await traffic.fork()
          const block = await traffic.settle()
          const reorg = async (): Promise<void> => {
            index.proxy.hold()
            await replace().finally(() => index.proxy.release())
          }
          const table = moment === 'after the log' ? 'settlement_logs' : 'settlements'
          if (moment === 'at any time') await sleep(random.int(0, SOON_MS))
          else await untilRow(client, moment ?? '', `SELECT FROM ${table} WHERE block_number >= ${block}`, WITHIN_MS)
          if (moment === 'during the rollback')
            await withoutSettlementWrites(client, async () => {
              await reorg()
              const storing = '%UPDATE "settlements" SET block_number%'
              await untilWaiting(client, 'a worker that rolls settlements back', storing, WITHIN_MS)
              await poller.poll()
              await worker.kill()
            })
          else {
            await poller.poll()
            await worker.kill()
            await sleep(random.int(0, SOON_MS))
            await reorg()
          }
          worker = await index.start('worker')
          await index.untilExact(await traffic.mine(1), WITHIN_MS)
          const expected = await settledOn(traffic, chain.diamond)
          for (const deadline = Date.now() + WITHIN_MS; ; await sleep(100)) {
            await poller.poll()
            const [fed, streamed] = [settledIn(poller.items), settledIn(stream.items)]
            if (fed === expected && streamed === expected) break
            if (Date.now() > deadline)
              throw new Error(`${moment}: settled ${expected}; by the feed ${fed}; by the stream ${streamed}`)
          }
        }
        stream.close()
        counts.shown += stream.items.filter(({ type }) => type === 'settled').length
        counts.reverted += stream.items.filter(({ type }) => type === 'reverted').length
      } catch (fault) {
        failures.push({ seed, what: errorText(fault) })
      } finally {
        await client.end()
        await index.close()
      }
    }
    return {
      measured: `${counts.shown} settlements shown, ${counts.reverted} reversals, ${failures.length} seeds with a fault`,
      met: failures.length === 0 && counts.reverted > 0,
      failures,
    }
  },
}
