import { once } from 'node:events'
import { setPriority } from 'node:os'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { NICENESS, runSeries } from './attack-series.ts'
import { startHostileNode } from './hostile-node.ts'
import { httpSeries } from './http-series.ts'
import { Nodes, Orders } from './messages.ts'
import { createResults, createSender } from './send.ts'
import { holdSocket } from './socket-series.ts'

/*
 * All attackers, in a separate process with a lower priority than the product. The session forks it, sends it the
 * honest nodes, and then its orders. Every later message requests the counts so far.
 */

/** The interval at which the identity provider changes its fault, in milliseconds. */
const PROVIDER_MS = 5_000

const SOCKETS = { perSecond: 10, atOnce: 150 }

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
