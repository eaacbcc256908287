import { setMaxListeners } from 'node:events'
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

/** Whose request it is, for as long as its client is there. */
export const waiterOf = ({ ip, raw }: FastifyRequest): Waiter => ({ client: normalizeIP(ip), gone: goneOf(raw.socket) })
