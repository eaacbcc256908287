import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createRandom } from '../../../src/sandbox/story/random.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import type { Failure, Target } from '../target.ts'

const TRIALS = 100
const KEPT = 60
const WITHIN_MS = 45_000

/** Each request accepts one of these encodings, at random. */
const encodings = ['identity', 'gzip', 'br']

const Body = z.object({ data: z.unknown() })
const AsOf = z.object({ meta: z.object({ asOf: z.tuple([z.object({ blockHash: z.string() })]) }) })

/** The content of a body without the position of the index. */
const contentOf = (body: string): string => {
  const { data } = Body.parse(JSON.parse(body))
  return JSON.stringify(data, (key, value) => (key === 'chains' ? undefined : value))
}

/**
 * Collects answers with their tags before, between and after reorgs, from two processes. Once the index equals the
 * chain, each tag is sent by GET or HEAD: a 304 is correct only if the tag's body equals the current one. Bodies are
 * plain or compressed.
 */
export const tags: Target = {
  claim: `${TRIALS} reorgs of depth 1 to 6, and every tag from before asked with again, in two processes`,
  figure: 'no 304 for a body that changed, no tag of two bodies',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const random = createRandom(seed)
    const index = await openIndex({ store, chains, seed })
    const failures: Failure[] = []
    const counts = { tags: 0, held: 0, refused: 0, wrong: 0, twice: 0 }
    try {
      await index.start('worker')
      const event = await traffic.createEvent()
      await traffic.mine(3, event)
      await index.untilExact(await traffic.mine(1), WITHIN_MS)
      const apis = [await startApi(index), await startApi(index)]
      const wallets = traffic.wallets.slice(0, 3)
      const head = '/v1/hedge/positions?chainId=8453&limit=1'
      const paths = [
        `/v1/hedge/events/8453/${event}/stats`,
        `/v1/hedge/events/8453/${event}/utilization`,
        `/v1/hedge/events/8453/${event}/deposits`,
        `/v1/hedge/positions?chainId=8453&eventId=${event}`,
        ...wallets.flatMap((wallet) => [
          `/v1/hedge/deposits/8453/wallet/${wallet}`,
          `/v1/hedge/deposits?chainId=8453&wallet=${wallet}`,
          `/v1/wallets/${wallet}/portfolio?chainId=8453`,
        ]),
      ]
      const seen = new Map<string, { readonly path: string; readonly tag: string; readonly body: string }>()
      const get = (path: string, tag?: string) => {
        const headers = {
          'accept-encoding': random.pick(encodings),
          ...(tag !== undefined && { 'if-none-match': tag }),
        }
        return random.pick(apis).get(path, headers, tag === undefined ? 'GET' : random.pick(['GET', 'HEAD']))
      }
      const collect = async (): Promise<void> => {
        for (const path of paths) {
          const { status, headers, body } = await get(path)
          const tag = headers.get('etag')
          if (status !== 200 || tag === null) continue
          const known = seen.get(`${path} ${tag}`)
          if (known === undefined) counts.tags += 1
          if (known !== undefined && known.body !== contentOf(body)) {
            counts.twice += 1
            failures.push({ seed, what: `${path}: ${tag} is of two bodies` })
          }
          seen.set(`${path} ${tag}`, { path, tag, body: contentOf(body) })
        }
        for (const [oldest] of seen) if (seen.size > KEPT) seen.delete(oldest)
      }
      /** Waits until both processes answer as of a block. */
      const reach = async (block: number): Promise<void> => {
        await index.untilExact(block, WITHIN_MS)
        const hash = (await traffic.node.block(block))?.hash
        for (const api of apis)
          await api.until(
            head,
            ({ body }) => AsOf.safeParse(JSON.parse(body)).data?.meta.asOf[0].blockHash === hash,
            WITHIN_MS,
          )
      }
      const judge = async (trial: number): Promise<void> => {
        for (const path of paths) {
          const ours = [...seen.values()].filter((it) => it.path === path)
          for (let isSame = false; !isSame; ) {
            const current = contentOf((await get(path)).body)
            const answers = []
            for (const it of ours) answers.push({ ...it, status: (await get(path, it.tag)).status })
            // An observation between the two requests may have changed it.
            isSame = contentOf((await get(path)).body) === current
            if (!isSame) continue
            for (const { status, tag, body } of answers) {
              if (status !== 304) counts.refused += 1
              else counts.held += 1
              if (status !== 304 || body === current) continue
              counts.wrong += 1
              failures.push({
                seed,
                what: `trial ${trial}: 304 for ${path} with ${tag}, which was ${body.slice(0, 200)} and is ${current.slice(0, 200)}`,
              })
            }
          }
        }
      }

      for (let trial = 1; trial <= TRIALS; trial += 1) {
        await traffic.mine(1, random.int(0, 1) === 0 ? event : undefined)
        const replace = await traffic.fork()
        let block = 0
        for (let depth = random.int(1, 6); depth > 0; depth -= 1) {
          block = await traffic.mine(random.int(0, 2), random.int(0, 2) === 0 ? event : undefined)
          await sleep(20)
        }
        if (random.int(0, 1) === 0) await collect()
        if (random.int(0, 2) > 0) {
          await reach(block)
          await collect()
          await judge(trial)
        }
        index.proxy.hold()
        block = await replace().finally(index.proxy.release)
        if (random.int(0, 1) === 0) await collect()
        await reach(block)
        await judge(trial)
      }
      return {
        measured: `${counts.tags} tags; ${counts.held} times 304, ${counts.wrong} of them wrong, ${counts.refused} times 200; ${counts.twice} tags of two bodies`,
        met: failures.length === 0 && counts.held > 0,
        failures: failures.slice(0, 10),
      }
    } finally {
      await index.close()
    }
  },
}
