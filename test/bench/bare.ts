import Fastify from 'fastify'
import { LRUCache } from 'lru-cache'
import { Pool, type QueryArrayConfig } from 'pg'
import { type Address, getAddress } from 'viem'
import { z } from 'zod'
import type { Statement } from '../../src/db/pool.ts'
import { bytes } from '../../src/db/queries/filters.ts'
import { createListings } from '../../src/db/queries/listings.ts'
import { parseTips } from '../../src/db/queries/tips.ts'
import type { Kind } from '../../src/protocol/entities.ts'
import { statusText } from '../../src/protocol/statuses.ts'
import { encodeCursor } from '../../src/reads/cursor.ts'
import { PositionsQuery } from '../../src/reads/lists/query.ts'
import { chainId } from './million.ts'

/*
 * A bare Fastify route that returns a wallet's first page: one named statement in array mode, objects, and
 * JSON.stringify. It knows only this chain and its token, reads no cursor, and has no hooks.
 */

const LIMIT = 50
/** The pool size of the service. */
const CONNECTIONS = 10

/** The texts of a row's columns, in the order of the service's statements. */
type Texts = readonly string[]

/** Leaves every value as the server's text. */
export const asText = { getTypeParser: () => (value: string | Buffer) => value.toString() }

const checksummed = new LRUCache<string, Address>({ max: 100_000 })

const address = (text = ''): Address => {
  const known = checksummed.get(text)
  if (known !== undefined) return known
  const made = getAddress(`0x${text.slice(2)}`)
  checksummed.set(text, made)
  return made
}

const utf8 = (text = ''): string => Buffer.from(text.slice(2), 'hex').toString()

/** What rows of all kinds have: the columns before those of the kind. */
const common = ([chain, block, time, tx = '', logIndex, token]: Texts) => ({
  ...{ chainId: Number(chain), createdBlock: Number(block), createdTx: `0x${tx.slice(2)}` },
  ...{ createdAt: Number(time), createdLogIndex: Number(logIndex) },
  ...{ token: address(token), symbol: 'USDC', decimals: 6 },
})

/** The columns before those of the kind: those of `common`, and the two of the log that ended the row. */
const COMMON = 10

const timeOf = (text: string | null | undefined): number | null => (text == null ? null : Number(text))
const hashOf = (text: string | null | undefined): string | null => (text == null ? null : `0x${text.slice(2)}`)

const position = (texts: Texts): object => {
  const [id, eventId, hedger, notional, premiumPaid, platformFeePaid, payout, status, claimed] = texts.slice(COMMON)
  return {
    ...common(texts),
    ...{ id: Number(id), eventId: Number(eventId), hedger: address(hedger), notional, premiumPaid, platformFeePaid },
    ...{ payoutAmount: status === '0' ? '0' : payout, status: Number(status), claimed: claimed?.[0] === 't' },
    statusText: statusText('position', Number(status)),
    ...{ claimedAt: timeOf(texts[8]), claimedTx: hashOf(texts[9]) },
  }
}

const deposit = (texts: Texts): object => {
  const [id, eventId, lp, amount, shares, , premiumsClaimed = 0, pending = 0, withdrawn] = texts.slice(COMMON)
  return {
    ...common(texts),
    ...{ id: Number(id), eventId: Number(eventId), lp: address(lp), amount, shares, premiumsClaimed },
    premiumsEarned: (BigInt(premiumsClaimed) + BigInt(pending)).toString(),
    withdrawn: withdrawn?.[0] === 't',
    ...{ withdrawnAt: timeOf(texts[8]), withdrawnTx: hashOf(texts[9]) },
  }
}

const event = (texts: Texts): object => {
  const [id, creator, underlying, strike, premiumRate, expiry, name, payoutCap, initialRate, ...state] =
    texts.slice(COMMON)
  const [strikeAbove, token, status, poolOpen, allowExternalLp] = state
  return {
    ...common(texts),
    ...{ id: Number(id), creator: address(creator), name: utf8(name), underlying: utf8(underlying) },
    ...{ strike, payoutCap, premiumRate, initialRate, expiryDate: Number(expiry) },
    ...{ strikeAbove: strikeAbove?.[0] === 't', poolOpen: poolOpen?.[0] === 't' },
    ...{ allowExternalLp: allowExternalLp?.[0] === 't', paymentToken: address(token) },
    ...{ status: Number(status), statusText: statusText('event', Number(status)) },
    ...{ settledBlock: timeOf(texts[8]), settledTx: hashOf(texts[9]) },
  }
}

/** The object of a row of each kind. */
export const bareRow: Readonly<Record<Kind, (texts: Texts) => object>> = { event, deposit, position }

/** The service's own statement for the page, and where its values name the wallet. */
const pageStatement = async (wallet: Address): Promise<Statement> => {
  let seen: Statement | undefined
  const lists = createListings({
    async rows(statement) {
      seen = statement
      return []
    },
  })
  const query = { chainId, after: null, upTo: null, now: null, rollback: null }
  const page = { sort: 'created', order: 'desc', include: [], limit: LIMIT + 1, count: false } as const
  await lists.page({ ...page, kind: 'position', queries: [query], filters: { owners: [wallet] }, deployments: [] })
  if (seen === undefined) throw new Error('the page asked for nothing')
  return seen
}

type Asked = { Querystring: { wallet: Address } }

/** Opens the route, `/page`. */
export const openBare = async (databaseUrl: string, wallet: Address) => {
  const pool = new Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  const app = Fastify({ ajv: { customOptions: { keywords: ['example', 'x-items'], strictTypes: false } } })
  const querystring = z.toJSONSchema(PositionsQuery, { io: 'input', target: 'draft-7' })
  const statement = await pageStatement(wallet)
  const at = statement.values.indexOf(bytes(wallet))

  app.get<Asked>('/page', { schema: { querystring } }, async ({ query }, reply) => {
    const asked: QueryArrayConfig = {
      ...{ name: 'page', text: statement.text, rowMode: 'array', types: asText },
      values: statement.values.with(at, bytes(query.wallet)),
    }
    const [[tips] = [], ...all] = (await pool.query<string[]>(asked)).rows
    // The first two columns are those of the first row.
    const rows = all.slice(0, LIMIT).map((texts) => texts.slice(2))
    const [tip] = parseTips(tips ?? null)
    const last = rows.at(-1)
    if (tip === undefined || last === undefined) throw new Error('there is no page')
    const { block, rollback, head } = tip
    const after = { id: BigInt(last[6] ?? ''), key: '' }
    const stages = [{ chainId, after, bound: block, rollback }]
    const hasMore = all.length > LIMIT
    const asOf = {
      ...{ chainId, blockNumber: Number(block.number), blockHash: block.hash, blockTimestamp: Number(block.timestamp) },
      ...{ lagSeconds: Number(head && head.timestamp - block.timestamp), reorgedSince: tip.reorged },
    }
    const nextCursor = hasMore ? encodeCursor(`/positions ${query.wallet}`, stages) : null
    reply.type('application/json; charset=utf-8')
    return JSON.stringify({ data: rows.map(position), meta: { limit: LIMIT, hasMore, nextCursor, asOf: [asOf] } })
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, pool, close: () => Promise.all([app.close(), pool.end()]) }
}
