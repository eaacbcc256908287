import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/errors.ts'
import { type Block, getBlock } from '../chain/requests.ts'
import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { ChainId } from '../protocol/chains.ts'

export const finalities = ['latest', 'safe', 'finalized'] as const

type Finality = (typeof finalities)[number]

/** The newest block of a chain that is at least so final; null for `latest`. Throws `service_unavailable` when no node says. */
export type FinalBlock = (chainId: ChainId, finality: Finality) => Promise<Block | null>

/** Final blocks come in steps of seconds at least. */
const KEPT_MS = 1_000

/** Asks the chains' nodes, at most once a second a chain and kind. */
export const createFinalBlock = (deps: {
  readonly chains: ReadonlyMap<ChainId, Chain>
  readonly now: () => number
}): FinalBlock => {
  const kept = new Map<string, { readonly block: Block; readonly at: number }>()
  const once = createSingleFlight<Block>()
  return async (chainId, finality) => {
    if (finality === 'latest') return null
    const key = `${chainId} ${finality}`
    const known = kept.get(key)
    if (known !== undefined && deps.now() - known.at < KEPT_MS) return known.block
    return once(key, async () => {
      const [outcome] = (await deps.chains.get(chainId)?.send([getBlock(finality)])) ?? []
      if (outcome === undefined) throw unavailable(`chain ${chainId} is not configured`)
      if (!outcome.ok) throw toServiceError(outcome.error)
      if (outcome.value === null) throw unavailable(`chain ${chainId} has no ${finality} block yet`)
      kept.set(key, { block: outcome.value, at: deps.now() })
      return outcome.value
    })
  }
}
