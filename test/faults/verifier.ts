import { Client } from 'pg'
import { z } from 'zod'
import {
  type ComparedLogs,
  isCreation,
  kindNames,
  kinds,
  logRowOf,
  plain,
  type Row,
  type Rows,
  rowOf,
} from './creations.ts'
import { createLedger, type Point } from './ledger.ts'
import { createRpc, type Rpc } from './rpc.ts'

/*
 * Compares the tables of the index, with its ledger, with the logs of the chain. It uses none of the product's code to read them, so a
 * mistake of the product cannot hide in it.
 */

const StoredPoint = z.object({ number: z.string().transform(Number), hash: z.string() })

/** The block up to which the index claims to have read. */
const CURSOR = `SELECT block_number AS number, '0x' || encode(block_hash, 'hex') AS hash FROM cursors WHERE chain_id = $1`

/** The newest block of any row of the index: above the cursor while it reads entity by entity. */
const REACH = `SELECT block_number AS number, '0x' || encode(block_hash, 'hex') AS hash FROM anchors WHERE chain_id = $1
  ORDER BY block_number DESC LIMIT 1`

/** The block at which the index claims to have proved that it equals the chain. */
const PROVEN = `SELECT proven_number AS number, '0x' || encode(proven_hash, 'hex') AS hash FROM heartbeats
  WHERE chain_id = $1 AND proven_number IS NOT NULL`

type Stored = {
  readonly cursor: Point | null
  readonly reach: Point | null
  readonly proven: Point | null
  readonly rows: Rows
}

const readIndex = async (
  client: Client,
  { chainId, publishes, ledger }: { chainId: number; publishes: boolean; ledger: ComparedLogs },
): Promise<Stored> => {
  const point = async (query: string): Promise<Point | null> =>
    StoredPoint.nullable().parse((await client.query(query, [chainId])).rows[0] ?? null)
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    const cursor = await point(CURSOR)
    const reach = await point(REACH)
    const proven = publishes ? await point(PROVEN) : null
    const rows = new Map<string, Row>()
    for (const kind of kindNames) {
      const stored = await client.query(`SELECT * FROM ${kinds[kind].table} WHERE chain_id = $1`, [chainId])
      for (const each of stored.rows)
        rows.set(
          `${kind} ${each.id}`,
          rowOf(kind, (column) => each[column]),
        )
    }
    const logs = ledger === null ? [] : (await client.query('SELECT * FROM ledger WHERE chain_id = $1', [chainId])).rows
    for (const each of logs)
      if (ledger === 'all' || isCreation(plain(each.topics))) rows.set(...logRowOf((column) => each[column]))
    return { cursor, reach, proven, rows }
  } finally {
    await client.query('ROLLBACK')
  }
}

/**
 * The result of a comparison. `forked`: the index is at a block that the chain does not have, so rows were not
 * compared.
 */
export type Verdict =
  | { readonly state: 'empty' | 'forked'; readonly cursor: Point | null }
  | {
      readonly state: 'compared'
      readonly cursor: Point
      readonly missing: readonly string[]
      readonly extra: readonly string[]
      readonly different: readonly string[]
      /** The first differing rows of both sides. */
      readonly example: string
      /** The differing rows at or below the block at which the index claims to be proved equal to the chain. */
      readonly provenWrong: readonly string[]
    }

/** True when every row of the chain is in the index as it is on the chain, and no other. */
export const isExact = (verdict: Verdict): boolean =>
  verdict.state === 'compared' && verdict.missing.length + verdict.extra.length + verdict.different.length === 0

/** True when the index holds a row that is not on the chain, or claims to be proved while it differs from the chain. */
export const isFalse = (verdict: Verdict): boolean =>
  verdict.state === 'compared' && verdict.extra.length + verdict.different.length + verdict.provenWrong.length > 0

