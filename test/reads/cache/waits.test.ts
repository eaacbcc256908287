import { describe, expect, test } from 'vitest'
import { createVersionTable, resourceOf, waitForChange } from '../../../src/reads/cache/resources.ts'

const chainId = 8453
const resource = resourceOf([chainId], 'event:1')
const other = resourceOf([chainId], 'event:2')
const HOUR = 3_600_000

/** Versions of resources that a test raises, and the listeners that wait for it. */
const fakeChanges = (version = 5) => {
  const listeners = new Set<() => void>()
  let current = version
  return {
    listeners,
    commit(next = current) {
      current = next
      for (const listener of listeners) listener()
    },
    version: () => current,
    onCommit(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

const isPending = async (waiting: Promise<void>): Promise<boolean> => {
  const pending = Symbol()
  const later = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve(pending))))
  return (await Promise.race([waiting, later])) === pending
}

describe('a wait for a change', () => {
  const begin = (since: number, ms = HOUR, changes = fakeChanges()) => {
    const leaving = new AbortController()
    const waiting = waitForChange(changes, { resource, version: since }, ms, leaving.signal)
    return { changes, leaving, waiting }
  }

  test('ends at once when there is a newer version already', async () => {
    const { waiting, changes } = begin(4)
    expect(await isPending(waiting)).toBe(false)
    expect(changes.listeners.size).toBe(0)
  })

  test('continues over commits that change something else, and ends with a newer version', async () => {
    const { waiting, changes } = begin(5)
    expect(await isPending(waiting)).toBe(true)
    changes.commit()
    expect(await isPending(waiting)).toBe(true)
    expect(changes.listeners.size).toBe(1)
    changes.commit(6)
    expect(await isPending(waiting)).toBe(false)
    expect(changes.listeners.size).toBe(0)
  })

  test('ends when its time is over, and leaves no listener', async () => {
    const { waiting, changes } = begin(5, 1)
    await waiting
    expect(changes.listeners.size).toBe(0)
  })

  test('ends when the client leaves, also if it left before', async () => {
    const { waiting, changes, leaving } = begin(5)
    expect(await isPending(waiting)).toBe(true)
    leaving.abort()
    expect(await isPending(waiting)).toBe(false)
    expect(changes.listeners.size).toBe(0)
    const gone = waitForChange(changes, { resource, version: 5 }, HOUR, AbortSignal.abort())
    expect(await isPending(gone)).toBe(false)
    expect(changes.listeners.size).toBe(0)
  })

  test('removes its listener from the signal of the client', async () => {
    const leaving = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = leaving.signal
    Object.assign(leaving.signal, {
      addEventListener(...args: Parameters<typeof addEventListener>) {
        listeners += 1
        addEventListener.apply(leaving.signal, args)
      },
      removeEventListener(...args: Parameters<typeof removeEventListener>) {
        listeners -= 1
        removeEventListener.apply(leaving.signal, args)
      },
    })
    await waitForChange(fakeChanges(), { resource, version: 4 }, HOUR, leaving.signal)
    expect(listeners).toBe(0)
  })
})

describe('a table of versions', () => {
  const tableOf = (most?: number) => {
    const table = createVersionTable(most)
    table.reset(10)
    return table
  }

  test('is empty before the first reset, which has no version above it', () => {
    const table = createVersionTable()
    expect([table.isEmpty(), table.last(), table.version(resource)]).toEqual([true, 0, 0])
    table.reset(0)
    expect([table.isEmpty(), table.last()]).toEqual([false, 0])
    table.reset(7)
    expect([table.last(), table.version(resource)]).toEqual([7, 7])
  })

  test('has the number of the newest change of each key', () => {
    const table = tableOf()
    table.add({ seq: 11, before: 10, chainId, scopes: ['event:1', 'event:2'] })
    table.add({ seq: 12, before: 11, chainId, scopes: ['event:2'] })
    table.add({ seq: 13, before: 12, chainId: 56, scopes: null })
    expect([table.version(resource), table.version(other), table.last()]).toEqual([11, 12, 13])
    expect(table.version(resourceOf([chainId, 56], 'event:1'))).toBe(13)
  })

  test('keeps as many keys as its bound, those of the newest changes', () => {
    const table = tableOf(2)
    table.add({ seq: 11, before: 10, chainId, scopes: ['event:1'] })
    table.add({ seq: 12, before: 11, chainId, scopes: ['event:2'] })
    // Both are kept: a third resource has the version of the reset.
    expect(table.version(resourceOf([chainId], 'event:3'))).toBe(10)
    // The first changes again, so the second is the oldest.
    table.add({ seq: 13, before: 12, chainId, scopes: ['event:1'] })
    table.add({ seq: 14, before: 13, chainId, scopes: ['event:4'] })
    expect(table.version(resource)).toBe(13)
    expect(table.version(resourceOf([chainId], 'event:3'))).toBe(12)
    expect(table.version(other)).toBe(12)
  })

  test('forgets all keys when changes are missed, but not the change that it adds then', () => {
    const table = tableOf()
    table.add({ seq: 11, before: 10, chainId, scopes: ['event:1'] })
    table.add({ seq: 30, before: 20, chainId, scopes: ['event:2'] })
    expect([table.version(resource), table.version(other), table.last()]).toEqual([20, 30, 30])
  })
})
