import type { Fault } from './faults.ts'

/** How many blocks an endpoint gives the logs of at once, as far as it has shown. */
export type Width = {
  /** Blocks to ask for next. */
  readonly blocks: bigint
  /** The widest range that was answered. */
  readonly proven: bigint
  /** The narrowest range that was refused as too wide. */
  readonly ceiling: bigint | null
  /** Refusals and silences in a row. */
  readonly refusals: number
  readonly silences: number
  /** Answers at full width since the ceiling was met. */
  readonly answers: number
}

/** Widest range asked for at once. */
const WIDEST = 10_000n

/** Logs that an answer should hold at most: more takes memory, of the node's as of ours, and more time for each. */
const FULL = 3_000

/** Times in a row that a range may go unanswered at its width: once is a node that hiccups. One that was answered before, more. */
const SILENCES = { unproven: 2, proven: 6 }

/** Limits move and numbers lie: after so many answers at full width, more is tried once. */
const ANSWERS_UNTIL_MORE = 100

/** The width of an endpoint that has shown nothing yet. */
export const firstWidth = (blocks: bigint): Width => ({
  blocks,
  proven: 0n,
  ceiling: null,
  refusals: 0,
  silences: 0,
  answers: 0,
})

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** By half of what it is, and half way to what was refused; not at all close to that, where each try costs a refusal. */
const grow = ({ blocks, ceiling }: Width): bigint => {
  const more = min(blocks + blocks / 2n + 1n, WIDEST)
  if (ceiling === null) return more
  return ceiling - blocks <= blocks / 16n + 1n ? blocks : min(more, (blocks + ceiling) / 2n)
}

/** As many blocks as have room in an answer where the logs lie as densely as in the last one. */
const room = (asked: bigint, logs: number): bigint =>
  logs === 0 ? WIDEST : max(1n, (asked * BigInt(FULL)) / BigInt(logs))

const answered = (width: Width, asked: bigint, logs: number): Width => {
  const next = widened(width, asked)
  return { ...next, blocks: min(next.blocks, room(asked, logs)) }
}

const widened = (width: Width, asked: bigint): Width => {
  const proven = max(width.proven, asked)
  const calm = { ...width, proven, refusals: 0, silences: 0 }
  // Ranges at the tip are narrow and say nothing of wider ones.
  if (asked < width.blocks) return calm
  const answers = width.answers + 1
  if (width.ceiling !== null && answers >= ANSWERS_UNTIL_MORE) {
    return { ...calm, blocks: grow({ ...calm, ceiling: null }), ceiling: null, answers: 0 }
  }
  return { ...calm, blocks: grow(calm), answers }
}

/**
 * The next width after a range of `asked` blocks was refused as too wide. A stated number is used when it is less than was asked; one that is
 * refused in its turn lied. Then, and without a number, back to what was answered once, or down by 4, 16, 64: four requests find any limit.
 */
const tooWide = (width: Width, asked: bigint, usable: bigint | null): Width => {
  const refusals = width.refusals + 1
  const proven = width.proven < asked ? width.proven : 0n
  const told = usable !== null && usable < asked ? usable : null
  const blocks = told ?? (proven > 0n ? proven : max(1n, asked / 4n ** BigInt(refusals)))
  const ceiling = told === null ? asked : told + 1n
  return { ...width, blocks, proven, ceiling, refusals, answers: 0 }
}

/** A range with too much in it says nothing of the next one: no ceiling. */
const tooBig = (width: Width, asked: bigint, usable: bigint | null): Width => {
  const refusals = width.refusals + 1
  const told = usable !== null && usable < asked ? usable : null
  return { ...width, blocks: told ?? max(1n, asked / 2n ** BigInt(refusals)), refusals }
}

const silent = (width: Width, asked: bigint): Width => {
  const silences = width.silences + 1
  if (asked === 1n || silences < (asked <= width.proven ? SILENCES.proven : SILENCES.unproven)) {
    return { ...width, silences }
  }
  const blocks = asked / 2n
  return { ...width, blocks, proven: min(width.proven, blocks), ceiling: asked, silences, answers: 0 }
}

/**
 * What an endpoint's answer to a range of `asked` blocks teaches; `null` is an answer, with so many `logs`. A limit on how often it is asked, a
 * missing block or a missing capability teach nothing of the width.
 *
 * @example learnWidth(firstWidth(2_000n), 2_000n, { kind: 'range', usable: 500n }).blocks // 500n
 */
export const learnWidth = (width: Width, asked: bigint, fault: Fault | null, logs = 0): Width => {
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
