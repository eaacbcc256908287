import { type Logger as PinoLogger, pino } from 'pino'

/** The constant part of the log lines of requests with the same route, method and status. */
type Kind = { readonly tail: string; readonly end: string }

export type LineBuffer = {
  kind(method: string, route: string | undefined, status: number): Kind
  /** Adds the line of a request. Neither id may contain characters that JSON escapes. */
  answered(kind: Kind, id: string, ms: number, traceId: string | undefined): void
  flush(): void
}

/** The longest time that lines are buffered, in milliseconds, and the number of characters that causes a write. */
const FLUSH_AFTER_MS = 100
const FLUSH_AT = 65_536

const INFO = pino.levels.values.info ?? 30

/** The parts from which pino builds a line, under the symbols that it exports. */
type Parts = {
  readonly [pino.symbols.lsCacheSym]: Readonly<Record<number, string>>
  readonly [pino.symbols.chindingsSym]: string
  readonly [pino.symbols.timeSym]: () => string
  readonly [pino.symbols.streamSym]: { write(text: string): void }
  readonly [pino.symbols.hooksSym]: { readonly streamWrite?: (text: string) => string }
}

/** Buffers with unwritten lines, flushed when the process exits. */
const unwritten = new Set<() => void>()
process.on('exit', () => {
  for (const flush of unwritten) flush()
})

/** Flattens a concatenated string once. V8 concatenates lazily and would otherwise flatten it again for every line. */
const flat = (text: string): string => Buffer.from(text).toString()

/**
 * The access log: lines in pino's format, buffered and written together. A line that pino serialises and writes alone
 * takes 11 us, a tenth of a small request.
 */
export const createLineBuffer = (log: PinoLogger): LineBuffer => {
  const parts = log as unknown as Parts
  const begin = parts[pino.symbols.lsCacheSym][INFO] ?? ''
  let lines = ''
  let timer: NodeJS.Timeout | null = null
  /** The beginning of every line of this millisecond. */
  let head = ''
  let headAt = 0
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    unwritten.delete(flush)
    const text = lines
    lines = ''
    const scrub = parts[pino.symbols.hooksSym].streamWrite
    if (text !== '') parts[pino.symbols.streamSym].write(scrub === undefined ? text : scrub(text))
  }

  return {
    flush,
    kind(method, route, status) {
      const routed = route === undefined ? '' : `,"route":${JSON.stringify(route)}`
      const tail = `","method":"${method}"${routed},"status":${status},"ms":`
      return { tail, end: flat(`${tail}0,"msg":"answered"}\n`) }
    },
    answered({ tail, end }, id, ms, traceId) {
      if (!log.isLevelEnabled('info')) return
      const now = Date.now()
      if (now !== headAt) {
        headAt = now
        head = flat(`${begin}${parts[pino.symbols.timeSym]()}${parts[pino.symbols.chindingsSym]},"requestId":"`)
      }
      if (ms < 0.5 && traceId === undefined) lines += head + id + end
      else {
        const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`
        lines += `${head}${id}${tail}${Math.round(ms)}${trace},"msg":"answered"}\n`
      }
      if (lines.length >= FLUSH_AT) flush()
      else if (timer === null) {
        timer = setTimeout(flush, FLUSH_AFTER_MS)
        unwritten.add(flush)
      }
    },
  }
}
