import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createClosers } from '../../../src/lib/lifecycle.ts'
import { freePort } from '../../../src/sandbox/parts/ports.ts'
import { openChains, openIndex, type Store } from '../../faults/rig.ts'
import { startApi } from '../../faults/service.ts'
import { ENGINE_KEY } from '../../support/engine.ts'
import { untilLive } from '../../support/process.ts'
import { openTargets } from '../targets.ts'
import { ask, reply, startChild } from './children.ts'
import { Attacks, Measured, type Orders, Traps } from './messages.ts'

/** Blocks that the chain has before the attack, and the pace of the honest transactions during it. */
const BLOCKS = 100
const TRAFFIC = { everyMs: 2_000, perSecond: 1 }

const REPORT_MS = 10_000

const Address = z.object({ port: z.int() })

/** The results of a session: attacks and measurements so far, and the exit of each process that ended by itself. */
export type Seen = { readonly attacks: Attacks; readonly measured: Measured; readonly exits: readonly string[] }

/**
 * Attacks a worker, an API and an engine with every series at once for a number of seconds, with `pace` times the usual
 * attacks a second, while the chain mines. Prints a report every 10 s and returns the last one. The rig starts the
 * services that the product needs. The build must exist.
 */
export const abuse = async (options: {
  readonly store: Store
  readonly seconds: number
  readonly pace: number
  readonly onReport?: (seconds: number, seen: Seen) => void
}): Promise<Seen> => {
  const { store, seconds, pace, onReport } = options
  const closers = createClosers()
  const fork = (file: string): ChildProcess => closers.add(file, startChild(file), (it) => void it.disconnect())
  try {
    const { api: app, targets } = await openTargets()
    await app.close()
    const chains = closers.add('chains', await openChains(1), (it) => it.close())
    const attacker = fork('./attacker.ts')
    const index = closers.add('index', await openIndex({ store, chains, seed: 1 }), (it) => it.close())
    for (let at = 0; at < BLOCKS / 10; at += 1) await chains.traffic.mine(10)

    const { chain, quiet } = chains
    const honest = [index.proxy.url, quiet.rpcUrl]
    const { nodes, userinfoUrl } = Traps.parse(await ask(attacker, { honest }))
    // The hostile node is the preferred one of the first chain, and the second choice of the other.
    const rpcUrls = {
      [`RPC_URLS_${chain.chainId}`]: [nodes[0], honest[0]].join(),
      [`RPC_URLS_${quiet.chainId}`]: [honest[1], nodes[1]].join(),
    }
    const enginePort = await freePort()
    // The settings of the image.
    const settings = { ...rpcUrls, LOG_LEVEL: 'error', NODE_OPTIONS: '--max-old-space-size=256' }
    const worker = await index.start('worker', 'worker', settings)
    const engine = await index.start('engine', 'engine', {
      ...{ ...settings, ENGINE_PORT: String(enginePort), ENGINE_SYNTHETIC: 'true' },
      ENGINE_PRIVATE_KEY: ENGINE_KEY,
    })
    const engineUrl = `http://127.0.0.1:${enginePort}`
    const api = await startApi(index, {
      ...{ ...settings, ENGINE_URL: engineUrl, TRUSTED_PROXIES: '1' },
      IDENTITY_USERINFO_URL: userinfoUrl,
    })
    await untilLive(engineUrl)
    const processes = { worker, engine, api: api.process }
    const quietly = new AbortController()
    const living = chains.traffic.run({ ...TRAFFIC, signal: quietly.signal })
    closers.add('traffic', quietly, (it) => {
      it.abort()
      return living
    })

    const reference = fork('./reference.ts')
    const { port } = Address.parse(await reply(reference))
    const probe = fork('./probe.ts')
    await ask(probe, {
      servers: [
        { name: 'reference', url: `http://127.0.0.1:${port}`, pid: reference.pid },
        { name: 'api', url: `${api.url}/livez`, pid: api.process.pid },
        { name: 'engine', url: `${engineUrl}/livez`, pid: engine.pid },
      ],
      processes: Object.entries(processes).map(([name, { pid }]) => ({ name, pid })),
    })
    const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const orders: Orders = { url: api.url, wallet, diamond: chain.diamond, targets, pace }
    await ask(attacker, orders)

    const measure = async (): Promise<Seen> => ({
      attacks: Attacks.parse(await ask(attacker, 'report')),
      measured: Measured.parse(await ask(probe, 'report')),
      exits: Object.entries(processes).flatMap(([name, it]) => (it.hasExited() ? [`${name}: ${it.tail()}`] : [])),
    })
    const began = performance.now()
    for (;;) {
      const left = began + seconds * 1_000 - performance.now()
      await sleep(Math.max(0, Math.min(REPORT_MS, left)))
      const seen = await measure()
      if (left <= REPORT_MS) return seen
      onReport?.(Math.round((performance.now() - began) / 1_000), seen)
    }
  } finally {
    await closers.close()
  }
}
