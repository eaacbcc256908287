import type { Chain } from '../chain/chain.ts'
import { type Block, getLogs } from '../chain/rpc/requests.ts'
import type { Outcome } from '../chain/rpc/transport.ts'
import { factById, type LastIds } from '../db/index/work/progress.ts'
import type { DatedFact } from '../db/index/write.ts'
import type { Database } from '../db/pool.ts'
import type { StoredBlock } from '../db/stored.ts'
import type { Logger } from '../lib/observe/log.ts'
import type { RawLog } from '../protocol/abi/packed-log.ts'
import { type Entity, kinds } from '../protocol/entities.ts'
import { disagreement, quorum, SINGLE_ANSWER_MS, type Since, sinceThen } from './agreement.ts'
import { firstExisting } from './reading/existence.ts'
import { absentWith, beforeFirst, DuplicateRow, findGap, MissingRow, WrongRow } from './reading/gaps.ts'
import { ChainMoved, decode, type Range } from './reading/range.ts'
import { readEntities } from './reading/read-by-id.ts'

/** A range and the state against which it is checked. */
export type Closing = {
  readonly last: LastIds
  readonly range: Range
  /** The chain's newest block. State is read there, because nodes may have dropped the state of older blocks. */
  readonly head: Block
}

/** The facts of a range. */
export type Completed = {
  readonly facts: readonly DatedFact[]
  /** The first block in which the logs are of those that were read from the state; null when all have their logs. */
  readonly gapFrom: bigint | null
  /** Whether these are all facts up to the end of the range. The rest is read by ids. */
  readonly isComplete: boolean
}

/**
 * How long, in milliseconds, and how often at least a range with a missing row is requested again. Nodes may answer
 * nothing for most of the time.
 */
const WAIT = { ms: 2_000, answers: 5 }

/** Records that are read in one request. */
const READ_BATCH = 100

/**
 * Completes ranges. A range is complete when its ids are dense and, at the newest block, no greater id exists. A gap in
 * the ids shows that a node left a log out, and names the missing row. Its log may be late, so the range is requested
 * again for a short time. Then the row is read from the chain's state, and the job `gaps` looks for its log.
 */
