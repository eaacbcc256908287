import { z } from 'zod'
import * as scope from '../db/scopes.ts'
import * as administration from '../protocol/administration.ts'
import { chainIds, PathChainId } from '../protocol/chains.ts'
import { profiles } from '../protocol/profiles.ts'
import * as record from '../protocol/records.ts'
import { Account, Amount, Count, integer } from '../protocol/values.ts'
import { Address20, Bytes32, PathInteger, Uint128 } from '../protocol/wire.ts'
import { type Resource, resourceOf } from './changes.ts'
import { consistency } from './consistency.ts'
import { entity } from './entity.ts'
import { idList } from './id-list.ts'
import { chainOf, type Read } from './read.ts'
import * as subject from './subjects.ts'

const consistent = z.object(consistency)
const ofChain = z.object({ chainId: PathChainId })
const ofId = z.object({ chainId: PathChainId, id: PathInteger })
const ofWallet = z.object({ chainId: PathChainId, addr: Address20 })
const ofEvent = z.object({ chainId: PathChainId, eventId: PathInteger })
const ofProposal = z.object({ chainId: PathChainId, proposalId: Bytes32 })
const byChain = z.object({
  chainId: PathChainId.optional().meta({ description: 'The default chain when omitted' }),
  ...consistency,
})

const protocolOf = ({ chainId }: subject.OfChain): Resource => resourceOf([chainId], scope.protocolScope)
const eventOf = ({ chainId, id }: subject.OfId): Resource => resourceOf([chainId], scope.ofEvent(id))
const walletOf = ({ chainId, addr }: subject.OfWallet): Resource => resourceOf([chainId], scope.ofWallet(addr))

