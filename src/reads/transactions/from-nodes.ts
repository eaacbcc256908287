import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isTooLong, toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { getTransaction, getWholeReceipt, type Receipt, type Transaction } from '../../chain/rpc/transactions.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { nullIf, nullIfUnavailable, ServiceError } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { clamped } from '../../protocol/fields/response-fields.ts'
import type { Waits } from '../freshness/waits.ts'
import { effects, feeOf } from './effects.ts'
import type { FoundTransaction, TransactionSources } from './found.ts'
import { type TransactionRecord, unmined } from './record.ts'
import { createReplacements, isNonceUsed, type Sender } from './replacement.ts'
import type { RevertedTransaction } from './revert-reason.ts'

/** For `catch`: null in place of an error of a node. Throws everything else. */
const nullIfRefused = nullIf((error) => error instanceof ServiceError)

/** What a look-up returns; `reverted` when the reason of its revert is not known yet. */
export type Found = FoundTransaction & { readonly reverted?: RevertedTransaction | null }

/** `logsIncomplete`: the receipt has only the logs of the protocol, because it is too long. */
type Sent = {
  readonly tx: Transaction | null
  readonly receipt: Receipt | null
  readonly logsIncomplete: boolean
}

const valueIn = <T>(outcome: Outcome<T | null>): T | null => (outcome.ok ? outcome.value : null)

/**
 * What the nodes have of a transaction. A node may not have it yet, so the others are asked too: until one has the
 * receipt or, unless `isMined` must be known, the transaction.
 */
const fetchSent = async (chain: Chain, hash: Hex, signal: AbortSignal, isMined = false): Promise<Sent> => {
  const { tx, receipt } = await chain.send(
    { tx: getTransaction(hash), receipt: getWholeReceipt(hash) },
    { isAnswer: (found) => valueIn(found.receipt) !== null || (!isMined && valueIn(found.tx) !== null), signal },
  )
  if (!receipt.ok) throw toServiceError(receipt.error)
  return { tx: valueIn(tx), receipt: receipt.value, logsIncomplete: false }
}

