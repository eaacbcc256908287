import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The pure tests that Stryker runs: those near the code that it changes, which the environment names. */
export default defineConfig({
  root,
  test: {
    alias: { 'fx-protection-client': `${root}client/src/index.ts` },
    setupFiles: ['test/support/known-chains.ts'],
    include: process.env.MUTANTS_TESTS?.split(' ') ?? [],
    // Code with all its changes in it is larger than the package may be.
    exclude: ['test/**/*.{service,e2e,timing}.test.ts', 'test/client/package.test.ts'],
    testTimeout: 30_000,
    provide: { form: 'default', seed: 1, profile: 'reference' },
  },
})
