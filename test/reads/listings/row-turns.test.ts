import { expect, test } from 'vitest'
import { createRowTurns } from '../../../src/reads/lists/row-turns.ts'

/** The turns of a read with the numbers of rows that were handled before each turn that it waited for. */
const paced = () => {
  const turns: number[] = []
  let handled = 0
  const rowTurns = createRowTurns(async () => {
    turns.push(handled)
  })
  const handle = async (rows: number): Promise<void> => {
    await rowTurns.wait(rows)
    handled += rows
  }
  return { ...rowTurns, handle, turns }
}

test.each([
  [[150], []],
  [[151], [0]],
  [[100, 50], []],
  [[100, 51], [100]],
  [[100, 51, 99], [100]],
  [
    [100, 51, 100],
    [100, 151],
  ],
  [
    [150, 150, 150],
    [150, 300],
  ],
])('rows of %j wait for turns after %j rows', async (rows, turns) => {
  const pace = paced()
  for (const count of rows) await pace.handle(count)
  expect(pace.turns).toEqual(turns)
})

test.each([
  [0, []],
  [1, [1]],
  [150, [150]],
  [151, [150, 1]],
  [300, [150, 150]],
  [301, [150, 150, 1]],
])('a list of %i rows has parts of %j, each row once and each part in its turn', async (count, lengths) => {
  const { partsOf, turns } = paced()
  const rows = Array.from({ length: count }, (_, at) => at)
  const parts: (readonly number[])[] = []
  for await (const part of partsOf(rows)) parts.push(part)
  expect(parts.map(({ length }) => length)).toEqual(lengths)
  expect(parts.flat()).toEqual(rows)
  expect(turns).toHaveLength(Math.max(0, lengths.length - 1))
})
