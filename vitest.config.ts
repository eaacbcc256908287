import { defineConfig } from 'vitest/config'

/** What is waited for comes soon, or late on a machine that is busy or stands still for a moment. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } }

const service = {
  ...patience,
  globalSetup: ['test/support/global-setup.ts', 'test/support/built.ts'],
  sequence: { groupOrder: 1 },
}

/** Groups run one after the other, the quick ones first; inside a group three files run side by side. */
export default defineConfig({
  test: {
    // One more than a small machine has cores: many of them wait, for a lease, a block or a process.
    maxWorkers: 3,
    // A sandbox ends in order, which takes it up to its children's grace.
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          ...patience,
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.service.test.ts', 'test/**/*.e2e.test.ts'],
          // Nothing they import is changed by them, so it is loaded once a worker and not once a file.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...service,
          name: 'service',
          include: ['test/**/*.service.test.ts'],
          provide: { profile: 'reference' },
        },
      },
      {
        // The same reads and builders over a protocol that behaves as deployments do.
        test: {
          ...service,
          name: 'deployed',
          include: [
            'test/api/{reads,tx}.service.test.ts',
            'test/contracts/invariants.service.test.ts',
            'test/indexer/{audit,refresh}.service.test.ts',
          ],
          provide: { profile: 'deployed' },
        },
      },
      {
        test: {
          ...patience,
          name: 'e2e',
          include: ['test/**/*.e2e.test.ts'],
          globalSetup: ['test/support/built.ts', 'test/support/shared-sandbox.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
