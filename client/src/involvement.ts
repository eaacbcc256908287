import type { Requests } from './requests.ts'
import type { Schemas } from './types.ts'

/** Wallets per request of a list. */
const MAX_WALLETS = 100

/**
 * Whether an event concerns one of the wallets. Streams have no filter for wallets, so each settlement is looked up: an
 * event gets no new positions once it is settled. A reorg can remove positions together with the settlement, so an
 * event that concerned a wallet once still does when its settlement is reverted. So does one that a reorg removed: its
 * wallets are not known any more, and no reversal may be missed.
 */
export const createInvolvement = (api: Requests, wallets: readonly string[] | undefined, signal: AbortSignal) => {
  const involved = new Set<string>()
  const call = { signal }

  const anyOf = async (chainId: number, eventId: number, given: readonly string[]): Promise<boolean> => {
    const query = { chainId, eventId, wallet: given, limit: 1 }
    const [positions, deposits] = await Promise.all([
      api.get('/v1/hedge/positions', query, call),
      api.get('/v1/hedge/deposits', query, call),
    ])
    return positions.data.length + deposits.data.length > 0
  }

  return async ({ chainId, eventId }: Schemas['Settlement']): Promise<boolean> => {
    const key = `${chainId} ${eventId}`
    if (wallets === undefined || involved.has(key)) return true
    const creator = await api.get('/v1/hedge/events/{chainId}/{id}', { chainId, id: eventId }, call).then(
      ({ data }) => data.creator.toLowerCase(),
      (error: unknown) => {
        if (Object(error).code !== 'not_found') throw error
      },
    )
    if (creator === undefined) return true
    let found = wallets.some((wallet) => wallet.toLowerCase() === creator)
    for (let from = 0; !found && from < wallets.length; from += MAX_WALLETS) {
      found = await anyOf(chainId, eventId, wallets.slice(from, from + MAX_WALLETS))
    }
    if (found) involved.add(key)
    return found
  }
}
