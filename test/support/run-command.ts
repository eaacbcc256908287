import { vi } from 'vitest'
import { errorText, ServiceError } from '../../src/lib/errors.ts'

/** The exit code and the output of a command, or the text of its error. */
export type Outcome = { readonly code: number; readonly text: string }

/** The exit code that the program gives an error. */
const codeOf = (fault: unknown): number => (fault instanceof ServiceError ? 2 : 1)

/** Runs a command of the operator in this process, in an environment. Its output is closed if `isClosed`. */
export const runCommand = async (
  command: () => Promise<void>,
  environment: Readonly<Record<string, string>>,
  isClosed = false,
): Promise<Outcome> => {
  const lines: string[] = []
  const write = (text: string | Uint8Array, done?: unknown): boolean => {
    if (!isClosed) lines.push(String(text))
    if (typeof done === 'function') done(isClosed ? new Error('write EPIPE') : null)
    return true
  }
  const output = vi.spyOn(process.stdout, 'write').mockImplementation(write)
  for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value)
  try {
    await command()
    return { code: 0, text: lines.join('') }
  } catch (fault) {
    return { code: codeOf(fault), text: errorText(fault) }
  } finally {
    output.mockRestore()
    vi.unstubAllEnvs()
  }
}
