import { Interface, JsonRpcProvider } from 'ethers'
import { type Address, decodeEventLog, getAddress, type Log as MinedLog } from 'viem'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import { type EntityViews, entities, entityCalls, type Kind, kinds, memberKinds } from '../../src/protocol/entities.ts'
import { profiles } from '../../src/protocol/profiles.ts'
import * as records from '../../src/protocol/records.ts'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createComparisons } from '../support/comparisons.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { addUsdtLikeTokens } from '../support/usdt-like.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'

/*
 * What the API answers about the past, compared value by value with `eth_call` at the same block on an archive node, and
 * with the tokens that moved. The protocol lives a life in four tokens, two of which behave as USDT does, with changes of
 * fees, recovered payouts and late claims. After each part a branch of the chain is indexed and then orphaned.
 */

/** Parts of the life, the actions that are tried in each, and those of each orphaned branch. */
const PARTS = byForm(4, 12)
const STEPS = byForm(45, 120)
const ORPHANED = byForm(6, 15)
/** Values of records that are compared, and blocks at which they are read at least. */
const VALUES = byForm(2_000, 100_000)
/** Seconds after a settlement from which on a claim counts as late. */
const LATE = 60 * 86_400
/** What the long form is sure to have. */
const needed = byForm([], ['FeesInitialized', 'ExpiredPayoutsRecovered', 'CapitalWithdrawn', 'late claims'])
/** Points of each series that are compared. */
const POINTS = byForm(2, 4)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { client, diamond, deployment } = protocol
const random = createRandom(seed)

let life: ReturnType<typeof startLife>
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>
/** The block before the life, and each later one by its number. */
let start = 0n
let blocks: readonly { readonly number: bigint; readonly timestamp: bigint }[] = []
/** How often each log was emitted, and the reorgs. */
const happened: Record<string, number> = { reorgs: 0 }

type Log = { readonly name: string; readonly id: (kind: Kind) => bigint | undefined } & {
  readonly blockNumber: bigint
  readonly transactionHash: string
  readonly logIndex: number
}
let logs: readonly Log[] = []
/** The log that created an entity, by its kind and id. */
const creations = new Map<string, Log>()

const createdBy: Readonly<Record<Kind, readonly string[]>> = {
  ...{ event: entities.event.created.logs, deposit: entities.deposit.created.logs },
  position: entities.position.created.logs,
}

const index = () => indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })

/** Lives a branch that is indexed and then orphaned. The chain continues from the block before it. */
const liveOrphaned = async (): Promise<void> => {
  const undo = life.ledger.keep()
  const id = await client.snapshot()
  await life.live(ORPHANED)
  await client.mine({ blocks: 1 })
  await index()
  const orphaned = await client.getBlockNumber()
  await client.revert({ id })
  undo()
  await life.live(ORPHANED)
  const blocksBehind = Number(orphaned - (await client.getBlockNumber()))
  if (blocksBehind >= 0) await client.mine({ blocks: blocksBehind + 1 })
  happened.reorgs = (happened.reorgs ?? 0) + 1
}

const decoded = ({ data, topics, ...log }: MinedLog<bigint, number, false>): Log => {
  const { eventName, args } = decodeEventLog({ abi: [...protocolAbi, ...deployedLogsAbi], data, topics })
  const ids: Readonly<Record<string, bigint>> = Object(args)
  return { name: eventName, id: (kind) => ids[`${kind}Id`], ...log }
}

