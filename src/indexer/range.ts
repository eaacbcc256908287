import type { Chain } from '../chain/chain.ts'
import type { Outcome } from '../chain/endpoint.ts'
import { toServiceError } from '../chain/errors.ts'
import { type Block, getBlock, viewCall } from '../chain/requests.ts'
import type { LastIds } from '../db/progress.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { DatedFact } from '../db/write.ts'
import { decodeLog, type Fact, type Hint } from '../protocol/logs.ts'
import type { RawLog } from '../protocol/packed-log.ts'
import { absentWith } from './dense.ts'
import { noneExists, recordCall } from './existence.ts'

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

/** A range as it was fetched, with the block before it, which has to be the one the index is at. */
export type Fetched = Range & { readonly before: Block | null }

/** The answer is not of one chain: it changed between two requests, or two nodes answered. Look again. */
export class ChainMoved extends Error {
  override readonly name = 'ChainMoved'
}

/**
 * Fetches the blocks from..upTo, or as many as a node takes at once, of a chain whose newest block is `head`. Throws ChainMoved, or what
 * `Chain.logs` throws.
 */
export const fetchRange = async (
  chain: Chain,
  { from, upTo, head }: { readonly from: bigint; readonly upTo: bigint; readonly head: Block },
): Promise<Fetched> => {
  const { endpoint, logs, last, before } = await chain.logs({ from, upTo })
  const { facts, hints } = sort(chain, endpoint, { logs, from, last })
  const isSettled = head.timestamp - last.timestamp >= SETTLED_SECONDS
  const told = isSettled ? blocksOf(logs, before, last) : new Map<bigint, Block>()
  return { before, block: last, facts: await date(chain, facts, last, told), hints, endpoint, complete: null }
}

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
  const { facts, hints } = sort(chain, tip.endpoint, { logs, from, last: head })
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
  const complete = noneExists(beyond)
  return { block: head, facts: dated(facts, headers), hints, endpoint: tip.endpoint, complete }
}

const blockOf = (outcome: Outcome<Block | null>): Block => {
  if (!outcome.ok) throw toServiceError(outcome.error)
  if (outcome.value === null) throw new ChainMoved('a block of the range is gone')
  return outcome.value
}

/** Headers asked for in one batch. */
const BATCH = 99

/** So far behind the head, in seconds of the chain, there is one fork, and logs may say themselves when they were. */
const SETTLED_SECONDS = 120n

/** The blocks of logs as the logs tell them, where a node adds their time; one that lies outside the range's own times is not believed. */
const blocksOf = (logs: readonly RawLog[], before: Block | null, last: Block): ReadonlyMap<bigint, Block> => {
  const blocks = new Map<bigint, Block>()
  for (const { blockNumber: number, blockHash: hash, blockTimestamp: timestamp } of logs) {
    if (timestamp === null || timestamp > last.timestamp || timestamp < (before?.timestamp ?? 0n)) continue
    if (!blocks.has(number)) blocks.set(number, { number, hash, timestamp })
  }
  return blocks
}

/**
 * Adds the time of each fact's block, from what is `told` of it or from its header. The header also tells whether the log is of this chain:
 * logs and headers may come from two nodes on two forks, where the same id belongs to two people. The range's last block comes with each
 * batch, as the chain's mark.
 */
const date = async (
  chain: Chain,
  facts: readonly Fact[],
  last: Block,
  told: ReadonlyMap<bigint, Block>,
): Promise<DatedFact[]> => {
  const headers = new Map([...told, [last.number, last]])
  const numbers = [...new Set(facts.map(({ blockNumber }) => blockNumber))].filter((number) => !headers.has(number))
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
    return isDated(fact, header) ? fact : { ...fact, blockTimestamp: header.timestamp }
  })

/** Most logs tell the time of their block themselves. */
const isDated = (fact: Fact, { timestamp }: Block): fact is DatedFact => fact.blockTimestamp === timestamp

/** Splits an endpoint's logs. Throws ChainMoved, and has the endpoint doubted, when they are not what was asked for or cannot be read. */
const sort = (
  chain: Chain,
  endpoint: number,
  { logs, from, last }: { readonly logs: readonly RawLog[]; readonly from: bigint; readonly last: Block },
): { readonly facts: readonly Fact[]; readonly hints: readonly Hint[] } => {
  const facts: Fact[] = []
  const hints: Hint[] = []
  const refuse = (why: string): never => {
    chain.doubt(endpoint, why)
    throw new ChainMoved(why)
  }
  const diamond = chain.deployment.diamond.toLowerCase()
  for (const log of logs) {
    if (log.address.toLowerCase() !== diamond) refuse('a log of another contract')
    if (log.blockNumber < from || log.blockNumber > last.number) refuse('a log from outside the range')
    if (log.blockNumber === last.number && log.blockHash !== last.hash) throw new ChainMoved('logs of another fork')
    const decoded = decode(log) ?? refuse('a log that cannot be read')
    if (decoded === 'other') continue
    if (decoded.kind === 'hint') hints.push(decoded)
    else facts.push(decoded)
  }
  return { facts: once(facts) ?? refuse('two logs of one row'), hints }
}

/** Facts without those that were given twice; null where two logs tell of one row. Nearly always they are in order, and there is none. */
const once = (facts: readonly Fact[]): readonly Fact[] | null => {
  const last: Record<Fact['kind'], bigint> = { event: -1n, deposit: -1n, position: -1n }
  const inOrder = facts.every(({ kind, id }) => {
    const isNext = id > last[kind]
    last[kind] = id
    return isNext
  })
  if (inOrder) return facts
  const each = new Map<string, Fact>()
  for (const fact of facts) {
    const key = `${fact.kind} ${fact.id}`
    const twin = each.get(key) ?? fact
    if (twin.blockHash !== fact.blockHash || twin.logIndex !== fact.logIndex) return null
    each.set(key, twin)
  }
  return [...each.values()]
}

/** What a log says, `other` when that is nothing to follow, null when it cannot be read. */
const decode = (log: RawLog): Fact | Hint | 'other' | null => {
  try {
    return decodeLog(log) ?? 'other'
  } catch {
    return null
  }
}
