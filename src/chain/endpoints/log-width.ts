import { max, min } from '../../lib/fixed.ts'
import type { Fault } from '../rpc/faults.ts'

/** The log width of an endpoint: how many blocks it serves the logs of in one request. */
export type LogWidth = {
  /** Blocks of the next request. */
  readonly blocks: bigint
  /** The widest range that was answered. */
  readonly proven: bigint
  /** The narrowest range that was refused as too wide. */
  readonly ceiling: bigint | null
  /** Refusals, and requests without an answer, in a row. */
  readonly refusals: number
  readonly silences: number
  /** Answers at full width since the ceiling was learned. */
  readonly answers: number
}

/** The widest range of one request. */
const WIDEST = 10_000n

/**
 * The target for the number of logs in one answer: larger answers take more memory on both sides and more time per log.
 */
const FULL = 3_000

/** Requests of one width without an answer after which it is halved; more for a width that was answered before. */
const SILENCES = { unproven: 2, proven: 6 }

/** Limits change and stated limits may be wrong: after so many answers at full width a wider range is tried once. */
const ANSWERS_UNTIL_MORE = 100

/** The log width before the first request. */
export const firstWidth = (blocks: bigint): LogWidth => ({
  blocks,
  proven: 0n,
  ceiling: null,
  refusals: 0,
  silences: 0,
  answers: 0,
})

/**
 * Grows by half, at most half way to the refused width. It stays when it is close to that, since each try costs a
 * refusal.
 */
const grow = ({ blocks, ceiling }: LogWidth): bigint => {
  const more = min(blocks + blocks / 2n + 1n, WIDEST)
  if (ceiling === null) return more
  return ceiling - blocks <= blocks / 16n + 1n ? blocks : min(more, (blocks + ceiling) / 2n)
}

/** How many blocks fill an answer if logs are as dense as in the last range. */
const widthForFull = (asked: bigint, logs: number): bigint =>
  logs === 0 ? WIDEST : max(1n, (asked * BigInt(FULL)) / BigInt(logs))

const answered = (width: LogWidth, asked: bigint, logs: number): LogWidth => {
  const next = widened(width, asked)
  return { ...next, blocks: min(next.blocks, widthForFull(asked, logs)) }
}

const widened = (width: LogWidth, asked: bigint): LogWidth => {
  const proven = max(width.proven, asked)
  const calm = { ...width, proven, refusals: 0, silences: 0 }
  // Ranges at the head are narrow and do not show what wider ones would do.
  if (asked < width.blocks) return calm
  const answers = width.answers + 1
  if (width.ceiling !== null && answers >= ANSWERS_UNTIL_MORE) {
    return { ...calm, blocks: grow({ ...calm, ceiling: null }), ceiling: null, answers: 0 }
  }
  return { ...calm, blocks: grow(calm), answers }
}

/**
 * The next width after a range of `asked` blocks was refused as too wide. A stated limit is used when it is below
 * `asked`. Otherwise the widest proven range is used, or `asked` divided by 4, 16, 64 …: four requests find any limit.
 */
const tooWide = (width: LogWidth, asked: bigint, usable: bigint | null): LogWidth => {
  const refusals = width.refusals + 1
  const proven = width.proven < asked ? width.proven : 0n
  const stated = usable !== null && usable < asked ? usable : null
  const blocks = stated ?? (proven > 0n ? proven : max(1n, asked / 4n ** BigInt(refusals)))
  const ceiling = stated === null ? asked : stated + 1n
  return { ...width, blocks, proven, ceiling, refusals, answers: 0 }
}

/** A range with too many logs sets no ceiling, because the next range may have fewer. */
const tooBig = (width: LogWidth, asked: bigint, usable: bigint | null): LogWidth => {
  const refusals = width.refusals + 1
  const stated = usable !== null && usable < asked ? usable : null
  return { ...width, blocks: stated ?? max(1n, asked / 2n ** BigInt(refusals)), refusals }
}

const silent = (width: LogWidth, asked: bigint): LogWidth => {
  const silences = width.silences + 1
  if (asked === 1n || silences < (asked <= width.proven ? SILENCES.proven : SILENCES.unproven)) {
    return { ...width, silences }
  }
  const blocks = asked / 2n
  return { ...width, blocks, proven: min(width.proven, blocks), ceiling: asked, silences, answers: 0 }
}

/**
 * The log width after a request for `asked` blocks: `fault` is null when it was answered, with so many `logs`. Rate
 * limits, missing blocks and missing capabilities leave the width as it is.
 *
 * @example learnWidth(firstWidth(2_000n), 2_000n, { kind: 'range', usable: 500n }).blocks // 500n
 */
export const learnWidth = (width: LogWidth, asked: bigint, fault: Fault | null, logs = 0): LogWidth => {
  switch (fault?.kind) {
    case undefined:
      return answered(width, asked, logs)
    case 'range':
      return tooWide(width, asked, fault.usable)
    case 'other':
      return tooWide(width, asked, null)
    case 'size':
      return tooBig(width, asked, fault.usable)
    case 'unanswered':
    case 'garbage':
      return silent(width, asked)
    default:
      return width
  }
}
