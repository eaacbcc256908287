import type { Chain } from '../chain/chain.ts'
import type { Turn } from '../lib/turns.ts'

/**
 * Milliseconds between the parts of plans. A plan has four parts, so a process makes about 75 plans a second. With 3,
 * many plans at once make a read take one and a half times as long, with 2 more than twice (`bench:transaction-plans`).
 */
export const REST_MS = 3

/**
 * A chain of which one answer is handled at a time, each in a turn of the event loop: what a plan does between two
 * answers takes as long as a read.
 */
export const inTurns = (chain: Chain, turn: Turn): Chain => {
  const after = async <T>(answer: Promise<T>): Promise<T> => {
    const answered = await answer
    await turn()
    return answered
  }
  return {
    ...chain,
    send: (batch, options) => after(chain.send(batch, options)),
    simulateSequence: (...sequence) => after(chain.simulateSequence(...sequence)),
    // Plans that wait for the same block would all continue in one turn.
    pinned: (read, options) =>
      chain.pinned(async (block) => {
        await turn()
        return read(block)
      }, options),
  }
}
