/** Shows the progress of a long task. */
export type Meter = {
  /** `done` of `of` units are complete; `of` is null if the total is unknown. A different `what` starts a new count. */
  show(what: string, done: number, of: number | null): void
  /** Clears the line on a terminal. */
  close(): void
}

type Stream = { readonly isTTY?: boolean; write(text: string): unknown }

/** How often the line of a terminal is rewritten, and how often another stream gets a line, in milliseconds. */
const ON_TERMINAL_MS = 100
const ELSEWHERE_MS = 5_000

const clock = (seconds: number): string => {
  const whole = Math.ceil(seconds)
  const two = (value: number): string => String(value).padStart(2, '0')
  const hours = Math.floor(whole / 3_600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`
}

/**
 * One line of progress: `deposits 1200 of 3000, 400 a second, 00:05 left`.
 *
 * @internal
 */
export const meterLine = (what: string, done: number, of: number | null, seconds: number): string => {
  const rate = seconds > 0 ? done / seconds : 0
  const left = of !== null && rate > 0 ? `, ${clock(Math.max(0, of - done) / rate)} left` : ''
  return `${what} ${done}${of === null ? '' : ` of ${of}`}, ${Math.round(rate)} a second${left}`
}

/**
 * Opens a meter. It rewrites one line on a terminal and adds a line every five seconds to any other stream. `now`
 * returns milliseconds.
 *
 * @example createMeter({ stream: process.stderr, now: performance.now.bind(performance) })
 */
export const createMeter = ({ stream, now }: { readonly stream: Stream; readonly now: () => number }): Meter => {
  const isTerminal = stream.isTTY === true
  let count: { readonly what: string; readonly since: number } | undefined
  let shownAt = now()

  return {
    show(what, done, of) {
      const at = now()
      if (count?.what !== what) count = { what, since: at }
      if (at - shownAt < (isTerminal ? ON_TERMINAL_MS : ELSEWHERE_MS)) return
      shownAt = at
      const line = meterLine(what, done, of, (at - count.since) / 1_000)
      stream.write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
    },
    close() {
      if (isTerminal) stream.write('\r\u001b[K')
    },
  }
}
