import type { ChainId } from '../../../src/protocol/chains.ts'
import type { Random } from '../../../src/sandbox/story/random.ts'

type Of = { readonly wallets: readonly string[]; readonly tokens: Readonly<Record<number, string>> }

/** Single reads of a chain, and its lists in every form. */
const ofChain = (chainId: ChainId, { wallets: [first = '', second = '', third = ''], tokens }: Of): string[] => {
  const events = `/v1/hedge/events?chainId=${chainId}`
  const positions = `/v1/hedge/positions?chainId=${chainId}`
  const deposits = `/v1/hedge/deposits?chainId=${chainId}`
  return [
    `${events}&limit=10&include=stats,range,utilization`,
    `${events}&state=active&sort=expiry&order=asc&include=utilization`,
    `${events}&ids=3,1,14,99999&include=stats`,
    `${events}&paymentToken=${tokens[chainId]}&poolOpen=true&strikeAbove=true&count=true`,
    `${positions}&limit=100&include=stats,utilization`,
    `${positions}&wallet=${first},${second}&claimed=false&limit=5&count=true`,
    `${positions}&claimable=true&order=asc&limit=20`,
    `${deposits}&limit=7&include=range`,
    `${deposits}&wallet=${second}&withdrawn=false&claimable=true`,
    `/v1/hedge/events/${chainId}/14`,
    `/v1/hedge/events/${chainId}/15/stats`,
    `/v1/hedge/events/${chainId}/14/utilization`,
    `/v1/hedge/events/${chainId}/1/range`,
    `/v1/hedge/events/${chainId}/15/positions?limit=5`,
    `/v1/hedge/events/${chainId}/total`,
    `/v1/hedge/positions/${chainId}/67`,
    `/v1/hedge/deposits/${chainId}/42`,
    `/v1/hedge/deposits/${chainId}/5/pending`,
    `/v1/hedge/positions/${chainId}/wallet/${third}`,
    `/v1/hedge/settlements?chainId=${chainId}&limit=5`,
  ]
}

/** The URLs that are compared. Cursors are added as answers return them. */
export const urlsOf = (of: Of): readonly string[] => {
  const [first, second, third] = of.wallets
  return [
    ...ofChain(8453, of),
    ...ofChain(56, of),
    '/v1/hedge/events?limit=30&include=stats',
    '/v1/hedge/events?state=settled&count=true',
    '/v1/hedge/events?capacityFrom=1&symbol=usdc&include=utilization',
    '/v1/hedge/events?underlying=usd/ghs',
    '/v1/hedge/positions?limit=50',
    `/v1/hedge/positions?wallet=${first}&include=stats,range&count=true`,
    '/v1/hedge/deposits?limit=3&order=asc',
    '/v1/hedge/deposits?limit=30&include=event',
    `/v1/wallets/${first}/portfolio`,
    `/v1/wallets/${second}/portfolio?state=all`,
    `/v1/wallets/${third}/portfolio?chainId=56`,
    `/v1/wallets/${first}/portfolio?state=all&include=event`,
    '/v1/hedge/settlements',
    '/v1/hedge/events/8453/99999',
  ]
}

/** Another spelling of a URL with the same meaning on every route. */
export const respell = (url: string, random: Random): string => {
  const [path = '', query] = url.split('?')
  const address = random.int(0, 1) === 0 ? path.replace(/0x[0-9a-fA-F]{40}/, (it) => it.toLowerCase()) : path
  const slash = random.int(0, 2) === 0 ? `${address}/` : address
  const parts = query === undefined ? [] : query.split('&')
  if (random.int(0, 1) === 0) parts.reverse()
  if (random.int(0, 2) === 0) parts.push(`_=${random.int(0, 3)}`)
  return parts.length === 0 ? slash : `${slash}?${parts.join('&')}`
}
