import type { Block } from '../rpc/requests.ts'

/** Blocks per second of the fastest chains, while the pace of this one is not measured yet. */
const FASTEST = 10

/** The shortest time over which the pace is measured, in milliseconds. */
const LEAST_MS = 10_000

/**
 * A head may be ahead of the measured pace by this factor, and by so many seconds of it: since the last head, and since
 * the last one that nodes agreed on, so that a node cannot add the margin again with each answer.
 */
const MARGINS = { last: { factor: 2, seconds: 8 }, agreed: { factor: 1.25, seconds: 16 } } as const

/** Seconds that a block's time may be ahead of the clock, more than that of an agreed head was. */
const AHEAD_SECONDS = 15

type Sample = { readonly number: bigint; readonly at: number }

/**
 * Measures how fast a chain makes blocks, to decide what can be its newest one. Times in milliseconds of one clock, which
 * also is what the times of blocks are compared with.
 */
export const createPace = () => {
  /** The newest head, the newest agreed one, and the agreed one since which the pace is measured. */
  let last: Sample | undefined
  let agreed: Sample | undefined
  let base: Sample | undefined
  /** The pace as measured last, and the time before that; of a chain that has halted, the pace before it did. */
  let paces: readonly [number, number] | undefined
  /** How far the time of the chain is ahead of the clock, and how far that of its newest claim was behind it, in seconds. */
  let ahead = 0
  let behind = Number.POSITIVE_INFINITY

  const perSecond = (): number => (paces === undefined ? FASTEST : Math.max(...paces))
  const mostSince = ({ number, at }: Sample, now: number, { factor, seconds }: (typeof MARGINS)['last' | 'agreed']) =>
    number + BigInt(Math.ceil(((factor * (now - at)) / 1_000 + seconds) * perSecond()))
  const aheadOf = ({ timestamp }: Block, now: number): number => Number(timestamp) - now / 1_000
  /** When a block was made. One that is old when it is reported, by nodes that lag, leaves time for those after it. */
  const madeAt = ({ timestamp }: Block, now: number): number =>
    Math.min(now, (Number(timestamp) + behind - ahead) * 1_000)
  const hear = (block: Block, now: number): void => {
    behind = Math.min(behind, Math.max(0, -aheadOf(block, now)))
  }

  return {
    /** Reports what a node calls its newest block, which shows how late blocks of the chain are at most. */
    hear,
    /** Whether nodes have agreed on a block yet. */
    isKnown: (): boolean => agreed !== undefined,
    /** Why a block cannot be the newest one yet, as far as this is known; null when it can. */
    doubt(block: Block, now: number): string | null {
      if (last === undefined || agreed === undefined) return 'nothing is known of the chain yet'
      if (block.number > mostSince(last, now, MARGINS.last))
        return `it is ${block.number - last.number} blocks above the last one`
      if (block.number > mostSince(agreed, now, MARGINS.agreed))
        return `it is ${block.number - agreed.number} blocks above the last one that nodes agreed on`
      const secondsAhead = Math.round(aheadOf(block, now))
      return secondsAhead > AHEAD_SECONDS + ahead ? `its time is ${secondsAhead} s ahead of the clock` : null
    },
    /**
     * Reports the newest block. Only heads that nodes agreed on show the pace, and how far the chain's time is ahead: else
     * a node could report more blocks with each answer, or later ones.
     */
    see(block: Block, now: number, { isAgreed = false } = {}): void {
      hear(block, now)
      const at = madeAt(block, now)
      const aheadNow = Math.max(0, aheadOf(block, now))
      ahead = isAgreed ? aheadNow : Math.min(ahead, aheadNow)
      last = { number: block.number, at }
      if (!isAgreed) return
      agreed = last
      const blocks = Number(block.number - (base?.number ?? block.number))
      const ms = at - (base?.at ?? at)
      if (blocks > 0 && ms < LEAST_MS) return
      if (blocks > 0) paces = [(blocks * 1_000) / ms, paces?.[0] ?? 0]
      base = last
    },
  }
}
