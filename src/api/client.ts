import { AsyncLocalStorage } from 'node:async_hooks'
import { once, setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP, isIPv4, type Socket } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'
import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import { unavailable } from '../lib/errors.ts'
import type { Client } from '../reads/freshness/waits.ts'

/** The reason of each signal: the error of whatever the client no longer waits for. */
const DISCONNECTED = unavailable('the client disconnected')

/** One signal per connection, shared by all its requests. */
const signals = new WeakMap<Socket, AbortSignal>()

/** Returns a signal that aborts when a connection closes. A pipelined request has no response on it yet. */
const disconnectionOf = (socket: Socket): AbortSignal => {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  // There is a listener for each request on the connection.
  setMaxListeners(0, controller.signal)
  if (socket.destroyed) controller.abort(DISCONNECTED)
  else socket.once('close', () => controller.abort(DISCONNECTED))
  signals.set(socket, controller.signal)
  return controller.signal
}

/** Makes the function that decides whether a hop is a trusted proxy: the first `trustedProxies` hops are. */
export const trustsProxy =
  (trustedProxies: number) =>
  (_: string, hop: number): boolean =>
    hop < trustedProxies

/** The name that everything shares that is not an address, so that inventing one gives no new allowance. */
const NO_ADDRESS = 'unknown'

/** The longest address that proxies write, with a zone, a port and the form of `Forwarded`: longer text is none. */
const MAX_REPORTED = 200

/** What a proxy writes around an address: `for="[2001:db8::1%eth0]:443"`. An address may be between brackets. */
const REPORTED = /^\s*(?:for=)?"?(?:\[([^\]]*)\]|([^";]*))/i

/** The port after an address without brackets. */
const PORT = /:[\w.-]*$/

/** Finds the address in what a proxy reports: without quotes, brackets, port and zone. Undefined when there is none. */
const parseAddress = (reported: string): string | undefined => {
  const [, bracketed, bare = ''] = REPORTED.exec(reported.slice(0, MAX_REPORTED)) ?? []
  const [text = ''] = (bracketed ?? bare).trim().split('%', 1)
  return [text, text.replace(PORT, '')].find((it) => isIP(it) !== 0)
}

/**
 * The address that limits count by, without its port; the network of 64 bits for IPv6. What is no address, and requests
 * whose connection broke before they were handled, share one name.
 */
export const addressOf = ({ ip }: { readonly ip: string | undefined }): string => {
  const address = ip === undefined || isIPv4(ip) ? ip : parseAddress(ip)
  return address === undefined ? NO_ADDRESS : normalizeIP(address)
}

/** Makes the function that finds the address of a request that does not reach the framework. */
export const rawAddressOf = (trustedProxies: number) => {
  const trust = trustsProxy(trustedProxies)
  return (request: IncomingMessage): string =>
    addressOf({ ip: trustedProxies === 0 ? request.socket.remoteAddress : proxyAddr(request, trust) })
}

/** The client of the request that a request of this process is part of. */
const represented = new AsyncLocalStorage<Client>()

/** Sends requests of this process as parts of a client's own request, which was already counted. */
export const asPartOf = <T>(client: Client, send: () => T): T => represented.run(client, send)

/** Whether a request is part of another one, and so not counted itself. */
export const isPart = (): boolean => represented.getStore() !== undefined

/** The client of a request. */
export const clientOf = (request: FastifyRequest): Client =>
  represented.getStore() ?? {
    address: addressOf(request),
    disconnected: disconnectionOf(request.raw.socket),
  }

/** Calls `end` once, when a response ended or its connection closed. Before its turn, a pipelined one has none. */
export const onResponseEnd = (response: ServerResponse, end: () => void): void =>
  void once(response, 'close', { signal: disconnectionOf(response.req.socket) }).then(end, end)