/** Every GET of the API. The next one is a row here. */
export const reads: readonly Read[] = [
  {
    path: '/chains',
    tag: 'Protocol',
    summary: 'Supported chains',
    description: 'Where the protocol and its payment tokens are on each, and a public node.',
    params: z.object({}),
    query: z.object({}),
    data: z.array(record.ChainRecord),
    paged: false,
    answer: async (sources) => ({
      freshness: { source: 'static', stale: false },
      data: chainIds.map((chainId) => record.chainRecord(chainOf(sources, chainId).deployment)),
    }),
  },
  entity({
    path: '/hedge/fees',
    tag: 'Protocol',
    summary: 'Fees of new events',
    params: z.object({}),
    query: byChain,
    data: record.FeeConfig,
    of: subject.protocol,
    resource: protocolOf,
    views: ['fees'],
    record: ({ fees }, { chainId }) => record.feeConfig(chainId, fees),
  }),
  entity({
    path: '/hedge/paused/:chainId',
    tag: 'Protocol',
    summary: 'Whether the hedge facet is paused',
    params: ofChain,
    query: consistent,
    data: z.boolean(),
    of: subject.protocol,
    resource: protocolOf,
    views: ['paused'],
    record: ({ paused }) => paused,
  }),
  entity({
    path: '/hedge/pricing-engine-signer/:chainId',
    tag: 'Protocol',
    summary: 'The signer whose quotes the protocol accepts; the zero address for none',
    params: ofChain,
    query: consistent,
    data: Account,
    of: subject.administration,
    views: ['engineSigner'],
    record: ({ engineSigner }) => engineSigner,
  }),

  entity({
    path: '/hedge/events/:chainId/total',
    tag: 'Events',
    summary: 'Events ever created on a chain',
    params: ofChain,
    query: consistent,
    data: Count,
    of: subject.protocol,
    resource: protocolOf,
    views: ['total'],
    record: ({ total }) => integer(total),
  }),
  entity({
    path: '/hedge/events/:chainId/:id',
    tag: 'Events',
    summary: "An event's core record",
    params: ofId,
    query: consistent,
    data: record.EventCore,
    of: subject.event,
    resource: eventOf,
    views: ['core', 'range', 'paymentToken'],
    record: record.eventCore,
  }),
  entity({
    path: '/hedge/events/:chainId/:id/stats',
    tag: 'Events',
    summary: "An event's settlement and totals",
    params: ofId,
    query: consistent,
    data: record.EventStats,
    of: subject.event,
    resource: eventOf,
    views: ['stats'],
    record: ({ stats }) => record.eventStats(stats),
    settledAt: (stats) => stats.settledAt,
  }),
  entity({
    path: '/hedge/events/:chainId/:id/range',
    tag: 'Events',
    summary: "What an event's pay-off depends on",
    params: ofId,
    query: consistent,
    data: record.EventRange,
    of: subject.event,
    resource: eventOf,
    views: ['range'],
    record: ({ range }) => record.eventRange(range),
  }),
  entity({
    path: '/hedge/events/:chainId/:id/utilization',
    tag: 'Events',
    summary: "How full an event's pool is",
    params: ofId,
    query: consistent,
    data: record.Utilization,
    of: subject.event,
    resource: eventOf,
    views: ['core', 'utilization', 'range'],
    record: (event, { profile }, _input, time) => record.utilization({ ...event, time }, profiles[profile]),
  }),
  idList({
    path: '/hedge/events/:chainId/:id/positions',
    tag: 'Events',
    summary: 'Position ids of an event',
    params: ofId,
    of: subject.eventPositions,
    resource: eventOf,
  }),
  idList({
    path: '/hedge/events/:chainId/:id/deposits',
    tag: 'Events',
    summary: 'LP deposit ids of an event',
    params: ofId,
    of: subject.eventDeposits,
    resource: eventOf,
  }),
  idList({
    path: '/hedge/creators/:chainId/wallet/:addr',
    tag: 'Events',
    summary: 'Event ids created by a wallet',
    params: ofWallet,
    of: subject.walletEvents,
    resource: walletOf,
  }),
  entity({
    path: '/hedge/quote-payout/:chainId/:id',
    tag: 'Events',
    summary: 'Gross payout of a notional at a hypothetical settlement rate',
    params: ofId,
    query: z.object({
      hypoSettlement: Uint128.meta({ description: '1e6 fixed point', example: '12500000' }),
      notional: Uint128.meta({ description: 'Payment-token units', example: '10000000000' }),
      ...consistency,
    }),
    data: Amount,
    of: subject.quote,
    views: ['payout'],
    record: ({ payout }) => payout.toString(),
  }),

  entity({
    path: '/hedge/positions/:chainId/:id',
    tag: 'Positions',
    summary: 'A position',
    params: ofId,
    query: consistent,
    data: record.Position,
    of: subject.position,
    views: ['position'],
    record: ({ position }) => record.position(position),
  }),
  idList({
    path: '/hedge/positions/:chainId/wallet/:addr',
    tag: 'Positions',
    summary: 'Position ids owned by a wallet',
    params: ofWallet,
    of: subject.walletPositions,
    resource: walletOf,
  }),

  entity({
    path: '/hedge/deposits/:chainId/:id',
    tag: 'Deposits',
    summary: 'An LP deposit',
    params: ofId,
    query: consistent,
    data: record.Deposit,
    of: subject.deposit,
    views: ['deposit', 'pending'],
    record: ({ deposit, pending }) => record.deposit(deposit, pending),
  }),
  entity({
    path: '/hedge/deposits/:chainId/:id/pending',
    tag: 'Deposits',
    summary: 'Unclaimed premiums of an LP deposit',
    params: ofId,
    query: consistent,
    data: Amount,
    of: subject.deposit,
    views: ['pending'],
    record: ({ pending }) => pending.toString(),
  }),
  idList({
    path: '/hedge/deposits/:chainId/wallet/:addr',
    tag: 'Deposits',
    summary: 'LP deposit ids owned by a wallet',
    params: ofWallet,
    of: subject.walletDeposits,
    resource: walletOf,
  }),

  entity({
    path: '/oracle/config/:chainId',
    tag: 'Oracle',
    summary: 'How many oracles must agree, and how closely',
    params: ofChain,
    query: consistent,
    data: administration.OracleConfig,
    of: subject.administration,
    views: ['oracleConfig'],
    record: ({ oracleConfig }, { chainId }) => administration.oracleConfig(chainId, oracleConfig),
  }),
  entity({
    path: '/oracle/oracles/:chainId',
    tag: 'Oracle',
    summary: 'The registered oracles',
    params: ofChain,
    query: consistent,
    data: z.array(Account),
    of: subject.administration,
    views: ['oracles'],
    record: ({ oracles }) => [...oracles],
  }),
  entity({
    path: '/oracle/submissions/:chainId/:eventId',
    tag: 'Oracle',
    summary: 'Settlement rates submitted for an event',
    params: ofEvent,
    query: consistent,
    data: administration.Submissions,
    of: subject.submissions,
    views: ['submissions'],
    record: ({ submissions }, { chainId }, { eventId }) => administration.submissions(chainId, eventId, submissions),
  }),

  entity({
    path: '/governance/owner',
    tag: 'Governance',
    summary: "The protocol's owner and a pending one",
    params: z.object({}),
    query: byChain,
    data: administration.Ownership,
    of: subject.administration,
    views: ['owner', 'pendingOwner'],
    record: ({ owner, pendingOwner }, { chainId }) => ({ chainId, owner, pendingOwner }),
  }),
  entity({
    path: '/governance/facets',
    tag: 'Governance',
    summary: 'The facets of the proxy and their functions',
    params: z.object({}),
    query: byChain,
    data: administration.Facets,
    of: subject.administration,
    views: ['facets'],
    record: ({ facets }, { chainId }) => administration.facets(chainId, facets),
  }),
  entity({
    path: '/governance/proposals/:chainId/:proposalId',
    tag: 'Governance',
    summary: 'A queued upgrade',
    params: ofProposal,
    query: consistent,
    data: administration.Proposal,
    of: subject.proposal,
    views: ['proposal'],
    record: ({ proposal }, { chainId }, { proposalId }) => administration.proposal(chainId, proposalId, proposal),
  }),
]
