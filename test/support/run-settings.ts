import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

/*
 * The settings of a test run. This is the only place that reads them from the environment; vitest.config.ts provides
 * them to the tests.
 *
 *   TEST_FORM=long    repeats seeded tests in full, as `npm run test:long` does
 *   TEST_SEED=17      repeats the seeded tests of an earlier run; without it, the long form draws one, and any other
 *                     run takes it from the commit
 */

/** The first seven digits of the commit as a number from 1, so that all runs of one commit draw the same values. */
const seedOfCommit = (): number => {
  const { stdout } = spawnSync('git', ['rev-parse', '--short=7', 'HEAD'], { encoding: 'utf8' })
  return Number.parseInt(stdout?.slice(0, 7) || '0', 16) + 1
}

const readSeed = (text: string | undefined, form: 'default' | 'long'): number => {
  if (text === undefined) return form === 'long' ? randomInt(1, 1_000_000) : seedOfCommit()
  const seed = Number(text)
  if (!Number.isSafeInteger(seed) || seed < 1 || seed >= 2 ** 31)
    throw new RangeError(`TEST_SEED is ${text}: set it to an integer from 1 to ${2 ** 31 - 1}`)
  return seed
}

const readForm = (text = 'default'): 'default' | 'long' => {
  if (text !== 'default' && text !== 'long')
    throw new RangeError(`TEST_FORM is ${text}: set it to default or long, or leave it out`)
  return text
}

export const form = readForm(process.env.TEST_FORM)
export const seed = readSeed(process.env.TEST_SEED, form)
