import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Starts a process of this folder. It ends when it is disconnected. */
export const startChild = (file: string): ChildProcess =>
  fork(new URL(file, import.meta.url), { execArgv: ['--import', 'tsx'] })

/** The next message of a process. */
export const reply = async (child: ChildProcess): Promise<unknown> => (await once(child, 'message'))[0]

/** Sends a message and returns the next one of the process. */
export const ask = (child: ChildProcess, message: object | string): Promise<unknown> => {
  const answer = reply(child)
  child.send(message)
  return answer
}
