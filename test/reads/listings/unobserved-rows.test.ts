import { zeroAddress } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListRow } from '../../../src/db/queries/rows.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import * as record from '../../../src/protocol/records.ts'
import type { Inclusion } from '../../../src/protocol/rows.ts'
import { rowsOf } from '../../../src/reads/lists/rows.ts'
import { listRow, listSources, viewsNode } from '../../support/list-sources.ts'
import { seedDeposit, seedEvent, seedPosition, seedToken } from '../../support/seed-index.ts'

/* Rows of lists that the index has not observed yet, so that they are read from the chain. */

const OTHER_TOKEN = '0x000000000000000000000000000000000000dEaD'
const plan = { token: seedToken, wallets: 10, events: 1, rowsABlock: 5 } as const
/** The node returns these for every id. The event is open. */
const [event, deposit, position] = [seedEvent(1, plan), seedDeposit(3, plan), seedPosition(3, plan)]

type Options = {
  readonly down?: boolean
  readonly fault?: Error
  /** Fields of entities on the chain that differ from the seeded ones. */
  readonly event?: object
  readonly position?: object
  readonly token?: string
}

const open = (options: Options = {}) => {
  const { down = false, fault = unavailable('no node is in reach'), token = seedToken } = options
  const { core, stats, range, utilization } = event.seen
  const node = viewsNode({
    getHedgeEventCore: { ...core, ...options.event },
    ...{ getHedgeEventStats: stats, getHedgeEventRange: range, getPoolUtilization: utilization },
    ...{ getEventPaymentToken: token, pendingPremiums: deposit.seen.pending },
    getHedgeLpDeposit: deposit.seen.deposit,
    getHedgePosition: { ...position.seen.position, ...options.position },
  })
  /** Reads that have begun, and what they wait for. */
  const reads = { begun: 0, answers: Promise.resolve() }
  const pinned: typeof node.pinned = async (run) => {
    reads.begun += 1
    await reads.answers
    if (down) throw fault
    return node.pinned(run)
  }
  const { sources } = listSources({})
  Object.assign(sources, { pricing: { values: () => Promise.reject(unavailable('no engine answers')) } })
  for (const chain of sources.chains.values()) Object.assign(chain, { ...node, pinned })
  const read = (
    kind: Kind,
    rows: readonly ListRow[],
    include: readonly Inclusion[] = [],
    unread?: (at: number) => void,
  ) => rowsOf(sources, { kind, include }, rows, { unread })
  return { read, called: node.called, reads }
}

const positionRow = (own: Partial<ListRow<'position'>> = {}) => listRow('position', 8453, 3, own)
/** A row without an observation of its own. */
const unobserved = (own: Partial<ListRow<'position'>> = {}) => positionRow({ views: null, ...own })

const added = {
  ...{ chainId: 8453, createdBlock: 7, createdTx: null, createdAt: null, createdLogIndex: null },
  ...{ token: seedToken, symbol: 'USDC', decimals: 6, claimedAt: null, claimedTx: null },
}

describe('a row that is not observed yet', () => {
  test.each<[string, Partial<ListRow<'position'>>, Inclusion[]]>([
    ['itself', { views: null }, []],
    ['its event, whose token is unknown', { token: null, event: () => null }, []],
    ['its event, of which it shows a record', { event: () => null }, ['range']],
  ])('is read from the chain without an observation of %s', async (_, own, include) => {
    const { read, called } = open()
    const { rows, isIndexed } = await read('position', [positionRow({ eventId: '2' }), positionRow(own)], include)
    expect(called).toEqual(expect.arrayContaining(['getHedgeEventCore 1', 'getHedgePosition 3']))
    expect(rows).toMatchObject([{ chainId: 8453 }, { ...record.position(position.seen), ...added }])
    expect(isIndexed).toBe(false)
  })

  test('is requested together with its event', async () => {
    const { read, reads } = open()
    let answer = (): void => {}
    reads.answers = new Promise((resolve) => {
      answer = resolve
    })
    const found = read('position', [unobserved({ event: () => null })])
    await new Promise(setImmediate)
    expect(reads.begun).toBe(2)
    answer()
    expect((await found).rows).toMatchObject([record.position(position.seen)])
  })

  test('is made like a row of the index', async () => {
    const { read } = open()
    const include: Inclusion[] = ['utilization', 'event', 'payout', 'range']
    const pages = [
      await read('position', [positionRow(), unobserved()], include),
      await read(
        'deposit',
        [{}, { views: null }].map((own) => listRow('deposit', 8453, 3, own)),
        ['event', 'stats'],
      ),
      await read(
        'event',
        [{}, { views: null, token: null }].map((own) => listRow('event', 8453, 1, own)),
      ),
    ]
    for (const { rows, isIndexed } of pages)
      expect([JSON.stringify(rows[1]), isIndexed]).toEqual([JSON.stringify(rows[0]), false])
  })

  test('shows its event at the block of the read, with the fee of its columns', async () => {
    const { read } = open({ position: { status: 4, payoutAmount: 1_000n } })
    const { seen } = event
    const late = () => ({ ...seen, time: seen.core.expiryDate })
    const rows = [unobserved({ feeRate: 10_000n, event: () => null }), unobserved({ eventId: '2', event: late })]
    const { rows: made } = await read('position', rows, ['stats', 'event', 'payout'])
    const shown = { stats: record.eventStats(seen.stats), event: { id: 1, state: 'open' } }
    expect(made).toMatchObject([
      { ...shown, payout: { gross: '1000', fee: '10', net: '990', feeReason: null } },
      { ...shown, payout: { gross: '1000', fee: null, feeReason: 'rates_unknown' } },
    ])
  })

  test('takes the stored token only when the event still has it', async () => {
    const { read } = open({ token: OTHER_TOKEN })
    const of = (token: ListRow['token']) => unobserved({ token, symbol: 'STORED', decimals: 3 })
    const { rows } = await read('position', [of(OTHER_TOKEN), of(seedToken), of(null)])
    expect(rows.map((row) => row?.symbol)).toEqual(['STORED', 'on 8453', 'on 8453'])
  })

  test.each([
    ['its event', { event: { creator: zeroAddress } }],
    ['itself', { position: { hedger: zeroAddress } }],
  ])('is null when a reorg has removed %s', async (_, removed) => {
    const { read } = open(removed)
    const { rows } = await read('position', [unobserved(), positionRow({ id: '1' })], ['payout'])
    expect(rows).toEqual([null, expect.objectContaining({ id: 3, payout: null })])
  })

  test('is reported by its position when no node is in reach, and is the fault without that', async () => {
    const { read } = open({ down: true })
    const unread: number[] = []
    const rows = [positionRow(), unobserved(), positionRow(), unobserved()]
    const found = await read('position', rows, [], (at) => void unread.push(at))
    expect([unread, found.rows.map((row) => row === null)]).toEqual([
      [1, 3],
      [false, true, false, true],
    ])
    await expect(read('position', rows)).rejects.toThrow('no node is in reach')
    const broken = open({ down: true, fault: new Error('a bug') })
    await expect(broken.read('position', rows, [], () => expect.unreachable())).rejects.toThrow('a bug')
  })
})

