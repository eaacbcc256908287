import type { Address } from 'viem'
import type { z } from 'zod'
import type { Block } from '../../chain/rpc/requests.ts'
import type { HeldToken } from '../../db/queries/held-tokens.ts'
import { nullIfUnavailable, ServiceError, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { decimal, integer } from '../../protocol/fields/response-fields.ts'
import { configuredTokens, type Token } from '../../protocol/tokens.ts'
import { answerTooOld } from '../freshness/consistency.ts'
import type { Freshness } from '../freshness/freshness.ts'
import type { Client } from '../freshness/waits.ts'
import type { ListSources } from '../lists/sources.ts'
import { chainOf } from '../read.ts'
import type { ReadTurns } from '../turns.ts'
import { type Balances, MAX_TOKENS } from './balances-records.ts'

type BalancesRecord = z.output<typeof Balances>
type ChainBalances = BalancesRecord['chains'][number]

/** The tokens of a wallet on a chain: the configured ones, then those of its newest events. */
const tokensOf = (configured: readonly Token[], held: readonly Token[]): Token[] => {
  const isConfigured = ({ token }: Token): boolean =>
    configured.some((it) => it.token.toLowerCase() === token.toLowerCase())
  return [...configured, ...held.filter((it) => !isConfigured(it))].slice(0, MAX_TOKENS)
}

const amount = (value: bigint | null): string | null => (value === null ? null : decimal(value))

type Asked = {
  readonly client: Client
  readonly turns: Pick<ReadTurns, 'page'>
  readonly wallets: readonly Address[]
  readonly chainIds: readonly ChainId[]
  /** The oldest block of the one chain that the answer may be as of. */
  readonly atLeast: bigint | null
}

/** Reads the balances of wallets on one chain, in their order, at one block. */
const readChain = async (
  { chains, lists }: Pick<ListSources, 'chains' | 'lists'>,
  chainId: ChainId,
  { client, wallets, atLeast }: Asked,
  held: readonly HeldToken[] | null,
): Promise<{ readonly block: Block; readonly parts: readonly ChainBalances[] }> => {
  const chain = chainOf(chains, chainId)
  const { deployment } = chain
  const configured = configuredTokens(deployment)
  const tokens = wallets.map((_, at) => {
    const own = held?.filter((it) => it.chainId === chainId && it.wallet === at) ?? []
    return tokensOf(
      configured,
      // A token that the worker could not read completely may be known here.
      own.map(({ token }) => (token.decimals === null ? lists.tokens.known(chainId, token.token) : null) ?? token),
    )
  })
  const holdings = wallets.map((wallet, at) => ({ wallet, tokens: tokens[at]?.map(({ token }) => token) ?? [] }))
  if (atLeast !== null) await chain.head(atLeast)
  const { block, found } = await chain.pinned(async (block) => ({
    block,
    found: await chain.balances(block, holdings, client),
  }))
  const at = { number: integer(block.number), hash: block.hash, timestamp: integer(block.timestamp) }
  const parts = found.map(
    ({ coins, amounts }, nth): ChainBalances => ({
      chainId,
      status: held === null ? 'stale' : 'ok',
      block: at,
      native: { symbol: deployment.symbol, decimals: 18, balance: decimal(coins) },
      tokens: (tokens[nth] ?? []).map((token, place) => ({
        ...token,
        balance: amount(amounts[place]?.balance ?? null),
        allowance: amount(amounts[place]?.allowance ?? null),
      })),
    }),
  )
  return { block, parts }
}

type WalletBalances = {
  /** The balances of each wallet, in the order of the request. */
  readonly records: readonly BalancesRecord[]
  readonly freshness: Freshness
  /** Why no chain could be read; null when one could. */
  readonly fault: ServiceError | null
}

/**
 * Reads coins, payment tokens and their allowances for the protocol, on each chain at one block. A chain whose nodes do
 * not answer is `unavailable`. Throws `service_unavailable` when the nodes of the one chain have not reached `atLeast`.
 */
export const balancesOf = async (
  sources: Pick<ListSources, 'chains' | 'lists'>,
  asked: Asked,
): Promise<WalletBalances> => {
  const { chainIds, atLeast, client, turns } = asked
  const wallets = [...new Set(asked.wallets)]
  const readHeld = () => sources.lists.heldTokens(wallets, chainIds, MAX_TOKENS)
  const held = await turns.page(client, readHeld).catch(nullIfUnavailable)
  let fault: ServiceError | null = null
  const answers = await Promise.all(
    chainIds.map(async (chainId) => {
      try {
        return await readChain(sources, chainId, { ...asked, wallets }, held)
      } catch (failure) {
        if (!(failure instanceof ServiceError)) throw failure
        fault ??= unavailable(failure.message, failure)
        return null
      }
    }),
  )
  const blocks = answers.flatMap((answer) => answer?.block ?? [])
  const [chainId, ...others] = chainIds
  const block = others.length === 0 ? blocks[0] : undefined
  if (atLeast !== null && chainId !== undefined && block !== undefined && block.number < atLeast)
    throw answerTooOld(chainId, atLeast, block)
  const records = new Map(
    wallets.map((wallet, nth) => [
      wallet,
      {
        wallet,
        chains: chainIds.map(
          (chainId, at): ChainBalances =>
            answers[at]?.parts[nth] ?? { chainId, status: 'unavailable', block: null, native: null, tokens: [] },
        ),
      },
    ]),
  )
  return {
    records: asked.wallets.map((wallet) => records.get(wallet) ?? { wallet, chains: [] }),
    freshness: { source: 'chain', stale: held === null || blocks.length < chainIds.length, ...(block && { block }) },
    fault: blocks.length === 0 ? fault : null,
  }
}