export const createRepair = (deps: {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** `WAIT` unless given. */
  readonly wait?: typeof WAIT | undefined
}) => {
  const { chain, database, log, now, wait = WAIT } = deps
  const { chainId, deployment } = chain
  /**
   * The missing row, since when rows are missing and in how many answers: a node may leave out another row each time.
   */
  let gap: { readonly row: string; readonly at: number; readonly since: string; readonly answers: number } | null = null
  /** A sentence about a row that a node returns a second time, or of which nodes disagree whether it exists. */
  let contradiction: string | null = null

  /** The row that the only endpoint which answers shows wrong, and since when. */
  let single: Since | null = null

  /**
   * Throws WrongRow when the row of a fact that the index has already is of an earlier block in which the chain did not
   * create it: endpoints (`quorum`, or the only one that answers for `SINGLE_ANSWER_MS`) have its log in the block of the
   * fact and none in the earlier one. A row that was read from the state has no log there anyway. Returns whether others
   * are still waited for.
   */
  const requireRow = async (fact: DatedFact): Promise<boolean> => {
    const row = await factById(database, chainId, fact.kind, fact.id)
    if (row === null) return false
    contradiction = `a node has the log of ${nameOf(fact)} in block ${fact.blockNumber}, and the index in block ${row.blockNumber}`
    const logsOf = (block: bigint) => getLogs({ address: deployment.diamond, fromBlock: block, toBlock: block })
    const has = (logs: Outcome<readonly RawLog[]>): boolean =>
      logs.ok &&
      logs.value.some((log) => {
        const meaning = decode(log)?.meaning
        return meaning?.kind === fact.kind && meaning.id === fact.id
      })
    const asked = { now: logsOf(fact.blockNumber), before: logsOf(row.blockNumber) }
    const answers = await chain.queryAllEndpoints(asked)
    const trusted = answers.flatMap(({ endpoint, outcomes }) =>
      has(outcomes.now) && outcomes.before.ok && (row.txHash === null || !has(outcomes.before)) ? [endpoint] : [],
    )
    const isSingle = answers.length === 1 && trusted.length === 1
    single = isSingle ? sinceThen(single, nameOf(fact), now()) : null
    if (trusted.length >= quorum(chain) || (single !== null && now() - single.since >= SINGLE_ANSWER_MS))
      throw new WrongRow(fact, row.blockNumber, trusted)
    return isSingle
  }

  /**
   * As `findGap`. Penalizes an endpoint that returns rows which the index already has, unless no other one answers. Throws
   * as `requireRow` does.
   */
  const gapIn = async (last: LastIds, facts: readonly DatedFact[], endpoint: number): Promise<Entity | undefined> => {
    try {
      return findGap(last, facts)
    } catch (fault) {
      if (!(fault instanceof DuplicateRow)) throw fault
      const isWaiting = await requireRow(fault.fact)
      if (!isWaiting) chain.penalize(endpoint, 'it returned logs of rows that the index already has')
      throw fault
    }
  }

  /** The first row that the facts lack: in a gap, or after them at the end of the range. */
  const firstMissing = async ({ last, range, head }: Closing, facts: readonly DatedFact[]) => {
    const inGap = await gapIn(last, facts, range.endpoint)
    if (inGap !== undefined) return inGap
    if (range.complete === true && facts === range.facts) return undefined
    if (range.complete !== null || range.block.number === head.number)
      return firstExisting(chain, range.block, absentWith(last, facts))
    // Nodes without archive state can only be asked at the head. Later logs show rows that an older range lacks at its
    // end, except id 0.
    const first = beforeFirst(last, facts)
    return first.length === 0 ? undefined : firstExisting(chain, head, first)
  }

  /**
   * Throws unless endpoints agree (`disagreement`) that the last row of each kind, and so all of these rows, exist at a
   * block: MissingRow when one denies it, ChainMoved when at most one has the block. The only endpoint is not asked again:
   * it read them.
   */
  const confirm = async (block: StoredBlock, rows: readonly Entity[]): Promise<void> => {
    contradiction = null
    if (quorum(chain) === 1) return
    for (const kind of kinds) {
      const row = rows.findLast((it) => it.kind === kind)
      const found = row === undefined ? null : await disagreement(chain, block, row, { now })
      if (row === undefined || found === null) continue
      contradiction = found.text
      throw found.isDenied ? new MissingRow(row, found.text) : new ChainMoved(found.text)
    }
  }

  /** Throws MissingRow for a row that an endpoint denies although it has a later one, or as `confirm`, which penalizes it. */
  const refute = async (block: StoredBlock, denied: Entity): Promise<never> => {
    await confirm(block, [denied])
    contradiction = `a node denies ${nameOf(denied)}, and has a later one`
    throw new MissingRow(denied, contradiction)
  }

  /**
   * Reads the missing rows from the chain's state. Each is dated by the next row that has a log, because it was created
   * no later.
   */
  const readRecords = async ({ kind, id }: Entity, { range, head }: Closing, facts: readonly DatedFact[]) => {
    const next = facts.filter((fact) => fact.kind === kind && fact.id > id).sort((a, b) => (a.id < b.id ? -1 : 1))[0]
    const many = next === undefined ? READ_BATCH : Math.min(Number(next.id - id), READ_BATCH)
    const entities = Array.from({ length: many }, (_, at) => ({ kind, id: id + BigInt(at) }))
    const block = next === undefined ? range.block : head
    const found = await readEntities(chain, block, entities)
    await confirm(block, found)
    const createdBy = next ?? {
      blockNumber: range.block.number,
      blockHash: range.block.hash,
      blockTimestamp: range.block.timestamp,
    }
    const { blockNumber, blockHash, blockTimestamp } = createdBy
    for (const fact of found)
      log.warn({ chainId, row: nameOf(fact) }, 'row read from the state: no node returned a log of it')
    return found.map((fact) => ({ ...fact, blockNumber, blockHash, blockTimestamp }))
  }

  return {
    /**
     * Returns all facts of a range, including those whose logs it lacks. Throws MissingRow while the range should be
     * requested again.
     */
    async complete(closing: Closing): Promise<Completed> {
      let { facts } = closing.range
      // A log that this build does not know may be that of the row, and no other answer will have another one.
      const isLeftOut = closing.range.unknown.length === 0
      const answers = (gap?.answers ?? 0) + 1
      let gapFrom: bigint | null = null
      for (;;) {
        const missing = await firstMissing(closing, facts)
        if (missing === undefined) {
          gap = null
          contradiction = null
          return { facts, gapFrom, isComplete: true }
        }
        const { kind, id } = missing
        const row = nameOf(missing)
        if (gap === null && isLeftOut) {
          chain.reportMissingLogs(closing.range.endpoint, `it left out the log of ${row}`)
          log.info({ chainId, row }, 'a row is missing')
        }
        gap = { at: now(), since: new Date().toISOString(), ...gap, row, answers }
        if (isLeftOut && (now() - gap.at < wait.ms || answers <= wait.answers))
          throw new MissingRow(missing, 'its log was left out')
        const isLast = facts.every((fact) => fact.kind !== kind || fact.id < id)
        const found = await readRecords(missing, closing, facts)
        if (found.length === 0) throw new MissingRow(missing, 'no node returns its log or its record')
        // An earlier range may have lacked the log too: its block is no older than that of the row before.
        const before = facts.find((fact) => fact.kind === kind && fact.id === id - 1n)?.blockNumber
        const from = before ?? (await factById(database, chainId, kind, id - 1n))?.blockNumber ?? deployment.startBlock
        if (gapFrom === null || from < gapFrom) gapFrom = from
        facts = [...facts, ...found]
        // After the last log there may be any number of rows: the steps that follow read them in parts.
        if (isLast && found.length === READ_BATCH) {
          gap = null
          return { facts, gapFrom, isComplete: false }
        }
      }
    },
    confirm,
    refute,
    /** A sentence about the row that is missing now, or about which nodes disagree; null when there is none. */
    problem: (): string | null => contradiction ?? (gap === null ? null : `${gap.row} is missing since ${gap.since}`),
  }
}

const nameOf = ({ kind, id }: Entity): string => `${kind} ${id}`
