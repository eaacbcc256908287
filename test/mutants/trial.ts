import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { startVitest, type TestSpecification, type Vitest } from 'vitest/node'
import { z } from 'zod'
import { withFault } from './fault.ts'

/*
 * A process that tries the faults of one file, in a copy of the repository that is its working directory. It keeps one
 * Vitest, so that a fault costs the time of its tests only. It is given a task, and sends a verdict for the file
 * without a fault, then one for each fault.
 */

const Task = z.object({
  file: z.string(),
  tests: z.array(z.string()),
  faults: z.array(z.tuple([z.string(), z.string()])),
})
export type Task = z.infer<typeof Task>

/** The first test that failed, or null if all passed. */
export type Verdict = { readonly noticedBy: string | null; readonly ms: number }

/** A test that waits longer than this for a condition has noticed the fault. The patience of usual runs is longer. */
const TEST_TIMEOUT_MS = 20_000
const POLL_TIMEOUT_MS = 8_000

const firstFailure = async (vitest: Vitest, tests: TestSpecification[]): Promise<string | null> => {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(tests, false)
  for (const module of testModules) {
    for (const test of module.children.allTests('failed')) return test.fullName
    for (const error of module.errors())
      return `${module.relativeModuleId} does not load: ${error.message.split('\n')[0]}`
  }
  return unhandledErrors.length > 0 ? 'an unhandled error' : null
}

const run = async ({ file, tests, faults }: Task): Promise<void> => {
  const vitest = await startVitest(
    'test',
    tests,
    {
      watch: true,
      bail: 1,
      maxWorkers: 1,
      project: ['!deployed'],
      reporters: [{}],
      testTimeout: TEST_TIMEOUT_MS,
      expect: { poll: { timeout: POLL_TIMEOUT_MS } },
      standalone: true,
    },
    { server: { watch: null } },
  )
  const specifications = await vitest.globTestSpecifications(tests)
  const path = resolve(file)
  const text = readFileSync(path, 'utf8')
  for (const faulty of [text, ...faults.map((fault) => withFault(text, fault))]) {
    writeFileSync(path, faulty)
    vitest.invalidateFile(path)
    const started = performance.now()
    const noticedBy = await firstFailure(vitest, specifications)
    process.send?.({ noticedBy, ms: performance.now() - started } satisfies Verdict)
  }
  await vitest.close()
}

process.once('message', (task) => {
  void run(Task.parse(task)).finally(() => process.exit())
})
