import { once } from 'node:events'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { startHostileNode } from './hostile-node.ts'
import { httpSeries } from './http-series.ts'
import { Nodes, Orders } from './messages.ts'
import { createResults, createSender } from './send.ts'
import { holdSocket } from './socket-series.ts'

/*
 * All attackers, in a separate process with a lower priority than the product. The session forks it, sends it the
 * honest nodes, and then its orders. Every later message requests the counts so far.
 */

/** The niceness of the attackers, so that the product gets the processor time that it needs. */
const NICENESS = 10

/** The interval at which the identity provider changes its fault, in milliseconds. */
const PROVIDER_MS = 5_000

const SOCKETS = { perSecond: 10, atOnce: 150 }

/** Runs one series: sends attacks at their rate while fewer than the limit are pending. */
const runSeries = async (
  { perSecond, atOnce }: { readonly perSecond: number; readonly atOnce: number },
  attack: (turn: number) => Promise<void>,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  for (let turn = 0; ; turn += 1) {
    if (running.size >= atOnce) await Promise.race(running)
    const one = attack(turn)
    running.add(one)
    one.finally(() => running.delete(one))
    await sleep(1_000 / perSecond)
  }
}

setPriority(NICENESS)
const { honest } = Nodes.parse((await once(process, 'message'))[0])
const nodes = await Promise.all(honest.map(startHostileNode))
const provider = await startIdentityProvider([{ sub: 'ama' }])
process.once('disconnect', () => process.exit(0))
const ordered = once(process, 'message')
process.send?.({ nodes: nodes.map(({ url }) => url), userinfoUrl: provider.userinfoUrl })

const orders = Orders.parse((await ordered)[0])
const results = createResults()
for (const node of nodes) node.attack()
const faults = ['silence', 'error', 'nonsense', 'silence', 'endless', 'nested', 'none'] as const
let turn = 0
setInterval(() => {
  provider.fail(faults[turn % faults.length] ?? 'none')
  turn += 1
}, PROVIDER_MS)

for (const [name, series] of Object.entries(httpSeries(orders))) {
  const send = createSender(orders.url, name, results)
  void runSeries({ ...series, perSecond: series.perSecond * orders.pace }, (at) => send(series.attack(at)))
}
const target = new URL(orders.url)
void runSeries({ ...SOCKETS, perSecond: SOCKETS.perSecond * orders.pace }, (at) => holdSocket(target, at, results))

process.on('message', () => {
  const answered: Record<string, number> = {}
  for (const node of nodes) for (const [kind, times] of node.counts()) answered[kind] = (answered[kind] ?? 0) + times
  process.send?.({ ...results.report(), nodes: answered })
})
process.send?.('attacking')