beforeAll(
  async () => {
    store = await createTestDatabase()
    api = await openApp({ nodes: [{ url: protocol.url, deployment }], databaseUrl: store.url, headMaxAgeMs: 0 })
    life = startLife(protocol, random, await addUsdtLikeTokens(protocol))
    start = await client.getBlockNumber()
    for (let part = 0; part < PARTS; part += 1) {
      await life.live(STEPS)
      await index()
      await liveOrphaned()
    }
    // Payouts that are not claimed in time are recovered, and what is left is claimed late.
    await protocol.mineAt((await protocol.now()) + 100n * DAY)
    await life.finish()
    await protocol.mineAt((await protocol.now()) + DAY)
    await index()
    const head = await client.getBlockNumber()
    const numbers = Array.from({ length: Number(head - start) + 1 }, (_, at) => start + BigInt(at))
    blocks = await Promise.all(numbers.map((blockNumber) => client.getBlock({ blockNumber })))
    logs = (await client.getLogs({ address: diamond, fromBlock: 0n })).map(decoded)
    for (const kind of kinds)
      for (const log of logs.toReversed())
        if (createdBy[kind].includes(log.name)) creations.set(`${kind} ${log.id(kind)}`, log)
    for (const { name } of logs) happened[name] = (happened[name] ?? 0) + 1
    happened['late claims'] = lateClaims().length
  },
  byForm(120_000, 3_600_000),
)
afterAll(async () => {
  console.info(`${profile}, seed ${seed}: ${JSON.stringify(happened)}`)
  await api?.close()
  await store?.close()
})

test('the life has reorgs, and in the long form fee changes, recovered payouts, withdrawals and late claims', () => {
  expect(happened.reorgs).toBe(PARTS)
  for (const name of needed) expect([name, happened[name] ?? 0]).toEqual([name, expect.toSatisfy((it) => it > 0)])
})

const someBlock = () => random.pick(blocks.slice(1))

/** The views of an entity by `eth_call` at a block. */
const viewsAt = async <K extends Kind>(kind: K, id: bigint, blockNumber: bigint): Promise<EntityViews<K>> => {
  const views = await Promise.all(
    Object.entries(entityCalls(kind)).map(async ([name, make]) => {
      const view = (make as (id: bigint) => { data: `0x${string}`; decode(data: `0x${string}`): unknown })(id)
      const { data = '0x' } = await client.call({ to: diamond, data: view.data, blockNumber })
      return [name, view.decode(data)] as const
    }),
  )
  return Object.fromEntries(views) as EntityViews<K>
}

const creationOf = (kind: Kind, id: bigint): Log => {
  const log = creations.get(`${kind} ${id}`)
  if (log === undefined) throw new Error(`${kind} ${id} has no log`)
  return log
}

const timeOf = (number: bigint): number => Number(blocks[Number(number - start)]?.timestamp)

/** The log that ended an entity, and the fields that a record has of it. */
const endings: Readonly<Record<Kind, { readonly logs: readonly string[]; fields(log: Log | undefined): object }>> = {
  event: {
    logs: ['EventSettled', 'OracleEventSettled'],
    fields: (log) => ({ settledBlock: log ? Number(log.blockNumber) : null, settledTx: log?.transactionHash ?? null }),
  },
  deposit: {
    logs: ['CapitalWithdrawn'],
    fields: (log) => ({ withdrawnAt: log ? timeOf(log.blockNumber) : null, withdrawnTx: log?.transactionHash ?? null }),
  },
  position: {
    logs: ['PayoutClaimed'],
    fields: (log) => ({ claimedAt: log ? timeOf(log.blockNumber) : null, claimedTx: log?.transactionHash ?? null }),
  },
}

/** Claims of payouts long after their event was settled. */
const lateClaims = (): readonly Log[] =>
  logs.filter((log) => {
    const event = log.name === 'PayoutClaimed' ? eventOf('position', log.id('position') ?? 0n) : null
    const settled = logs.find(({ name, id }) => endings.event.logs.includes(name) && id('event') === event)
    return settled !== undefined && timeOf(log.blockNumber) - timeOf(settled.blockNumber) > LATE
  })

/** What a record has of the logs of an entity up to a block. */
const originOf = (kind: Kind, id: bigint, block: bigint) => {
  const { blockNumber, transactionHash, logIndex } = creationOf(kind, id)
  const end = logs.find(
    (log) => endings[kind].logs.includes(log.name) && log.id(kind) === id && log.blockNumber <= block,
  )
  const created = { createdBlock: Number(blockNumber), createdTx: transactionHash, createdLogIndex: logIndex }
  return { ...created, createdAt: timeOf(blockNumber), ...endings[kind].fields(end) }
}

const tokenAt = async (token: Address) => {
  const [symbol, decimals] = await Promise.all([
    client.readContract({ address: token, abi: erc20Abi, functionName: 'symbol' }),
    client.readContract({ address: token, abi: erc20Abi, functionName: 'decimals' }),
  ])
  return { token: getAddress(token), symbol, decimals }
}

