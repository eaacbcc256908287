import { type Hex, numberToHex } from 'viem'
import type { Node } from '../../src/chain/pool/failover.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'

/* A node whose answers a test sets, without a socket. */

export const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })
export const failed = (message: string, code = -32_000): Outcome<unknown> => ({
  ok: false,
  error: new NodeError({ code, message }),
})
export const address = (nth: number): Hex => numberToHex(nth, { size: 20 })
export const hash = (nth: number): Hex => numberToHex(nth, { size: 32 })
/** An account, and a contract that is not configured. */
export const FROM: Hex = address(0xf1)
export const FOREIGN: Hex = `0x${'ab'.repeat(20)}`

type Sent = {
  readonly keys: readonly string[]
  readonly requests: readonly Request<unknown>[]
  readonly options: object
}
export type Options = {
  readonly contradicts?: (outcomes: object) => string | null
  readonly isAnswer?: (o: object) => boolean
}

/** A node that answers each request of a batch by its key, or fails. */
export const nodeOf = (answer: (key: string, request: Request<unknown>, nth: number) => Outcome<unknown> | Error) => {
  const sent: (Sent & { readonly contradicts?: string | null | undefined })[] = []
  const sendBy = async (
    batch: Record<string, Request<unknown> | readonly Request<unknown>[]>,
    options: Options = {},
  ) => {
    const requests = Object.values(batch).flat()
    const nth = sent.length + 1
    const of = (key: string, request: Request<unknown>) => {
      const outcome = answer(key, request, nth)
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    const seen: Sent = { keys: Object.keys(batch), requests, options }
    sent.push(seen)
    const outcomes = Object.fromEntries(
      Object.entries(batch).map(([key, part]) => [
        key,
        Array.isArray(part) ? part.map((each) => of(key, each)) : of(key, part as Request<unknown>),
      ]),
    )
    sent[nth - 1] = { ...seen, contradicts: options.contradicts?.(outcomes) }
    return { endpoint: 3, outcomes }
  }
  const send = async (...args: Parameters<typeof sendBy>) => (await sendBy(...args)).outcomes
  return { node: { send, sendBy } as unknown as Node, sent }
}
