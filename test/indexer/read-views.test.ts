import { pino } from 'pino'
import { keccak256, stringToHex } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { NodeError, Undecodable } from '../../src/chain/rpc/errors.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import type { RefreshSubject } from '../../src/db/index/work/refresh-queue.ts'
import { readViews } from '../../src/indexer/reading/read-views.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { type Plan, seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 5, events: 3 }
const protocol: RefreshSubject = { subject: 'chain', id: 0n }
const subject = (of: 'event' | 'deposit' | 'position', id: number): RefreshSubject => ({ subject: of, id: BigInt(id) })

let fake: FakeChain
beforeEach(() => {
  fake = createFakeChain()
  for (const kind of ['event', 'deposit', 'position'] as const) fake.create(kind, 1, 2)
  fake.create('deposit', 3)
})

const refused = (message: string, code = -32_000): Outcome<never> => ({
  ok: false,
  error: new NodeError({ code, message }),
})

/** The views at the head, with what is logged; the outcome of some calls may be another one. */
const read = async (
  subjects: readonly RefreshSubject[],
  change: (name: string, id: bigint | undefined) => Outcome<unknown> | undefined = () => undefined,
  block = fake.head(),
) => {
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const readAt = async (at: typeof block, asked: readonly { readonly name: string; readonly data: string }[]) => {
    const outcomes = await fake.chain.readAt(at, asked as never)
    return asked.map(({ name, data }, nth) => {
      const id = data.length > 10 ? BigInt(`0x${data.slice(-64)}`) : undefined
      return change(name, id) ?? outcomes[nth]
    })
  }
  const chain = { ...fake.chain, readAt } as unknown as Chain
  const views = await readViews({ chain, log }, block, subjects)
  return { ...views, lines }
}

test('the views of each subject are those at the block, in the order of the subjects', async () => {
  const before = fake.head()
  const { seen } = seedEvent(1, plan)
  fake.put('event', 1n, { ...seen, stats: { ...seen.stats, totalPremiums: 7n } })
  fake.state.protocol = { fees: [5n, 4n, 3n, 2n, 1n], paused: true, facets: [] }
  fake.pass(1)
  const subjects = [
    ...[subject('event', 2), subject('position', 2), subject('event', 1), protocol, subject('deposit', 1)],
    ...[subject('deposit', 3), subject('position', 1)],
  ]
  const views = await read(subjects)
  const [one, two] = [1, 2].map((id) => seedEvent(id, plan).seen)
  expect(views).toMatchObject({
    events: [two, { ...one, stats: { ...one?.stats, totalPremiums: 7n } }],
    deposits: [seedDeposit(1, plan).seen, seedDeposit(3, plan).seen],
    positions: [seedPosition(2, plan).seen, seedPosition(1, plan).seen],
    lines: [],
  })
  expect(views.protocol).toEqual({
    fees: {
      ...{ eventCreationFee: 5n, hedgerFeeRate: 4n, hedgerPayoutFeeRate: 3n, lpProfitFeeRate: 2n },
      creatorLoyaltyRate: 1n,
    },
    ...{ paused: true, total: 3n, loupeHash: keccak256(stringToHex('[]')) },
  })
  expect((await read([subject('event', 1)], undefined, before)).events).toEqual([one])
  expect(await read([])).toEqual({ events: [], deposits: [], positions: [], protocol: null, lines: [] })
})

describe('a subject is left out with a warning, and no other one, when', () => {
  const all = [subject('event', 1), subject('event', 2), subject('deposit', 2)]
  const line = { chainId: 8453, level: 40, msg: 'cannot be observed' }

  test('it does not exist', async () => {
    const { events, deposits, lines } = await read([subject('event', 9), ...all, subject('position', 9)])
    expect([events.map(({ core }) => core.id), deposits.length]).toEqual([[1n, 2n], 1])
    expect(lines).toMatchObject([
      { ...line, subject: 'event', id: '9' },
      { ...line, subject: 'position', id: '9' },
    ])
  })

  test('a view of it reverts', async () => {
    const { events, lines } = await read(all, (name, id) =>
      name === 'getHedgeEventStats' && id === 2n ? refused('execution reverted: no', 3) : undefined,
    )
    expect(events.map(({ core }) => core.id)).toEqual([1n])
    expect(lines).toMatchObject([{ ...line, subject: 'event', id: '2' }])
    expect(lines[0]?.fault).toContain('execution reverted: no')
  })

  test('a view of it cannot be decoded', async () => {
    const error = new Undecodable('getHedgeEventStats', '0x12')
    const { events, deposits, lines } = await read(all, (name, id) =>
      name === 'getHedgeEventStats' && id === 2n ? { ok: false, error } : undefined,
    )
    expect([events.map(({ core }) => core.id), deposits.length]).toEqual([[1n], 1])
    expect(lines).toMatchObject([{ ...line, subject: 'event', id: '2', fault: error.message }])
  })

  test('its views return zeros', async () => {
    const nobody = '0x0000000000000000000000000000000000000000'
    const { events, lines } = await read(all, (name, id) =>
      name === 'getHedgeEventCore' && id === 1n
        ? { ok: true, value: { ...seedEvent(1, plan).seen.core, creator: nobody } }
        : undefined,
    )
    expect(events.map(({ core }) => core.id)).toEqual([2n])
    expect(lines).toMatchObject([{ ...line, subject: 'event', id: '1' }])
    expect(lines[0]?.fault).toContain('does not exist at this block')
  })

  test('it is the protocol', async () => {
    const {
      protocol: found,
      deposits,
      lines,
    } = await read([protocol, ...all], (name) => (name === 'isPaused' ? refused('execution reverted', 3) : undefined))
    expect([found, deposits.length]).toEqual([null, 1])
    expect(lines).toMatchObject([{ ...line, subject: 'chain', id: '0' }])
  })
})

test('the functions of a diamond are hashed, and one without a loupe has none', async () => {
  const hashOf = async (...facets: unknown[]) => {
    fake.state.protocol.facets = facets
    return (await read([protocol])).protocol?.loupeHash
  }
  const facet = (selector: string) => ({ facetAddress: seedToken, functionSelectors: [selector] })
  const hashes = [await hashOf(facet('0x11223344')), await hashOf(facet('0x55667788')), await hashOf()]
  expect(new Set(hashes).size).toBe(3)
  const { protocol: found, lines } = await read([protocol], (name) =>
    name === 'facets' ? refused('execution reverted', 3) : undefined,
  )
  expect(found).toMatchObject({ loupeHash: null, total: 2n })
  expect(lines).toEqual([])
  // Another error does not show that there is no loupe.
  const other = await read([protocol], (name) => (name === 'facets' ? refused('invalid argument') : undefined))
  expect([other.protocol, other.lines.length]).toEqual([null, 1])
})

test.each([
  ['getHedgeEventStats', subject('event', 1)],
  ['facets', protocol],
  ['isPaused', protocol],
])('nothing is left out while nodes do not answer (%s)', async (view, of) => {
  await expect(read([of], (name) => (name === view ? refused('header not found') : undefined))).rejects.toMatchObject({
    code: 'service_unavailable',
  })
  const gone = { ...fake.head(), hash: `0x${'77'.repeat(32)}` as const }
  await expect(read([of], undefined, gone)).rejects.toMatchObject({ code: 'service_unavailable' })
})
