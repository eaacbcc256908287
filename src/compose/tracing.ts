import { nodeReports } from '../chain/reports.ts'
import { databaseReports } from '../db/reports.ts'
import { createTracing, type Tracing } from '../lib/tracing.ts'

/** Traces of requests, with what each asks of nodes and database. Loaded only where traces are wanted. */
export const openTracing = (options: { readonly endpoint: string; readonly service: string }): Tracing => {
  const tracing = createTracing(options)
  tracing.follow(nodeReports, ({ chainId, node, methods }) => ({
    name: `node ${methods[0]}`,
    attributes: { 'rpc.system.name': 'jsonrpc', 'rpc.method': methods.join(' '), 'fx.chain': chainId, 'fx.node': node },
  }))
  tracing.follow(databaseReports, ({ kind, name }) => ({
    name: `database ${name ?? kind}`,
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': name ?? kind },
  }))
  return tracing
}
