import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { startTestPostgres } from '../support/services.ts'
import type { Fault, FaultyFile } from './fault.ts'
import { lists } from './lists.ts'
import { keyOf, openResults } from './results.ts'
import type { Outcome } from './score.ts'
import { createCopy, runUnchanged, tryFault } from './try-fault.ts'

type Task = { readonly file: string; readonly fault: Fault; readonly tests: readonly string[] }

const describeFault = ({ file, fault: [find, replacement] }: Task): string => {
  const line = readFileSync(file, 'utf8').split(find)[0]?.split('\n').length
  const short = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 90)
  return `${line}: ${short(find)} => ${short(replacement) || '(nothing)'}`
}

const repositoryFiles = (): string[] =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((file) => existsSync(file))

/**
 * Tries each listed fault of the files that begin with `only`, several at a time, each in its own copy of the
 * repository, with one database server for all. Prints each as it ends. Results of earlier runs are taken over.
 */
export const runFaults = async (only: string, jobs: number): Promise<Outcome[]> => {
  const results = openResults()
  const files = lists.flatMap((list) => Object.entries(list)).filter(([file]) => file.startsWith(only))
  const toTask = ([file, { tests, faults }]: [string, FaultyFile]): Task[] =>
    faults.filter(([, , same]) => same === undefined).map((fault) => ({ file, fault, tests }))
  const tasks = files.flatMap(toTask)
  const keyOfTask = ({ file, fault, tests }: Task): string => keyOf(file, fault, tests)
  const open = files.filter((entry) => toTask(entry).some((task) => results.get(keyOfTask(task)) === undefined))
  let ended = tasks.filter((task) => results.get(keyOfTask(task)) !== undefined).length
  console.log(`${tasks.length} faults, ${ended} of them known from earlier runs`)

  const postgres = await startTestPostgres()
  const tracked = repositoryFiles()
  const work = async (slot: number): Promise<void> => {
    const copy = createCopy(tracked, `${slot}`)
    try {
      for (let entry = open.shift(); entry !== undefined; entry = open.shift()) {
        await runUnchanged(copy, entry[1].tests, postgres.url)
        for (const task of toTask(entry)) {
          const key = keyOfTask(task)
          if (results.get(key) !== undefined) continue
          const verdict = await tryFault(copy, task.file, task.fault, task.tests, postgres.url)
          results.set(key, verdict)
          ended += 1
          const said = verdict.noticedBy === null ? 'SURVIVED' : `noticed by "${verdict.noticedBy}"`
          console.log(
            `${ended}/${tasks.length} ${task.file} ${describeFault(task)}\n    ${said}, ${(verdict.ms / 1_000).toFixed(1)} s`,
          )
        }
      }
    } finally {
      copy.remove()
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(jobs, open.length) }, (_, slot) => work(slot)))
  } finally {
    await postgres.close()
  }

  const same = files.flatMap(([file, { tests, faults }]) =>
    faults.flatMap((fault): Outcome[] => {
      const reason = fault[2]
      return reason === undefined
        ? []
        : [{ file, text: describeFault({ file, fault, tests }), result: { same: reason } }]
    }),
  )
  const tried = tasks.map((task): Outcome => {
    const noticed = results.get(keyOfTask(task))?.noticedBy !== null
    return { file: task.file, text: describeFault(task), result: noticed ? 'noticed' : 'survived' }
  })
  return [...tried, ...same]
}
