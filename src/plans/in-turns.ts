import type { Chain } from '../chain/chain.ts'
import type { Turn } from '../lib/turns.ts'

/**
 * Milliseconds between the parts of plans. A part takes 0.3 to 0.6 ms, so three quarters of the time are left to other
 * requests, and a process makes 125 plans a second at most.
 */
export const REST_MS = 2

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
    simulateSequence: (sequence, further) => after(chain.simulateSequence(sequence, further)),
    // Plans that wait for the same block would all continue in one turn.
    pinned: (read, options) =>
      chain.pinned(async (block) => {
        await turn()
        return read(block)
      }, options),
  }
}
