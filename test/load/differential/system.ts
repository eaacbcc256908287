import { setTimeout as sleep } from 'node:timers/promises'
import type { Closers } from '../../../src/lib/lifecycle.ts'
import { type Process, startProcess } from '../../faults/process.ts'
import type { Store } from '../../faults/rig.ts'
import { startApi } from '../../faults/service.ts'
import { cloneDatabase } from '../../support/clone-database.ts'
import { type LiveChain, openLiveChain } from './live-chain.ts'

/** Waits until the index has reached a chain's head, which does not move. */
const untilIndexed = async (url: string, { chain, head }: LiveChain): Promise<void> => {
  const wanted = String(await head())
  for (let tries = 0; tries < 600; tries += 1, await sleep(100)) {
    const { headers } = await fetch(`${url}/v1/hedge/events?chainId=${chain.chainId}&limit=1`)
    if (headers.get('x-block-number') === wanted) return
  }
  throw new Error(`chain ${chain.chainId} is not indexed to block ${wanted}`)
}

/**
 * Two idle chains, a worker that has indexed them, and two APIs on its database: one with a response cache, one
 * without.
 */
export const openSystem = async (store: Store, closers: Closers) => {
  const chains = await Promise.all(
    ([8453, 56] as const).map(async (id) =>
      closers.add(`chain ${id}`, await openLiveChain(id), (chain) => chain.close()),
    ),
  )
  const database = closers.add('database', await cloneDatabase(store.server, store.template), (it) => it.close())
  const processes: Process[] = []
  closers.add('processes', processes, (all) => Promise.all(all.map((each) => each.kill())))
  const env = {
    ...Object.assign({}, ...chains.map(({ variables }) => variables)),
    ...{
      DATABASE_URL: database.url,
      IDLE_POLL_MS: '200',
      FAST_POLL_MS: '200',
      MAX_EVENT_LOOP_DELAY_MS: '0',
      LOG_LEVEL: 'warn',
      METRICS_PORT: 'off',
    },
  }
  const start = async (command: 'worker' | 'api' | 'engine', _?: string, more = {}): Promise<Process> => {
    const started = await startProcess(command, { ...env, ...more })
    processes.push(started)
    return started
  }
  await start('worker')
  const probe = await startApi({ start })
  for (const chain of chains) await untilIndexed(probe.url, chain)
  // A process does not know changes from before its start. Both start while nothing changes, so that their tags are
  // equal.
  await probe.process.stop()
  await sleep(2_000)
  const [cached, uncached] = [await startApi({ start }), await startApi({ start }, { PAGE_CACHE_BYTES: '0' })]
  return {
    chains,
    cached: { name: 'cached', url: cached.url },
    uncached: { name: 'uncached', url: uncached.url },
  }
}