const ids = (kind: Kind): bigint[] =>
  kind === 'event' ? life.eventIds() : kind === 'deposit' ? life.depositIds() : life.positionIds()

const eventOf = (kind: Kind, id: bigint): bigint => (kind === 'event' ? id : (life.ledger.eventOf(kind, id) ?? 0n))

/** The ids of a kind that exist at a block. */
const existing = (kind: Kind, block: bigint) => ids(kind).filter((id) => creationOf(kind, id).blockNumber <= block)

const recordOf = async (kind: Kind, id: bigint, block: bigint): Promise<object> => {
  if (kind === 'event') return records.eventCore(await viewsAt('event', id, block))
  if (kind === 'deposit') return records.deposit(await viewsAt('deposit', id, block))
  return records.position(await viewsAt('position', id, block))
}

/** Single records of an entity at a block, by their paths. */
const recordsAt = async (kind: Kind, id: bigint, block: bigint): Promise<readonly (readonly [string, unknown])[]> => {
  const path = `/hedge/${kind}s/8453/${id}`
  const shown = await tokenAt(life.ledger.pool(eventOf(kind, id)).token)
  const detail = { ...(await recordOf(kind, id, block)), ...originOf(kind, id, block), ...shown, chainId: 8453 }
  if (kind !== 'event') return [[path, detail]]
  const views = await viewsAt('event', id, block)
  const time = BigInt(timeOf(block))
  return [
    [path, detail],
    [`${path}/stats`, records.eventStats(views.stats)],
    [`${path}/range`, records.eventRange(views.range)],
    [`${path}/utilization`, records.utilization({ ...views, time }, profiles[profile])],
  ]
}

test(`each value of a record at a block is what eth_call returns at it (seed ${seed})`, async () => {
  const compared = createComparisons()
  const answers = { ledger: 0, node: 0 }
  for (let read = 0; compared.values < VALUES; read += 1) {
    const { number, timestamp } = read === 0 ? (blocks.at(-1) ?? someBlock()) : someBlock()
    // The time of a block is that of the last block with it.
    const isLast = blocks.findLast((block) => block.timestamp === timestamp)?.number === number
    const at = isLast && random.int(0, 1) === 0 ? timestamp : number
    for (const kind of kinds)
      for (const id of ids(kind)) {
        if (creationOf(kind, id).blockNumber > number) {
          const { status } = await api.get(`/hedge/${kind}s/8453/${id}?at=${at}`)
          compared.add(`status of ${kind} ${id} at ${at}`, status, 404)
          continue
        }
        for (const [path, expected] of await recordsAt(kind, id, number)) {
          const { status, data, headers } = await api.get(`${path}?at=${at}`)
          compared.add(
            `${path} at ${at}`,
            { status, data, block: headers['x-block-number'] },
            {
              ...{ status: 200, data: expected, block: String(number) },
            },
          )
          answers[headers['x-data-source'] === 'chain' ? 'node' : 'ledger'] += 1
        }
      }
  }
  console.info(
    `${profile}: ${compared.values} values of records compared with eth_call, ${compared.differences} differences; ${JSON.stringify(answers)} answers`,
  )
  expect(compared.texts).toEqual([])
  expect(compared.values).toBeGreaterThanOrEqual(VALUES)
  // Only a value that no log has: whether a pool took other LPs before that was changed for the first time.
  expect(answers.node).toBeLessThan(answers.ledger / 4)
})

