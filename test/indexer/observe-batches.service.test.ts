import { pino } from 'pino'
import { encodeAbiParameters, numberToHex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { type Batch, flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import type { Database } from '../../src/db/pool.ts'
import { createObserver, type ObserverDeps, UPGRADED } from '../../src/indexer/observer.ts'
import { createStep } from '../../src/indexer/step.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFakeChain, type FakeChain } from '../support/fake-log-chain.ts'
import { CHAIN, leaseOf, openIndexDatabase, rowsOf } from '../support/index-writes.ts'
import { eventually } from '../support/process.ts'
import { type Plan, seedEvent, seedToken } from '../support/seed-index.ts'

/* The batches of an observer, over a chain in memory. */

let index: Awaited<ReturnType<typeof openIndexDatabase>>
let database: Database
let fake: FakeChain
let lines: Readonly<Record<string, unknown>>[]
let clock: { now: number }
let step: () => Promise<unknown>

const plan: Plan = { token: seedToken, rowsABlock: 1, wallets: 5, events: 3 }

beforeAll(async () => {
  index = await openIndexDatabase()
  database = index.database
})
afterAll(() => index?.close())
beforeEach(async () => {
  await index.empty()
  const lease = await leaseOf(database)
  fake = createFakeChain()
  lines = []
  clock = { now: 5_000 }
  fake.create('event', 1, 2, 3)
  for (const kind of ['deposit', 'position'] as const) fake.create(kind, 1, 2)
  const log = pino({ level: 'silent' })
  const steps = createStep({ chain: fake.chain, database, leaseTtlMs: 60_000, log })
  step = () => steps(lease)
  await step()
  fake.sent()
})

/** An observer whose reads of views pass through `onRead`, with the number of the read. */
const open = (
  changes: Partial<Chain> = {},
  options: Partial<ObserverDeps> = {},
  onRead: (nth: number) => Promise<unknown> | unknown = () => {},
) => {
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let [heads, reads] = [0, 0]
  const chain = {
    ...fake.chain,
    async head() {
      heads += 1
      return fake.head()
    },
    async readAt(block, asked) {
      const outcomes = await fake.chain.readAt({ ...block, ...fake.block(anchorNumber) }, asked)
      reads += 1
      await onRead(reads)
      return outcomes
    },
    ...changes,
  } satisfies Chain
  const anchorNumber = fake.head().number
  const observer = createObserver({ chain, database, log, now: () => clock.now, ...options })
  const end = new AbortController()
  return { observe: () => observer.observeAll(end.signal), end, heads: () => heads, reads: () => reads }
}

const queue = async () =>
  (await rowsOf(database, 'SELECT subject, id::integer, many FROM refresh_queue ORDER BY sequence')).map(
    ({ subject, id, many }) => `${subject} ${id}${many === 1 ? '' : ` of ${many}`}`,
  )
const observed = async () => {
  const tables = ['event', 'deposit', 'position'].map(
    (kind) => `SELECT '${kind} ' || id AS it, block_number FROM ${kind}_observations`,
  )
  const rows = await rowsOf(
    database,
    `${tables.join(' UNION ALL ')} UNION ALL SELECT 'chain', block_number FROM chain_observations ORDER BY it`,
  )
  return rows.map(({ it }) => it)
}
const all = ['chain', 'deposit 1', 'deposit 2', 'event 1', 'event 2', 'event 3', 'position 1', 'position 2']
const request = (...subjects: Parameters<typeof requestRefresh>[2]) =>
  database.transaction((handle) => requestRefresh(handle, CHAIN, subjects))

/** Leaves only these requests in the queue. */
const waitFor = async (...subjects: Parameters<typeof requestRefresh>[2]) => {
  await rowsOf(database, 'DELETE FROM refresh_queue')
  await request(...subjects)
}

describe('the queue', () => {
  test('is observed in batches, the oldest request first and each once, until it is empty', async () => {
    await waitFor({ subject: 'position', id: 2n }, { subject: 'deposit', id: 1n }, { subject: 'position', id: 1n })
    const order: string[] = []
    const { observe, heads } = open(
      {
        async readAt(block, asked) {
          order.push(
            ...asked.flatMap((it) => ('data' in it ? [Number(BigInt(`0x${it.data.slice(-64)}`))] : [])).map(String),
          )
          return fake.chain.readAt(block, asked)
        },
      },
      { batch: 1 },
    )
    await observe()
    expect([order, await observed(), await queue(), heads()]).toEqual([
      ['2', '1', '1', '1'],
      ['deposit 1', 'position 1', 'position 2'],
      ...[[], 1],
    ])
  })

  test('is read while the batch before is stored, which is one at a time', async () => {
    await waitFor(
      ...[1n, 2n].flatMap((id) => [{ subject: 'position', id } as const, { subject: 'deposit', id } as const]),
    )
    let [running, most] = [0, 0]
    const held: Database = {
      ...database,
      async transaction(work, ...config) {
        running += 1
        most = Math.max(most, running)
        if (reads() === 1) {
          await eventually('the next one is read', () => reads() === 2)
          for (let turns = 0; turns < 9; turns += 1) await new Promise((done) => void setImmediate(done))
        }
        return database.transaction(work, ...config).finally(() => {
          running -= 1
        })
      },
    }
    const { observe, reads } = open({}, { batch: 1, database: held })
    await observe()
    expect([await queue(), reads(), most]).toEqual([[], 4, 1])
  })

  test('is one batch by default, and nothing is asked of the chain for an empty one', async () => {
    const { observe, heads, reads } = open()
    await observe()
    expect(await observed()).toEqual(all)
    const before = [heads(), reads()]
    await observe()
    expect([heads(), reads()]).toEqual(before)
  })

  test('may have subjects that do not exist, which leave it and are not stored', async () => {
    await waitFor({ subject: 'position', id: 99n, many: 3 }, { subject: 'deposit', id: 1n })
    await open().observe()
    expect([await queue(), await observed()]).toEqual([[], ['deposit 1']])
    expect(lines.map(({ subject, id }) => `${subject} ${id}`)).toEqual(['position 99', 'position 100', 'position 101'])
  })

  test('is left as it is before anything is indexed', async () => {
    await index.empty()
    await request({ subject: 'event', id: 1n })
    const { observe, heads, reads } = open()
    await observe()
    expect([await queue(), heads(), reads()]).toEqual([['event 1'], 0, 0])
  })

  test('may get further requests by the last batch, which are observed too', async () => {
    const { observe } = open()
    await observe()
    const { seen } = seedEvent(2, plan)
    fake.put('event', 2n, { ...seen, stats: { ...seen.stats, totalPremiums: 9_999n } })
    fake.pass(1)
    await step()
    await request({ subject: 'event', id: 2n })
    // The deposit of the event changed with it.
    const next = open()
    await next.observe()
    expect([await queue(), next.reads()]).toEqual([[], 2])
  })
})

describe('an index', () => {
  test.each([
    [30n, true],
    [31n, false],
  ])('that is %i seconds behind the head is observed: %s', async (seconds, isObserved) => {
    fake.state.seconds = seconds
    const indexed = fake.head()
    const { observe } = open({ head: async () => fake.head() })
    fake.pass(1)
    expect(fake.head().timestamp - indexed.timestamp).toBe(seconds)
    await observe()
    expect((await observed()).length > 0).toBe(isObserved)
  })

  test('that is near the head is compared with one of the last ten seconds', async () => {
    const { observe, heads } = open()
    const again = async (ms: number) => {
      clock.now = 5_000 + ms
      await request({ subject: 'event', id: 1n })
      await observe()
      return heads()
    }
    expect([await again(0), await again(10_000), await again(10_001)]).toEqual([1, 1, 2])
  })

  test('that is far from that one is compared with a new one', async () => {
    let head = { ...fake.head(), timestamp: fake.head().timestamp + 99n }
    let heads = 0
    const { observe } = open({
      async head() {
        heads += 1
        return head
      },
    })
    await observe()
    expect([await observed(), heads]).toEqual([[], 1])
    head = fake.head()
    await observe()
    expect([await observed(), heads]).toEqual([all, 2])
  })
})

describe('an observer whose signal aborts', () => {
  test('reads nothing', async () => {
    const { observe, end, heads, reads } = open()
    end.abort()
    await observe()
    expect([heads(), reads(), (await queue()).length > 0]).toEqual([0, 0, true])
  })
  test('stores what it has read, and reads nothing else', async () => {
    await waitFor({ subject: 'position', id: 1n }, { subject: 'position', id: 2n })
    const { observe, end, reads } = open({}, { batch: 1 }, () => end.abort())
    await observe()
    expect([await queue(), await observed(), reads()]).toEqual([['position 2'], ['position 1'], 1])
  })
})

describe('an anchor that a rollback removed', () => {
  let nth = 0
  const lose = () => {
    nth += 1
    return rowsOf(database, `UPDATE anchors SET block_hash = decode(lpad('${nth}', 64, '0'), 'hex')`)
  }

  test.each([
    [4, true],
    [5, false],
  ])('%i times is given up: not %s', async (times, isObserved) => {
    await waitFor({ subject: 'chain', id: 0n })
    let attempts = 0
    const { observe } = open({
      async readAt(_, asked) {
        attempts += 1
        if (attempts <= times) await lose()
        return fake.chain.readAt(fake.head(), asked)
      },
    })
    const failed = await observe().then(
      () => null,
      (error: unknown) => error,
    )
    expect([failed === null, await observed(), attempts]).toEqual([
      isObserved,
      isObserved ? ['chain'] : [],
      isObserved ? times + 1 : times,
    ])
  })

  test('counts from the last batch that was stored', async () => {
    await waitFor({ subject: 'chain', id: 0n }, { subject: 'event', id: 1n })
    let attempts = 0
    // The observation of the protocol is tried four times, and then that of the event.
    const { observe } = open(
      {
        async readAt(_, asked) {
          const isProtocol = asked.some((it) => 'name' in it && it.name === 'isPaused')
          attempts += 1
          if (isProtocol ? attempts <= 4 : (await queue()).length === 1 && attempts <= 11) await lose()
          return fake.chain.readAt(fake.head(), asked)
        },
      },
      { batch: 1 },
    )
    await observe()
    expect([await queue(), await observed()]).toEqual([[], ['chain', 'event 1']])
  })
})

test('any other error ends the observation, and what was stored stays', async () => {
  const down = unavailable('no node answers')
  await waitFor({ subject: 'chain', id: 0n }, { subject: 'event', id: 1n }, { subject: 'event', id: 2n })
  const { observe, reads } = open({}, { batch: 1 }, (nth) => {
    if (nth > 1) throw down
  })
  await expect(observe()).rejects.toBe(down)
  expect([await queue(), await observed(), reads()]).toEqual([['event 1', 'event 2'], ['chain'], 2])
})

test('an upgrade is logged with its block, and only once', async () => {
  const { observe } = open()
  await observe()
  expect(lines).toEqual([])
  fake.state.protocol.facets = [{ facetAddress: seedToken, functionSelectors: ['0x11223344'] }]
  const block = fake.head()
  await request({ subject: 'chain', id: 0n })
  const next = open()
  await next.observe()
  expect(lines).toMatchObject([{ level: 40, chainId: CHAIN, block: block.number.toString(), msg: UPGRADED }])
  await request({ subject: 'chain', id: 0n })
  await next.observe()
  expect(lines).toHaveLength(1)
})

test('tokens are stored with their events, again only after a change, and a change is logged', async () => {
  const token = seedEvent(1, plan).seen.paymentToken
  const state = { decimals: 6 }
  let asked = 0
  const { observe, reads } = open({
    deployment: { ...fake.chain.deployment, usdc: `0x${'cd'.repeat(20)}` },
    learnToken: () => {},
    async send<B extends Batch>(batch: B) {
      asked += 1
      const raw = [encodeAbiParameters([{ type: 'string' }], ['T']), numberToHex(state.decimals, { size: 32 })]
      return unflatten(
        batch,
        flatten<Request<unknown>>(batch).map(({ parse }, at) => ({ ok: true, value: parse(raw[at]) })),
      )
    },
  })
  const stored = () => rowsOf(database, "SELECT convert_from(symbol, 'UTF8') AS symbol, decimals FROM tokens")
  await observe()
  expect([await stored(), asked, reads() > 0, lines]).toEqual([[{ symbol: 'T', decimals: 6 }], 1, true, []])
  // Another process stored other values: they stay while this one reads the same.
  await rowsOf(database, 'UPDATE tokens SET decimals = 9')
  const again = async () => {
    clock.now += 60_000
    await request({ subject: 'event', id: 1n })
    await observe()
    return stored()
  }
  expect([await again(), lines]).toEqual([[{ symbol: 'T', decimals: 9 }], []])
  state.decimals = 8
  expect(await again()).toEqual([{ symbol: 'T', decimals: 8 }])
  const [before, now] = [9, 8].map((decimals) => ({ token, symbol: 'T', decimals }))
  expect(lines).toMatchObject([{ level: 40, chainId: CHAIN, before, now }])
})
