import { nodeRequests } from '../chain/rpc/request-channel.ts'
import { databaseStatements } from '../db/pool.ts'
import { createTracing, type Tracing } from '../lib/observe/tracing.ts'

/**
 * Traces of requests, with their calls to nodes and statements to the database. Loaded only when tracing is configured.
 */
export const openTracing = (options: { readonly endpoint: string; readonly service: string }): Tracing => {
  const tracing = createTracing(options)
  tracing.follow(nodeRequests, ({ chainId, node, methods }) => ({
    name: `node ${methods[0]}`,
    attributes: { 'rpc.system.name': 'jsonrpc', 'rpc.method': methods.join(' '), 'fx.chain': chainId, 'fx.node': node },
  }))
  tracing.follow(databaseStatements, ({ kind, name }) => ({
    name: `database ${name ?? kind}`,
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': name ?? kind },
  }))
  return tracing
}