test('lists of ids at a block are what eth_call returns at it', async () => {
  const compared = createComparisons()
  for (let read = 0; read < byForm(2, 12); read += 1) {
    const { number: blockNumber } = someBlock()
    const numbersOf = async (functionName: 'getEventPositionIds' | 'getEventDepositIds', id: bigint) =>
      (await client.readContract({ address: diamond, abi: protocolAbi, functionName, args: [id], blockNumber })).map(
        Number,
      )
    for (const id of existing('event', blockNumber))
      for (const kind of memberKinds) {
        const { data } = await api.get(`/hedge/events/8453/${id}/${kind}s?at=${blockNumber}`)
        compared.add(
          `${kind}s of event ${id} at ${blockNumber}`,
          data,
          await numbersOf(entities[kind].memberIds.view, id),
        )
      }
    for (const wallet of Object.values(protocol.people))
      for (const kind of kinds) {
        const functionName = entities[kind].ownerIds
        const call = { address: diamond, abi: protocolAbi, functionName, args: [wallet], blockNumber } as const
        const path = { event: 'creators', deposit: 'deposits', position: 'positions' }[kind]
        const { data } = await api.get(`/hedge/${path}/8453/wallet/${wallet}?at=${blockNumber}`)
        compared.add(`${path} of ${wallet} at ${blockNumber}`, data, (await client.readContract(call)).map(Number))
      }
  }
  console.info(`${profile}: ${compared.values} ids compared with eth_call, ${compared.differences} differences`)
  expect(compared.texts).toEqual([])
  expect(compared.values).toBeGreaterThan(0)
})

const Point = z.looseObject({ time: z.number(), token: z.string() })
type Point = z.output<typeof Point>

const some = (points: readonly Point[]): readonly Point[] => [
  ...points.slice(-1),
  ...(points.length === 0 ? [] : Array.from({ length: POINTS }, () => random.pick(points))),
]

const seriesOf = async (path: string) => {
  const { status, error, data } = await api.get(path)
  expect([path, status, error]).toEqual([path, 200, undefined])
  return z.array(Point).parse(data)
}

/** The last block at or before a time. */
const blockAt = (time: number): bigint => blocks.findLast(({ timestamp }) => timestamp <= BigInt(time))?.number ?? start

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

/** The figures of an event at a block. */
const eventFigures = async (id: bigint, block: bigint) => {
  const { stats, utilization } = await viewsAt('event', id, block)
  const positions = existing('position', block).filter((position) => eventOf('position', position) === id)
  const views = await Promise.all(positions.map((position) => viewsAt('position', position, block)))
  const paid = views.map(({ position }) => (position.claimed ? position.payoutAmount : 0n))
  return {
    ...{
      liquidity: `${stats.totalLiquidity}`,
      exposure: `${stats.totalExposure}`,
      maxPayout: `${stats.totalMaxPayout}`,
    },
    ...{ premiums: `${stats.totalPremiums}`, creatorEarnings: `${stats.creatorEarnings}`, payouts: `${sum(paid)}` },
    ...{ utilization: `${utilization.utilizationPercent}` },
    ...{ deposits: Number(stats.lpCount), positions: Number(stats.hedgerCount) },
  }
}

const depositFigures = async (id: bigint, block: bigint) => {
  const { deposit, pending } = await viewsAt('deposit', id, block)
  const { premiumsClaimed, amount, withdrawn } = deposit
  return {
    ...{ deposited: `${withdrawn ? 0n : amount}`, premiumsClaimed: `${premiumsClaimed}`, claimable: `${pending}` },
    premiumsEarned: `${premiumsClaimed + pending}`,
  }
}

/** The figures of a wallet in a token at a block, without the capital that it can withdraw. */
const walletFigures = async (wallet: Address, token: string, block: bigint) => {
  const own = (kind: Kind) =>
    existing(kind, block).filter((id) => getAddress(life.ledger.pool(eventOf(kind, id)).token) === token)
  const of = async <K extends Kind>(kind: K) => Promise.all(own(kind).map((id) => viewsAt(kind, id, block)))
  const [events, deposits, positions] = [
    (await of('event')).filter(({ core }) => core.creator === wallet),
    (await of('deposit')).filter(({ deposit }) => deposit.lp === wallet),
    (await of('position')).flatMap(({ position }) => (position.hedger === wallet ? [position] : [])),
  ]
  const due = positions.filter(({ status, claimed }) => status !== records.ACTIVE && !claimed)
  return {
    notional: `${sum(positions.map(({ notional }) => notional))}`,
    premiumPaid: `${sum(positions.map(({ premiumPaid }) => premiumPaid))}`,
    deposited: `${sum(deposits.map(({ deposit }) => (deposit.withdrawn ? 0n : deposit.amount)))}`,
    payout: `${sum(due.map(({ payoutAmount }) => payoutAmount))}`,
    premiums: `${sum(deposits.map(({ pending }) => pending))}`,
    creatorEarnings: `${sum(events.map(({ stats }) => stats.creatorEarnings))}`,
  }
}

