import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeScratch } from './parts/scratch.ts'

/** A value as both a shell and Node read it: quoted when it has blanks or other special characters. */
const quoted = (value: string): string => {
  if (/^[\w@%+:,./=-]*$/.test(value)) return value
  return value.includes("'") ? `"${value}"` : `'${value}'`
}

/**
 * Writes variables to a file that only this account may read, so that `audit` and other commands can use a running
 * sandbox. The file contains secrets, so it is removed when this process ends, even by kill -9.
 */
export const writeEnvFile = async (
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> => {
  const { path: directory, remove } = await makeScratch('fx-sandbox-')
  const path = join(directory, 'sandbox.env')
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}\n`)
  await writeFile(path, lines.join(''), { mode: 0o600 })
  return { path, remove }
}
