import { expect, test } from 'vitest'
import { InexactPast, type PastEvent, pastEvents } from '../../src/reads/history/past.ts'

/* How many events a read of the past reads at once, by the number of their logs. */

const block = { number: 100n, hash: '0x01', timestamp: 1_000n } as const
const sizes = { firstEvents: 2, eventsAtOnce: 4, logsAtOnce: 20, mostLogs: 60 }

/** Reads events with these numbers of logs. The ledger has none of them whole, which does not matter here. */
const read = async (logs: readonly number[]) => {
  const statements: number[] = []
  const history = {
    events: async (_: number, ids: readonly bigint[]) => {
      statements.push(ids.length)
      return ids.map((id) => ({ fact: { id }, logs: Array.from({ length: logs[Number(id)] ?? 0 }), completeTo: null }))
    },
  }
  const sources = { history, chains: new Map([[8453, { deployment: { profile: 'reference' } }]]) }
  const found = await pastEvents(
    sources as never,
    8453,
    block,
    logs.map((_, id) => BigInt(id)),
    sizes,
  )
  const whys = [...found.values()].map((it: PastEvent | InexactPast) => (it instanceof InexactPast ? it.message : null))
  return { statements, whys, ids: [...found.keys()] }
}

test('statements have few events first, and then as many as have enough logs', async () => {
  expect((await read(Array.from({ length: 12 }, () => 1))).statements).toEqual([2, 4, 4, 2])
  expect((await read([10, 10, 10, 10, 1, 1, 1])).statements).toEqual([2, 2, 2, 1])
  expect((await read([30, 1, 1, 1])).statements).toEqual([2, 1, 1])
})

test('after the most logs no event is read, and each of the others has the reason', async () => {
  const exactly = await read([30, 30, 1])
  expect(exactly.whys).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('is not known')))
  const more = await read([30, 31, 1, 1])
  expect(more.ids).toEqual([0n, 1n, 2n, 3n])
  expect(more.statements).toEqual([2])
  expect(more.whys.slice(2)).toEqual([
    'the past of event 2 is not read: the events before it have 61 logs',
    'the past of event 3 is not read: the events before it have 61 logs',
  ])
})
