import { OperatorError } from './errors.ts'

/** A local port on which another program listens. The message names the variable that selects another port. */
export class PortTakenError extends OperatorError {
  override readonly name = 'PortTakenError'

  constructor(port: number, variable: string, options?: ErrorOptions) {
    super(
      `port ${port} is taken: stop the program that listens on it, or choose another port with ${variable}=<port> (0 = any free one)`,
      options,
    )
  }
}

/** Whether an error means that another program listens on the port. */
export const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

/** Whether the output of a program reports it: that of this program, or of another. */
export const reportsTaken = (output: string): boolean =>
  /^port \d+ is taken: /m.test(output) || /EADDRINUSE|address already in use/i.test(output)

/** Listens on a port. Throws a PortTakenError, which is one line, when it is taken. */
export const listening = async (listen: Promise<unknown>, port: number, variable: string): Promise<void> => {
  try {
    await listen
  } catch (cause) {
    throw isTaken(cause) ? new PortTakenError(port, variable, { cause }) : cause
  }
}
