import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import type { Database } from '../db/pool.ts'
import { createdIn, type LastIds } from '../db/progress.ts'
import type { DatedFact } from '../db/write.ts'
import type { Logger } from '../lib/log.ts'
import { absentWith, beforeFirst, firstHole, RowMissing, RowTwice } from './dense.ts'
import { type Entity, firstExisting } from './existence.ts'
import { readEntities } from './ids.ts'
import { fetchRange, type Range } from './range.ts'

type Deps = { readonly chain: Chain; readonly database: Database; readonly log: Logger }

/** What a range is closed against. */
export type Closing = {
  readonly last: LastIds
  readonly range: Range
  /** The chain's newest block: where state is asked for that older blocks may have lost. */
  readonly head: Block
}

/** Times that a row is found missing: at first its range is asked for again, then its log is looked for, at last its record is read. */
const LOOK_FOR_LOGS = 3
const READ_RECORDS = 6

/** Ranges to look through for one log. */
const LOOKED_THROUGH = 20

/** Records to read in one request. */
const READ_AT_ONCE = 100

/**
 * Closes ranges: a range is whole when its ids are dense and, at the newest block, nothing lies beyond them. A node that leaves a log out
 * is told by the hole, which names the row; the row is waited for, looked for, and at last read from the chain's state.
 */
export const createRepair = ({ chain, database, log }: Deps) => {
  const { chainId, deployment } = chain
  let gap: { readonly row: string; readonly times: number } | null = null

  /** Counts how often in a row something was missing, whatever it was: a node may leave out another row each time. */
  const noteMissing = (missing: Entity): number => {
    const row = nameOf(missing)
    const times = (gap?.times ?? 0) + 1
    gap = { row, times }
    const fields = { chainId, row, times }
    if (times === 1) log.info(fields, 'a row is missing')
    else if (Number.isInteger(Math.log2(times))) log.warn(fields, 'a row is missing')
    return times
  }

  /** As `firstHole`; who tells of rows that are there already is doubted. */
  const holeIn = (last: LastIds, facts: readonly DatedFact[], endpoint: number): Entity | undefined => {
    try {
      return firstHole(last, facts)
    } catch (fault) {
      if (fault instanceof RowTwice) chain.doubt(endpoint, 'it told of rows that were told before')
      throw fault
    }
  }

  /** The first row that the facts lack: in a hole, or beyond them at the range's end. */
  const firstMissing = async ({ last, range, head }: Closing, facts: readonly DatedFact[]) => {
    const hole = holeIn(last, facts, range.endpoint)
    if (hole !== undefined) return hole
    if (range.complete === true && facts === range.facts) return undefined
    if (range.block.number === head.number) return firstExisting(chain, range.block, absentWith(last, facts))
    // Nodes that keep no old state can be asked at the head alone. What lies beyond an older range is shown by later logs; id 0 is not.
    const first = beforeFirst(last, facts)
    return first.length === 0 ? undefined : firstExisting(chain, head, first)
  }

  /** The logs that a range lacks from a missing row on: they lie between those of its neighbours. */
  const findLogs = async (
    { kind, id }: Entity,
    { last, range, head }: Closing,
    facts: readonly DatedFact[],
  ): Promise<DatedFact[]> => {
    const held = new Set(facts.map(nameOf))
    const blockOf = (ofId: bigint) => facts.find((fact) => fact.kind === kind && fact.id === ofId)?.blockNumber
    const upTo = facts.find((fact) => fact.kind === kind && fact.id > id)?.blockNumber ?? range.block.number
    const before = blockOf(id - 1n) ?? (await createdIn(database, chainId, kind, id - 1n))
    let from = before ?? deployment.startBlock
    for (let ranges = 0; ranges < LOOKED_THROUGH && from <= upTo; ranges += 1) {
      const part = await fetchRange(chain, { from, upTo, head })
      const found = part.facts.filter((fact) => fact.id > (last[fact.kind] ?? -1n) && !held.has(nameOf(fact)))
      if (found.length > 0) return found
      from = part.block.number + 1n
    }
    return []
  }

  /** The rows from a missing one on as the chain's state has them: each was created at the latest with the next one that has a log. */
  const readRecords = async ({ kind, id }: Entity, { range, head }: Closing, facts: readonly DatedFact[]) => {
    const next = facts.filter((fact) => fact.kind === kind && fact.id > id).sort((a, b) => (a.id < b.id ? -1 : 1))[0]
    const many = next === undefined ? READ_AT_ONCE : Math.min(Number(next.id - id), READ_AT_ONCE)
    const asked = Array.from({ length: many }, (_, at) => ({ kind, id: id + BigInt(at) }))
    const found = await readEntities(chain, next === undefined ? range.block : head, asked)
    const seen = next ?? {
      blockNumber: range.block.number,
      blockHash: range.block.hash,
      blockTimestamp: range.block.timestamp,
    }
    const { blockNumber, blockHash, blockTimestamp } = seen
    for (const fact of found) log.warn({ chainId, row: nameOf(fact) }, 'row read from the state: no node gives its log')
    return found.map((fact) => ({ ...fact, blockNumber, blockHash, blockTimestamp }))
  }

  return {
    /** All facts of a range, those included that its logs lack. Throws RowMissing while the range should be asked for again. */
    async close(closing: Closing): Promise<readonly DatedFact[]> {
      let { facts } = closing.range
      let times = 0
      for (;;) {
        const missing = await firstMissing(closing, facts)
        if (missing === undefined) {
          gap = null
          return facts
        }
        if (times === 0) times = noteMissing(missing)
        if (times === 1) chain.forgot(closing.range.endpoint, `it left out the log of ${nameOf(missing)}`)
        if (times < LOOK_FOR_LOGS) throw new RowMissing(missing, 'its log was left out')
        const found = await findLogs(missing, closing, facts)
        if (found.length === 0 && times >= READ_RECORDS) found.push(...(await readRecords(missing, closing, facts)))
        if (found.length === 0) throw new RowMissing(missing, 'no node gives its log')
        facts = [...facts, ...found]
      }
    },
    /** The row that is missing now, in words; null when none is. */
    trouble: (): string | null => (gap === null ? null : `${gap.row} is missing, looked for ${gap.times} times`),
  }
}

const nameOf = ({ kind, id }: Entity): string => `${kind} ${id}`
