import { z } from 'zod'
import * as administration from '../../protocol/administration.ts'
import { QueryAmount, QueryRate } from '../../protocol/fields/request-fields.ts'
import { Account, Amount, Integer, integer } from '../../protocol/fields/response-fields.ts'
import { profiles } from '../../protocol/profiles.ts'
import * as record from '../../protocol/records.ts'
import { entity } from '../entities/entity.ts'
import { idList } from '../entities/id-list.ts'
import * as viewSet from '../entities/view-sets.ts'
import type { Read } from '../read.ts'
import { detail } from './detail.ts'

/** The reads by tag. To add a read, add a row. */
const table: Readonly<Record<string, readonly Omit<Read, 'tag'>[]>> = {
  Protocol: [
    {
      path: '/chains',
      summary: 'Supported chains',
      description:
        "Returns the addresses of the protocol and of its payment tokens on each chain, and a public node's URL.",
      params: z.object({}),
      query: z.object({}),
      data: z.array(record.ChainRecord),
      paged: false,
      answer: async (sources) => ({
        freshness: { source: 'static', stale: false },
        data: [...sources.chains.values()].map(({ deployment }) => record.chainRecord(deployment)),
      }),
    },
    entity('/hedge/fees', 'Fee configuration', {
      data: record.FeeConfig,
      of: viewSet.protocol,
      views: ['fees'],
      record: ({ fees }, { chainId }) => record.feeConfig(chainId, fees),
    }),
    entity('/hedge/paused/:chainId', 'Whether the hedge facet is paused', {
      data: z.boolean(),
      of: viewSet.protocol,
      views: ['paused'],
      record: ({ paused }) => paused,
    }),
    entity(
      '/hedge/pricing-engine-signer/:chainId',
      'The signer whose quotes the protocol accepts; the zero address when there is none',
      {
        data: Account,
        of: viewSet.administration,
        views: ['engineSigner'],
        record: ({ engineSigner }) => engineSigner,
      },
    ),
  ],
  Events: [
    entity('/hedge/events/:chainId/total', 'Number of events created on a chain', {
      data: Integer,
      of: viewSet.protocol,
      views: ['total'],
      record: ({ total }) => integer(total),
    }),
    detail(
      'event',
      entity('/hedge/events/:chainId/:id', "An event's core record", {
        data: record.EventCore,
        of: viewSet.event,
        views: ['core', 'range', 'paymentToken'],
        record: record.eventCore,
      }),
    ),
    entity('/hedge/events/:chainId/:id/stats', "An event's settlement and totals", {
      data: record.EventStats,
      of: viewSet.event,
      views: ['stats'],
      record: ({ stats }) => record.eventStats(stats),
      settledAt: (stats) => stats.settledAt,
    }),
    entity('/hedge/events/:chainId/:id/range', "An event's payout range", {
      data: record.EventRange,
      of: viewSet.event,
      views: ['range'],
      record: ({ range }) => record.eventRange(range),
    }),
    entity('/hedge/events/:chainId/:id/utilization', "An event's pool utilization", {
      data: record.Utilization,
      of: viewSet.event,
      views: ['core', 'utilization', 'range'],
      record: (event, { profile }, _input, time) => record.utilization({ ...event, time }, profiles[profile]),
    }),
    idList('/hedge/events/:chainId/:id/positions', 'Position ids of an event', viewSet.eventPositions),
    idList('/hedge/events/:chainId/:id/deposits', 'LP deposit ids of an event', viewSet.eventDeposits),
    idList('/hedge/creators/:chainId/wallet/:addr', 'Event ids created by a wallet', viewSet.walletEvents),
    entity('/hedge/quote-payout/:chainId/:id', 'Gross payout of a notional at a hypothetical settlement rate', {
      query: {
        hypoSettlement: QueryRate.meta({
          description: 'The hypothetical settlement rate, in 1e6 fixed point',
        }),
        notional: QueryAmount.meta({ description: "The notional, in the payment token's units" }),
      },
      data: Amount,
      of: viewSet.quote,
      views: ['payout'],
      record: ({ payout }) => payout.toString(),
    }),
  ],
  Positions: [
    detail(
      'position',
      entity('/hedge/positions/:chainId/:id', 'A position', {
        data: record.Position,
        of: viewSet.position,
        views: ['position'],
        record: record.position,
      }),
    ),
    idList('/hedge/positions/:chainId/wallet/:addr', 'Position ids owned by a wallet', viewSet.walletPositions),
  ],
  Deposits: [
    detail(
      'deposit',
      entity('/hedge/deposits/:chainId/:id', 'An LP deposit', {
        data: record.Deposit,
        of: viewSet.deposit,
        views: ['deposit', 'pending'],
        record: record.deposit,
      }),
    ),
    entity('/hedge/deposits/:chainId/:id/pending', 'Unclaimed premiums of an LP deposit', {
      data: Amount,
      of: viewSet.deposit,
      views: ['pending'],
      record: ({ pending }) => pending.toString(),
    }),
    idList('/hedge/deposits/:chainId/wallet/:addr', 'LP deposit ids owned by a wallet', viewSet.walletDeposits),
  ],
  Oracle: [
    entity('/oracle/config/:chainId', 'Oracle configuration: required signers and tolerance', {
      data: administration.OracleConfig,
      of: viewSet.administration,
      views: ['oracleConfig'],
      record: ({ oracleConfig }, { chainId }) => administration.oracleConfig(chainId, oracleConfig),
    }),
    entity('/oracle/oracles/:chainId', 'The registered oracles', {
      data: z.array(Account),
      of: viewSet.administration,
      views: ['oracles'],
      record: ({ oracles }) => [...oracles],
    }),
    entity('/oracle/submissions/:chainId/:eventId', 'Settlement rates submitted for an event', {
      data: administration.Submissions,
      of: viewSet.submissions,
      views: ['submissions'],
      record: ({ submissions }, { chainId }, { eventId }) => administration.submissions(chainId, eventId, submissions),
    }),
  ],
  Governance: [
    entity('/governance/owner', "The protocol's owner and pending owner", {
      data: administration.Ownership,
      of: viewSet.administration,
      views: ['owner', 'pendingOwner'],
      record: ({ owner, pendingOwner }, { chainId }) => ({ chainId, owner, pendingOwner }),
    }),
    entity('/governance/facets', 'The facets of the proxy and their functions', {
      data: administration.Facets,
      of: viewSet.administration,
      views: ['facets'],
      record: ({ facets }, { chainId }) => administration.facets(chainId, facets),
    }),
    entity('/governance/proposals/:chainId/:proposalId', 'A queued upgrade proposal', {
      data: administration.Proposal,
      of: viewSet.proposal,
      views: ['proposal'],
      record: ({ proposal }, { chainId }, { proposalId }) => administration.proposal(chainId, proposalId, proposal),
    }),
  ],
}

/** Every read of the API. */
export const reads: readonly Read[] = Object.entries(table).flatMap(([tag, rows]) =>
  rows.map((read) => ({ ...read, tag })),
)
