/** The records that a search names by a word and a number. A number without a word is an event. */
const RECORD = /^(?:(event|position|deposit)\s*)?#?(?:(\d{1,16})[/ ])?#?(\d{1,16})$/i

/**
 * The page of what a text names: a wallet, a transaction, or an event, position or deposit of a chain (the first one
 * unless it is named: `event 56/9`). Any other text is the pair of a list of events. Null for nothing.
 */
export const targetOf = (text: string, chainIds: readonly number[]): string | null => {
  const term = text.trim()
  if (/^0x[0-9a-fA-F]{40}$/.test(term)) return `/wallet/${term}`
  if (/^0x[0-9a-fA-F]{64}$/.test(term)) return `/tx/${chainIds[0]}/${term}`
  const record = RECORD.exec(term)
  if (record !== null) return `/${(record[1] ?? 'event').toLowerCase()}/${record[2] ?? chainIds[0]}/${record[3]}`
  return term === '' ? null : `/events?pair=${encodeURIComponent(term)}`
}
