import { waited } from '../lib/observe/timing.ts'
import type { Chain } from './chain.ts'

/** A chain that adds the time its nodes take to the timings of the request that waits for them. */
export const timed = (chain: Chain): Chain => ({
  ...chain,
  send: (batch, options) => waited('rpc', () => chain.send(batch, options)),
  readAt: (block, calls) => waited('rpc', () => chain.readAt(block, calls)),
  simulateSequence: (...sequence) => waited('rpc', () => chain.simulateSequence(...sequence)),
  ampleBalances: (...asked) => waited('rpc', () => chain.ampleBalances(...asked)),
  head: (atLeast) => waited('rpc', () => chain.head(atLeast)),
  pinned: (read, options) => waited('rpc', () => chain.pinned(read, options)),
  simulate: (tx, caller) => waited('rpc', () => chain.simulate(tx, caller)),
  simulateSigned: (call, caller) => waited('rpc', () => chain.simulateSigned(call, caller)),
  balances: (...asked) => waited('rpc', () => chain.balances(...asked)),
  broadcast: (signed, caller) => waited('rpc', () => chain.broadcast(signed, caller)),
})
