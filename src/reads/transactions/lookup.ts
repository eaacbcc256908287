import { type Address, getAddress, type Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { getTransaction, getWholeReceipt, type Receipt, type Transaction } from '../../chain/rpc/transactions.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import type { Queries } from '../../db/queries/entities.ts'
import { isUnavailable, nullIfUnavailable, ServiceError } from '../../lib/errors.ts'
import type { ChainId, Deployment } from '../../protocol/chains.ts'
import { perKind } from '../../protocol/entities.ts'
import { effectsOf } from '../../protocol/receipt-logs.ts'
import { clamped, decimal } from '../../protocol/response-fields.ts'
import { revertOf } from '../../protocol/reverts/decode.ts'
import type { Scalar } from '../../protocol/scalars.ts'
import type { Changes } from '../cache/resources.ts'
import type { FinalityCache } from '../freshness/finality.ts'
import type { Freshness } from '../freshness/freshness.ts'
import type { Chains } from '../read.ts'
import { type TransactionRecord, unmined } from './record.ts'
import { createReplacements, isNonceUsed, type Sender, type Senders } from './replacement.ts'
import { createRevertReasons } from './revert-reason.ts'

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

/** How many blocks below the newest indexed one are searched for a transaction while no node answers. */
const SEARCHED_BLOCKS = 10_000n

/** For `catch`: null in place of an error of a node. Throws everything else. */
const nullIfRefused = (error: unknown): null => {
  if (error instanceof ServiceError) return null
  throw error
}

type Sent = { readonly tx: Transaction | null; readonly receipt: Receipt | null }

const valueIn = <T>(outcome: Outcome<T | null>): T | null => (outcome.ok ? outcome.value : null)

/**
 * What the nodes have of a transaction. A node may not have it yet, so the others are asked too: until one has the
 * receipt or, unless `isMined` must be known, the transaction.
 */
const fetchSent = async (chain: Chain, hash: Hex, { isMined = false } = {}): Promise<Sent> => {
  const { tx, receipt } = await chain.send(
    { tx: getTransaction(hash), receipt: getWholeReceipt(hash) },
    { isAnswer: (found) => valueIn(found.receipt) !== null || (!isMined && valueIn(found.tx) !== null) },
  )
  if (!receipt.ok) throw toServiceError(receipt.error)
  return { tx: valueIn(tx), receipt: receipt.value }
}

const feeOf = ({ gasUsed, effectiveGasPrice, l1Fee }: Receipt): TransactionRecord['fee'] =>
  effectiveGasPrice === null
    ? null
    : {
        gasUsed: decimal(gasUsed),
        effectiveGasPrice: decimal(effectiveGasPrice),
        dataFee: l1Fee === null ? null : decimal(l1Fee),
        total: decimal(gasUsed * effectiveGasPrice + (l1Fee ?? 0n)),
      }

const REVERTED = 'execution reverted'

/** What a transaction did, by its receipt. */
const effects = ({ logs }: Receipt, deployment: Deployment) => {
  const { created, failedOperations, ...others } = effectsOf(logs, deployment)
  return {
    ...others,
    logs: [...others.logs],
    created: { eventIds: [...created.event], depositIds: [...created.deposit], positionIds: [...created.position] },
    userOperations: failedOperations.map(({ nonce, revert, ...operation }) => ({
      ...operation,
      nonce: decimal(nonce),
      success: false as const,
      revert: revert === null ? null : revertOf({ data: revert, message: REVERTED }),
    })),
  }
}

/** Creates the look-up of transactions by their hashes. */
export const createLookup = (sources: TransactionSources, changes: Pick<Changes, 'reached'>) => {
  const { queries, finality, senders } = sources
  const reasonOf = createRevertReasons()
  const replacementOf = createReplacements()

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
    { blockNumber, blockHash }: Receipt,
  ): Promise<{ readonly block: Block; readonly indexed: boolean } | null> => {
    const reached = changes.reached(chain.chainId)?.block
    const hasReached = reached !== undefined && blockNumber <= reached.number
    const { block, tip } = await chain.send({
      block: getBlock(blockNumber),
      tip: hasReached ? getBlock(reached.number) : undefined,
    })
    if (!block.ok) throw toServiceError(block.error)
    if (block.value?.hash !== blockHash) return null
    return { block: block.value, indexed: tip?.ok === true && tip.value?.hash === reached?.hash }
  }

  const mined = async (chain: Chain, hash: Hex, { tx, receipt }: Sent & { readonly receipt: Receipt }) => {
    const { chainId, deployment } = chain
    const place = await placeOf(chain, receipt)
    if (place === null) return null
    const { block, indexed } = place
    const call = tx === null ? null : sources.decodeCall(deployment, tx.to, tx.input)
    const [head, level, revert] = await Promise.all([
      chain.head(block.number),
      finalityOf(chainId, block.number),
      receipt.isReverted && tx !== null
        ? reasonOf(chain, { hash, call: tx, gasUsed: receipt.gasUsed, block, functionName: call?.function })
        : Promise.resolve(null),
    ])
    const newest = head.number < block.number ? block : head
    const data: TransactionRecord = {
      ...{ chainId, hash },
      status: receipt.isReverted ? 'reverted' : 'succeeded',
      block: { number: clamped(block.number), hash: block.hash, timestamp: clamped(block.timestamp) },
      confirmations: clamped(newest.number - block.number + 1n),
      finality: level,
      fee: feeOf(receipt),
      calls: call === null ? null : [call],
      ...effects(receipt, deployment),
      revert,
      indexed,
      dropped: false,
      replacedBy: null,
    }
    return { data, freshness: { source: 'chain', block: newest, stale: false } } satisfies FoundTransaction
  }

  const notMined = async (chain: Chain, hash: Hex, tx: Transaction | null): Promise<FoundTransaction> => {
    const { chainId, deployment } = chain
    const head = await chain.head()
    const call = tx === null ? null : sources.decodeCall(deployment, tx.to, tx.input)
    const data: TransactionRecord = {
      ...{ chainId, hash },
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
  ): Promise<FoundTransaction> => {
    if (!(await isNonceUsed(chain, sender))) return notMined(chain, hash, tx)
    // It may have been mined since the first request.
    const again = await fetchSent(chain, hash, { isMined: true })
    const found = again.receipt === null ? null : await mined(chain, hash, { ...again, receipt: again.receipt })
    if (found !== null) return found
    const replacedBy = await replacementOf(chain, sender)
    const { data, freshness } = await notMined(chain, hash, tx)
    // Nodes may know the new state before they have the receipt.
    if (replacedBy === hash) return { data, freshness }
    return { data: { ...data, status: 'unknown', dropped: true, replacedBy }, freshness }
  }

  const ofNodes = async (chain: Chain, hash: Hex): Promise<FoundTransaction> => {
    const { tx, receipt } = await fetchSent(chain, hash)
    const found = receipt === null ? null : await mined(chain, hash, { tx, receipt })
    if (found !== null) return found
    if (tx !== null) senders.keep(chain.chainId, hash, tx)
    const sender = tx ?? senders.get(chain.chainId, hash)
    return sender === undefined ? notMined(chain, hash, tx) : notMinedOf(chain, hash, tx, sender)
  }

  /** What the index knows of a recent transaction that created something; null when it knows none. */
  const ofIndex = async (chainId: ChainId, hash: Hex): Promise<FoundTransaction | null> => {
    const tip = await queries.indexed(chainId)
    if (tip === null) return null
    const after = tip.number - SEARCHED_BLOCKS
    const rows = perKind((kind) => queries.createdIn[kind](chainId, hash, after))
    const [event, deposit, position] = await Promise.all([rows.event, rows.deposit, rows.position])
    const [first] = [...event, ...deposit, ...position]
    if (first === undefined) return null
    const created = (found: typeof event) =>
      found.map(({ id, owner }) => ({ id: clamped(id), owner: getAddress(owner) }))
    const { block } = first
    const data: TransactionRecord = {
      ...{ chainId, hash },
      status: 'succeeded',
      ...unmined(),
      block: { number: clamped(block.number), hash: block.hash, timestamp: clamped(block.timestamp) },
      confirmations: clamped(tip.number - block.number + 1n),
      finality: 'latest',
      created: { eventIds: created(event), depositIds: created(deposit), positionIds: created(position) },
      indexed: true,
    }
    return { data, freshness: { source: 'database', block: tip, stale: true } }
  }

  /**
   * Reads a transaction from the nodes or, when none answers, from the index. Throws `service_unavailable` when the
   * index does not know it either, and `upstream_error` when nodes refuse.
   */
  return async (chain: Chain, hash: Hex): Promise<FoundTransaction> => {
    try {
      return await ofNodes(chain, hash)
    } catch (fault) {
      if (!isUnavailable(fault)) throw fault
      const stored = await ofIndex(chain.chainId, hash).catch(nullIfUnavailable)
      if (stored === null) throw fault
      return stored
    }
  }
}
