import { walletOf } from '../support/seed-index.ts'
import { chainId } from './million.ts'

/** URLs of reads by their way to the rows. */
export const pathsOf = (cursor: string): Readonly<Record<string, string>> => {
  const positions = `/v1/hedge/positions?chainId=${chainId}`
  const wallet = walletOf(77)
  const own = `${positions}&wallet=${wallet}`
  const events = `/v1/hedge/events?chainId=${chainId}`
  const deposits = `/v1/hedge/deposits?chainId=${chainId}`
  const ids = Array.from({ length: 50 }, (_, at) => 1_000 + 7 * at)
  return {
    'wallet, two chains merged': `/v1/hedge/positions?wallet=${wallet}`,
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
