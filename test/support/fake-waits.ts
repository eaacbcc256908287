import type { Hex } from 'viem'
import { onTestFinished } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import type { PlacedTransaction } from '../../src/db/queries/ledger-transactions.ts'
import type { RefreshState } from '../../src/db/queries/refresh-state.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import type { Changes } from '../../src/reads/cache/resources.ts'
import { createLongReceipts } from '../../src/reads/freshness/long-receipts.ts'
import { type Client, createWaits } from '../../src/reads/freshness/waits.ts'
import { blockAt } from './fake-chain.ts'

/** The change log as a process knows it, which a test moves. */
export const fakeChanges = () => {
  const tips = new Map<ChainId, bigint>()
  const listeners = new Set<() => void>()
  /** The heads that another process stored. */
  const heads = new Map<ChainId, bigint>()
  /** The newest known change. */
  const known = { position: 0 }
  const changes: Changes = {
    isCurrent: () => false,
    position: () => known.position,
    version: () => 0,
    reached(chainId) {
      const number = tips.get(chainId)
      return number === undefined ? undefined : { chainId, block: blockAt(number), heartbeat: null }
    },
    storedHead(chainId) {
      const number = heads.get(chainId)
      return number === undefined ? null : { block: blockAt(number), ageMs: 0 }
    },
    onCommit(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: async () => {},
  }
  return {
    changes,
    tips,
    heads,
    listeners,
    known,
    /** Indexes a block, which wakes the waits. */
    commit(chainId: ChainId, number: bigint): void {
      tips.set(chainId, number)
      for (const listener of listeners) listener()
    },
  }
}

/** What a look-up of transactions needs of the waits: an index whose ledger has the transactions of `stored`. */
export const lookupWaits = (changes: Changes, stored: readonly PlacedTransaction[] = []) => ({
  changes,
  longReceipts: createLongReceipts(),
  ledgerTransactions: async (_: ChainId, asked: readonly PlacedTransaction[]): Promise<ReadonlySet<Hex>> => {
    const isStored = (it: PlacedTransaction) =>
      stored.some((row) => row.hash === it.hash && row.block === it.block && row.blockHash === it.blockHash)
    return new Set(asked.filter(isStored).map(({ hash }) => hash))
  },
})

/** Waits over chains of a test. `queue.read` answers for the refresh queue, and `ledger.read` for the ledger, which is empty. */
export const openWaits = (
  chains: readonly Chain[],
  { max = 100, maxPerClient = 100 }: { readonly max?: number; readonly maxPerClient?: number } = {},
) => {
  const draining = new AbortController()
  const log = fakeChanges()
  const queue = { read: async (): Promise<RefreshState> => ({ oldestBlock: null, newestChange: 0 }) }
  const ledger = { read: async (_: readonly PlacedTransaction[]): Promise<ReadonlySet<Hex>> => new Set() }
  const waits = createWaits({
    chains: new Map(chains.map((chain) => [chain.chainId, chain])),
    changes: log.changes,
    refreshState: () => queue.read(),
    ledgerTransactions: (_, transactions) => ledger.read(transactions),
    ...{ max, maxPerClient, draining: draining.signal },
  })
  onTestFinished(waits.close)
  return { ...log, waits, draining, queue, ledger }
}

/** A client that a test can disconnect. */
export const fakeClient = (address = '192.0.2.1') => {
  const controller = new AbortController()
  const client: Client = { address, disconnected: controller.signal }
  return { client, leave: (): void => controller.abort() }
}
