import type { Client } from 'pg'
import { walletOf } from '../support/seed-index.ts'
import { chainId } from './million.ts'

/** URLs of reads that are not one index scan over stored texts, by their way to the rows. */
export const pathsOf = (cursor: string): Readonly<Record<string, string>> => {
  const positions = `/v1/hedge/positions?chainId=${chainId}`
  const [wallet, none, some] = [77, 78, 79].map(walletOf)
  const own = `${positions}&wallet=${wallet}`
  const events = `/v1/hedge/events?chainId=${chainId}`
  const deposits = `/v1/hedge/deposits?chainId=${chainId}`
  const ids = Array.from({ length: 50 }, (_, at) => 1_000 + 7 * at)
  return {
    'wallet, two chains merged': `/v1/hedge/positions?wallet=${wallet}`,
    'wallet, a tenth without text': `${positions}&wallet=${some}`,
    'wallet, none with text': `${positions}&wallet=${none}`,
    'wallet, include=stats': `${own}&include=stats`,
    'wallet, include of all three': `${own}&include=stats,utilization,range`,
    'wallet, count=true': `${own}&count=true`,
    'wallet, claimable': `${own}&claimable=true`,
    'wallet, not claimed': `${own}&claimed=false`,
    'wallets: 100': `${positions}&wallet=${Array.from({ length: 100 }, (_, at) => walletOf(at)).join()}`,
    'ids: 50': `${positions}&ids=${ids.join()}`,
    'all, newest': positions,
    'all, from a late cursor': `${positions}&cursor=${cursor}`,
    'all, two chains merged': '/v1/hedge/positions',
    'of an event': `${positions}&eventId=8`,
    'all, claimable': `${positions}&claimable=true`,
    'all, claimed': `${positions}&claimed=true`,
    'deposits, withdrawn': `${deposits}&withdrawn=true`,
    'events, sort=expiry': `${events}&sort=expiry`,
    'events, state=open': `${events}&state=open`,
    'events, state=triggered': `${events}&state=triggered`,
  }
}

/** Clears the texts of two wallets' rows: all of one wallet, every tenth of the other. */
export const clearTexts = async (client: Client): Promise<void> => {
  const shares = [
    [78, 1],
    [79, 10],
  ] as const
  for (const [wallet, every] of shares) {
    const text = `UPDATE position_observations AS seen SET row_text = NULL FROM
      (SELECT chain_id, id, row_number() OVER (ORDER BY id) AS nth FROM positions WHERE chain_id = $1 AND hedger = $2) AS own
      WHERE seen.chain_id = own.chain_id AND seen.id = own.id AND nth % $3 = 0`
    const { rowCount } = await client.query(text, [chainId, Buffer.from(walletOf(wallet).slice(2), 'hex'), every])
    if (rowCount === 0) throw new Error(`wallet ${wallet} has no rows`)
  }
}
