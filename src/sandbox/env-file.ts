import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Writes variables to a file of their own that only this account may read, so that `audit` and other commands can be pointed at a
 * running sandbox.
 */
export const writeEnvFile = async (
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> => {
  const directory = await mkdtemp(join(tmpdir(), 'fx-sandbox-'))
  const path = join(directory, 'sandbox.env')
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(path, lines.join(''), { mode: 0o600 })
  return { path, remove: () => rm(directory, { recursive: true, force: true }) }
}
