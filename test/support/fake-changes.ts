import { padHex, toHex } from 'viem'
import type { Reached } from '../../src/db/changes/changes.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import type { Changes, Resource } from '../../src/reads/cache/resources.ts'

/** A block of the index of a test. */
export const blockAt = (number: number) => ({
  number: BigInt(number),
  hash: padHex(toHex(number), { size: 32, dir: 'right' }),
  timestamp: BigInt(1_800_000_000 + number),
})

/** The state of an index at a block: `lagSeconds` behind the head, with changes reported by logs or found by polling. */
export const reachedAt = (chainId: ChainId, number: number, { lagSeconds = 0, byLogs = true } = {}): Reached => {
  const block = blockAt(number)
  const head = { number: block.number, timestamp: block.timestamp + BigInt(lagSeconds) }
  return { chainId, block, heartbeat: { ageSeconds: 0, head, stored: null, isQuiet: false, byLogs } }
}

/** The changes of an index that a test moves on. At first every chain is current, and nothing has changed. */
export const createFakeChanges = () => {
  const versions = new Map<string, number>()
  const progress = new Map<ChainId, Reached>()
  const listeners = new Set<() => void>()
  const outdated = new Set<ChainId>()
  let position = 0
  const changes: Changes = {
    isCurrent: (chainIds) => chainIds.every((chainId) => !outdated.has(chainId)),
    position: () => position,
    version: ({ keys }) => Math.max(0, ...keys.map((key) => versions.get(key) ?? 0)),
    reached: (chainId) => progress.get(chainId),
    storedHead: () => null,
    onCommit(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: async () => {},
  }
  return {
    changes,
    outdated,
    reach: (state: Reached) => void progress.set(state.chainId, state),
    /** Sets the number of the newest known change, and the resource that it changed, if any. */
    change(seq: number, resource?: Resource): void {
      position = seq
      for (const key of resource?.keys ?? []) versions.set(key, seq)
    },
    commit(): void {
      for (const listener of listeners) listener()
    },
    listeners: () => listeners.size,
  }
}
