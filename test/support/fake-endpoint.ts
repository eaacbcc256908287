import { isMissing } from '../../src/chain/endpoints/capabilities.ts'
import type { createEndpoint, Endpoint } from '../../src/chain/endpoints/endpoint.ts'
import { createLatency } from '../../src/chain/endpoints/latency.ts'
import { type EndpointReport, type EndpointState, initialState, learn } from '../../src/chain/endpoints/state.ts'
import { flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome, SendOptions } from '../../src/chain/rpc/transport.ts'

/** A batch that an endpoint in memory was asked. */
export type Sent = {
  readonly endpoint: number
  readonly requests: readonly Request<unknown>[]
  readonly options: SendOptions
}

/** What an endpoint answers to a batch: one outcome for each request. Throws what the whole batch ends with. */
export type Answer = (sent: Sent) => readonly Outcome<unknown>[] | Promise<readonly Outcome<unknown>[]>

/**
 * Endpoints in memory with the states of real ones, which learn what a test reports and what is reported to them.
 * `answers` are what each answers.
 */
export const createFakeEndpoints = (answers: readonly Answer[]) => {
  const sent: Sent[] = []
  const reports: (EndpointReport & { readonly endpoint: number })[] = []
  const opened: Parameters<typeof createEndpoint>[0][] = []
  const closed: number[] = []
  const endpoints: Endpoint[] = []
  const open: typeof createEndpoint = (options) => {
    const { index } = options
    opened.push(options)
    let state: EndpointState = initialState(options.logWidth)
    const endpoint: Endpoint = {
      index,
      state: () => state,
      isMissing: (need) => isMissing(state.missing, need, Date.now()),
      learn(report) {
        reports.push({ ...report, endpoint: index })
        state = learn(state, report, Date.now())
      },
      latency: createLatency(),
      async send(batch, options = {}) {
        const asked: Sent = { endpoint: index, requests: flatten<Request<unknown>>(batch), options }
        sent.push(asked)
        return unflatten(batch, (await answers[index]?.(asked)) ?? [])
      },
      close: async () => void closed.push(index),
    }
    endpoints.push(endpoint)
    return endpoint
  }
  return {
    open,
    endpoints,
    opened,
    closed,
    /** The endpoints that were asked since the last call of this function. */
    asked: (): number[] => sent.splice(0).map(({ endpoint }) => endpoint),
    /** The batches since the last call of this function. */
    sent: (): Sent[] => sent.splice(0),
    /** The reports since the last call of this function. */
    reports: () => reports.splice(0),
  }
}
