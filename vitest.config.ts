import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { combined } from './test/support/combined.ts'
import { RunReporter } from './test/support/run-reporter.ts'
import { form, seed } from './test/support/run-settings.ts'
import { LongestFirst } from './test/support/sequencer.ts'
import { keepTemporaryFilesInMemory } from './test/support/temporary-files.ts'
import { isCombinedTurn, isDeployedTurn } from './test/support/turns.ts'

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

/** Random actions on the protocol, for one of its profiles; the long form has them for both. */
const random = [
  'test/contracts/invariants.service.test.ts',
  'test/history/fold.service.test.ts',
  'test/plans/random-plans.service.test.ts',
]

/** The same reads and builders over a protocol that behaves as deployments do. */
const deployed =
  form === 'long'
    ? [
        'test/api/{reads,simulation,transactions,tx}.service.test.ts',
        'test/export/content.service.test.ts',
        'test/history/*.service.test.ts',
        'test/indexer/{audit,feed,fees,refresh}.service.test.ts',
        'test/reads/fees.service.test.ts',
        'test/plans/*.service.test.ts',
        ...random,
      ]
    : ['test/api/{reads,tx}.service.test.ts', 'test/indexer/refresh.service.test.ts', ...random]

const isNamed = process.argv.slice(2).some((it) => it.includes('test/'))
const isWhole = form === 'default' && !isNamed
const leftOut = isWhole ? combined.filter((_, index) => !isCombinedTurn(seed, index)) : []
const isDeployed = !isWhole || isDeployedTurn(seed)

/*
 * The projects of the first group share their workers. The project `timing` runs after them, alone and one file at a
 * time: its tests judge how long something takes, which other files' load would change.
 */
export default defineConfig({
  test: {
    // The projects load mostly the same modules: each file is transformed once for all of them.
    experimental: { fsModuleCache: true },
    // As many as a small machine has cores.
    maxWorkers: 2,
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
          exclude: ['test/**/*.{service,e2e,timing}.test.ts', ...leftOut],
          provide: { ...settings, profile: 'reference' },
        },
      },
      {
        test: {
          ...common,
          name: 'service',
          include: ['test/**/*.service.test.ts'],
          exclude: form === 'long' ? [] : [...longOnly, ...leftOut, ...(isWhole && isDeployed ? random : [])],
          globalSetup: services,
          provide: { ...settings, profile: 'reference' },
        },
      },
      {
        test: {
          ...common,
          name: 'deployed',
          include: isDeployed ? deployed : [],
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
