import { createTestClient, http } from 'viem'
import { type Market, type Outcome, runLifecycle } from '../../examples/lifecycle.ts'

/** Time for the actions before an event's expiry, in seconds: enough on a busy machine. */
const OPEN_SECONDS = 300

/** Runs the life of an event on a local chain, whose node skips the time until the expiry once a position is bought. */
export const playLifecycle = async (url: string, rpcUrl: string | undefined, market: Market): Promise<Outcome> => {
  const node = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  const skip = (line: string): void => {
    if (/position \d+ bought/.test(line)) void node.increaseTime({ seconds: OPEN_SECONDS })
  }
  return await runLifecycle(url, market, skip, OPEN_SECONDS)
}
