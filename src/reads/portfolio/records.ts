import { z } from 'zod'
import { BodyChainId, MAX_CHAINS, OfChain, PathChainId } from '../../protocol/chains.ts'
import { feeFields } from '../../protocol/claim-fees.ts'
import { entities } from '../../protocol/entities.ts'
import { Address20, AT_LEAST_ONE, atMost } from '../../protocol/fields/request-fields.ts'
import { Account, Amount, Id, Integer, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { consistency } from '../freshness/consistency.ts'
import { atField } from '../history/at.ts'
import { choice, choices, listOf, MAX_WALLETS } from '../lists/query.ts'
import { DepositRow, EventRow, Hash, LagSeconds, PositionRow, tokenFields } from '../lists/records.ts'
import { Balances } from './balances-records.ts'

const State = choice(['active', 'all']).optional().meta({
  description: '`active` (default): rows that can still change or pay out; `all`: settled and claimed rows too',
})

const Include = choices(['event', 'valuation', 'value', 'stale-value', 'balances']).optional().meta({
  description:
    '`event`: the event of each position and deposit; `valuation`: what each deposit is worth by the pool of its event; `value`: the present value of each position, from the pricing engine, null where its rates are stale; `stale-value`: the same, also from stale rates; `balances`: what the wallet has now, read from the nodes. A response with values or `balances` has no `ETag` and must not be stored',
})

export const PortfolioParams = z.object({ addr: Address20 })

export const PortfolioQuery = z.object({
  chainId: listOf(PathChainId, MAX_CHAINS).optional().meta({ description: 'The chains; all chains when omitted' }),
  state: State,
  include: Include,
  ...atField,
  ...consistency,
})

/** The query of the POST, whose chains are in its body. */
export const PortfoliosQuery = z.object({ include: Include, ...atField, ...consistency })

export const PortfolioBody = z.strictObject({
  wallets: atMost(z.array(Address20).min(1, AT_LEAST_ONE), MAX_WALLETS).meta({
    description: `The wallets, 1 to ${MAX_WALLETS}`,
  }),
  chainIds: atMost(z.array(BodyChainId).min(1, AT_LEAST_ONE), MAX_CHAINS)
    .optional()
    .meta({ description: 'The chains; all chains when omitted' }),
  state: State,
})

/** The status of a chain's part of a portfolio. */
const ChainPart = z.object({
  chainId: OfChain,
  status: z.enum(['ok', 'stale', 'unavailable']).meta({
    description:
      '`ok`; `stale`: the index lags, or a row could not be read; `unavailable`: the response has no data of this chain',
  }),
  blockNumber: Integer.nullable().meta({ description: 'The newest indexed block' }),
  blockHash: Hash.nullable(),
  blockTimestamp: UnixSeconds.nullable(),
  lagSeconds: LagSeconds,
})

const sum = (description: string) => Amount.meta({ description })

const Totals = z.object({
  chainId: OfChain,
  ...tokenFields,
  notional: sum('Notional of the positions'),
  premiumPaid: sum('Premiums paid for the positions'),
  deposited: sum('Capital of the deposits that is not withdrawn'),
  payout: sum('Payouts that can be claimed now'),
  premiums: sum('LP premiums that can be claimed now'),
  capital: sum('LP capital that can be withdrawn now'),
  creatorEarnings: sum('Creator earnings that can be withdrawn now'),
})

/** The kinds of claims: the builder of each, and the name of its id parameter. */
export const claims = { ...entities.position.claims, ...entities.deposit.claims, ...entities.event.claims } as const

export const Claimable = z.object({
  kind: z.enum(Object.values(claims).map(({ kind }) => kind)),
  chainId: OfChain,
  id: Id.meta({ description: 'The id of the position, deposit or event' }),
  ...tokenFields,
  amount: Amount.meta({
    description: "The claimable amount, before the protocol's fee if there is one",
  }),
  ...feeFields,
  build: z
    .object({ method: z.literal('POST'), path: z.string(), body: z.record(z.string(), z.int().nonnegative()) })
    .meta({
      description: 'The request that builds the claim transaction',
    }),
})

export const Portfolio = z
  .object({
    wallet: Account,
    chains: z.array(ChainPart),
    positions: z.array(PositionRow),
    deposits: z.array(DepositRow),
    events: z.array(EventRow).meta({ description: 'Events created by the wallet' }),
    totals: z.array(Totals).meta({
      description:
        'One item per chain and token: the sums over all rows of the requested `state`, also over those that `complete` is false for',
    }),
    claimables: z.array(Claimable),
    claimablesComplete: z.boolean().optional().meta({
      description:
        'False when the wallet can claim more than `claimables` lists: read the lists with `claimable=true`. `totals` has the sums of all',
    }),
    complete: z.boolean().meta({
      description:
        'False when the wallet has more rows of a kind than the response: use the lists to read all of them. `totals` are of all rows nevertheless',
    }),
    balances: Balances.optional().meta({ description: 'What the wallet has now; with `include=balances`' }),
  })
  .meta({ id: 'Portfolio' })
