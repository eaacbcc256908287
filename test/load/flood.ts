import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Question } from './mix.ts'

/*
 * An open loop: each request is sent at its scheduled time whether or not earlier ones were answered. It uses a free
 * connection, or a new one up to a limit. It runs as a separate process that `load.ts` starts: node flood.ts OPTIONS,
 * JSON in and out.
 */

export type FloodOptions = {
  readonly url: string
  readonly questions: readonly Question[]
  readonly perSecond: number
  readonly seconds: number
  readonly connections: number
}

export type FloodResult = {
  /**
   * Scheduled requests, and those of them without a free connection, because all connections still waited for answers.
   */
  readonly due: number
  readonly unsent: number
  readonly accepted: number
  readonly shed: number
  /** Rejected requests without a time to retry. */
  readonly untold: number
  /** Answers of any other status, by status. */
  readonly others: Readonly<Record<string, number>>
  /** Connections that ended while an answer was due, and answers that were missing 10 s after the end. */
  readonly broken: number
  readonly unanswered: number
  /** Milliseconds from each request to its complete answer, sorted. */
  readonly acceptedMs: readonly number[]
  readonly shedMs: readonly number[]
}

const TICK_MS = 5
const PATIENCE_MS = 10_000

const bytesOf = ({ host }: URL, { method, path, body }: Question): Buffer => {
  const text = body === undefined ? '' : JSON.stringify(body)
  const type =
    body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]
  return Buffer.from(`${[`${method} ${path} HTTP/1.1`, `host: ${host}`, ...type].join('\r\n')}\r\n\r\n${text}`)
}

const flood = async ({ url, questions, perSecond, seconds, connections }: FloodOptions): Promise<FloodResult> => {
  const target = new URL(url)
  const requests = questions.map((question) => bytesOf(target, question))
  const free: Socket[] = []
  const waiting = new Map<Socket, number>()
  let open = 0
  const count = { due: 0, unsent: 0, accepted: 0, shed: 0, untold: 0, broken: 0 }
  const others: Record<string, number> = {}
  const acceptedMs: number[] = []
  const shedMs: number[] = []

  const answered = (socket: Socket, head: string): void => {
    const took = performance.now() - (waiting.get(socket) ?? Number.NaN)
    waiting.delete(socket)
    const status = head.slice(9, 12)
    if (status === '200') {
      count.accepted += 1
      acceptedMs.push(took)
    } else if (status === '503') {
      count.shed += 1
      shedMs.push(took)
      if (!/\r\nretry-after: \d+/i.test(head)) count.untold += 1
    } else others[status] = (others[status] ?? 0) + 1
    if (/\r\nconnection: close/i.test(head)) socket.end()
    else free.push(socket)
  }

  const dial = (): Socket => {
    open += 1
    const socket = connect(Number(target.port), target.hostname).setNoDelay()
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = text.slice(0, end)
      const size = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (text.length < end + 4 + size) return
      text = ''
      answered(socket, head)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      open -= 1
      const at = free.indexOf(socket)
      if (at >= 0) free.splice(at, 1)
      if (waiting.delete(socket)) count.broken += 1
    })
    return socket
  }

  const started = performance.now()
  for (let elapsed = 0; elapsed < seconds * 1_000; elapsed = performance.now() - started) {
    for (const upTo = Math.floor((elapsed * perSecond) / 1_000); count.due < upTo; count.due += 1) {
      const socket = free.pop() ?? (open < connections ? dial() : undefined)
      const request = requests[count.due % requests.length]
      if (socket === undefined || request === undefined) count.unsent += 1
      else {
        waiting.set(socket, performance.now())
        socket.write(request)
      }
    }
    await sleep(TICK_MS)
  }
  for (const end = performance.now() + PATIENCE_MS; waiting.size > 0 && performance.now() < end; ) await sleep(TICK_MS)
  const unanswered = waiting.size
  waiting.clear()
  for (const socket of free) socket.destroy()
  const sorted = (list: number[]): number[] => list.sort((a, b) => a - b)
  return { ...count, others, unanswered, acceptedMs: sorted(acceptedMs), shedMs: sorted(shedMs) }
}

const [, , options = '{}'] = process.argv
// Exits only after the result is written, because a pipe accepts a part at a time.
process.stdout.write(JSON.stringify(await flood(JSON.parse(options))), () => process.exit(0))
