import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import { absentAfter, firstExisting, noneExists } from '../../src/indexer/reading/existence.ts'
import { readOn } from '../../src/indexer/reading/read-by-id.ts'
import type { Kind } from '../../src/protocol/entities.ts'
import { createFakeChain } from '../support/fake-log-chain.ts'
import { seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

/* What is read by ids, over a chain in memory. */

const none = { event: null, deposit: null, position: null }
const plan = { token: seedToken, rowsABlock: 1, wallets: 5, events: 3 } as const
const ids = (from: number, upTo: number) => Array.from({ length: upTo - from + 1 }, (_, at) => from + at)

describe('entities after the last ids', () => {
  const read = async (created: readonly number[], most: number, last: bigint | null = null) => {
    const fake = createFakeChain()
    fake.create('position', ...created)
    const { facts, complete, denied } = await readOn(fake.chain, fake.head(), { ...none, position: last }, most)
    return { ids: facts.map(({ id }) => Number(id)), complete, denied, asked: fake.sent().flat() }
  }

  test.each<[string, number[], number, bigint | null, number[], boolean]>([
    ['none exists', [], 3, null, [], true],
    ['ids begin at 1', [1], 3, null, [1], true],
    ['ids begin at 0', [0, 1], 3, null, [0, 1], true],
    ['the last of the batch exists', [1, 2], 3, null, [1, 2], false],
    ['the last but one exists', [1, 2], 4, null, [1, 2], true],
    ['some are known', ids(1, 6), 3, 4n, [5, 6], true],
    ['a batch is full', ids(1, 7), 3, 4n, [5, 6, 7], false],
    ['an id is missing', [5, 7], 4, 4n, [5], false],
    ['the first id is missing', [6], 4, 4n, [], false],
    ['id 1 is missing', [0, 2], 4, null, [0], false],
  ])('%s', async (_, created, most, last, found, complete) => {
    const result = await read(created, most, last)
    expect([result.ids, result.complete]).toEqual([found, complete])
    expect(result.asked).toEqual(Array(3).fill(`${most} at 1`))
  })

  test.each([
    ['no id is missing', [1, 2], 3, null, undefined],
    ['an id is missing', [5, 7, 9], 8, 4n, 6n],
    ['the first ids are missing', [7], 4, 4n, 6n],
    ['id 1 is missing', [2], 4, null, 1n],
  ] as const)('the denied id: %s', async (_, created, most, last, denied) => {
    const id = denied && { kind: 'position', id: denied }
    expect((await read(created, most, last)).denied).toEqual(id)
  })

  test('where none is known, at least two ids are read, because they may begin at 1', async () => {
    expect(await read([1], 1)).toMatchObject({ ids: [1], complete: false, asked: ['2 at 1', '2 at 1', '2 at 1'] })
    expect((await read([1, 2, 3], 1, 1n)).ids).toEqual([2])
  })

  test('an id of which the view returns zeros does not exist', async () => {
    const fake = createFakeChain()
    const { position } = seedPosition(2, plan).seen
    fake.put('position', 2n, { position: { ...position, hedger: zeroAddress } })
    fake.create('position', 1)
    const { facts, complete } = await readOn(fake.chain, fake.head(), none, 3)
    expect([facts.map(({ id }) => id), complete]).toEqual([[1n], true])
  })

  test('one incomplete kind makes the whole incomplete', async () => {
    const fake = createFakeChain()
    fake.create('event', 1)
    fake.create('position', ...ids(1, 5))
    const { facts, complete } = await readOn(fake.chain, fake.head(), none, 3)
    expect([facts.map(({ kind, id }) => `${kind} ${id}`), complete]).toEqual([
      ['event 1', 'position 1', 'position 2'],
      false,
    ])
  })

  test('a fact has the values of its view, the block at which it was read, and no values of a log', async () => {
    const fake = createFakeChain()
    for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 2)
    const block = fake.head()
    const { facts } = await readOn(fake.chain, block, { event: 1n, deposit: 1n, position: 1n }, 2)
    const seen = { blockNumber: block.number, blockHash: block.hash, blockTimestamp: block.timestamp }
    const expected = [seedEvent(2, plan), seedDeposit(2, plan), seedPosition(2, plan)].map(({ fact }) => ({
      ...fact,
      ...(fact.kind === 'event' && { initialLiquidity: null }),
      ...seen,
      ...{ txHash: null, logIndex: null },
    }))
    expect(facts).toEqual(expected)
  })
})

describe('existence', () => {
  test('an entity without an owner does not exist', async () => {
    const fake = createFakeChain()
    const { position } = seedPosition(1, plan).seen
    fake.put('position', 1n, { position: { ...position, hedger: zeroAddress } })
    fake.create('position', 2, 3)
    const asked = [1n, 2n, 3n, 4n].map((id) => ({ kind: 'position', id }) as const)
    expect(await firstExisting(fake.chain, fake.head(), asked)).toEqual({ kind: 'position', id: 2n })
    expect(await firstExisting(fake.chain, fake.head(), asked.slice(3))).toBeUndefined()
  })

  test('the next id of each kind must not exist, or both ids at which a deployment may begin', () => {
    const of = (kind: Kind, ...found: readonly bigint[]) => found.map((id) => ({ kind, id }))
    expect(absentAfter({ event: null, deposit: 0n, position: 7n })).toEqual([
      ...of('event', 0n, 1n),
      ...of('deposit', 1n),
      ...of('position', 8n),
    ])
  })

  test('no answer is no proof that an entity does not exist', () => {
    const failed = (code: number, message: string) => ({ ok: false, error: new NodeError({ code, message }) }) as const
    const reverted = failed(3, 'execution reverted')
    const existing = { ok: true, value: seedPosition(1, plan).seen.position } as const
    expect(noneExists([])).toBe(true)
    expect(noneExists([reverted, reverted])).toBe(true)
    expect(noneExists([reverted, existing])).toBe(false)
    expect(noneExists([reverted, failed(-32_000, 'header not found')])).toBe(false)
  })
})
