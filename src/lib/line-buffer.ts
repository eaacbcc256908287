import { type Logger as PinoLogger, pino } from 'pino'

/** Requests of one route, method and status: the part of their lines that is the same. */
type Kind = { readonly tail: string; readonly end: string }

export type LineBuffer = {
  kind(method: string, route: string, status: number): Kind
  /** Adds the line of a request. The id and the trace's are texts that need no escaping in JSON. */
  answered(kind: Kind, id: string, ms: number, traceId: string | undefined): void
  flush(): void
}

/** How long lines are gathered, in milliseconds, and how many characters at most. */
const FLUSH_AFTER_MS = 100
const FLUSH_AT = 65_536

const INFO = pino.levels.values.info ?? 30

/** The parts that pino puts a line together from, under the symbols that it exports. */
type Parts = {
  readonly [pino.symbols.lsCacheSym]: Readonly<Record<number, string>>
  readonly [pino.symbols.chindingsSym]: string
  readonly [pino.symbols.timeSym]: () => string
  readonly [pino.symbols.streamSym]: { write(text: string): void }
  readonly [pino.symbols.hooksSym]: { readonly streamWrite?: (text: string) => string }
}

/** A text in one piece: what is put together is not, until it is read, and would be put together again in every line. */
const flat = (text: string): string => Buffer.from(text).toString()

/**
 * The access log of requests that are answered too fast to log one by one: lines as pino writes them, gathered and written together. To serialise
 * and write a line on its own costs a quarter of such an answer.
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
    const text = lines
    lines = ''
    const scrub = parts[pino.symbols.hooksSym].streamWrite
    if (text !== '') parts[pino.symbols.streamSym].write(scrub === undefined ? text : scrub(text))
  }

  return {
    flush,
    kind(method, route, status) {
      const tail = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"ms":`
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
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
  }
}
