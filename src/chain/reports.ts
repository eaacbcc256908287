import { createReports } from '../lib/reports.ts'
import type { Outcome } from './endpoint.ts'

/** One HTTP request to a node. */
export type Asked = {
  readonly chainId: number
  /** The node's place in the configuration, and never its URL. */
  readonly node: number
  /** Of the requests in it. */
  readonly methods: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Told of every HTTP request to a node, looks beside the traffic included. */
export const nodeReports = createReports<Asked, readonly Outcome<unknown>[]>('fx-protection:node')
