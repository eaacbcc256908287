import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/rpc/requests.ts'
import { createdIn, type LastIds } from '../db/index/progress.ts'
import type { DatedFact } from '../db/index/write.ts'
import type { Database } from '../db/pool.ts'
import { isLogged } from '../lib/backoff.ts'
import type { Logger } from '../lib/log.ts'
import { type Entity, firstExisting } from './existence.ts'
import { absentWith, beforeFirst, DuplicateRow, findGap, MissingRow } from './gaps.ts'
import { fetchRange, type Range } from './range.ts'
import { readEntities } from './read-by-id.ts'

type Deps = { readonly chain: Chain; readonly database: Database; readonly log: Logger }

/** A range and the state against which it is checked. */
export type Closing = {
  readonly last: LastIds
  readonly range: Range
  /** The chain's newest block. State is read there, because nodes may have dropped the state of older blocks. */
  readonly head: Block
}

/**
 * The escalation for missing rows, by the number of consecutive attempts: at first the range is requested again, then
 * the log is searched for, at last the record is read from the chain's state.
 */
const SEARCH_LOGS_FROM = 3
const READ_RECORDS_FROM = 6

/** The most ranges that are searched for one log. */
const MAX_SEARCHED_RANGES = 20

/** Records that are read in one request. */
const READ_BATCH = 100

/**
 * Completes ranges. A range is complete when its ids are dense and, at the newest block, no greater id exists. A gap in
 * the ids shows that a node left a log out, and names the missing row. The row is retried, then searched for, and at
 * last read from the chain's state.
 */
export const createRepair = ({ chain, database, log }: Deps) => {
  const { chainId, deployment } = chain
  let gap: { readonly row: string; readonly times: number } | null = null

  /** Counts the consecutive attempts with any missing row, because a node may leave out another row each time. */
  const countMissing = (missing: Entity): number => {
    const row = nameOf(missing)
    const times = (gap?.times ?? 0) + 1
    gap = { row, times }
    const fields = { chainId, row, times }
    if (times === 1) log.info(fields, 'a row is missing')
    else if (isLogged(times)) log.warn(fields, 'a row is missing')
    return times
  }

  /** As `findGap`. Penalizes an endpoint that returns rows which the index already has. */
  const gapIn = (last: LastIds, facts: readonly DatedFact[], endpoint: number): Entity | undefined => {
    try {
      return findGap(last, facts)
    } catch (fault) {
      if (fault instanceof DuplicateRow) chain.penalize(endpoint, 'it returned logs of rows that the index already has')
      throw fault
    }
  }

  /** The first row that the facts lack: in a gap, or after them at the end of the range. */
  const firstMissing = async ({ last, range, head }: Closing, facts: readonly DatedFact[]) => {
    const inGap = gapIn(last, facts, range.endpoint)
    if (inGap !== undefined) return inGap
    if (range.complete === true && facts === range.facts) return undefined
    if (range.block.number === head.number) return firstExisting(chain, range.block, absentWith(last, facts))
    // Nodes without archive state can only be asked at the head. Later logs show rows that an older range lacks at its
    // end, except id 0.
    const first = beforeFirst(last, facts)
    return first.length === 0 ? undefined : firstExisting(chain, head, first)
  }

  /** Searches for the missing logs of a range, between the blocks of the neighbouring rows. */
  const findLogs = async (
    { kind, id }: Entity,
    { last, range, head }: Closing,
    facts: readonly DatedFact[],
  ): Promise<DatedFact[]> => {
    const present = new Set(facts.map(nameOf))
    const blockOf = (ofId: bigint) => facts.find((fact) => fact.kind === kind && fact.id === ofId)?.blockNumber
    const upTo = facts.find((fact) => fact.kind === kind && fact.id > id)?.blockNumber ?? range.block.number
    const before = blockOf(id - 1n) ?? (await createdIn(database, chainId, kind, id - 1n))
    let from = before ?? deployment.startBlock
    for (let ranges = 0; ranges < MAX_SEARCHED_RANGES && from <= upTo; ranges += 1) {
      const part = await fetchRange(chain, { from, upTo, head })
      const found = part.facts.filter((fact) => fact.id > (last[fact.kind] ?? -1n) && !present.has(nameOf(fact)))
      if (found.length > 0) return found
      from = part.block.number + 1n
    }
    return []
  }

  /**
   * Reads the missing rows from the chain's state. Each is dated by the next row that has a log, because it was created
   * no later.
   */
  const readRecords = async ({ kind, id }: Entity, { range, head }: Closing, facts: readonly DatedFact[]) => {
    const next = facts.filter((fact) => fact.kind === kind && fact.id > id).sort((a, b) => (a.id < b.id ? -1 : 1))[0]
    const many = next === undefined ? READ_BATCH : Math.min(Number(next.id - id), READ_BATCH)
    const entities = Array.from({ length: many }, (_, at) => ({ kind, id: id + BigInt(at) }))
    const found = await readEntities(chain, next === undefined ? range.block : head, entities)
    const createdBy = next ?? {
      blockNumber: range.block.number,
      blockHash: range.block.hash,
      blockTimestamp: range.block.timestamp,
    }
    const { blockNumber, blockHash, blockTimestamp } = createdBy
    for (const fact of found)
      log.warn({ chainId, row: nameOf(fact) }, 'row read from the state: no node returns its log')
    return found.map((fact) => ({ ...fact, blockNumber, blockHash, blockTimestamp }))
  }

  return {
    /**
     * Returns all facts of a range, including those whose logs it lacks. Throws MissingRow while the range should be
     * requested again.
     */
    async complete(closing: Closing): Promise<readonly DatedFact[]> {
      let { facts } = closing.range
      let times = 0
      for (;;) {
        const missing = await firstMissing(closing, facts)
        if (missing === undefined) {
          gap = null
          return facts
        }
        if (times === 0) times = countMissing(missing)
        if (times === 1) chain.reportMissingLogs(closing.range.endpoint, `it left out the log of ${nameOf(missing)}`)
        if (times < SEARCH_LOGS_FROM) throw new MissingRow(missing, 'its log was left out')
        const found = await findLogs(missing, closing, facts)
        if (found.length === 0 && times >= READ_RECORDS_FROM)
          found.push(...(await readRecords(missing, closing, facts)))
        if (found.length === 0) throw new MissingRow(missing, 'no node returns its log')
        facts = [...facts, ...found]
      }
    },
    /** A sentence about the row that is missing now; null when there is none. */
    problem: (): string | null => (gap === null ? null : `${gap.row} is missing (attempt ${gap.times})`),
  }
}

const nameOf = ({ kind, id }: Entity): string => `${kind} ${id}`
