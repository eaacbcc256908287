import { type LookupAddress, promises } from 'node:dns'

/** Resolves a name to all its addresses. Throws what the resolver throws. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>

/** The time for an answer of a name server, and how often it is asked. Together less than an attempt may take. */
const RESOLVER = { timeout: 2_000, tries: 2 }

/** A name of this machine, which no name server has. */
const LOCAL_NAME = 'localhost'

/**
 * Creates a function that asks the name servers: by default those of the operating system. `dns.lookup` would occupy
 * threads that the lookups of nodes and databases need, for as long as a name server takes.
 */
export const createResolve = (servers?: readonly string[], options = RESOLVER): Resolve => {
  const resolver = new promises.Resolver(options)
  if (servers !== undefined) resolver.setServers(servers)
  return async (name) => {
    if (name === LOCAL_NAME) return promises.lookup(name, { all: true })
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    return [
      ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ]
  }
}
