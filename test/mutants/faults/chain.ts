import type { Faults } from '../fault.ts'
import { chainEndpointFaults } from './chain-endpoints.ts'
import { chainIndexFaults } from './chain-index.ts'
import { chainReadFaults } from './chain-reads.ts'
import { chainRpcFaults } from './chain-rpc.ts'

/** The faults of the chain's clients, and of what the indexer reads from it. */
export const chainFaults: Faults = {
  ...chainRpcFaults,
  ...chainEndpointFaults,
  ...chainReadFaults,
  ...chainIndexFaults,
}
