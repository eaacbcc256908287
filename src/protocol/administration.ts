import type { Hex } from 'viem'
import { z } from 'zod'
import { upstream } from '../lib/errors.ts'
import type { Output } from './abi/outputs.ts'
import { type ChainId, OfChain } from './chains.ts'
import { Account, decimal, Id, Integer, integer, Rate, UnixSeconds } from './fields/response-fields.ts'
import { statusNumbers, statusText, statusTextOf } from './statuses.ts'

/* The payloads of the oracle and governance reads. `records.ts` has those of the hedge reads. */

export const Ownership = z
  .object({
    chainId: OfChain,
    owner: Account,
    pendingOwner: Account.meta({ description: 'The zero address when no handover is pending' }),
  })
  .meta({ id: 'Ownership' })

const Bytes = z.string().regex(/^0x(?:[0-9a-f]{2})*$/)

export const Facets = z
  .object({
    chainId: OfChain,
    facets: z.array(
      z.object({
        facetAddress: Account,
        functionSelectors: z.array(z.string().regex(/^0x[0-9a-f]{8}$/)),
      }),
    ),
  })
  .meta({ id: 'Facets' })

/** The facets of the proxy and their functions, as its loupe lists them. */
export const facets = (chainId: ChainId, view: Output<'facets'>): z.output<typeof Facets> => ({
  chainId,
  facets: view.map(({ facetAddress, functionSelectors }) => ({
    facetAddress,
    functionSelectors: [...functionSelectors],
  })),
})

export const Proposal = z
  .object({
    chainId: OfChain,
    proposalId: z.string().regex(/^0x[0-9a-f]{64}$/),
    status: Integer.meta({ description: statusNumbers('proposal') }),
    statusText: statusTextOf('proposal'),
    executeAfter: UnixSeconds,
    initAddress: Account.meta({ description: 'Contract called after the cut; the zero address for none' }),
    initCalldata: Bytes.meta({ description: 'Calldata of that call' }),
  })
  .meta({ id: 'Proposal' })

/** A queued upgrade. Its cuts cannot be read from the proxy; they are in the transaction that proposed it. */
export const proposal = (
  chainId: ChainId,
  proposalId: Hex,
  view: Output<'getProposal'>,
): z.output<typeof Proposal> => ({
  chainId,
  proposalId,
  status: view.status,
  statusText: statusText('proposal', view.status),
  executeAfter: integer(view.executeAfter),
  initAddress: view.initAddress,
  initCalldata: view.initCalldata,
})

export const OracleConfig = z
  .object({
    chainId: OfChain,
    requiredSigners: Integer.meta({ description: 'Number of oracles that must agree' }),
    toleranceBps: Integer.meta({
      description: 'Maximum difference between agreeing rates, in basis points',
    }),
    oracleCount: Integer,
    maxOracles: Integer,
  })
  .meta({ id: 'OracleConfig' })

export const oracleConfig = (chainId: ChainId, view: Output<'getOracleConfig'>): z.output<typeof OracleConfig> => ({
  chainId,
  requiredSigners: integer(view.requiredSigners),
  toleranceBps: integer(view.toleranceBps),
  oracleCount: integer(view.oracleCount),
  maxOracles: integer(view.maxOracles),
})

export const Submissions = z
  .object({
    chainId: OfChain,
    eventId: Id,
    count: Integer,
    submissions: z.array(
      z.object({
        oracle: Account,
        price: Rate,
        timestamp: UnixSeconds,
        isStale: z
          .boolean()
          .meta({ description: 'Whether the protocol considers it too old to count towards settlement' }),
      }),
    ),
  })
  .meta({ id: 'Submissions' })

/** An event's submissions, from the view's parallel arrays. Throws `upstream_error` for arrays of different lengths. */
export const submissions = (
  chainId: ChainId,
  eventId: number,
  { oracleAddresses, prices, timestamps, isStale }: Output<'getAllSubmissions'>,
): z.output<typeof Submissions> => ({
  chainId,
  eventId,
  count: oracleAddresses.length,
  submissions: oracleAddresses.map((oracle, at) => {
    const [price, timestamp, stale] = [prices[at], timestamps[at], isStale[at]]
    if (price === undefined || timestamp === undefined || stale === undefined) {
      throw upstream('the chain returned oracle submissions with arrays of different lengths')
    }
    return { oracle, price: decimal(price), timestamp: integer(timestamp), isStale: stale }
  }),
})
