import { once } from 'node:events'
import { setPriority } from 'node:os'
import { NICENESS, runSeries } from './attack-series.ts'
import { UnfairOrders } from './messages.ts'
import { createResults, createSender } from './send.ts'
import { type UnfairName, unfairCallers } from './unfair-callers.ts'

/*
 * One unfair caller, which has one address, in a process of its own with a lower priority than the product. The session
 * forks it for one phase of the attack and sends it its orders. Every later message requests the answers so far.
 */

/** The address that a proxy in front of the API reports. */
const ADDRESS = '203.0.113.7'

setPriority(NICENESS)
process.once('disconnect', () => process.exit(0))
const orders = UnfairOrders.parse((await once(process, 'message'))[0])
const { [orders.name as UnfairName]: caller } = unfairCallers
const { attack, perSecond, atOnce } = caller(orders)
const results = createResults()
const send = createSender(orders.url, orders.name, results)
let turns = orders.firstTurn
void runSeries(
  { perSecond, atOnce },
  (turn) => {
    turns = turn + 1
    const one = attack(turn)
    return send({ ...one, headers: { ...one.headers, 'x-forwarded-for': ADDRESS } })
  },
  orders.firstTurn,
)
process.on('message', () => process.send?.({ answers: results.report().series[orders.name] ?? {}, turns }))
process.send?.('attacking')
