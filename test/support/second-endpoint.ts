import type { Batch } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { FakeChain } from './fake-log-chain.ts'

/** The answer of an endpoint whose chain does not have a record. */
export const denial = new NodeError({ code: 3, message: 'execution reverted' })

/** Gives a chain a second endpoint, which answers as the first one, or returns `errorFor` a batch instead of its record. */
export const addEndpoint = ({ chain }: FakeChain, errorFor: (batch: Batch) => NodeError | null): void => {
  const { queryAllEndpoints, status } = chain
  const query: typeof queryAllEndpoints = async (batch) => {
    const [own] = await queryAllEndpoints(batch)
    if (own === undefined) throw new Error('the endpoint answers')
    const error = errorFor(batch)
    const record = { ok: false, error }
    return [
      own,
      { endpoint: 1, outcomes: error ? { ...own.outcomes, record, newest: record } : own.outcomes } as typeof own,
    ]
  }
  const endpoints = [...status().endpoints, ...status().endpoints]
  Object.assign(chain, { queryAllEndpoints: query, status: () => ({ ...status(), endpoints }) })
}
