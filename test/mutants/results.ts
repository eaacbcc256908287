import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Fault } from './fault.ts'
import type { Verdict } from './trial.ts'

/** The folder of stored results; a run that is started again continues from them. */
export const RESULTS = '.mutants'

const FILE = `${RESULTS}/faults.json`

/** Results of earlier runs, which hold as long as the file, the fault and the tests stay the same. */
export type Results = {
  get(key: string): Verdict | undefined
  set(key: string, verdict: Verdict): void
}

/** A hash of the contents of files, and of texts. */
export const hashOf = (paths: readonly string[], texts: readonly string[] = []): string => {
  const hash = createHash('sha256')
  for (const content of [...paths.map((path) => readFileSync(path)), ...texts]) hash.update(content).update('\0')
  return hash.digest('hex')
}

export const keyOf = (file: string, [find, replacement]: Fault, tests: readonly string[]): string =>
  hashOf([file, ...tests], [find, replacement])

const read = (): Record<string, Verdict> => {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

export const openResults = (): Results => {
  const all = read()
  return {
    get: (key) => all[key],
    set: (key, verdict) => {
      all[key] = verdict
      mkdirSync(RESULTS, { recursive: true })
      writeFileSync(FILE, JSON.stringify(all, null, 2))
    },
  }
}
