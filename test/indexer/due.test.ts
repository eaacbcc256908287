import { expect, test } from 'vitest'
import { createDue } from '../../src/indexer/due.ts'

test('something is due at first, and then once its time has passed since it was done', () => {
  const clock = { now: 0 }
  const due = createDue(() => clock.now)
  expect([due.is(10), due.is(10)]).toEqual([true, true])
  clock.now = 5
  due.done()
  clock.now = 14
  expect([due.is(10), due.is(9)]).toEqual([false, true])
  clock.now = 15
  expect(due.is(10)).toBe(true)
})
