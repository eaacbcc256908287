import { z } from 'zod'
import { MAX_CHAINS, OfChain, PathChainId } from '../../protocol/chains.ts'
import { Account, Amount, Decimal, Integer, TokenAddress, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { consistency } from '../freshness/consistency.ts'
import { listOf } from '../lists/query.ts'
import { Hash, tokenFields } from '../lists/records.ts'

/** Most tokens per wallet and chain. */
export const MAX_TOKENS = 20

export const BalancesQuery = z.object({
  chainId: listOf(PathChainId, MAX_CHAINS).optional().meta({ description: 'The chains; all chains when omitted' }),
  ...consistency,
})

const TokenBalance = z.object({
  ...tokenFields,
  token: TokenAddress,
  balance: Amount.nullable().meta({ description: 'Null when the token does not return it' }),
  allowance: Amount.nullable().meta({
    description: 'What the protocol may take of the wallet; null when the token does not return it',
  }),
})

/** What a wallet has on one chain. */
const ChainBalances = z.object({
  chainId: OfChain,
  status: z.enum(['ok', 'stale', 'unavailable']).meta({
    description:
      '`ok`; `stale`: the index is out of reach, so only the configured tokens are listed; `unavailable`: no node answers, so the response has no data of this chain',
  }),
  block: z
    .object({ number: Integer, hash: Hash, timestamp: UnixSeconds })
    .nullable()
    .meta({ description: 'The block that all amounts of the chain are as of' }),
  native: z
    .object({
      symbol: z.string(),
      decimals: Integer.meta({ description: 'Always 18' }),
      balance: Decimal.meta({ description: 'In wei' }),
    })
    .nullable()
    .meta({ description: "The chain's native coin, which pays for gas" }),
  tokens: z.array(TokenBalance).meta({
    description: `The configured payment tokens, and those of the wallet's newest events, deposits and positions; at most ${MAX_TOKENS}`,
  }),
})

export const Balances = z.object({ wallet: Account, chains: z.array(ChainBalances) }).meta({ id: 'Balances' })
