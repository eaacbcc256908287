import { z } from 'zod'
import { simulationMethods } from '../../chain/simulator.ts'
import { OfChain } from '../../protocol/chains.ts'
import {
  Account,
  Amount,
  Decimal,
  Id,
  Integer,
  TokenAddress,
  UnixSeconds,
} from '../../protocol/fields/response-fields.ts'
import { BuiltTx } from '../../tx/build.ts'
import { Issue } from '../steps/issue.ts'

/* The answer of a plan. */

const Calldata = z.string().regex(/^0x(?:[0-9a-f]{2})*$/)
const Hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const Quantity = (description: string) =>
  z
    .string()
    .regex(/^0x(?:0|[1-9a-f][0-9a-f]*)$/)
    .meta({ description })

/** The name of an action or of a step. */
const Name = z.string().regex(/^[a-z\d-]+$/)

/** Narrows the type of hex text, for the calls that wallet libraries take. */
const typed = (schema: z.ZodString): z.ZodType<`0x${string}`> => schema as unknown as z.ZodType<`0x${string}`>

const ofToken = {
  token: TokenAddress,
  symbol: z.string().nullable(),
  decimals: Integer.nullable(),
}

const Cost = z.object({
  premium: Amount.nullable().meta({
    description: "A purchase's premium; null for other actions",
  }),
  platformFee: Amount.nullable().meta({ description: 'The fee that the protocol takes' }),
  total: Amount,
  maxCost: Amount.meta({ description: 'The most that the transaction may take' }),
  exact: z.boolean().meta({ description: 'True when simulated; false when computed by the formula' }),
  ...ofToken,
})

const Payout = z.object({
  gross: Amount,
  fee: Amount,
  net: Amount.meta({ description: 'What the wallet receives' }),
  ...ofToken,
})

const Simulation = BuiltTx.shape.simulation

const Step = z.object({
  id: Name,
  transaction: BuiltTx,
  request: z
    .object({
      type: z.literal('0x2'),
      chainId: Quantity('Chain id'),
      nonce: Quantity("The wallet's nonce for this step"),
      from: Account,
      to: Account,
      data: Calldata,
      value: Quantity('Wei'),
      gas: Quantity('Gas limit, with a margin of 30 %; absent for a step that reverts').optional(),
      maxFeePerGas: Quantity('Wei'),
      maxPriorityFeePerGas: Quantity('Wei'),
    })
    .optional()
    .meta({ description: 'The transaction as `eth_sendTransaction` takes it; absent when the plan is not executable' }),
  simulation: Simulation,
  payout: Payout.nullable(),
})

const BalanceChange = z.object({
  account: Account,
  ...ofToken,
  amount: z
    .string()
    .regex(/^-?\d+$/)
    .meta({ description: 'In token units; negative for a loss' }),
})

export const Plan = z
  .object({
    action: Name,
    chainId: OfChain,
    from: Account,
    block: z
      .object({ number: Integer, hash: Hash, timestamp: UnixSeconds })
      .meta({ description: 'The block on whose state the plan was simulated' }),
    method: z
      .enum(simulationMethods)
      .nullable()
      .meta({ description: 'How it was simulated; null when no node simulates' }),
    summary: z.string().min(1).meta({ description: 'What the transactions do, in one line' }),
    executable: z.boolean().meta({ description: 'False when a step reverts' }),
    issues: z.array(Issue),
    cost: Cost.nullable(),
    payout: Payout.nullable().meta({
      description: 'The sum of what all steps pay; null when they pay nothing, or in several tokens',
    }),
    steps: z.array(Step).meta({ description: 'The transactions, in their order' }),
    walletCalls: z
      .object({
        version: z.literal('2.0.0'),
        chainId: typed(Quantity('Chain id')),
        from: typed(Account),
        atomicRequired: z.boolean(),
        calls: z.array(z.object({ to: typed(Account), data: typed(Calldata), value: typed(Quantity('Wei')) })),
      })
      .nullable()
      .meta({ description: 'The steps as `wallet_sendCalls` takes them (EIP-5792)' }),
    effects: z.object({
      created: z.object({
        eventId: Id.optional(),
        depositId: Id.optional(),
        positionId: Id.optional(),
        predicted: z.literal(true).meta({ description: 'Another transaction may take an id first' }),
      }),
      balanceChanges: z.array(BalanceChange),
    }),
    tokens: z
      .array(
        z.object({
          ...ofToken,
          readAt: UnixSeconds.nullable().meta({
            description:
              'When symbol and decimals were read from the chain, at most a minute ago unless nodes fail; null when they are those of the configuration',
          }),
        }),
      )
      .meta({ description: 'The tokens of the plan' }),
    gasCost: z
      .object({
        execution: Decimal.meta({ description: 'Wei' }),
        dataFee: Decimal.meta({ description: "Wei; the network's fee for the data, where it has one" }),
        operatorFee: Decimal.meta({
          description:
            'Wei; the fee for the operator of the network, for the gas limits of the steps, where it has one',
        }),
        total: Decimal.meta({ description: 'Wei' }),
        symbol: z.string(),
      })
      .nullable()
      .meta({ description: 'The most that the steps cost in native coins' }),
    validUntil: z.object({ blockNumber: Integer, timestamp: UnixSeconds.nullable() }).meta({
      description:
        'Ids and amounts are those of this block. `timestamp` is the last second at which the steps are certain to be accepted; null when no time makes them revert',
    }),
    remaining: Integer.meta({ description: 'Claims that did not fit into the plan or were not tried' }),
    digest: Hash.meta({ description: 'keccak256(abi.encode(chainId, from, (to, value, data)[]))' }),
  })
  .meta({ id: 'Plan' })

export type Plan = z.output<typeof Plan>
export type Payout = NonNullable<Plan['payout']>