test('each value of a point of a series is what eth_call returns at the last block not after it', async () => {
  const compared = createComparisons()
  for (const id of life.eventIds())
    for (const interval of ['change', 'day', 'week'])
      for (const point of some(await seriesOf(`/hedge/events/8453/${id}/series?interval=${interval}`)))
        compared.add(`event ${id} at ${point.time}, ${interval}`, point, await eventFigures(id, blockAt(point.time)))
  for (const id of life.depositIds())
    for (const point of some(await seriesOf(`/hedge/deposits/8453/${id}/series?interval=day`)))
      compared.add(`deposit ${id} at ${point.time}`, point, await depositFigures(id, blockAt(point.time)))
  for (const wallet of Object.values(protocol.people))
    for (const point of some(await seriesOf(`/wallets/${wallet}/series?chainId=8453&interval=day`)))
      compared.add(
        `wallet ${wallet} at ${point.time}`,
        point,
        await walletFigures(wallet, point.token, blockAt(point.time)),
      )
  console.info(
    `${profile}: ${compared.values} values of series compared with eth_call, ${compared.differences} differences`,
  )
  expect(compared.texts).toEqual([])
  expect(compared.values).toBeGreaterThan(0)
})

const Activity = z.object({
  ...{ token: z.string().nullable(), direction: z.enum(['in', 'out']).nullable(), netAmount: z.string().nullable() },
})

/** The sums of what a wallet received, less what it paid, by token. */
const activityOf = async (wallet: Address): Promise<ReadonlyMap<string, bigint>> => {
  const sums = new Map<string, bigint>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/activity?chainId=8453&wallet=${wallet}&limit=200${cursor && `&cursor=${cursor}`}`
    const { status, data, meta } = await api.get(path)
    expect([path, status]).toEqual([path, 200])
    for (const { token, direction, netAmount } of z.array(Activity.loose()).parse(data)) {
      if (token === null || direction === null || netAmount === null) continue
      sums.set(token, (sums.get(token) ?? 0n) + (direction === 'in' ? BigInt(netAmount) : -BigInt(netAmount)))
    }
    cursor = z.looseObject({ nextCursor: z.string().nullable() }).parse(meta).nextCursor
  }
  return sums
}

test("a wallet's activity adds up to the tokens that moved, and to the change of its balances", async () => {
  const compared = createComparisons()
  const provider = new JsonRpcProvider(protocol.url)
  const erc20 = new Interface(['event Transfer(address indexed from, address indexed to, uint256 value)'])
  const tokens = [...new Set([...life.ledger.pools.values()].map(({ token }) => getAddress(token)))]
  const moved = new Map<string, bigint>()
  for (const token of tokens)
    for (const log of await provider.getLogs({ address: token, fromBlock: start + 1n, toBlock: 'latest' })) {
      const transfer = erc20.parseLog(log)
      if (transfer === null) continue
      const { from, to, value } = transfer.args.toObject()
      for (const [wallet, amount] of [
        [from, -value],
        [to, value],
      ])
        moved.set(`${wallet} ${token}`, (moved.get(`${wallet} ${token}`) ?? 0n) + amount)
    }
  provider.destroy()
  for (const wallet of Object.values(protocol.people)) {
    const sums = await activityOf(wallet)
    for (const token of tokens) {
      const change = (await protocol.balance(wallet, token)) - (await protocol.balance(wallet, token, start))
      compared.add(
        `${wallet} in ${token}, by Transfer logs`,
        sums.get(token) ?? 0n,
        moved.get(`${wallet} ${token}`) ?? 0n,
      )
      compared.add(`${wallet} in ${token}, by balances`, sums.get(token) ?? 0n, change)
    }
  }
  console.info(`${profile}: ${compared.values} sums of activity compared, ${compared.differences} differences`)
  expect(compared.texts).toEqual([])
  expect([...moved.values()].filter((value) => value !== 0n).length).toBeGreaterThan(tokens.length)
})
