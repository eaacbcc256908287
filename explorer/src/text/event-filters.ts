/** The states that the list of events can be filtered by, in words. */
export const states = {
  '': 'Any state',
  open: 'Open',
  expired: 'Waits for settlement',
  settled: 'Settled',
  triggered: 'Paid out',
} as const

export const orders = { created: 'Newest first', expiry: 'Next expiry first' } as const

/** The parameters of the list of events by the filters in the address of the page. */
export const filterParams = (search: URLSearchParams): Readonly<Record<string, string>> => {
  const of = (name: string): string => search.get(name) ?? ''
  const isByExpiry = of('sort') === 'expiry'
  return {
    ...(Object.hasOwn(states, of('state')) && of('state') !== '' && { state: of('state') }),
    ...(of('chain') !== '' && { chainId: of('chain') }),
    ...(of('pair') !== '' && { underlying: of('pair') }),
    ...(of('capacity') === 'yes' && { poolOpen: 'true', capacityFrom: '1' }),
    ...{ sort: isByExpiry ? 'expiry' : 'created', order: isByExpiry ? 'asc' : 'desc' },
  }
}
