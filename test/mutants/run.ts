import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { runFaults } from './run-faults.ts'
import { runStryker } from './run-stryker.ts'
import type { Sample } from './sample.ts'
import { report, scores, shareOf, TARGET } from './score.ts'

/*
 * Puts deliberate faults into the source, one at a time, and reports which ones the tests notice:
 *
 *   npm run mutants                            everything; takes hours, continues where an earlier run ended
 *   npm run mutants -- --only src/db/index     files whose path begins with this
 *   npm run mutants -- --part lists            the listed faults only
 *   npm run mutants -- --sample 40             of each folder, at most 40 listed faults and the changes of two files (one
 *                                              for each 20), chosen by --seed
 *   npm run mutants -- --part stryker          the changes that Stryker makes only
 *   npm run mutants -- --jobs 1                faults tried at a time; as many as there are cores unless given
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    part: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: `${availableParallelism()}` },
  },
})

const jobs = Number(values.jobs)
const sample: Sample | null = values.sample === undefined ? null : { most: Number(values.sample), seed: values.seed }
const outcomes = [
  ...(values.part === 'stryker' ? [] : await runFaults(values.only, jobs, sample)),
  ...(values.part === 'lists' ? [] : await runStryker(values.only, jobs, sample)),
]
console.log(`\n${report(outcomes)}`)
process.exitCode = scores(outcomes).every((row) => shareOf(row) >= TARGET) ? 0 : 1
