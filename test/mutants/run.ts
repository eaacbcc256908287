import { parseArgs } from 'node:util'
import { runFaults } from './run-faults.ts'
import { report, scores, shareOf, TARGET } from './score.ts'

/*
 * Puts deliberate faults into the source, one at a time, and tells which ones the tests notice:
 *
 *   npm run mutants                            everything; takes hours, continues where an earlier run ended
 *   npm run mutants -- --only src/db/index     files whose path begins with this
 *   npm run mutants -- --faults                the listed faults only, without those that Stryker makes
 *   npm run mutants -- --jobs 1                faults tried at a time; as many as there are cores unless given
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    faults: { type: 'boolean', default: false },
    jobs: { type: 'string' },
  },
})

const outcomes = await runFaults(values.only, values.jobs === undefined ? undefined : Number(values.jobs))
console.log(`\n${report(outcomes)}`)
process.exitCode = scores(outcomes).every((row) => shareOf(row) >= TARGET) ? 0 : 1
