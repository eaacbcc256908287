import Fastify from 'fastify'
import { Pool, type QueryArrayConfig } from 'pg'
import type { Address } from 'viem'
import { z } from 'zod'
import { listingEnvelope } from '../../src/api/operation.ts'
import type { Statement } from '../../src/db/pool.ts'
import { bytes } from '../../src/db/queries/filters.ts'
import { createListings, placeOf } from '../../src/db/queries/listings.ts'
import { RECORD } from '../../src/db/queries/rows.ts'
import { parseTips } from '../../src/db/queries/tips.ts'
import { UNIT } from '../../src/db/rendering.ts'
import { renderKeyOf } from '../../src/protocol/rows.ts'
import { encodeCursor } from '../../src/reads/cursor.ts'
import { listings } from '../../src/reads/listings/listings.ts'
import { PositionsQuery } from '../../src/reads/listings/query.ts'
import { seedDeployment } from '../support/seed-index.ts'
import { chainId } from './million.ts'

/*
 * Bare Fastify routes that return a wallet's first page: a handler over one named statement that validates nothing and
 * knows only this chain.
 */

const LIMIT = 50
/** The pool size of the service. */
const CONNECTIONS = 10

/** The service's own statement for the page, and where its values name the wallet. */
const pageStatement = async (wallet: Address): Promise<Statement> => {
  let seen: Statement | undefined
  const lists = createListings({
    async rows(statement) {
      seen = statement
      return []
    },
  })
  const renderKey = renderKeyOf(seedDeployment(chainId))
  const query = { chainId, after: null, upTo: null, now: null, rollback: null, renderKey }
  const page = { sort: 'created', order: 'desc', include: [], limit: LIMIT + 1, count: false } as const
  await lists.page({ ...page, kind: 'position', queries: [query], filters: { owners: [wallet] }, deployments: [] })
  if (seen === undefined) throw new Error('the page asked for nothing')
  return seen
}

const joined = `SELECT f.id, f.event_id AS "eventId", '0x' || encode(f.hedger, 'hex') AS hedger, f.notional, f.premium_paid AS "premiumPaid",
    f.platform_fee AS "platformFeePaid", s.payout_amount AS "payoutAmount", s.status, s.claimed, f.chain_id AS "chainId",
    f.block_number AS "createdBlock", '0x' || encode(f.tx_hash, 'hex') AS "createdTx", '0x' || encode(e.payment_token, 'hex') AS token,
    'USDC' AS symbol, 6 AS decimals
  FROM positions f JOIN position_observations s USING (chain_id, id)
    JOIN event_observations e ON e.chain_id = f.chain_id AND e.id = f.event_id
  WHERE f.chain_id = $1 AND f.hedger = $2 ORDER BY f.id DESC LIMIT $3`

const text = `SELECT s.row_text FROM positions f JOIN position_observations s USING (chain_id, id)
  WHERE f.chain_id = $1 AND f.hedger = $2 ORDER BY f.id DESC LIMIT $3`

type Asked = { Querystring: { wallet: Address } }

/**
 * Opens the routes: `/same` does the work that the page needs, `/text` joins stored texts, `/joins` builds the rows
 * from columns.
 */
export const openBare = async (databaseUrl: string, wallet: Address) => {
  const pool = new Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  const app = Fastify({ ajv: { customOptions: { keywords: ['example'], strictTypes: false } } })
  const querystring = z.toJSONSchema(PositionsQuery, { io: 'input', target: 'draft-7' })
  const data = listings.find(({ kind }) => kind === 'position')?.data ?? z.array(z.unknown())
  const response = { 200: z.toJSONSchema(listingEnvelope(data), { target: 'draft-7', metadata: z.registry() }) }

  const statement = await pageStatement(wallet)
  const at = statement.values.indexOf(bytes(wallet))
  const types = { getTypeParser: () => (value: string | Buffer) => value.toString() }

  app.get<Asked>('/same', { schema: { querystring } }, async ({ query }, reply) => {
    const asked: QueryArrayConfig = {
      ...{ name: 'same', text: statement.text, rowMode: 'array', types },
      values: statement.values.with(at, bytes(query.wallet)),
    }
    const [[tips, found] = []] = (await pool.query<string[]>(asked)).rows
    const all = (found ?? '').split(RECORD)
    const rows = all.slice(0, LIMIT)
    const [tip] = parseTips(tips ?? null)
    const last = rows.at(-1)
    if (tip === undefined || last === undefined) throw new Error('there is no page')
    const { block, rollback, head } = tip
    const after = { id: BigInt(placeOf(last).id), key: '' }
    const stages = [{ chainId, after, bound: block, rollback }]
    const hasMore = all.length > LIMIT
    const asOf = {
      ...{ chainId, blockNumber: Number(block.number), blockHash: block.hash, blockTimestamp: Number(block.timestamp) },
      ...{ lagSeconds: Number(head && head.timestamp - block.timestamp), reorgedSince: tip.reorged },
    }
    const nextCursor = hasMore ? encodeCursor(`/positions ${query.wallet}`, stages) : null
    const meta = { limit: LIMIT, hasMore, nextCursor, asOf: [asOf] }
    reply.type('application/json; charset=utf-8')
    return `{"data":[${rows.map((row) => row.slice(row.indexOf(UNIT) + 1)).join()}],"meta":${JSON.stringify(meta)}}`
  })
  app.get<Asked>('/text', async ({ query }, reply) => {
    const values = [chainId, bytes(query.wallet), LIMIT]
    const { rows } = await pool.query<string[]>({ name: 'text', text, values, rowMode: 'array' })
    reply.type('application/json; charset=utf-8')
    return `{"data":[${rows.join()}]}`
  })
  app.get<Asked>('/joins', { schema: { response } }, async ({ query }) => {
    const { rows } = await pool.query({ name: 'joins', text: joined, values: [chainId, bytes(query.wallet), LIMIT] })
    return { data: rows, meta: { limit: LIMIT, hasMore: true, nextCursor: null, asOf: [] } }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, pool, close: () => Promise.all([app.close(), pool.end()]) }
}
