import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { type Block, getBlock, viewCall } from '../chain/requests.ts'
import type { LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/query.ts'
import type { DatedFact } from '../db/write.ts'
import { decodeLog, type Fact, type Hint, type RawLog } from '../protocol/logs.ts'
import { absentWith } from './dense.ts'
import { exists, recordCall } from './existence.ts'

/**
 * What a range of blocks holds, the block that closes it, and the endpoint that told its logs. `complete` tells whether nothing lies beyond
 * it at that block, null when that was not asked.
 */
export type Range = {
  readonly block: Block
  readonly facts: readonly DatedFact[]
  readonly hints: readonly Hint[]
  readonly endpoint: number
  readonly complete: boolean | null
}

/** Blocks from..upTo, after a block whose hash is known (`null` at the start of the index). */
export type Span = {
  readonly after: { readonly number: bigint; readonly hash: string } | null
  readonly from: bigint
  readonly upTo: bigint
}

/** The answer is not of one chain: it changed between two requests, or two nodes answered. Look again. */
export class ChainMoved extends Error {
  override readonly name = 'ChainMoved'
}

/** Fetches as much of a span as a node takes at once. Throws ChainMoved, or what `Chain.logs` throws. */
export const fetchRange = async (chain: Chain, span: Span): Promise<Range> => {
  const { endpoint, logs, last, before } = await chain.logs(span)
  if (span.after !== null && before?.hash !== span.after.hash) throw new ChainMoved(`block ${span.from - 1n} changed`)
  const { facts, hints } = sort(logs, span.from, last)
  return { block: last, facts: await date(chain, facts, last), hints, endpoint, complete: null }
}

/** Gives a chain's ranges one after the other. */
export const createRanges = ({ chain }: { readonly chain: Chain }) => ({
  next: ({ after, upTo }: Omit<Span, 'from'>): Promise<Range> =>
    fetchRange(chain, { after, from: after === null ? chain.deployment.startBlock : after.number + 1n, upTo }),
  /** Forgets what was fetched ahead. */
  drop(): void {},
})

/**
 * Makes a range of the few blocks from the cursor to the head, of which the logs are known already: one request shows that cursor, head and
 * each log's block belong to one chain, and whether anything lies at the head beyond what the logs tell (`complete`). Throws ChainMoved
 * when they are of more than one chain, or what `Chain.send` throws.
 */
export const fetchTip = async (
  chain: Chain,
  tip: Pick<Range, 'endpoint'> & {
    readonly cursor: StoredBlock
    readonly head: Block
    readonly logs: readonly RawLog[]
    readonly last: LastIds
  },
): Promise<Range> => {
  const { cursor, head, last } = tip
  const from = cursor.number + 1n
  // A block may have come between the head and the logs in one and the same answer.
  const logs = tip.logs.filter(({ blockNumber }) => blockNumber <= head.number)
  const { facts, hints } = sort(logs, from, head)
  const numbers = [cursor.number, head.number, ...new Set(facts.map(({ blockNumber }) => blockNumber))]
  const at = { blockHash: head.hash }
  const probes = absentWith(last, facts).map((entity) => viewCall(chain.deployment.diamond, recordCall(entity), at))
  const outcomes = await chain.send([...probes, ...numbers.map((number) => getBlock(number))])
  const beyond = outcomes.slice(0, probes.length) as Outcome<never>[]
  const blocks = outcomes.slice(probes.length) as Outcome<Block | null>[]
  const headers = new Map(blocks.map((outcome) => blockOf(outcome)).map((block) => [block.number, block]))
  for (const known of [cursor, head]) {
    if (headers.get(known.number)?.hash !== known.hash) throw new ChainMoved(`block ${known.number} changed`)
  }
  const complete = beyond.every((outcome) => (outcome.ok ? !exists(outcome) : isRevert(outcome.error)))
  return { block: head, facts: dated(facts, headers), hints, endpoint: tip.endpoint, complete }
}

const blockOf = (outcome: Outcome<Block | null>): Block => {
  if (!outcome.ok) throw toServiceError(outcome.error)
  if (outcome.value === null) throw new ChainMoved('a block of the range is gone')
  return outcome.value
}

/** Headers asked for in one batch. */
const BATCH = 99

/**
 * Adds the time of each fact's block. The header also tells whether the log is of this chain: logs and headers may come from two
 * nodes on two forks, where the same id belongs to two people. The range's last block comes with each batch, as the chain's mark.
 */
const date = async (chain: Chain, facts: readonly Fact[], last: Block): Promise<DatedFact[]> => {
  const headers = new Map([[last.number, last]])
  const numbers = [...new Set(facts.map(({ blockNumber }) => blockNumber))].filter((number) => number !== last.number)
  for (let at = 0; at < numbers.length; at += BATCH) {
    const outcomes = await chain.send([last.number, ...numbers.slice(at, at + BATCH)].map((number) => getBlock(number)))
    for (const block of outcomes.map(blockOf)) headers.set(block.number, block)
    if (headers.get(last.number)?.hash !== last.hash) throw new ChainMoved(`block ${last.number} changed`)
  }
  return dated(facts, headers)
}

const dated = (facts: readonly Fact[], headers: ReadonlyMap<bigint, Block>): DatedFact[] =>
  facts.map((fact) => {
    const header = headers.get(fact.blockNumber)
    if (header?.hash !== fact.blockHash) throw new ChainMoved(`block ${fact.blockNumber} is not that of its logs`)
    return { ...fact, blockTimestamp: header.timestamp }
  })

const sort = (
  logs: readonly RawLog[],
  from: bigint,
  last: Block,
): { readonly facts: readonly Fact[]; readonly hints: readonly Hint[] } => {
  const facts: Fact[] = []
  const hints: Hint[] = []
  for (const log of logs) {
    if (log.blockNumber < from || log.blockNumber > last.number) throw new ChainMoved('a log from outside the range')
    if (log.blockNumber === last.number && log.blockHash !== last.hash) throw new ChainMoved('logs of another fork')
    const decoded = decodeLog(log)
    if (decoded === null) continue
    if (decoded.kind === 'hint') hints.push(decoded)
    else facts.push(decoded)
  }
  return { facts, hints }
}
