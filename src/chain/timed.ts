import { waited } from '../lib/timing.ts'
import type { Chain } from './chain.ts'

/** A chain that counts what a request waits for its nodes. */
export const timed = (chain: Chain): Chain => ({
  ...chain,
  // Whoever calls it knows of each outcome, which the way through here does not change.
  send: ((requests) => waited('rpc', () => chain.send(requests))) as Chain['send'],
  readAt: ((block, asked) => waited('rpc', () => chain.readAt(block, asked))) as Chain['readAt'],
  head: (atLeast) => waited('rpc', () => chain.head(atLeast)),
  pinned: (read) => waited('rpc', () => chain.pinned(read)),
  estimateGas: (tx) => waited('rpc', () => chain.estimateGas(tx)),
  broadcast: (signedTx) => waited('rpc', () => chain.broadcast(signedTx)),
})
