import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, in seconds on two idle cores. They start first, so that no long file is left alone at
 * the end. A clean clone has no measured times, so the list is kept here: a run reports files that are missing from it,
 * and fails for files that are gone.
 */
export const longestFiles: Readonly<Record<string, number>> = {
  'test/e2e/sandbox.e2e.test.ts': 90,
  'test/faults/failover.service.test.ts': 60,
  'test/api/foreign-code.service.test.ts': 27,
  'test/history/archive.service.test.ts': 23,
  'test/repo/canary.service.test.ts': 23,
  'test/repo/deployment.service.test.ts': 20,
  'test/indexer/audit-slice.service.test.ts': 18,
  'test/export/runs.service.test.ts': 18,
  'test/faults/faults.service.test.ts': 15,
  'test/client/changes.service.test.ts': 14,
  'test/api/event-source.service.test.ts': 13,
  'test/indexer/observer.service.test.ts': 13,
  'test/api/transactions.service.test.ts': 13,
  'test/api/routes/console.service.test.ts': 9,
  'test/api/routes/pages.service.test.ts': 25,
  'test/indexer/reindex.service.test.ts': 13,
  'test/webhooks/deliveries.service.test.ts': 13,
  'test/compose/processes.service.test.ts': 12,
  'test/db/feed.service.test.ts': 12,
  'test/study/study.test.ts': 12,
  'test/pricing/backtest.test.ts': 12,
  'test/plans/unchecked.service.test.ts': 12,
  'test/client/execute.service.test.ts': 12,
  'test/export/command.service.test.ts': 12,
  'test/pricing/calibration-sets.service.test.ts': 11,
  'test/indexer/fees.service.test.ts': 11,
  'test/indexer/index.service.test.ts': 11,
  'test/api/conditional.service.test.ts': 10,
  'test/sandbox/story.service.test.ts': 10,
  'test/reads/checks.service.test.ts': 10,
  'test/jobs/outage.service.test.ts': 27,
  'test/db/from-release.service.test.ts': 10,
  'test/plans/claims.service.test.ts': 8,
  'test/export/content.service.test.ts': 8,
  'test/indexer/ledger.service.test.ts': 8,
  'test/indexer/log-gaps.service.test.ts': 8,
  'test/sandbox/postgres.service.test.ts': 8,
  'test/repo/recipes.test.ts': 7,
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
