import { existsSync, readFileSync } from 'node:fs'
import { Stryker } from '@stryker-mutator/core'
import { z } from 'zod'
import { repositoryFiles } from './files.ts'
import { pure } from './pure.ts'
import { hashOf, RESULTS } from './results.ts'
import { fewOfEach, type Sample } from './sample.ts'
import { folderOf, type Outcome } from './score.ts'
import { uncounted } from './uncounted.ts'

/** Counted from 1. */
const Place = z.object({ line: z.number(), column: z.number() })
type Place = z.output<typeof Place>

const Report = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.string(),
      mutants: z.array(
        z.object({
          status: z.string(),
          replacement: z.string().default(''),
          location: z.object({ start: Place, end: Place }),
        }),
      ),
    }),
  ),
})

/** Changes of texts and of tables are left out: they change messages, not decisions. */
const LEFT_OUT = ['StringLiteral', 'ObjectLiteral', 'ArrayDeclaration', 'Regex']

/** The listed faults of a sample for which one file is changed. */
const FAULTS_PER_FILE = 20

/** A text on one line, as far as a report shows it. */
const shown = (text: string): string => text.replace(/\s+/g, ' ').slice(0, 120)

const codeAt = (source: string, { start, end }: { readonly start: Place; readonly end: Place }): string => {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  return [...lines.slice(0, -1), lines.at(-1)?.slice(0, end.column - 1) ?? ''].join('\n').slice(start.column - 1)
}

const outcomesOf = (file: string, reportFile: string): Outcome[] => {
  const { files } = Report.parse(JSON.parse(readFileSync(reportFile, 'utf8')))
  return Object.values(files).flatMap(({ source, mutants }) =>
    mutants.flatMap(({ status, replacement, location }): Outcome[] => {
      const change = `${shown(codeAt(source, location))} => ${shown(replacement)}`
      const text = `${location.start.line}:${location.start.column} ${change}`
      if (status === 'Killed' || status === 'Timeout') return [{ file, text, result: 'noticed' }]
      // Lines that no pure test runs belong to the lists.
      if (status !== 'Survived') return []
      const same = uncounted[file]?.[change]
      return [{ file, text, result: same === undefined ? 'survived' : { same } }]
    }),
  )
}

/**
 * Lets Stryker change pure code, one file after the other, and runs the pure tests near it. Prints a line for each
 * file. A file whose text and tests are those of an earlier run is taken over from it. With a `sample`, only some files
 * of each folder are changed.
 */
export const runStryker = async (only: string, jobs: number, sample: Sample | null): Promise<Outcome[]> => {
  const tasks = pure.flatMap(({ code, tests: patterns }) => {
    const tests = repositoryFiles(patterns).filter((test) => !/\.(service|e2e|timing)\./.test(test))
    return repositoryFiles(code).flatMap((file) => (file.endsWith('.generated.ts') ? [] : { file, tests }))
  })
  const matching = tasks.filter(({ file }) => file.startsWith(only))
  const few = sample && { ...sample, most: Math.ceil(sample.most / FAULTS_PER_FILE) }
  const chosen = few === null ? matching : fewOfEach(matching, few, ({ file }) => [folderOf(file), file])
  const outcomes: Outcome[] = []
  for (const [at, { file, tests }] of chosen.entries()) {
    const reportFile = `${RESULTS}/stryker/${file.replaceAll('/', '-')}.${hashOf([file, ...tests])}.json`
    if (!existsSync(reportFile)) {
      process.env.MUTANTS_TESTS = tests.join(' ')
      const stryker = new Stryker({
        testRunner: 'vitest',
        plugins: ['@stryker-mutator/vitest-runner'],
        // Stryker ends with an error when no test is related to the file. With all tests it finds that no line is covered.
        vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
        mutate: [file],
        mutator: { excludedMutations: LEFT_OUT },
        // A module that cannot be loaded has no tests, which the runner takes for a success. The lists change such code.
        ignoreStatic: true,
        reporters: ['json'],
        jsonReporter: { fileName: reportFile },
        tempDirName: `${RESULTS}/stryker-files`,
        ignorePatterns: ['dist', RESULTS],
        concurrency: jobs,
        // An enumeration of the library's types, which has no values at run time.
        logLevel: 'error' as never,
      })
      await stryker.runMutationTest()
    }
    const found = outcomesOf(file, reportFile)
    const noticed = found.filter(({ result }) => result === 'noticed').length
    console.log(`${at + 1}/${chosen.length} ${file}: ${noticed} of ${found.length} changes noticed`)
    outcomes.push(...found)
  }
  return outcomes
}
