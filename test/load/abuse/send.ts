import { Agent, request } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export type Attack = {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'OPTIONS' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text and bytes are sent with their length, anything else in chunks. */
  readonly body?: string | Buffer | AsyncIterable<string | Buffer>
  /** Milliseconds until the client disconnects in any case. */
  readonly leaveAfterMs?: number
  /** Milliseconds between two reads of the answer. Without it the answer is read as it arrives. */
  readonly readEveryMs?: number
}

/** Longest error that a client may get, in bytes, and the most wrong answers that are reported. */
const MAX_ERROR_BYTES = 16_384
const MAX_FAULTS = 20

/** Statuses of 500 and above that an overloaded service, or one whose sources fail, may answer. */
const allowed: readonly number[] = [502, 503]

/** Counts answers by series, and keeps forbidden ones. */
export const createResults = () => {
  const series: Record<string, Record<string, number>> = {}
  const faults: string[] = []
  let longestError = 0
  return {
    add(name: string, outcome: string | number): void {
      const counts = series[name] ?? {}
      series[name] = counts
      counts[outcome] = (counts[outcome] ?? 0) + 1
    },
    judge(name: string, { method, path }: Attack, status: number, bytes: number, start: string): void {
      const what =
        status >= 500 && !allowed.includes(status)
          ? `status ${status}: ${start}`
          : status >= 400 && bytes > MAX_ERROR_BYTES
            ? `status ${status} with ${bytes} bytes: ${start}`
            : undefined
      if (status >= 400) longestError = Math.max(longestError, bytes)
      if (what !== undefined && faults.length < MAX_FAULTS)
        faults.push(`${name}: ${method ?? 'GET'} ${path.slice(0, 200)}: ${what}`)
    },
    report: () => ({ series, faults, longestError }),
  }
}

export type Results = ReturnType<typeof createResults>

/** The most connections that one series keeps open. */
const MAX_SOCKETS = 500

/**
 * A random address. Behind one trusted proxy each address is a separate client, so that limits per client do not hide
 * other ones.
 */
const someClient = (): string => `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}`

/** Sends attacks of one series to the API. Each resolves when its answer has ended or its client has disconnected. */
export const createSender = (url: string, name: string, results: Results) => {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  return (attack: Attack): Promise<void> =>
    new Promise((resolve) => {
      const { method = 'GET', path, headers, body, leaveAfterMs = 30_000, readEveryMs } = attack
      const whole = typeof body === 'string' || Buffer.isBuffer(body)
      const length = whole ? { 'content-length': String(Buffer.byteLength(body)) } : {}
      let left = false
      const asked = request(url, {
        ...{ agent, method, path },
        headers: { 'x-forwarded-for': someClient(), ...length, ...headers },
      })
      const leave = (): void => {
        left = true
        asked.destroy()
      }
      const timer = setTimeout(leave, leaveAfterMs)
      let outcome: string | number = 'broken'
      asked.once('response', async (response) => {
        const { statusCode = 0 } = response
        outcome = statusCode
        let bytes = 0
        let start = ''
        try {
          for await (const chunk of response) {
            bytes += chunk.length
            if (start === '') start = String(chunk).slice(0, 300)
            if (readEveryMs !== undefined) await sleep(readEveryMs)
          }
        } catch {
          // The client or the server ended it early.
        }
        results.judge(name, attack, statusCode, bytes, start)
        // An endless body continues after the answer.
        asked.destroy()
      })
      // Errors are outcomes here: a server may break the connection of a client that violates the protocol.
      asked.on('error', () => {})
      asked.once('close', () => {
        clearTimeout(timer)
        results.add(name, left && outcome === 'broken' ? 'left' : outcome)
        resolve()
      })
      if (whole || body === undefined) asked.end(body)
      else
        Readable.from(body)
          .on('error', () => {})
          .pipe(asked)
    })
}
