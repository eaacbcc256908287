import { ageOf } from '../schema/columns.ts'
import * as work from '../schema/work.ts'

/** The columns of the head that the leader has checked, with their age. */
export const checkedHead = {
  headNumber: work.heartbeats.headNumber,
  checkedNumber: work.heartbeats.checkedNumber,
  headHash: work.heartbeats.headHash,
  headTimestamp: work.heartbeats.headTimestamp,
  isQuiet: work.heartbeats.isQuiet,
  ageSeconds: ageOf(work.heartbeats.reportedAt),
}

type CheckedHeadRow = Omit<typeof work.heartbeats.$inferSelect, 'chainId' | 'reportedAt'> & {
  readonly ageSeconds: number
}

/** A stored head and its age in milliseconds; null by a build that stores no hash. */
export const storedHeadOf = (row: Pick<CheckedHeadRow, keyof typeof checkedHead>) => {
  const { headNumber: number, checkedNumber, headHash: hash, headTimestamp: timestamp, ageSeconds } = row
  return hash === null || checkedNumber !== number
    ? null
    : { block: { number, hash, timestamp }, ageMs: ageSeconds * 1_000 }
}
