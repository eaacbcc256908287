import { nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import { addIndexed } from '../lists/rows.ts'
import type { ListSources } from '../lists/sources.ts'
import type { ReadIndexed } from '../read.ts'

/** How long a record of the chain waits for what the index adds to it, in milliseconds. */
const PATIENCE_MS = 500

/** Makes the read of what the index adds to a record. */
export const createIndexed =
  (
    { listings, token, tokens }: Pick<ListSources['lists'], 'listings' | 'token' | 'tokens'>,
    patienceMs = PATIENCE_MS,
  ): ReadIndexed =>
  async (kind, chainId, id) => {
    const read = async () => {
      const row = await listings.one(kind, chainId, BigInt(id))
      // The token is known when the event was observed.
      if (row === null || row.token === null) return null
      const known = token(chainId, row.token, row) ?? (await tokens.ask(chainId, row.token))
      return addIndexed(kind, {}, row, known)
    }
    const late = () => unavailable('the index takes too long')
    return withTimeout(read, { ms: patienceMs, late }).catch(nullIfUnavailable)
  }
