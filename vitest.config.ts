import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { RunReporter } from './test/support/run-reporter.ts'
import { form, seed } from './test/support/run-settings.ts'
import { LongestFirst } from './test/support/sequencer.ts'
import { keepTemporaryFilesInMemory } from './test/support/temporary-files.ts'

keepTemporaryFilesInMemory()

/** The long form repeats so much in one test that its duration depends on its size alone. */
const long = form === 'long' ? 60 : 1

/** Conditions that tests wait for become true soon, or later on a machine that is busy or pauses. */
const patience = {
  testTimeout: 120_000 * long,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
}

const common = {
  ...patience,
  // The source of the client, which is not built for tests.
  alias: { 'fx-protection-client': fileURLToPath(new URL('client/src/index.ts', import.meta.url)) },
  // Chain ids are decoded as one of the chains of the tests.
  setupFiles: ['test/support/known-chains.ts'],
  // Test files keep no state in the modules that they share, so each worker loads them once and not once per file.
  isolate: false,
  // Most objects of a test are short-lived: with a larger young generation fewer of them are copied.
  execArgv: ['--max-semi-space-size=64'],
}

const services = ['test/support/global-setup.ts', 'test/support/built.ts']
const settings = { form, seed }

/**
 * Restarts and kills of several processes under load, failovers of PostgreSQL, the services of the deployment, and the
 * output of all processes. Smaller tests cover a stop, a drain and a takeover each, the start of each command, and what
 * hides secrets. The past of a long life, compared with an archive node: `history/at`, `fold`, `series` and `totals`
 * compare a short one.
 */
const longOnly = [
  'test/faults/failover.service.test.ts',
  'test/faults/processes.service.test.ts',
  'test/history/archive.service.test.ts',
  'test/repo/canary.service.test.ts',
  'test/repo/deployment.service.test.ts',
]

/**
 * Random actions on the protocol. The long form runs them for both of its profiles, any other run for the one that its
 * seed chooses.
 */
const random = [
  'test/contracts/invariants.service.test.ts',
  'test/history/fold.service.test.ts',
  'test/plans/random-plans.service.test.ts',
]
const isDeployed = seed % 2 === 0

/**
 * Parts together, over real services. Smaller tests notice the faults of each part (`test/mutants` names them). The long
 * form and a run of named files have all of these; any other run has a third, which its seed chooses. The durations of
 * the thirds are about equal.
 */
const combined = [
  'test/api/transactions.service.test.ts',
  'test/api/foreign-code.service.test.ts',
  'test/client/execute.service.test.ts',
  'test/client/changes.service.test.ts',
  'test/indexer/observer.service.test.ts',
  'test/plans/unchecked.service.test.ts',
  'test/api/event-source.service.test.ts',
  'test/api/lists.service.test.ts',
  'test/indexer/fees.service.test.ts',
  'test/indexer/audit-slice.service.test.ts',
  'test/api/conditional.service.test.ts',
  'test/api/consistency.service.test.ts',
  'test/webhooks/deliveries.service.test.ts',
  'test/indexer/index.service.test.ts',
  'test/api/settlements.service.test.ts',
  'test/pricing/calibration-sets.service.test.ts',
  'test/api/mcp.service.test.ts',
  'test/indexer/audit-columns.service.test.ts',
  'test/plans/unsimulated.service.test.ts',
  'test/api/waits.service.test.ts',
  'test/api/urls.service.test.ts',
  'test/api/after-refresh.service.test.ts',
  'test/api/generated.service.test.ts',
  'test/indexer/feed.service.test.ts',
  'test/indexer/reindex.service.test.ts',
  'test/api/final-settlements.service.test.ts',
  'test/sandbox/story.service.test.ts',
  'test/api/limit-store.service.test.ts',
  'test/plans/claims.service.test.ts',
  'test/client/terms.service.test.ts',
  'test/api/simulation.service.test.ts',
  'test/api/status.service.test.ts',
  'test/plans/quoted.service.test.ts',
  'test/plans/bounds.service.test.ts',
  'test/api/me.service.test.ts',
  'test/db/reader.service.test.ts',
  'test/plans/summary.service.test.ts',
  'test/reads/balances.service.test.ts',
]
const isNamed = process.argv.slice(2).some((it) => it.includes('test/'))
const isWhole = form === 'default' && !isNamed
const leftOut = isWhole ? combined.filter((_, at) => at % 3 !== seed % 3) : []

/*
 * The projects of the first group share their workers. The project `timing` runs after them, alone and one file at a
 * time: its tests judge how long something takes, which other files' load would change.
 */
export default defineConfig({
  test: {
    // The projects load mostly the same modules: each file is transformed once for all of them.
    experimental: { fsModuleCache: true },
    // One more than a small machine has cores: many tests wait, for a lease, a block or a process.
    maxWorkers: 3,
    // A sandbox stops in order, which takes up to the grace period of its processes.
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new RunReporter()],
    projects: [
      {
        test: {
          ...common,
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.{service,e2e,timing}.test.ts'],
          provide: { ...settings, profile: 'reference' },
        },
      },
      {
        test: {
          ...common,
          name: 'service',
          include: ['test/**/*.service.test.ts'],
          exclude: form === 'long' ? [] : [...longOnly, ...leftOut, ...(isDeployed ? random : [])],
          globalSetup: services,
          provide: { ...settings, profile: 'reference' },
        },
      },
      {
        // The same reads and builders over a protocol that behaves as deployments do.
        test: {
          ...common,
          name: 'deployed',
          include: [
            `test/api/${form === 'long' ? '{tx,simulation,transactions}' : 'tx'}.service.test.ts`,
            // The same reads as of the reference, of which a third of the runs has both.
            ...(isWhole && seed % 3 !== 0 ? [] : ['test/api/reads.service.test.ts']),
            ...(form === 'long' || isDeployed ? random : []),
            ...(form === 'long' ? ['test/export/content.service.test.ts'] : []),
            ...(form === 'long' ? ['test/history/*.service.test.ts'] : []),
            `test/indexer/${form === 'long' ? '{audit,feed,fees,refresh}' : 'refresh'}.service.test.ts`,
            ...(form === 'long' ? ['test/reads/fees.service.test.ts'] : []),
            ...(form === 'long' ? ['test/plans/*.service.test.ts'] : []),
          ],
          globalSetup: services,
          provide: { ...settings, profile: 'deployed' },
        },
      },
      {
        test: {
          ...common,
          name: 'e2e',
          include: ['test/**/*.e2e.test.ts'],
          globalSetup: 'test/support/built.ts',
          testTimeout: 180_000,
          hookTimeout: 180_000,
          provide: settings,
        },
      },
      {
        test: {
          ...common,
          name: 'timing',
          include: ['test/**/*.timing.test.ts'],
          globalSetup: services,
          provide: { ...settings, profile: 'reference' },
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
