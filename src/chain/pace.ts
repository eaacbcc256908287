import type { Block } from './rpc/requests.ts'

/** Blocks per second of the fastest chains, while the pace of this one is not measured yet. */
const FASTEST = 10

/** The shortest and the longest time over which the pace is measured, in milliseconds. */
const MEASURED_MS = { least: 10_000, most: 120_000 }

/** A head may be ahead of the measured pace by this factor, and by so many seconds of it. */
const MARGIN = { factor: 2, seconds: 4 }

/** Seconds that a block's time may be ahead of our clock, more than that of the first head or an agreed one was. */
const AHEAD_SECONDS = 15

type Sample = { readonly number: bigint; readonly at: number }

/**
 * Measures how fast a chain makes blocks, to decide what can be its newest one. Times in milliseconds of one clock, which
 * also is what the times of blocks are compared with.
 */
export const createPace = () => {
  let first: Sample | undefined
  let last: Sample | undefined
  /** The pace before it was last measured again; of a chain that has halted, the pace before it did. */
  let before = 0
  /** How far the time of the chain is ahead of the clock, in seconds. */
  let ahead = 0

  const measured = (from: Sample, to: Sample): number => (Number(to.number - from.number) * 1_000) / (to.at - from.at)
  const perSecond = (): number => {
    if (first === undefined || last === undefined || last.at - first.at < MEASURED_MS.least) return FASTEST
    return Math.max(before, measured(first, last))
  }
  const aheadOf = ({ timestamp }: Block, now: number): number => Number(timestamp) - now / 1_000

  return {
    /** Why a block cannot be the newest one yet, as far as this is known; null when it can. */
    doubt(block: Block, now: number): string | null {
      if (last === undefined) return 'nothing is known of the chain yet'
      const seconds = MARGIN.factor * ((now - last.at) / 1_000 + MARGIN.seconds)
      if (block.number > last.number + BigInt(Math.ceil(seconds * perSecond())))
        return `it is ${block.number - last.number} blocks above the last one`
      const secondsAhead = Math.round(aheadOf(block, now))
      return secondsAhead > AHEAD_SECONDS + ahead ? `its time is ${secondsAhead} s ahead of the clock` : null
    },
    /**
     * Reports the newest block. After a lower one, the pace is measured again. Only the first one and those that nodes
     * agreed on show that the chain's time is further ahead: else a node could advance it by some seconds with each one.
     */
    see(block: Block, now: number, { isAgreed = false } = {}): void {
      const aheadNow = Math.max(0, aheadOf(block, now))
      ahead = last === undefined || isAgreed ? aheadNow : Math.min(ahead, aheadNow)
      const isLower = last !== undefined && block.number < last.number
      last = { number: block.number, at: now }
      if (first !== undefined && !isLower && now - first.at <= MEASURED_MS.most) return
      if (first !== undefined && !isLower) before = measured(first, last) || before
      first = last
    },
  }
}
