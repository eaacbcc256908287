import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { form, seed } from './run-settings.ts'
import { longestFiles } from './sequencer.ts'

/** A file that takes longer than this, in milliseconds, belongs into the list of the longest. */
const LONG_MS = 20_000

/** Prints the settings that repeat a run, and at its end the long files that are not started first. */
export class RunReporter implements Reporter {
  private readonly long: string[] = []

  onInit(): void {
    console.log(`seed ${seed}, ${form} form. Repeat the seeded tests with TEST_SEED=${seed} TEST_FORM=${form}.`)
  }

  onTestModuleEnd(module: TestModule): void {
    const path = relative(process.cwd(), module.moduleId)
    const { duration } = module.diagnostic()
    if (duration > LONG_MS && !(path in longestFiles)) this.long.push(`${path} (${(duration / 1_000).toFixed(0)} s)`)
  }

  onTestRunEnd(): void {
    if (this.long.length > 0)
      console.log(`Long files that are missing from longestFiles in test/support/sequencer.ts: ${this.long.join(', ')}`)
  }
}
