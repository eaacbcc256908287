import type { Faults } from '../fault.ts'
import { auditFaults } from './reads-audit.ts'
import { freshnessFaults } from './reads-freshness.ts'
import { healthFaults } from './reads-health.ts'
import { jobsFaults } from './reads-jobs.ts'
import { transactionsFaults } from './reads-transactions.ts'

export const readsFaults: Faults = {
  ...freshnessFaults,
  ...transactionsFaults,
  ...healthFaults,
  ...auditFaults,
  ...jobsFaults,
}
