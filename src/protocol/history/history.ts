import type { FeeRates } from '../abi/logs.ts'
import type { ProfileName } from '../profiles.ts'
import { Contradiction, createFold, type EventLog, type Fold, type Terms } from './fold.ts'
import { rulesOf } from './rules.ts'

/** A log of an event with its block. */
export type PastLog = EventLog & { readonly blockNumber: bigint }

/** What the views of an event returned at a block, by the names of the fold. */
type Seen = { readonly [F in keyof ReturnType<Fold['event']>]: NonNullable<ReturnType<Fold['event']>[F]> }

/** What the index and the ledger have of an event. */
export type EventRecord = {
  readonly fact: Pick<Terms, 'strike' | 'expiryDate'>
  /** Its last observation. */
  readonly seen: Pick<Terms, 'payoutCap' | 'initialRate' | 'strikeAbove'> &
    Seen & { readonly blockNumber: bigint; readonly blockTimestamp: bigint }
  /** The rates that it keeps from its creation; null where they are not known. */
  readonly rates: Pick<FeeRates, 'creatorLoyaltyRate' | 'lpProfitFeeRate' | 'payoutFeeRate'> | null
  /** The block up to which the ledger has all logs since the creation of the event; null where it lacks some. */
  readonly completeTo: bigint | null
  /** In their order. */
  readonly logs: readonly PastLog[]
}

/** Why the state of an event does not follow from its logs. */
type Inexact = { readonly why: string }

/** The past of an event, which adds up to what the views returned. */
export type History = {
  /** In their order. */
  readonly logs: readonly PastLog[]
  /** The state before the first log. */
  start(): Fold
}

/** The state after the logs up to a block. */
export const foldAt = ({ start, logs }: History, block: bigint): Fold => {
  const fold = start()
  for (const log of logs) if (log.blockNumber <= block) fold.apply(log)
  return fold
}

/** The past up to a block. A later block may share its second. */
export const historyTo = ({ start, logs }: History, block: bigint): History => ({
  start,
  logs: logs.filter(({ blockNumber }) => blockNumber <= block),
})

/**
 * The states of an event at ascending times (Unix seconds), each after the logs up to it. The fold is the same object
 * each time.
 */
export function* foldsAt(
  { start, logs }: History,
  times: Iterable<bigint>,
): Generator<{ readonly fold: Fold; readonly time: bigint }> {
  const fold = start()
  let next = 0
  for (const time of times) {
    for (let log = logs[next]; log !== undefined && log.blockTimestamp <= time; log = logs[next]) {
      fold.apply(log)
      next += 1
    }
    yield { fold, time }
  }
}

const termsOf = ({ fact, seen, rates, logs }: EventRecord): Terms => ({
  strike: fact.strike,
  expiryDate: fact.expiryDate,
  payoutCap: seen.payoutCap,
  initialRate: seen.initialRate,
  strikeAbove: seen.strikeAbove,
  creatorLoyaltyRate: rates?.creatorLoyaltyRate ?? null,
  allowExternalLp: logs.some(({ type }) => type === 'pool.updated') ? null : seen.allowExternalLp,
})

/** The first field in which a state differs from what the views returned; undefined without one. */
const differenceOf = (state: ReturnType<Fold['event']>, seen: Seen): string | undefined =>
  Object.entries(state).find(([field, value]) => value !== null && value !== seen[field as keyof Seen])?.[0]

/**
 * Proves that the logs of an event lead to what the views returned at the block of its observation, and to the amounts of
 * every later log, and gives its past. Of several rules that deployments of a profile can have, those count with which it
 * holds.
 */
export const historyOf = (record: EventRecord, profile: ProfileName): History | Inexact => {
  const { seen, logs, completeTo } = record
  if (completeTo === null) return { why: 'the ledger does not have all of its logs' }
  const terms = termsOf(record)
  let why = ''
  for (const rules of rulesOf[profile]) {
    const history: History = { logs, start: () => createFold(terms, rules) }
    try {
      const fold = foldAt(history, seen.blockNumber)
      const state = fold.event(seen.blockTimestamp)
      // Later logs must follow too.
      for (const log of logs) if (log.blockNumber > seen.blockNumber) fold.apply(log)
      // An observation can be ahead of the ledger for a moment. Then only the amounts of claims prove the logs.
      if (seen.blockNumber > completeTo) return history
      const difference = differenceOf(state, seen)
      if (difference === undefined) return history
      why = `its logs lead to another ${difference} than the chain has at block ${seen.blockNumber}`
    } catch (fault) {
      if (!(fault instanceof Contradiction)) throw fault
      why = fault.message
    }
  }
  return { why }
}
