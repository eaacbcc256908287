import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/errors.ts'
import { type Block, getBlock } from '../chain/requests.ts'
import type { DatedFact } from '../db/write.ts'
import { decodeLog, type Fact, type Hint, type RawLog } from '../protocol/logs.ts'

/** What a range of blocks holds, and the block that closes it. */
export type Range = { readonly block: Block; readonly facts: readonly DatedFact[]; readonly hints: readonly Hint[] }

/** Blocks from..upTo, after a block whose hash is known (`null` at the start of the index). */
export type Span = {
  readonly after: { readonly number: bigint; readonly hash: string } | null
  readonly from: bigint
  readonly upTo: bigint
}

/** The answer is not of one chain: it changed between two requests, or two nodes answered. Look again. */
class ChainMoved extends Error {
  override readonly name = 'ChainMoved'
}

/** Fetches as much of a span as a node takes at once. Throws ChainMoved, or what `Chain.logs` throws. */
export const fetchRange = async (chain: Chain, span: Span): Promise<Range> => {
  const { logs, last, before } = await chain.logs(span)
  if (span.after !== null && before?.hash !== span.after.hash) throw new ChainMoved(`block ${span.from - 1n} changed`)
  const { facts, hints } = sort(logs, span.from, last)
  return { block: last, facts: await date(chain, facts, last), hints }
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
    for (const outcome of outcomes) {
      if (!outcome.ok) throw toServiceError(outcome.error)
      if (outcome.value === null) throw new ChainMoved('a block of the range is gone')
      headers.set(outcome.value.number, outcome.value)
    }
    if (headers.get(last.number)?.hash !== last.hash) throw new ChainMoved(`block ${last.number} changed`)
  }
  return facts.map((fact) => {
    const header = headers.get(fact.blockNumber)
    if (header?.hash !== fact.blockHash) throw new ChainMoved(`block ${fact.blockNumber} is not that of its logs`)
    return { ...fact, blockTimestamp: header.timestamp }
  })
}

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
