import type { Schemas } from 'fx-protection-client'
import { useApi } from './queries.ts'

export type Chain = Schemas['Chain']

/** The chains of the service; empty until they are known. */
export const useChains = (): readonly Chain[] => useApi('/v1/chains', {}).data?.data ?? []

/** The name of a chain, or its id until the name is known. */
export const useChainName = (chainId: number): string =>
  useChains().find((chain) => chain.chainId === chainId)?.name ?? `chain ${chainId}`
