import type { Faults } from './fault.ts'
import { apiFaults } from './faults/api.ts'
import { mcpFaults } from './faults/api-mcp.ts'
import { pageFaults } from './faults/api-pages.ts'
import { restFaults } from './faults/api-rest.ts'
import { auditFaults } from './faults/audit.ts'
import { carryFaults } from './faults/carry.ts'
import { chainFaults } from './faults/chain.ts'
import { cliFaults } from './faults/cli.ts'
import { clientFaults } from './faults/client.ts'
import { clientRestFaults } from './faults/client-rest.ts'
import { dbFaults } from './faults/db.ts'
import { exportFaults } from './faults/export.ts'
import { followingFaults } from './faults/following.ts'
import { historyFaults } from './faults/history.ts'
import { indexerFaults } from './faults/indexer.ts'
import { ledgerFaults } from './faults/ledger.ts'
import { listingsFaults } from './faults/listings.ts'
import { plansFaults } from './faults/plans.ts'
import { pricingFaults } from './faults/pricing.ts'
import { pricingMarketFaults } from './faults/pricing-market.ts'
import { protocolFaults } from './faults/protocol.ts'
import { readsFaults } from './faults/reads.ts'
import { sandboxFaults } from './faults/sandbox.ts'
import { webhooksFaults } from './faults/webhooks.ts'

/** All lists of faults. A file is in one of them. */
export const lists: readonly Faults[] = [
  apiFaults,
  mcpFaults,
  pageFaults,
  restFaults,
  auditFaults,
  carryFaults,
  chainFaults,
  cliFaults,
  clientFaults,
  clientRestFaults,
  dbFaults,
  exportFaults,
  followingFaults,
  historyFaults,
  indexerFaults,
  ledgerFaults,
  listingsFaults,
  plansFaults,
  pricingFaults,
  pricingMarketFaults,
  protocolFaults,
  readsFaults,
  sandboxFaults,
  webhooksFaults,
]
