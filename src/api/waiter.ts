import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'
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
const countedAddress = (ip: string | undefined): string => (ip === undefined ? 'gone' : normalizeIP(ip))

/** Whether an address is that of a proxy: those that are fewer hops away than there are proxies in front. */
export const trusts =
  (trustedProxies: number) =>
  (_: string, hop: number): boolean =>
    hop < trustedProxies

/** The address that limits count, as the framework sees it. */
export const clientOf = ({ ip }: { readonly ip: string | undefined }): string => countedAddress(ip)

/** The same of a request that the framework does not see. */
export const rawClientOf = (trustedProxies: number) => {
  const trust = trusts(trustedProxies)
  return (request: Pick<IncomingMessage, 'headers' | 'socket'>): string =>
    countedAddress(trustedProxies === 0 ? request.socket.remoteAddress : proxyAddr(request as IncomingMessage, trust))
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
