import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns } from '../../src/lib/turns.ts'

test('callers continue in order and one at a time, and everything else runs in between', async () => {
  const turn = createTurns({ restMs: 2 })
  const done: string[] = []
  const task = async (name: string): Promise<void> => {
    for (const part of [1, 2]) {
      await turn()
      done.push(`${name}${part}`)
    }
  }
  const all = Promise.all([task('a'), task('b'), task('c')])
  let isOver = false
  const others = async (): Promise<void> => {
    while (!isOver) {
      await nextTurn()
      if (done.at(-1) !== 'other') done.push('other')
    }
  }
  const running = others()
  await all
  isOver = true
  await running
  expect(done.filter((each) => each !== 'other')).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
  for (const [at, each] of done.entries()) if (each !== 'other' && at > 0) expect(done[at - 1]).toBe('other')
})

test('a caller alone does not rest, and several do', async () => {
  const turn = createTurns({ restMs: 50 })
  const since = performance.now()
  for (let nth = 0; nth < 100; nth += 1) await turn()
  expect(performance.now() - since).toBeLessThan(3_000)
  const started = performance.now()
  await Promise.all([turn(), turn(), turn()])
  expect(performance.now() - started).toBeGreaterThanOrEqual(95)
})
