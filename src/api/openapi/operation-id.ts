const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Makes an operation id: `getHedgeEventsStatsById` for GET `/v1/hedge/events/:chainId/:id/stats`. */
export const operationId = (method: string, url: string): string => {
  const parts = url.split('/').filter((part) => part !== 'v1' && part !== ':chainId')
  const words = parts.filter((part) => !part.startsWith(':')).flatMap((part) => part.split(/[^A-Za-z0-9]+/))
  const keys = parts.filter((part) => part.startsWith(':')).map((part) => `By${capitalised(part.slice(1))}`)
  return [method.toLowerCase(), ...words.map(capitalised), ...keys].join('')
}
