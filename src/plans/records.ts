import { z } from 'zod'
import { simulationMethods } from '../chain/simulator.ts'
import { OfChain } from '../protocol/chains.ts'
import { Account, Amount, Decimal, Id, Integer, TokenAddress, UnixSeconds } from '../protocol/response-fields.ts'
import { BuiltTx } from '../tx/build.ts'

/* The answer of a plan. */

const BlockNumber = Integer.meta({ example: 31_415_926 })
const Calldata = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/)
  .meta({ example: `0xe2bbb158${'0'.repeat(63)}9${'0'.repeat(56)}3b9aca00` })
const Hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .meta({ example: `0x${'5f'.repeat(32)}` })
const Quantity = (description: string, example: string) =>
  z
    .string()
    .regex(/^0x(?:0|[1-9a-f][0-9a-f]*)$/)
    .meta({ description, example })

/** The name of an action or of a step. */
const Name = z.string().regex(/^[a-z\d-]+$/)

/** Narrows the type of hex text, for the calls that wallet libraries take. */
const typed = (schema: z.ZodString): z.ZodType<`0x${string}`> => schema as unknown as z.ZodType<`0x${string}`>

const ofToken = {
  token: TokenAddress,
  symbol: z.string().nullable().meta({ example: 'USDC' }),
  decimals: Integer.nullable().meta({ example: 6 }),
}

const Issue = z.object({
  code: z
    .string()
    .regex(/^[a-z_]+$/)
    .meta({
      description:
        'A code of `GET /v1/reverts`, or `insufficient_gas_funds`, `contract_account`, `nothing_to_claim`, `unsigned_quote`, `not_a_token`',
      example: 'insufficient_balance',
    }),
  message: z.string().min(1).meta({ example: 'the wallet has 0 of 231150000 units of USDC' }),
  hint: z.string().meta({ example: 'Send enough of the payment token to the wallet.' }),
  blocking: z.boolean().meta({
    description: 'True when the plan reverts because of it, or does not do what the request asks for',
    example: true,
  }),
  step: z.string().optional().meta({ description: 'The id of the step', example: 'buy-protection' }),
  have: Decimal.optional().meta({ example: '0' }),
  need: Decimal.optional().meta({ example: '231150000' }),
})

const Cost = z.object({
  premium: Amount.nullable().meta({
    description: "A purchase's premium; null for other actions",
    example: '230000000',
  }),
  platformFee: Amount.nullable().meta({ description: 'The fee that the protocol takes', example: '1150000' }),
  total: Amount.meta({ example: '231150000' }),
  maxCost: Amount.meta({ description: 'The most that the transaction may take', example: '231150000' }),
  exact: z.boolean().meta({ description: 'True when simulated; false when computed by the formula', example: true }),
  ...ofToken,
})

const Payout = z.object({
  gross: Amount.meta({ example: '438596491' }),
  fee: Amount.meta({ example: '4385964' }),
  net: Amount.meta({ description: 'What the wallet receives', example: '434210527' }),
  ...ofToken,
})

const Simulation = BuiltTx.shape.simulation

const Step = z.object({
  id: Name.meta({ example: 'buy-protection' }),
  transaction: BuiltTx,
  request: z
    .object({
      type: z.literal('0x2'),
      chainId: Quantity('Chain id', '0x2105'),
      nonce: Quantity("The wallet's nonce for this step", '0x7'),
      from: Account,
      to: Account,
      data: Calldata,
      value: Quantity('Wei', '0x0'),
      gas: Quantity('Gas limit, with a margin of 30 %; absent for a step that reverts', '0x3d090').optional(),
      maxFeePerGas: Quantity('Wei', '0x2540be400'),
      maxPriorityFeePerGas: Quantity('Wei', '0x3b9aca00'),
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
    .meta({ description: 'In token units; negative for a loss', example: '-231150000' }),
})

export const Plan = z
  .object({
    action: Name.meta({ example: 'buy-protection' }),
    chainId: OfChain,
    from: Account,
    block: z
      .object({ number: BlockNumber, hash: Hash, timestamp: UnixSeconds })
      .meta({ description: 'The block on whose state the plan was simulated' }),
    method: z
      .enum(simulationMethods)
      .nullable()
      .meta({ description: 'How it was simulated; null when no node simulates' }),
    summary: z
      .string()
      .min(1)
      .meta({ description: 'What the calldata does', example: 'Deposit 5000 USDC into event 1.' }),
    executable: z.boolean().meta({ description: 'False when a step reverts', example: true }),
    issues: z.array(Issue),
    cost: Cost.nullable(),
    payout: Payout.nullable().meta({
      description: 'The sum of what all steps pay; null when they pay nothing, or in several tokens',
    }),
    steps: z.array(Step).meta({ description: 'The transactions, in their order' }),
    walletCalls: z
      .object({
        version: z.literal('2.0.0'),
        chainId: typed(Quantity('Chain id', '0x2105')),
        from: typed(Account),
        atomicRequired: z.boolean().meta({ example: false }),
        calls: z.array(z.object({ to: typed(Account), data: typed(Calldata), value: typed(Quantity('Wei', '0x0')) })),
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
    gasCost: z
      .object({
        execution: Decimal.meta({ description: 'Wei', example: '2500000000000000' }),
        dataFee: Decimal.meta({ description: "Wei; the network's fee for the data, where it has one", example: '0' }),
        total: Decimal.meta({ description: 'Wei', example: '2500000000000000' }),
        symbol: z.string().meta({ example: 'ETH' }),
      })
      .nullable()
      .meta({ description: 'The most that the steps cost in native coins' }),
    validUntil: z.object({ blockNumber: BlockNumber, timestamp: UnixSeconds.nullable() }).meta({
      description:
        'Ids and amounts are those of this block. `timestamp` is the last second at which the steps are accepted; null when no time makes them revert',
    }),
    remaining: Integer.meta({ description: 'Claims that did not fit into the plan', example: 0 }),
    digest: Hash.meta({ description: 'keccak256(abi.encode(chainId, from, (to, value, data)[]))' }),
  })
  .meta({ id: 'Plan' })

export type Plan = z.output<typeof Plan>
export type Issue = Plan['issues'][number]
export type Payout = NonNullable<Plan['payout']>
