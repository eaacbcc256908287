import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { type Fault, withFault } from './fault.ts'

/** The result of a run of tests: the first test that failed, or null if all passed. */
export type Verdict = { readonly noticedBy: string | null; readonly ms: number }

/** A copy of the repository's files, of which one at a time has a fault. */
export type Copy = { readonly folder: string; readonly remove: () => void }

/** Copies the files; installed packages are shared. */
export const createCopy = (files: readonly string[], name: string): Copy => {
  const folder = join(tmpdir(), `mutants-${process.pid}-${name}`)
  for (const file of files) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    cpSync(file, join(folder, file))
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

const Report = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

const firstFailure = (report: z.infer<typeof Report>): string | null => {
  for (const { assertionResults, status, message, name } of report.testResults) {
    const failed = assertionResults.find((test) => test.status === 'failed')
    if (failed) return failed.fullName
    if (status === 'failed') return `${name.split('/').at(-1)} does not load: ${message.split('\n')[0]}`
  }
  return null
}

/** A test that waits longer than this for a condition has noticed the fault. The patience of usual runs is longer. */
const TEST_TIMEOUT_MS = 30_000

/**
 * Runs test files in a copy until the first failure. A run of more than `timeoutMs` is ended and counts as noticed.
 * Throws an Error with the output when the run failed without a failed test.
 */
const runTests = async (
  copy: Copy,
  tests: readonly string[],
  databaseUrl: string,
  timeoutMs: number,
): Promise<Verdict> => {
  const started = performance.now()
  const reportFile = join(copy.folder, 'report.json')
  rmSync(reportFile, { force: true })
  const args = ['--bail=1', '--maxWorkers=1', `--testTimeout=${TEST_TIMEOUT_MS}`, '--project=!deployed']
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', ...args, '--reporter=json', `--outputFile=${reportFile}`, ...tests],
    { cwd: copy.folder, detached: true, env: { ...process.env, TEST_DATABASE_URL: databaseUrl, TEST_SEED: '1' } },
  )
  let output = ''
  const keep = (text: Buffer): void => {
    output = `${output}${text}`.slice(-10_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  /** Ends what is left of the run: the processes that tests started, and a worker whose fault is an endless loop. */
  const endGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    endGroup()
  }, timeoutMs)
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  clearTimeout(timer)
  endGroup()
  const ms = performance.now() - started
  if (timedOut) return { noticedBy: `no end after ${timeoutMs / 1_000} s`, ms }
  if (code === 0) return { noticedBy: null, ms }
  const noticedBy = firstFailure(Report.parse(JSON.parse(readFileSync(reportFile, 'utf8'))))
  if (noticedBy !== null) return { noticedBy, ms }
  if (output.includes('Unhandled')) return { noticedBy: 'an unhandled error', ms }
  throw new Error(`the tests failed without a failed test:\n${output}`)
}

/** Longer than any run of listed test files without a fault. */
const RUN_TIMEOUT_MS = 240_000

/** Runs the tests of a file without a fault. Throws an Error that names what fails. */
export const runUnchanged = async (copy: Copy, tests: readonly string[], databaseUrl: string): Promise<void> => {
  const { noticedBy } = await runTests(copy, tests, databaseUrl, RUN_TIMEOUT_MS)
  if (noticedBy !== null) throw new Error(`fails without a fault: ${noticedBy}. Mend the test first.`)
}

/** Runs the tests of a file with a fault in it, and restores the file. */
export const tryFault = async (
  copy: Copy,
  file: string,
  fault: Fault,
  tests: readonly string[],
  databaseUrl: string,
): Promise<Verdict> => {
  const text = readFileSync(file, 'utf8')
  writeFileSync(join(copy.folder, file), withFault(text, fault))
  try {
    return await runTests(copy, tests, databaseUrl, RUN_TIMEOUT_MS)
  } finally {
    writeFileSync(join(copy.folder, file), text)
  }
}