/** A verdict as one line of text. */
export const describe = (verdict: Verdict): string => {
  if (verdict.state !== 'compared') return `${verdict.state} at ${verdict.cursor?.number ?? 'no block'}`
  const { cursor, missing, extra, different, example, provenWrong } = verdict
  const found = [...missing.map((it) => `-${it}`), ...extra.map((it) => `+${it}`), ...different]
  const proof = provenWrong.length === 0 ? '' : `; ${provenWrong.length} of them claimed to be proved`
  return `at ${cursor.number}: ${missing.length} missing, ${extra.length} extra, ${different.length} different ${found.slice(0, 5).join('; ')}${example}${proof}`
}

type Difference = { readonly name: string; readonly here: Row; readonly there: Row }

/**
 * Finds the rows that differ from the chain. With `logs`, a row must name the log that created it. Without, it must
 * name no log, and a block of the chain at which the row existed.
 */
const createComparison =
  (node: Rpc, logs: boolean) =>
  async (stored: Rows, chain: Rows): Promise<Difference[]> => {
    const both = [...chain].flatMap(([name, there]) => {
      const here = stored.get(name)
      return here === undefined ? [] : [{ name, here, there }]
    })
    const isOther = logs
      ? ({ here, there }: Difference) => here.from !== there.from
      : ({ here, there }: Difference) => here.hasLog || here.block < there.block || hashes.get(here.block) !== here.hash
    const numbers = logs ? [] : [...new Set(both.map(({ here }) => here.block))]
    const blocks = await Promise.all(numbers.map((number) => node.block(number)))
    const hashes = new Map(blocks.flatMap((block) => (block === null ? [] : [[block.number, plain(block.hash)]])))
    return both.filter((each) => each.here.content !== each.there.content || isOther(each))
  }

const show = ({ content, from }: Row): string => `(${content} ${from})`

const higher = (a: Point, b: Point | null): Point => (b !== null && b.number > a.number ? b : a)

/**
 * Compares the facts and the ledger of a database with the chain at the block that the index claims to have reached. Opens one
 * connection until `close`; `compare` throws when the node or the database does not answer.
 */
export const createVerifier = async (options: {
  readonly databaseUrl: string
  readonly rpcUrl: string
  readonly chainId: number
  readonly diamond: string
  /** Whether rows name the log that created them. */
  readonly logs: boolean
  /** The logs whose rows in the ledger are compared. */
  readonly ledger: ComparedLogs
}) => {
  const client = new Client({ connectionString: options.databaseUrl, application_name: 'verifier' })
  client.on('error', () => {})
  await client.connect()
  const publishes = (await client.query(`SELECT to_regclass('heartbeats') IS NOT NULL AS it`)).rows[0]?.it === true
  const node = createRpc(options.rpcUrl)
  const ledger = createLedger(node, options.diamond, options.ledger)
  const differencesOf = createComparison(node, options.logs)

  const compare = async (): Promise<Verdict> => {
    const { cursor, reach, proven, rows } = await readIndex(client, { ...options, publishes })
    if (cursor === null) return { state: 'empty', cursor }
    const whole = await ledger.upTo(higher(higher(cursor, proven), reach))
    const isOn = whole !== null && (await node.block(cursor.number))?.hash === cursor.hash
    if (!isOn) return { state: 'forked', cursor }
    const upTo = (block: number): Rows => new Map([...whole].filter(([, row]) => row.block <= block))
    const chain = upTo(cursor.number)
    const missing = [...chain.keys()].filter((name) => !rows.has(name))
    const extra = [...rows.keys()].filter((name) => !whole.has(name))
    // A row that was read by its id has a block above the cursor until all rows are read.
    const differences = await differencesOf(rows, whole)
    const different = differences.map(({ name }) => name)
    const [first] = differences
    const example =
      first === undefined ? '' : `, ${first.name} is ${show(first.here)}, on the chain ${show(first.there)}`
    // A row that is not on the chain cannot be proved. A row on the chain is proved up to the block.
    const provenWrong =
      proven === null
        ? []
        : [...upTo(proven.number).keys()].filter((name) => !rows.has(name) || different.includes(name))
    return { state: 'compared', cursor, missing, extra, different, example, provenWrong }
  }
  return { compare, publishes, close: () => client.end() }
}

export type Verifier = Awaited<ReturnType<typeof createVerifier>>
