import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import type { Waiter } from '../reads/waits.ts'

/** One signal a connection: many requests may wait on it. */
const signals = new WeakMap<Socket, AbortSignal>()

/** Aborts when the connection is closed. A pipelined request has no response on the connection yet, so the connection itself is watched. */
const goneOf = (socket: Socket): AbortSignal => {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const gone = new AbortController()
  // As many as there are requests on the connection.
  setMaxListeners(0, gone.signal)
  if (socket.destroyed) gone.abort()
  else socket.once('close', () => gone.abort())
  signals.set(socket, gone.signal)
  return gone.signal
}

/** The address that limits count. A request whose connection broke off before it was looked at has none; they share one. */
export const clientOf = (request: FastifyRequest): string => {
  const { ip }: { readonly ip: string | undefined } = request
  return ip === undefined ? 'gone' : normalizeIP(ip)
}

/** Whose request it is, for as long as its client is there. */
export const waiterOf = (request: FastifyRequest): Waiter => ({
  client: clientOf(request),
  gone: goneOf(request.raw.socket),
})

/** Calls `end` once, when a response is over. One that is pipelined behind another has no connection of its own to be closed with. */
export const whenOver = (response: ServerResponse, end: () => void): void => {
  const gone = goneOf(response.req.socket)
  const over = (): void => {
    gone.removeEventListener('abort', over)
    response.removeListener('close', over)
    end()
  }
  gone.addEventListener('abort', over)
  response.on('close', over)
  if (gone.aborted) over()
}
