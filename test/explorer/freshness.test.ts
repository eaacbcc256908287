import { expect, test } from 'vitest'
import { notUpdatedSince } from '../../explorer/src/api/freshness.ts'

/** A value that was read at a time in Unix seconds; what was read last failed or not. */
const value = (status: 'success' | 'error', seconds: number, { shown = true } = {}) => ({
  isActive: () => shown,
  state: { status, data: {}, dataUpdatedAt: seconds * 1_000 },
})

test('values are not updated since the oldest of those that could not be read again', () => {
  expect(notUpdatedSince([])).toBeNull()
  expect(notUpdatedSince([value('success', 500), value('success', 600)])).toBeNull()
  expect(notUpdatedSince([value('success', 500), value('error', 2_000), value('error', 1_000)])).toBe(1_000)
})

test('a value that no page shows any more, and one that was never read, do not count', () => {
  const never = { ...value('error', 0), state: { status: 'error', data: undefined, dataUpdatedAt: 0 } } as const
  expect(notUpdatedSince([value('error', 1_000, { shown: false }), never])).toBeNull()
})