/** Creates the look-up of transactions on the nodes. */
export const createNodeLookup = (
  sources: TransactionSources,
  { changes, longReceipts, ledgerTransactions }: Pick<Waits, 'changes' | 'longReceipts' | 'ledgerTransactions'>,
) => {
  const { finality, senders } = sources
  const replacementOf = createReplacements()

  const sentOf = async (chain: Chain, hash: Hex, signal: AbortSignal, isMined = false): Promise<Sent> => {
    try {
      return await fetchSent(chain, hash, signal, isMined)
    } catch (error) {
      if (!isTooLong(error)) throw error
      const { tx } = await chain.send({ tx: getTransaction(hash) }, { signal })
      return { tx: valueIn(tx), receipt: await longReceipts.read(chain, hash), logsIncomplete: true }
    }
  }

  const finalityOf = async (chainId: ChainId, block: bigint): Promise<TransactionRecord['finality']> => {
    const [finalized, safe] = await Promise.all(
      (['finalized', 'safe'] as const).map((level) => finality.finalBlock(chainId, level).catch(nullIfRefused)),
    )
    if (finalized && block <= finalized.number) return 'finalized'
    return safe && block <= safe.number ? 'safe' : 'latest'
  }

  /** The block of a receipt, and whether the index has reached it; null when a reorg removed the block meanwhile. */
  const placeOf = async (
    chain: Chain,
    hash: Hex,
    { blockNumber, blockHash }: Receipt,
    signal: AbortSignal,
  ): Promise<{ readonly block: Block; readonly indexed: boolean } | null> => {
    const reached = changes.reached(chain.chainId)?.block
    const hasReached = reached !== undefined && blockNumber <= reached.number
    const placed = hasReached ? [{ hash, block: blockNumber, blockHash }] : []
    const stored = await ledgerTransactions(chain.chainId, placed).catch(nullIfUnavailable)
    const isStored = stored?.has(hash) === true
    // A transaction without logs may be of another fork than the index: the node's block at its height decides.
    const { block, tip } = await chain.send(
      { block: getBlock(blockNumber), tip: hasReached && !isStored ? getBlock(reached.number) : undefined },
      { signal },
    )
    if (!block.ok) throw toServiceError(block.error)
    if (block.value?.hash !== blockHash) return null
    return { block: block.value, indexed: isStored || (tip?.ok === true && tip.value?.hash === reached?.hash) }
  }

  /** Null for a transaction that is not mined. */
  const mined = async (
    chain: Chain,
    hash: Hex,
    { tx, receipt, logsIncomplete }: Sent,
    signal: AbortSignal,
  ): Promise<Found | null> => {
    const { chainId, deployment } = chain
    const place = receipt && (await placeOf(chain, hash, receipt, signal))
    if (receipt === null || place === null) return null
    const { block, indexed } = place
    const call = tx === null ? null : sources.decodeCall(deployment, tx.to, tx.input)
    const [head, level] = await Promise.all([chain.head(block.number), finalityOf(chainId, block.number)])
    const newest = head.number < block.number ? block : head
    const data: TransactionRecord = {
      chainId,
      hash,
      status: receipt.isReverted ? 'reverted' : 'succeeded',
      block: { number: clamped(block.number), hash: block.hash, timestamp: clamped(block.timestamp) },
      confirmations: clamped(newest.number - block.number + 1n),
      finality: level,
      fee: feeOf(receipt),
      calls: call === null ? null : [call],
      ...effects(receipt, deployment),
      logsIncomplete,
      revert: null,
      // The search comes afterwards. Without the transaction there is none.
      revertStatus: receipt.isReverted ? 'unavailable' : 'none',
      indexed,
      dropped: false,
      replacedBy: null,
    }
    const reverted =
      receipt.isReverted && tx !== null
        ? { hash, call: tx, gasUsed: receipt.gasUsed, block, functionName: call?.function }
        : null
    return { data, freshness: { source: 'chain', block: newest, stale: false }, reverted }
  }

  const notMined = async (chain: Chain, hash: Hex, tx: Transaction | null): Promise<FoundTransaction> => {
    const { chainId, deployment } = chain
    const head = await chain.head()
    const call = tx === null ? null : sources.decodeCall(deployment, tx.to, tx.input)
    const data: TransactionRecord = {
      chainId,
      hash,
      status: tx === null ? 'unknown' : 'pending',
      ...unmined(),
      calls: call === null ? null : [call],
    }
    return { data, freshness: { source: 'chain', block: head, stale: false } }
  }

  /** The same for a transaction whose nonce another one may have used. */
  const notMinedOf = async (
    chain: Chain,
    hash: Hex,
    tx: Transaction | null,
    sender: Sender,
    signal: AbortSignal,
  ): Promise<Found> => {
    if (!(await isNonceUsed(chain, sender, signal))) return notMined(chain, hash, tx)
    // It may have been mined since the first request.
    const found = await mined(chain, hash, await sentOf(chain, hash, signal, true), signal)
    if (found !== null) return found
    const replacedBy = await replacementOf(chain, sender)
    const { data, freshness } = await notMined(chain, hash, tx)
    // Nodes may know the new state before they have the receipt, and before this process knows the block.
    if (replacedBy === hash || replacedBy === undefined) return { data, freshness }
    return { data: { ...data, status: 'unknown', dropped: true, replacedBy }, freshness }
  }

  /** Throws `service_unavailable` when no node answers, and `upstream_error` when nodes refuse. */
  return async (chain: Chain, hash: Hex, signal: AbortSignal): Promise<Found> => {
    const sent = await sentOf(chain, hash, signal)
    const { tx } = sent
    const found = await mined(chain, hash, sent, signal)
    // A reorg may remove its block, and nodes forget it once another one with its nonce is mined.
    if (tx !== null) senders.keep(chain.chainId, hash, tx)
    if (found !== null) return found
    const sender = tx ?? senders.get(chain.chainId, hash)
    return sender === undefined ? notMined(chain, hash, tx) : notMinedOf(chain, hash, tx, sender, signal)
  }
}
