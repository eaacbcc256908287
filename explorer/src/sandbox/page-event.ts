export type EventId = { readonly chainId: number; readonly eventId: number }

/** The event that a page of the explorer shows, by its path; null for other pages. */
export const eventOf = (path: string): EventId | null => {
  const [, chainId, eventId] = /\/event\/(\d{1,15})\/(\d{1,15})\/?$/.exec(path) ?? []
  return chainId === undefined ? null : { chainId: Number(chainId), eventId: Number(eventId) }
}

/** The names of the events that the router sends when the path changes. */
export const PATH_CHANGES = ['popstate', 'pushState', 'replaceState'] as const
