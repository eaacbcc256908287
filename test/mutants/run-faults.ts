import { readFileSync } from 'node:fs'
import { startTestPostgres } from '../support/services.ts'
import type { Fault, Faults, FaultyFile } from './fault.ts'
import { repositoryFiles } from './files.ts'
import { lists } from './lists.ts'
import { keyOf, openResults } from './results.ts'
import { fewOfEach, type Sample } from './sample.ts'
import { folderOf, type Outcome } from './score.ts'
import { createCopy, tryFaults } from './try-faults.ts'

const describeFault = (file: string, [find, replacement]: Fault): string => {
  const line = readFileSync(file, 'utf8').split(find)[0]?.split('\n').length
  const short = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 90)
  return `${line}: ${short(find)} => ${short(replacement) || '(nothing)'}`
}

/** Some faults of each folder, and those that change nothing. */
const sampleOf = (files: readonly [string, FaultyFile][], sample: Sample): [string, FaultyFile][] => {
  const all = files.flatMap(([file, faulty]) => counting(faulty).map((fault) => ({ file, fault })))
  const chosen = new Set(
    fewOfEach(all, sample, ({ file, fault: [find, replacement] }) => [folderOf(file), file, find, replacement]).map(
      ({ fault }) => fault,
    ),
  )
  return files.map(([file, faulty]) => [
    file,
    { ...faulty, faults: faulty.faults.filter((fault) => fault[2] !== undefined || chosen.has(fault)) },
  ])
}

/** The faults of a file that change something. */
const counting = ({ faults }: FaultyFile): Fault[] => faults.filter(([, , same]) => same === undefined)

/**
 * Tries each listed fault of the files that begin with `only`, `jobs` files at a time, each in its own copy of the
 * repository, with one database server for all. Prints each fault as it ends. Results of earlier runs are taken over.
 * A file whose tests fail without a fault is reported, and its faults count as survivors. With a `sample`, only some
 * faults of each folder are tried.
 */
export const runFaults = async (only: string, jobs: number, sample: Sample | null): Promise<Outcome[]> => {
  const results = openResults()
  const listed = lists.flatMap((list: Faults) => Object.entries(list)).filter(([file]) => file.startsWith(only))
  const files = sample === null ? listed : sampleOf(listed, sample)
  const resultOf = (file: string, fault: Fault, { tests }: FaultyFile) => results.get(keyOf(file, fault, tests))
  const tasks = files.map(([file, faulty]) => ({
    file,
    tests: [...faulty.tests],
    faults: counting(faulty).filter((fault) => resultOf(file, fault, faulty) === undefined),
  }))
  const all = files.reduce((sum, [, faulty]) => sum + counting(faulty).length, 0)
  let ended = all - tasks.reduce((sum, { faults }) => sum + faults.length, 0)
  console.log(`${all} faults, ${ended} of them known from earlier runs`)

  const waiting = tasks.filter(({ faults }) => faults.length > 0)
  const postgres = await startTestPostgres()
  const work = async (slot: number): Promise<void> => {
    const copy = createCopy(repositoryFiles(), `${slot}`)
    try {
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
        const { file, tests, faults } = task
        const plain = faults.map(([find, replacement]): [string, string] => [find, replacement])
        await tryFaults(copy, { file, tests, faults: plain }, postgres.url, (at, verdict) => {
          const fault = faults[at]
          if (fault === undefined) throw new Error(`${file} has no fault ${at}`)
          results.set(keyOf(file, fault, tests), verdict)
          ended += 1
          const by = verdict.noticedBy === null ? 'SURVIVED' : `noticed by "${verdict.noticedBy}"`
          const seconds = (verdict.ms / 1_000).toFixed(1)
          console.log(`${ended}/${all} ${file} ${describeFault(file, fault)}\n    ${by}, ${seconds} s`)
        }).catch((error) => console.error(`${error}`))
      }
    } finally {
      copy.remove()
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(jobs, waiting.length) }, (_, slot) => work(slot)))
  } finally {
    await postgres.close()
  }

  return files.flatMap(([file, faulty]) =>
    faulty.faults.flatMap((fault): Outcome[] => {
      const text = describeFault(file, fault)
      const same = fault[2]
      if (same !== undefined) return [{ file, text, result: { same } }]
      const verdict = resultOf(file, fault, faulty)
      if (verdict === undefined) return [{ file, text: `${text} (not tried)`, result: 'survived' }]
      return [{ file, text, result: verdict.noticedBy === null ? 'survived' : 'noticed' }]
    }),
  )
}
