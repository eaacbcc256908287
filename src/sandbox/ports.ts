import { once } from 'node:events'
import { createServer } from 'node:net'
import { OperatorError } from '../lib/errors.ts'

/** A local port somebody else listens on; the message names the variable that chooses another. */
export class PortTakenError extends OperatorError {
  override readonly name = 'PortTakenError'

  constructor(port: number, variable: string, options?: ErrorOptions) {
    super(
      `port ${port} is taken: stop what listens there, or choose another port with ${variable}=<port> (0 = any free one)`,
      options,
    )
  }
}

/** Listens on `port` for a moment and gives the number back; throws what `listen` threw, `EADDRINUSE` if it is taken. */
const tryPort = async (port: number, host: string): Promise<number> => {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
  return port
}

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

/**
 * A TCP port that is free on this host now, for programs that cannot choose one themselves. Taken from below the range outgoing
 * connections use, so that none of those grabs it before the program does.
 */
export const freePort = async (host = '127.0.0.1'): Promise<number> => {
  for (;;) {
    try {
      return await tryPort(20_000 + Math.floor(Math.random() * 12_000), host)
    } catch (error) {
      if (!isTaken(error)) throw error
    }
  }
}

/** `port`, or a free one for 0. Throws a PortTakenError naming `variable` when somebody listens on it. */
export const claimPort = async (port: number, variable: string, host = '127.0.0.1'): Promise<number> => {
  if (port === 0) return freePort(host)
  try {
    return await tryPort(port, host)
  } catch (cause) {
    if (isTaken(cause)) throw new PortTakenError(port, variable, { cause })
    throw cause
  }
}
