import type { Address, Hex } from 'viem'
import type { Queries } from '../../db/queries/entities.ts'
import type { Deployment } from '../../protocol/chains.ts'
import type { Scalar } from '../../protocol/fields/scalars.ts'
import type { FinalityCache } from '../freshness/finality.ts'
import type { Freshness } from '../freshness/freshness.ts'
import type { Chains } from '../read.ts'
import type { TransactionRecord } from './record.ts'
import type { Senders } from './replacement.ts'

type DecodedCall = { readonly function: string; readonly args: Readonly<Record<string, Scalar>> }

export type TransactionSources = {
  readonly chains: Chains
  readonly queries: Pick<Queries, 'createdIn' | 'indexed'>
  readonly finality: Pick<FinalityCache, 'finalBlock'>
  readonly senders: Senders
  /** Decodes a call of the protocol or of a token; null for any other call. */
  decodeCall(deployment: Deployment, to: Address | null, data: Hex): DecodedCall | null
}

export type FoundTransaction = { readonly data: TransactionRecord; readonly freshness: Freshness }