describe('a page', () => {
  test('reads an event from the chain once for all its rows, on each chain', async () => {
    const { read, called } = open()
    const rowOf = (chainId: number, id: number, eventId: string) =>
      listRow('position', chainId, id, { eventId, views: null, event: () => null })
    const rows = [
      ...[1, 2, 3].map((id) => rowOf(8453, id, '1')),
      ...[4, 5].map((id) => rowOf(8453, id, '2')),
      ...[1, 2].map((id) => rowOf(56, id, '1')),
    ]
    const found = await read('position', rows, ['stats', 'event'])
    expect(found.rows).toHaveLength(7)
    expect(found.rows).not.toContain(null)
    const times = (view: string) => called.filter((call) => call === view).length
    expect([times('getHedgeEventCore 1'), times('getHedgeEventCore 2')]).toEqual([2, 1])
    expect([1, 2, 3, 4, 5].map((id) => times(`getHedgePosition ${id}`))).toEqual([2, 2, 1, 1, 1])
    // A later page reads it again.
    await read('position', rows.slice(0, 1))
    expect(times('getHedgeEventCore 1')).toBe(3)
  })

  test('asks for each row of an event that no node returns, and reports each', async () => {
    const { read } = open({ down: true })
    const unread: number[] = []
    const rows = [unobserved({ id: '1' }), unobserved({ id: '2' })]
    const { rows: made } = await read('position', rows, [], (at) => void unread.push(at))
    expect([made, unread]).toEqual([
      [null, null],
      [0, 1],
    ])
  })

  test('with a row that no record can be made of fails, whatever its other rows wait for', async () => {
    const unhandled: unknown[] = []
    const note = (fault: unknown): void => void unhandled.push(fault)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const { read } = open({ down: true })
    const views = { position: { ...position.seen.position, id: 2n ** 60n } }
    const rows = [unobserved(), positionRow({ views }), unobserved()]
    for (const unread of [undefined, () => {}])
      await expect(read('position', rows, [], unread)).rejects.toThrow('above 2^53 - 1')
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(unhandled).toEqual([])
  })

  test.each<[Inclusion[], boolean]>([
    [['stats'], false],
    [['payout', 'event'], false],
    [['value'], false],
    [['payout'], true],
    [[], true],
  ])('with an event that is not observed and the inclusions %j comes from the index: %s', async (include, expected) => {
    const { read, called } = open()
    const rows = [positionRow({ eventId: '2' }), positionRow({ event: () => null }), positionRow({ eventId: '2' })]
    expect((await read('position', rows, include)).isIndexed).toBe(expected)
    expect(called.length === 0).toBe(expected)
  })

  test('does not come from the index if one of its rows does not, or is null', async () => {
    const { read } = open()
    expect((await read('position', [positionRow(), unobserved(), positionRow()])).isIndexed).toBe(false)
    expect((await read('position', [positionRow(), positionRow()])).isIndexed).toBe(true)
    expect((await read('position', [])).isIndexed).toBe(true)
    const removed = await open({ event: { creator: zeroAddress } }).read('position', [unobserved()])
    expect(removed).toEqual({ rows: [null], isIndexed: false })
  })
})
