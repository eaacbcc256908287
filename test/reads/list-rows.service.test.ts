import { sql } from 'drizzle-orm'
import { encodeAbiParameters, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { ChainId, Deployment } from '../../src/protocol/chains.ts'
import { type Kind, kinds } from '../../src/protocol/entities.ts'
import { profiles } from '../../src/protocol/profiles.ts'
import * as record from '../../src/protocol/records.ts'
import { type depositInclusions, inclusions } from '../../src/protocol/rows.ts'
import { configuredTokens } from '../../src/protocol/tokens.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { endings } from '../support/list-sources.ts'
import {
  observedBlock,
  observeRandomRows,
  type RandomRows,
  randomRows,
  writeRandomRows,
} from '../support/random-rows.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { startNode } from '../support/scripted-node.ts'
import { seedDeployment } from '../support/seed-index.ts'

/** Entities of each kind on each chain. */
const COUNT = byForm(20, 500)

/** One chain of each profile; the second has two configured tokens. */
const deployments: readonly Deployment[] = [
  seedDeployment(8453),
  { ...seedDeployment(56), usdt: '0x55d398326f99059fF775485246999027B3197955', profile: 'deployed' },
]
const chains = deployments.map((deployment) => ({
  deployment,
  rows: randomRows(deployment, COUNT, seed + deployment.chainId),
}))

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  api = await openApp({ databaseUrl: store.url, nodes: deployments.map((deployment) => ({ deployment })) })
  for (const { deployment, rows } of chains) await writeRandomRows(api.database, deployment, rows)
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const run = (statement: string) =>
  api.database.run((handle) => handle.execute<Record<string, unknown>>(sql.raw(statement)))

type Include = Exclude<(typeof depositInclusions)[number], 'valuation'>

/** The record of each entity by the mappers of the protocol's views, in the order of the ids, with its event. */
const recordsOf = (kind: Kind, { events, deposits, positions }: RandomRows) => {
  const eventOf = (id: bigint) => {
    const event = events[Number(id) - 1]
    if (event === undefined) throw new Error(`no event ${id}`)
    return event
  }
  if (kind === 'event') return events.map((event) => ({ entity: record.eventCore(event.seen), ...event, event }))
  if (kind === 'deposit')
    return deposits.map(({ fact, seen }) => ({
      entity: record.deposit(seen),
      fact,
      event: eventOf(fact.eventId),
    }))
  return positions.map(({ fact, seen }) => ({
    entity: record.position(seen),
    fact,
    event: eventOf(fact.eventId),
  }))
}

/**
 * The expected rows of a list: the record, its creation, its token, and the records of its event that `include` adds.
 */
const expectedRows = (
  kind: Kind,
  { deployment, rows }: (typeof chains)[number],
  include: readonly Include[] = [],
): string[] =>
  recordsOf(kind, rows).map(({ entity, fact, event: { seen } }) => {
    const time = observedBlock.timestamp
    const added = {
      stats: record.eventStats(seen.stats),
      utilization: record.utilization({ ...seen, time }, profiles[deployment.profile]),
      range: record.eventRange(seen.range),
      event: record.eventSummary({ ...seen, time }),
    }
    const token = rows.tokens.find((it) => it.token === seen.paymentToken)
    return JSON.stringify({
      ...entity,
      ...{ chainId: deployment.chainId, createdBlock: Number(fact.blockNumber), createdTx: fact.txHash },
      createdAt: fact.txHash === null ? null : Number(fact.blockTimestamp),
      createdLogIndex: fact.logIndex,
      ...{ token: token?.token, symbol: token?.symbol, decimals: token?.decimals },
      ...endings[kind],
      ...Object.fromEntries(include.map((name) => [name, added[name]])),
    })
  })

const paths = { event: 'events', deposit: 'deposits', position: 'positions' } as const

/** The rows of a list as the API sends them, byte for byte, all pages. */
const sentRows = async (
  from: typeof api,
  kind: Kind,
  chainId: ChainId,
  include: readonly Include[] = [],
): Promise<string[]> => {
  const rows: string[] = []
  for (let cursor: string | null = null; ; ) {
    const query = [`chainId=${chainId}&order=asc&limit=200`, ...(include.length > 0 ? [`include=${include}`] : [])]
    const url = `/v1/hedge/${paths[kind]}?${[...query, ...(cursor === null ? [] : [`cursor=${cursor}`])].join('&')}`
    const { statusCode, body } = await from.app.inject({ url })
    expect(statusCode, body).toBe(200)
    const { data, meta } = z
      .object({ data: z.array(z.object({ id: z.number() })), meta: z.object({ nextCursor: z.string().nullable() }) })
      .parse(JSON.parse(body))
    // A row begins with its id. The summary of an event does too, but it follows a name and not the row before.
    const starts = data.map(({ id }) => `{"id":${id},`)
    let at = body.indexOf(starts[0] ?? '[]')
    for (const [row] of starts.entries()) {
      const next = starts[row + 1]
      const end = next === undefined ? body.indexOf('],"meta":', at) : body.indexOf(`,${next}`, at + 1)
      rows.push(body.slice(at, end))
      at = end + 1
    }
    cursor = meta.nextCursor
    if (cursor === null) return rows
  }
}

/** Every subset of the inclusions of all kinds, in every order. */
const orders = (rest: readonly Include[] = inclusions): Include[][] => [
  [],
  ...rest.flatMap((first) => orders(rest.filter((it) => it !== first)).map((others) => [first, ...others])),
]

/** Those that a run tries: by default none, each alone, and all of them in both directions. */
const tried: Include[][] = byForm(
  [[], ...inclusions.map((name) => [name]), [...inclusions], inclusions.toReversed()],
  orders(),
)

/** Those for a kind, with the summary of the event for its members. */
const triedFor = (kind: Kind): Include[][] =>
  kind === 'event' ? tried : [...tried, ['event'], ['range', 'event', 'stats']]

describe.each(chains)('on a chain of the $deployment.profile profile', (chain) => {
  const { deployment, rows } = chain
  const { chainId } = deployment

  test.each(kinds)('the list sends each %s as the record of its single read, with what it adds', async (kind) => {
    expect(await sentRows(api, kind, chainId)).toEqual(expectedRows(kind, chain))
  })

  test('subsets of include in several orders add the single reads of the event', async () => {
    expect(tried).toHaveLength(byForm(6, 16))
    for (const kind of kinds) {
      for (const include of triedFor(kind))
        expect(await sentRows(api, kind, chainId, include), `${kind} ${include}`).toEqual(
          expectedRows(kind, chain, include),
        )
    }
  }, 240_000)

  test('the single reads of the index answer with the rows', async () => {
    const read = async (path: string): Promise<string> => {
      const { statusCode, body } = await api.app.inject({ url: `/v1/hedge/${path}` })
      expect(statusCode, body).toBe(200)
      return JSON.stringify(JSON.parse(body).data)
    }
    for (const kind of kinds) {
      for (const [at, row] of expectedRows(kind, chain).entries())
        expect(await read(`${paths[kind]}/${chainId}/${at + 1}`)).toBe(row)
    }
    const [withAll] = [expectedRows('event', chain, inclusions)]
    for (const [at, row] of withAll.entries()) {
      const parsed = JSON.parse(row)
      for (const name of inclusions)
        expect(await read(`events/${chainId}/${at + 1}/${name}`)).toBe(JSON.stringify(parsed[name]))
    }
  }, 240_000)

  test('a row whose token is not stored asks the chain for its symbol and decimals, and the others do not', async () => {
    const configured = new Set(configuredTokens(deployment).map(({ token }) => token))
    const address = rows.events.map(({ seen }) => seen.paymentToken).find((token) => !configured.has(token))
    if (address === undefined) throw new Error('no event has a token that is not configured')
    await run(`DELETE FROM tokens WHERE chain_id = ${chainId} AND address = '\\x${address.slice(2)}'`)
    const node = await startNode({ chainId })
    const asked: unknown[] = []
    node.say((calls) => {
      if (calls.some(({ method }) => method !== 'eth_call')) return null
      asked.push(...calls.map(({ params: [call] }) => call))
      const answers = [encodeAbiParameters([{ type: 'string' }], ['ASKED']), numberToHex(9, { size: 32 })]
      return { body: JSON.stringify(calls.map(({ id }, at) => ({ jsonrpc: '2.0', id, result: answers[at] }))) }
    })
    const open = async (url?: string) => {
      const app = await openApp({ databaseUrl: store.url, nodes: [{ deployment, ...(url && { url }) }] })
      onTestFinished(app.close)
      return app
    }
    const [withNode, indexOnly] = [await open(node.url), await open()]
    const shown = rows.tokens.map((it) =>
      it.token === address ? { token: address, symbol: 'ASKED', decimals: 9 } : it,
    )
    for (const kind of kinds) {
      expect(await sentRows(withNode, kind, chainId)).toEqual(
        expectedRows(kind, { deployment, rows: { ...rows, tokens: shown } }),
      )
      // Without a node, rows of other tokens are served nevertheless.
      const isOfToken = recordsOf(kind, rows).map(({ event }) => event.seen.paymentToken === address)
      for (const [at, needsNode] of isOfToken.entries())
        expect((await indexOnly.get(`/hedge/${paths[kind]}?chainId=${chainId}&ids=${at + 1}`)).status).toBe(
          needsNode ? 503 : 200,
        )
    }
    // The token is asked once for its symbol and once for its decimals.
    expect(asked).toMatchObject([{ to: address }, { to: address }])
    await api.database.transaction((handle) => observeRandomRows(handle, deployment, rows))
    for (const kind of kinds) expect(await sentRows(indexOnly, kind, chainId)).toEqual(expectedRows(kind, chain))
  }, 240_000)
})

test('an inclusion that is named twice is added once', async () => {
  const { body } = await api.app.inject({ url: '/v1/hedge/events?chainId=8453&limit=1&include=stats,stats' })
  expect(body.split('"stats":')).toHaveLength(2)
})
