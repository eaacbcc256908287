export type EventId = { readonly chainId: number; readonly eventId: number }

const PAGE = /\/event\/(\d{1,15})\/(\d{1,15})\/?$/
const FORM = /\/act\/[a-z-]+\/?\?(?=.*\bchainId=(\d{1,15})(?:&|$))(?=.*\beventId=(\d{1,15})(?:&|$))/

/** The event that a page or a form of the explorer is about, by its path and query; null for others. */
export const eventOf = (address: string): EventId | null => {
  const [, chainId, eventId] = PAGE.exec(address.split('?')[0] ?? '') ?? FORM.exec(address) ?? []
  return chainId === undefined ? null : { chainId: Number(chainId), eventId: Number(eventId) }
}

/** The names of the events that the router sends when the path changes. */
export const PATH_CHANGES = ['popstate', 'pushState', 'replaceState'] as const
