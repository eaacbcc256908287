import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
type Answer = { readonly id: number; readonly result?: unknown; readonly error?: unknown }

/** Changes the result of one call, or returns it unchanged. */
export type Alter = (method: string, result: unknown, params: readonly unknown[]) => unknown

const honest: Alter = (_, result) => result

/** The error to answer a call with; undefined to let the node answer. */
type Refuse = (
  method: string,
  params: readonly unknown[],
) => { readonly code: number; readonly message: string } | undefined

const nothing: Refuse = () => undefined

/** The function that runs many calls as one. */
const AGGREGATE3 = '82ad56cb'

/** A node that does not support batched views, so that each view is a separate call. */
export const oneByOne: Refuse = (method, params) =>
  method === 'eth_call' && JSON.stringify(params).includes(AGGREGATE3)
    ? { code: -32_000, message: 'out of gas' }
    : undefined

type DelayOf = (methods: readonly string[]) => number

/** The proxy's own answer instead of the node's: a status, and a body that may be no JSON-RPC at all. */
type Instead = (asked: readonly Call[]) => { readonly status?: number; readonly body: string } | 'nothing'

/**
 * A proxy between the service and a real node, like a provider's load balancer, that changes the node's answers.
 *
 * @example
 * const proxy = await startNodeProxy(anvil.url)
 * proxy.alter((method, result) => (method === 'eth_getLogs' ? [] : result))
 */
export const startNodeProxy = async (target: string) => {
  let alter = honest
  let refuse = nothing
  let instead: Instead | undefined
  let delayOf: DelayOf = () => 0
  let isHeld: (body: string) => boolean = () => false
  let held = 0
  let calls: string[] = []
  let requests = 0

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    requests += 1
    if (isHeld(body)) {
      held += 1
      response.once('close', () => (held -= 1))
      return
    }
    const asked: Call[] = JSON.parse(body)
    if (instead === undefined) return void response.end(await relayed(body, asked))
    const answer = instead(asked)
    if (answer !== 'nothing') response.writeHead(answer.status ?? 200).end(answer.body)
  }

  const relayed = async (body: string, asked: readonly Call[]): Promise<string> => {
    await sleep(delayOf(asked.map(({ method }) => method)))
    const response = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const answers: Answer[] = JSON.parse(await response.text())
    calls.push(...asked.map(({ method }) => method))
    const changed = answers.map((it) => {
      const call = asked.find(({ id }) => id === it.id)
      const error = call && refuse(call.method, call.params)
      if (error !== undefined) return { id: it.id, jsonrpc: '2.0', error }
      return call === undefined || it.error !== undefined
        ? it
        : { ...it, result: alter(call.method, it.result, call.params) }
    })
    return JSON.stringify(changed)
  }

  // A long idle timeout: closing an idle connection while a request arrives would be a fault that no test requested.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    answer(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    alter(next: Alter): void {
      alter = next
    },
    refuse(next: Refuse): void {
      refuse = next
    },
    /** Answers in place of the node from now on; `nothing` sends no answer. */
    say(next: Instead): void {
      instead = next
    },
    /** Delays requests by so many milliseconds, by their methods. */
    delay(next: DelayOf): void {
      delayOf = next
    },
    /** Leaves requests without an answer, by their text. */
    hold(next: (body: string) => boolean): void {
      isHeld = next
    },
    /** Requests that are left without an answer now. */
    held: (): number => held,
    honest(): void {
      isHeld = () => false
      delayOf = () => 0
      alter = honest
      refuse = nothing
      instead = undefined
    },
    /** The requested methods since the last call of this function. */
    calls(): string[] {
      const seen = calls
      calls = []
      return seen
    },
    /** HTTP requests since the last call of this function. */
    requests(): number {
      const seen = requests
      requests = 0
      return seen
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
