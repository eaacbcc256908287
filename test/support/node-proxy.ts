import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
type Answer = { readonly id: number; readonly result?: unknown; readonly error?: unknown }

/** Changes the result of one call; gives it back as it is to leave it alone. */
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

/** As a node that does not run many views at once: then each is asked for by itself. */
export const oneByOne: Refuse = (method, params) =>
  method === 'eth_call' && JSON.stringify(params).includes(AGGREGATE3)
    ? { code: -32_000, message: 'out of gas' }
    : undefined

/** What the proxy says instead of asking the node: a status, and a body that may be no JSON-RPC at all. */
type Instead = (asked: readonly Call[]) => { readonly status?: number; readonly body: string } | 'nothing'

/**
 * Stands between the service and a real node, as a provider's balancer does, and changes what the node says.
 *
 * @example
 * const proxy = await startNodeProxy(anvil.url)
 * proxy.alter((method, result) => (method === 'eth_getLogs' ? [] : result))
 */
export const startNodeProxy = async (target: string) => {
  let alter = honest
  let refuse = nothing
  let instead: Instead | undefined
  let calls: string[] = []
  let requests = 0

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    requests += 1
    const asked: Call[] = JSON.parse(body)
    if (instead === undefined) return void response.end(await relayed(body, asked))
    const said = instead(asked)
    if (said !== 'nothing') response.writeHead(said.status ?? 200).end(said.body)
  }

  const relayed = async (body: string, asked: readonly Call[]): Promise<string> => {
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

  // A connection that is closed for being idle while a request is on its way would be a fault that no test asked for.
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
    /** Answers in the node's place from now on; `nothing` leaves the asker waiting. */
    say(next: Instead): void {
      instead = next
    },
    honest(): void {
      alter = honest
      refuse = nothing
      instead = undefined
    },
    /** The methods asked for since the last look. */
    calls(): string[] {
      const seen = calls
      calls = []
      return seen
    },
    /** HTTP requests since the last look. */
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
