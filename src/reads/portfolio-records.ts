import { z } from 'zod'
import { BodyChainId, PathChainId } from '../protocol/chains.ts'
import { Account, Amount, Id, Integer, OfChain, UnixSeconds } from '../protocol/values.ts'
import { Address20, atMost } from '../protocol/wire.ts'
import { consistency } from './consistency.ts'
import { choice, listOf, MAX_WALLETS } from './listing-query.ts'
import { DepositRow, EventRow, LagSeconds, PositionRow, tokenFields } from './listing-records.ts'

const State = choice(['active', 'all']).optional().meta({
  description: '`active`, which is what something can still come of, when omitted',
})

export const PortfolioParams = z.object({ addr: Address20 })

export const PortfolioQuery = z.object({
  chainId: listOf(PathChainId, 2, '8453,56').optional().meta({ description: 'Both chains when omitted' }),
  state: State,
  ...consistency,
})

/** Of a POST, whose chains are in its body. */
export const PortfoliosQuery = z.object(consistency)

export const PortfolioBody = z.strictObject({
  wallets: atMost(z.array(Address20).min(1), MAX_WALLETS).meta({ description: `1 to ${MAX_WALLETS}` }),
  chainIds: atMost(z.array(BodyChainId).min(1), 2).optional().meta({ description: 'Both chains when omitted' }),
  state: State,
})

/** How a chain's part of a portfolio is. */
const ChainPart = z.object({
  chainId: OfChain,
  status: z.enum(['ok', 'stale', 'unavailable']).meta({
    description:
      '`stale`: the index is behind, or a row could not be read; `unavailable`: nothing of this chain is in the answer',
  }),
  blockNumber: Integer.nullable().meta({ description: 'The block that the index has reached', example: 31_415_926 }),
  blockHash: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/)
    .nullable()
    .meta({ example: `0x${'5f'.repeat(32)}` }),
  blockTimestamp: UnixSeconds.nullable(),
  lagSeconds: LagSeconds,
})

const sum = (description: string) => Amount.meta({ description, example: '1000000' })

const Totals = z.object({
  chainId: OfChain,
  ...tokenFields,
  notional: sum('Of the positions here'),
  premiumPaid: sum('Of the positions here'),
  deposited: sum('Of the deposits here whose capital is not withdrawn'),
  payout: sum('Payouts that can be claimed now'),
  premiums: sum('LP premiums that can be claimed now'),
  capital: sum('LP capital that can be withdrawn now'),
  creatorEarnings: sum('Creator earnings that can be withdrawn now'),
})

/** The kinds of what can be claimed: which builder claims it and how that calls the id. */
export const claims = {
  payout: { kind: 'payout', path: '/v1/tx/hedge/claim-payout', id: 'positionId' },
  premiums: { kind: 'premiums', path: '/v1/tx/hedge/claim-premiums', id: 'depositId' },
  capital: { kind: 'capital', path: '/v1/tx/hedge/withdraw-capital', id: 'depositId' },
  creatorEarnings: { kind: 'creator-earnings', path: '/v1/tx/hedge/withdraw-creator-earnings', id: 'eventId' },
} as const

const Claimable = z.object({
  kind: z.enum(Object.values(claims).map(({ kind }) => kind)),
  chainId: OfChain,
  id: Id.meta({ description: 'Of the position, deposit or event' }),
  ...tokenFields,
  amount: Amount.meta({ description: "Before the protocol's fee, where it takes one", example: '438596491' }),
  build: z
    .object({ method: z.literal('POST'), path: z.string(), body: z.record(z.string(), z.int().nonnegative()) })
    .meta({
      description: 'The request that builds the transaction which claims it',
      example: { method: 'POST', path: '/v1/tx/hedge/claim-payout', body: { chainId: 8453, positionId: 1 } },
    }),
})

export const Portfolio = z
  .object({
    wallet: Account,
    chains: z.array(ChainPart),
    positions: z.array(PositionRow),
    deposits: z.array(DepositRow),
    events: z.array(EventRow).meta({ description: 'Created by the wallet' }),
    totals: z.array(Totals).meta({ description: 'A row a token' }),
    claimables: z.array(Claimable),
    complete: z.boolean().meta({
      description: 'False when the wallet has more of a kind than is shown here: the lists have the rest',
      example: true,
    }),
  })
  .meta({ id: 'Portfolio' })
