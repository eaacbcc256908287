import { type Logger as PinoLogger, pino } from 'pino'

/** One answered request, as the access log shows it. Only texts that need no escaping in JSON. */
type Answered = {
  readonly id: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly traceId: string | undefined
}

export type LineBuffer = { answered(it: Answered): void; flush(): void }

/** How long lines are gathered, in milliseconds, and how many characters at most. */
const FLUSH_AFTER_MS = 100
const FLUSH_AT = 65_536

/** Beginnings of lines that are remembered: one for each route, method and status. */
const MOST_KINDS = 1_000

const INFO = pino.levels.values.info ?? 30

/** The parts that pino puts a line together from, under the symbols that it exports. */
type Parts = {
  readonly [pino.symbols.lsCacheSym]: Readonly<Record<number, string>>
  readonly [pino.symbols.chindingsSym]: string
  readonly [pino.symbols.timeSym]: () => string
  readonly [pino.symbols.streamSym]: { write(text: string): void }
  readonly [pino.symbols.hooksSym]: { readonly streamWrite?: (text: string) => string }
}

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
  /** What follows the id in a line of the same kind, without a trace and below half a millisecond. */
  const tails = new Map<string, string>()

  const tailOf = ({ method, route, status, ms, traceId }: Answered): string => {
    const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`
    return `","method":"${method}","route":"${route}","status":${status},"ms":${Math.round(ms)}${trace},"msg":"answered"}\n`
  }

  const commonTailOf = (it: Answered): string => {
    const kind = `${it.method}${it.status}${it.route}`
    const known = tails.get(kind)
    if (known !== undefined) return known
    const tail = tailOf(it)
    if (tails.size < MOST_KINDS) tails.set(kind, tail)
    return tail
  }

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
    answered(it) {
      if (!log.isLevelEnabled('info')) return
      const now = Date.now()
      if (now !== headAt) {
        headAt = now
        head = `${begin}${parts[pino.symbols.timeSym]()}${parts[pino.symbols.chindingsSym]},"requestId":"`
      }
      lines += head + it.id + (it.ms < 0.5 && it.traceId === undefined ? commonTailOf(it) : tailOf(it))
      if (lines.length >= FLUSH_AT) flush()
      else timer ??= setTimeout(flush, FLUSH_AFTER_MS)
    },
  }
}
