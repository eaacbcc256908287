import { sliceHex, zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import type { Block } from '../chain/requests.ts'
import { type Call, call } from '../protocol/outputs.ts'

/** Reads again what reverted: a mounted view said so, another's answer is in its slot or nowhere, which is null. */
const again = async (
  chain: Chain,
  block: Pick<Block, 'hash'>,
  { view, revert }: { readonly view: Call; readonly revert: Outcome<unknown> },
): Promise<Outcome<unknown> | null> => {
  const [place] = await chain.readAt(block, [call('facetAddress', [sliceHex(view.data, 0, 4)])])
  // Without a loupe nobody can tell that a function is not there.
  if (!place.ok || place.value !== zeroAddress) return revert
  if (view.slot === undefined) return null
  const [kept] = await chain.readAt(block, [view.slot])
  return kept
}

/**
 * Runs views at a block, whichever of them the proxy mounts: its loupe tells one that reverts from one that is not there. What is not
 * there is read from the view's slot, and is null when it has none. Throws as `Chain.readAt` does.
 */
export const readViews = async (
  chain: Chain,
  block: Pick<Block, 'hash'>,
  views: readonly Call[],
): Promise<readonly (Outcome<unknown> | null)[]> => {
  const outcomes = await chain.readAt(block, views)
  return Promise.all(
    views.map((view, at) => {
      const outcome = outcomes[at]
      if (outcome === undefined) throw new RangeError('every view has an outcome')
      return outcome.ok ? outcome : again(chain, block, { view, revert: outcome })
    }),
  )
}
