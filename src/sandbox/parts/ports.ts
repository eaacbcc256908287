import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { errorText, OperatorError } from '../../lib/errors.ts'
import { isTaken, PortTakenError, reportsTaken } from '../../lib/port-taken.ts'

/** A requested port: 0 requests any free one. Errors name the variable. */
type Wanted = { readonly variable: string; readonly port: number; readonly host?: string }

const listen = async (port: number, host: string): Promise<Server> => {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  return server
}

/**
 * Listens on a free port below the range of outgoing connections, so that no connection takes it before its program
 * does.
 */
const listenAnywhere = async (host: string): Promise<readonly [number, Server]> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      return [port, await listen(port, host)]
    } catch (error) {
      if (!isTaken(error)) throw error
    }
  }
}

const claim = async ({ variable, port, host = '127.0.0.1' }: Wanted): Promise<readonly [number, Server]> => {
  if (port === 0) return listenAnywhere(host)
  try {
    return [port, await listen(port, host)]
  } catch (cause) {
    if (isTaken(cause)) throw new PortTakenError(port, variable, { cause })
    throw cause
  }
}

/**
 * Free port numbers, all different, in the requested order: this process briefly listens on all of them at the same
 * time. Throws a PortTakenError for a port that is in use, and an OperatorError when two variables request the same
 * port.
 *
 * @example const [api, node] = await claimPorts([{ variable: 'PORT', port: 3000 }, { variable: 'NODE_PORT', port: 0 }])
 */
export const claimPorts = async (wanted: readonly Wanted[]): Promise<number[]> => {
  for (const [i, { variable, port }] of wanted.entries()) {
    const other = wanted.slice(0, i).find((it) => port !== 0 && it.port === port)
    if (other) throw new OperatorError(`${other.variable} and ${variable} are both ${port}: set two different ports`)
  }
  const servers: Server[] = []
  try {
    const ports: number[] = []
    // Given ports first; otherwise a free port could be one of them.
    for (const each of wanted.toSorted((a, b) => Number(a.port === 0) - Number(b.port === 0))) {
      const [port, server] = await claim(each)
      servers.push(server)
      ports[wanted.indexOf(each)] = port
    }
    return ports
  } finally {
    for (const server of servers) server.close()
    await Promise.all(servers.map((server) => once(server, 'close')))
  }
}

/**
 * A TCP port that is free on 127.0.0.1 now. Another program can take it before it is used: see `onFreePort`.
 *
 * @internal
 */
export const freePort = async (): Promise<number> => {
  const [port] = await claimPorts([{ variable: 'PORT', port: 0 }])
  return port as number
}

/** Most ports that a program is started with. */
const MOST_PORTS = 5

/**
 * Starts a program that cannot choose its port itself on a free port of 127.0.0.1, and on another one when a different
 * program took that first. Throws what `start` throws.
 *
 * @example const server = await onFreePort((port) => startServer(port))
 */
export const onFreePort = async <T>(start: (port: number) => Promise<T>): Promise<T> => {
  for (let left = MOST_PORTS; ; left -= 1) {
    try {
      return await start(await freePort())
    } catch (fault) {
      if (left === 1 || !reportsTaken(errorText(fault))) throw fault
    }
  }
}
