import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, in seconds on two idle cores. They start first, so that no long file is left alone at
 * the end. A clean clone has no measured times, so the list is kept here: a run reports files that are missing from it,
 * and fails for files that are gone.
 */
export const longestFiles: Readonly<Record<string, number>> = {
  'test/client/execute.service.test.ts': 100,
  'test/api/event-source.service.test.ts': 23,
  'test/load/differential.service.test.ts': 48,
  'test/db/stale-texts-races.service.test.ts': 43,
  'test/indexer/index.service.test.ts': 10,
  'test/load/abuse.timing.test.ts': 35,
  'test/e2e/sandbox.e2e.test.ts': 90,
  'test/faults/faults.service.test.ts': 30,
  'test/jobs/outage.service.test.ts': 30,
  'test/repo/deployment.service.test.ts': 30,
  'test/e2e/third-chain.service.test.ts': 24,
  'test/api/waits.service.test.ts': 24,
  'test/indexer/audit-slice.service.test.ts': 19,
  'test/db/stale-texts.service.test.ts': 16,
  'test/plans/bounds.service.test.ts': 14,
  'test/plans/claims.service.test.ts': 20,
  'test/plans/random-plans.service.test.ts': 18,
  'test/plans/unsimulated.service.test.ts': 16,
  'test/jobs/run.service.test.ts': 16,
  'test/webhooks/deliveries.service.test.ts': 25,
  'test/webhooks/commands.service.test.ts': 20,
  'test/plans/quoted.service.test.ts': 12,
  'test/plans/wallet-calls.service.test.ts': 12,
  'test/plans/generated-plans.service.test.ts': 12,
  'test/client/changes.service.test.ts': 14,
  'test/api/transactions.test.ts': 15,
  'test/api/foreign-code.service.test.ts': 20,
  'test/api/revert-budget.test.ts': 8,
  'test/faults/processes.service.test.ts': 15,
  'test/db/lease.service.test.ts': 14,
  'test/chain/failover.test.ts': 13,
  'test/reads/stored-rows.service.test.ts': 13,
  'test/api/refusals.service.test.ts': 12,
  'test/api/routes/console.service.test.ts': 12,
  'test/api/rotation.service.test.ts': 11,
  'test/indexer/audit-columns.service.test.ts': 10,
  'test/reads/pagination.service.test.ts': 10,
  'test/chain/healing.test.ts': 10,
  'test/api/openapi.test.ts': 12,
  'test/repo/recipes.test.ts': 12,
  'test/repo/canary.service.test.ts': 10,
  'test/lib/watchdog.test.ts': 10,
  'test/pricing/signing.test.ts': 9,
  'test/indexer/observer.service.test.ts': 9,
  'test/cli.e2e.test.ts': 9,
  'test/api/generated.service.test.ts': 9,
  'test/api/lists.service.test.ts': 8,
  'test/db/refusals.service.test.ts': 8,
  'test/api/conditional.service.test.ts': 7,
  'test/api/me.service.test.ts': 7,
}

const pathOf = ({ moduleId }: TestSpecification): string => relative(process.cwd(), moduleId)

/** The order of the projects. The last files of a run are short ones, so that all workers end at about the same time. */
const projects = ['e2e', 'service', 'deployed', 'pure', 'timing']

/**
 * Keeps the files of a project together, because a worker loads its modules once per project, and starts the longest
 * files of each project first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = Object.keys(longestFiles).filter((path) => !existsSync(path))
    if (gone.length > 0)
      throw new Error(`longestFiles in test/support/sequencer.ts lists files that do not exist: ${gone.join(', ')}`)
    const project = (file: TestSpecification): number => projects.indexOf(file.project.name)
    const weight = (file: TestSpecification): number => longestFiles[pathOf(file)] ?? 0
    return files.toSorted(
      (a, b) => project(a) - project(b) || weight(b) - weight(a) || pathOf(a).localeCompare(pathOf(b)),
    )
  }
}
