import type { Block } from './rpc/requests.ts'

/** Blocks per second of the fastest chains, while the pace of this one is not measured yet. */
const FASTEST = 10

/** The shortest time over which the pace is measured, in milliseconds. */
const LEAST_MS = 10_000

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
  /** The newest head, and the agreed one since which the pace is measured. */
  let last: Sample | undefined
  let base: Sample | undefined
  /** The pace as measured last, and the time before that; of a chain that has halted, the pace before it did. */
  let paces: readonly [number, number] | undefined
  /** How far the time of the chain is ahead of the clock, in seconds. */
  let ahead = 0

  const perSecond = (): number => (paces === undefined ? FASTEST : Math.max(...paces))
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
     * Reports the newest block. Only heads that nodes agreed on show the pace, and how far the chain's time is ahead: else
     * a node could report more blocks with each answer, or later ones.
     */
    see(block: Block, now: number, { isAgreed = false } = {}): void {
      const aheadNow = Math.max(0, aheadOf(block, now))
      ahead = last === undefined || isAgreed ? aheadNow : Math.min(ahead, aheadNow)
      last = { number: block.number, at: now }
      if (!isAgreed) return
      const blocks = Number(block.number - (base?.number ?? block.number))
      const ms = now - (base?.at ?? now)
      if (blocks > 0 && ms < LEAST_MS) return
      if (blocks > 0) paces = [(blocks * 1_000) / ms, paces?.[0] ?? 0]
      base = last
    },
  }
}
