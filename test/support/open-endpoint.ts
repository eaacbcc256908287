import { pino } from 'pino'
import { createEndpoint } from '../../src/chain/endpoints/endpoint.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'
import type { Odd } from '../../src/chain/rpc/odd.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome, Transport } from '../../src/chain/rpc/transport.ts'

/* An endpoint with a transport of the test. */

/** A request of any method that takes any result. */
export const any = (method: string, more: Partial<Request<unknown>> = {}): Request<unknown> => ({
  ...{ method, params: [], parse: (raw) => raw },
  ...more,
})
export const many = (count: number): Request<unknown>[] => Array.from({ length: count }, (_, at) => any(`a${at}`))
export const ok = (value: unknown = '0x1'): Outcome<unknown> => ({ ok: true, value })
export const failed = (message: string, code = -32_000): Outcome<unknown> => ({
  ok: false,
  error: new NodeError({ code, message }),
})
export const unreachable = (fault: Fault, message = 'no answer'): NodeUnreachable => new NodeUnreachable(message, fault)
export const silence = unreachable({ kind: 'unanswered' })
export const refused = (most: number | null = null): NodeUnreachable => unreachable({ kind: 'batch', most }, 'no batch')

type Reply = (
  requests: readonly Request<unknown>[],
) => readonly Outcome<unknown>[] | Promise<readonly Outcome<unknown>[]>

/** An endpoint whose node answers each batch by `reply`, with what was sent, done and logged. */
export const openEndpoint = (reply: Reply = (requests) => requests.map(() => ok())) => {
  const sent: { readonly count: number; readonly alone: boolean | undefined; readonly signal: unknown }[] = []
  const done: string[] = []
  const node: { reply: Reply; odd: readonly Odd[] } = { reply, odd: [] }
  const transport: Transport = {
    async send(requests, { alone, signal, odd } = {}) {
      for (const kind of node.odd) odd?.add(kind)
      sent.push({ count: requests.length, alone, signal })
      return [...(await node.reply(requests))]
    },
    renew: () => void done.push('renewed'),
    close: async () => void done.push('closed'),
  }
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const options = { chainId: 8453, url: 'http://a.example/key', index: 3, timeoutMs: 1_000, logWidth: 100n, log }
  const endpoint = createEndpoint(options, transport)
  return {
    ...{ ...endpoint, node, sent, done, lines },
    sizes: () => sent.splice(0).map(({ count }) => count),
    said: () => lines.splice(0).map(({ msg }) => msg),
    /** What the endpoint ends with for a batch; null if it answers. */
    failure: (requests: readonly Request<unknown>[], more: Parameters<typeof endpoint.send>[1] = {}) =>
      endpoint.send({ requests }, more).then(
        () => null,
        (error: unknown) => error,
      ),
  }
}
