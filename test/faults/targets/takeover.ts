import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/lib/errors.ts'
import { openIndex } from '../rig.ts'
import { type Failure, seconds, type Target } from '../target.ts'

const FROZEN_MS = 60_000
const PATIENCE_MS = 30_000
const FOLLOWING = /"chainId":8453.*following/

/** Target 7: the faults of the leader, and the time until another worker commits. */
export const takeover: Target = {
  claim: 'takeover by a stand-by: leader killed; frozen 60 s and thawed; stopped in order',
  figure: 'next commit in 5 s, 5 s and 1 s; no write of the thawed one accepted',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    const stop = new AbortController()
    const running = traffic.run({ everyMs: 200, perSecond: 10, signal: stop.signal })
    const failures: Failure[] = []
    try {
      const lead = async (name: string) => {
        const worker = await index.start('worker', name)
        await worker.waitForLine(FOLLOWING, PATIENCE_MS)
        return worker
      }
      const stand = async (name: string) => {
        const worker = await index.start('worker', name)
        await worker.waitForLine(/worker started/, PATIENCE_MS)
        return worker
      }
      const next = async (time: number, who: string): Promise<number> =>
        (await index.commits.first(time, who, PATIENCE_MS)).at - time

      const first = await lead('first')
      const second = await stand('second')
      await index.commits.first(Date.now(), 'first', PATIENCE_MS)
      const killed = Date.now()
      await first.kill()
      const afterKill = await next(killed, 'second')

      const third = await stand('third')
      const frozen = Date.now()
      second.freeze()
      const afterFreeze = await next(frozen, 'third')
      await sleep(Math.max(0, frozen + FROZEN_MS - Date.now()))
      const thawed = Date.now()
      second.thaw()
      await sleep(5_000)
      // A commit that was under way when the worker froze may end after that, but not after one of the new leader.
      const late = (await index.commits.since(frozen + afterFreeze, 'second')).length
      if (late > 0) failures.push({ seed, what: `${late} commits of the thawed worker while another led` })
      if (second.hasExited()) failures.push({ seed, what: 'the thawed worker ended' })
      if ((await index.commits.since(thawed, 'third')).length === 0)
        failures.push({ seed, what: 'the leader stopped when the other woke' })

      const asked = Date.now()
      const ending = third.stop()
      const afterStop = await next(asked, 'second')
      await ending
      stop.abort()
      await running
      await index.untilExact(await traffic.mine(1), PATIENCE_MS)
      return {
        measured: `killed ${seconds(afterKill)}, frozen ${seconds(afterFreeze)} and ${late} of its writes accepted, stopped ${seconds(afterStop)}`,
        met: failures.length === 0 && afterKill <= 5_000 && afterFreeze <= 5_000 && afterStop <= 1_000,
        failures,
      }
    } catch (fault) {
      return {
        measured: 'the index did not go on',
        met: false,
        failures: [...failures, { seed, what: errorText(fault) }],
      }
    } finally {
      stop.abort()
      await running
      await index.close()
    }
  },
}
