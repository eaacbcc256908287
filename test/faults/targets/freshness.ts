import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import { quantile, seconds, type Target } from '../target.ts'

const BLOCKS = 150
const EVERY_MS = 200

const Ids = z.object({ data: z.array(z.number()) })

/** Target 4: one wallet makes one deposit per block among other traffic, and its list is requested continuously. */
export const freshness: Target = {
  claim: 'freshness: mined to visible in a list through the API, 0.2 s blocks, 20 transactions a second',
  figure: 'p50 0.5 s, p99 1.5 s',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    try {
      await index.start('worker')
      await index.untilExact(await traffic.mine(2), 60_000)
      const event = await traffic.createEvent()
      await index.untilExact(await traffic.mine(1), 60_000)
      const api = await startApi(index)
      const list = `/v1/hedge/events/8453/${event}/deposits`
      const before = Ids.parse(JSON.parse((await api.get(list)).body)).data.length

      const mined: number[] = []
      const visible: number[] = []
      const watch = async (): Promise<void> => {
        while (visible.length < BLOCKS && performance.now() < (mined.at(-1) ?? performance.now()) + 20_000) {
          const { status, headers, body } = await api.get(list)
          if (status !== 200 || headers.get('x-data-source') !== 'database') continue
          const seen = Ids.parse(JSON.parse(body)).data.length - before
          while (visible.length < seen) visible.push(performance.now())
          await sleep(5)
        }
      }
      const watching = watch()
      let due = performance.now()
      for (let at = 0; at < BLOCKS; at += 1) {
        due += EVERY_MS
        await traffic.mine(3, event)
        mined.push(performance.now())
        await sleep(Math.max(0, due - performance.now()))
      }
      await watching
      const waited = visible.map((at, nth) => at - (mined[nth] ?? at))
      const [p50, p99] = [quantile(waited, 0.5), quantile(waited, 0.99)]
      const failures =
        visible.length < BLOCKS ? [{ seed, what: `${BLOCKS - visible.length} deposits never became visible` }] : []
      return {
        measured: `p50 ${seconds(p50)}, p99 ${seconds(p99)} of ${visible.length} deposits`,
        met: failures.length === 0 && p50 <= 500 && p99 <= 1_500,
        failures,
      }
    } finally {
      await index.close()
    }
  },
}
