import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Fault } from './fault.ts'
import type { Verdict } from './try-fault.ts'

/** The folder of stored results; a run that is started again continues from them. */
export const RESULTS = '.mutants'

const FILE = `${RESULTS}/faults.json`

/** Results of earlier runs, which hold as long as the file, the fault and the tests stay the same. */
export type Results = {
  get(key: string): Verdict | undefined
  set(key: string, verdict: Verdict): void
}

export const keyOf = (file: string, fault: Fault, tests: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const path of [file, ...tests]) hash.update(readFileSync(path)).update('\0')
  return hash.update(fault[0]).update('\0').update(fault[1]).digest('hex')
}

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
