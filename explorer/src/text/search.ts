/** What a text names: a wallet, a transaction, or text of the list of events. */
export const targetOf = (text: string, chainIds: readonly number[]): string | null => {
  const term = text.trim()
  if (/^0x[0-9a-fA-F]{40}$/.test(term)) return `/wallet/${term}`
  if (/^0x[0-9a-fA-F]{64}$/.test(term)) return `/tx/${chainIds[0]}/${term}`
  const id = /^(?:(\d+)[/ ])?#?(\d+)$/.exec(term)
  if (id !== null) return `/event/${id[1] ?? chainIds[0]}/${id[2]}`
  return term === '' ? null : `/events?pair=${encodeURIComponent(term.toUpperCase())}`
}
