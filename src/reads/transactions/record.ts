import { z } from 'zod'
import { MAX_LOGS, MAX_OPERATIONS, MAX_UNKNOWN_BYTES, MAX_UNKNOWN_LOGS } from '../../protocol/abi/receipt-logs.ts'
import { OfChain, PathChainId } from '../../protocol/chains.ts'
import { Bytes32, WaitMs } from '../../protocol/fields/request-fields.ts'
import { Account, Decimal, Id, Integer, UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { RevertReason, reasonFields } from '../../protocol/reverts/reason.ts'
import { Hash } from '../lists/records.ts'

export const TransactionParams = z.object({
  chainId: PathChainId,
  hash: Bytes32.meta({ description: 'Hash of the transaction' }),
})

export const TransactionQuery = z.object({
  waitMs: WaitMs(
    30_000,
    'How long to wait until the transaction is mined and indexed, in milliseconds; 0 by default. At the end the response is the state at that time',
  ),
})

const Wei = Decimal.meta({ description: 'Wei' })

/** The arguments of a call or a log, by their names. */
export const args = (integers: string) =>
  z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .meta({ description: `${integers}; structs and lists are one JSON string each. Long values are cut` })

const Created = z
  .array(z.object({ id: Id, owner: Account }))
  .meta({ description: 'From the logs of the protocol; the sender does not matter' })

export const TransactionRecord = z
  .object({
    chainId: OfChain,
    hash: Hash,
    status: z.enum(['unknown', 'pending', 'succeeded', 'reverted']).meta({
      description: '`unknown`: no node has the transaction; `pending`: a node has it, and no block does',
    }),
    block: z
      .object({ number: Integer, hash: Hash, timestamp: UnixSeconds })
      .nullable()
      .meta({ description: 'The block of the transaction; null while it is not mined' }),
    confirmations: Integer.meta({ description: 'Blocks from its block to the newest one; 0 while it is not mined' }),
    finality: z
      .enum(['latest', 'safe', 'finalized'])
      .nullable()
      .meta({ description: 'How final its block is; null while it is not mined' }),
    fee: z
      .object({
        gasUsed: Decimal,
        effectiveGasPrice: Wei,
        dataFee: Wei.nullable().meta({
          description: 'Fee for publishing the data on another chain; null when the node reports none',
        }),
        operatorFee: Wei.nullable().meta({
          description: 'Fee for the operator of the network; null when the node reports none',
        }),
        total: Wei,
      })
      .nullable()
      .meta({ description: 'What its sender paid, in wei; null while it is not mined' }),
    calls: z
      .array(z.object({ function: z.string(), args: args('As in a built transaction: integers are decimal strings') }))
      .nullable()
      .meta({
        description:
          'The call of the protocol, or `approve` of a token, that the transaction made directly; null when it called another contract, such as an account or a bundler',
      }),
    created: z.object({ eventIds: Created, depositIds: Created, positionIds: Created }),
    createdIncomplete: z.boolean().meta({
      description:
        'True when the transaction may have created more than `created` lists: it has `unknownLogs`, or only the index answered, which has no logs',
    }),
    logs: z
      .array(
        z.object({
          address: Account,
          name: z.string(),
          args: args('Ids and times are integers, other integers decimal strings'),
        }),
      )
      .meta({
        description: `The first ${MAX_LOGS} logs of the protocol, and transfers and approvals of its tokens, in their order`,
      }),
    logsOmitted: Integer.meta({ description: 'Number of further such logs' }),
    logsIncomplete: z.boolean().meta({
      description:
        'True when the receipt is too long to be read whole: `logs` then has only logs of the protocol, and `userOperations` is empty',
    }),
    unknownLogs: z
      .array(
        z.object({
          logIndex: Integer.meta({ description: 'Index of the log in its block' }),
          topics: z.array(Hash).max(4).meta({ description: 'Up to four' }),
          data: z
            .string()
            .regex(/^0x([0-9a-f]{2})*$/)
            .meta({
              description: `The first ${MAX_UNKNOWN_BYTES.toLocaleString('en')} bytes`,
            }),
          dataOmitted: Integer.meta({ description: 'Number of further bytes' }),
        }),
      )
      .meta({
        description: `The first ${MAX_UNKNOWN_LOGS} logs of the protocol that this version of the service does not know, raw and in their order. An upgrade of the protocol can add logs`,
      }),
    unknownLogsOmitted: Integer.meta({ description: 'Number of further such logs' }),
    userOperations: z
      .array(
        z.object({
          entryPoint: Account,
          hash: Hash,
          sender: Account,
          nonce: Decimal,
          success: z.literal(false),
          revert: RevertReason.nullable().meta({ description: 'Null when no log has the reason' }),
        }),
      )
      .meta({
        description: `The first ${MAX_OPERATIONS} user operations (ERC-4337) of the transaction that failed, although the transaction succeeded`,
      }),
    revert: z
      .object({
        ...reasonFields,
        exact: z.boolean().meta({
          description:
            'True for the reason from a trace; false for that of the same call, repeated at the parent block',
        }),
      })
      .nullable()
      .meta({
        description:
          'Why the transaction reverted; null when it did not, and when that is not known: see `revertStatus`',
      }),
    revertStatus: z.enum(['none', 'known', 'pending', 'unavailable']).meta({
      description:
        'Whether `revert` has the reason. `none`: the transaction did not revert. `known`: it has. `pending`: the search for the reason goes on, or too many transactions are examined; request it again after some seconds. `unavailable`: no node had the reason; they are asked again after 30 seconds',
    }),
    indexed: z.boolean().meta({ description: 'Whether the index has reached the block of the transaction' }),
    dropped: z.boolean().meta({
      description:
        "True while another transaction with its sender's nonce is on the chain, so that this one cannot be mined. Known only of transactions that this process has seen",
    }),
    replacedBy: Hash.nullable().meta({ description: 'That transaction; null when it is not known' }),
  })
  .meta({ id: 'Transaction' })

export type TransactionRecord = z.output<typeof TransactionRecord>

/** The fields of a transaction that no block has. */
export const unmined = (): Omit<TransactionRecord, 'chainId' | 'hash' | 'status'> => ({
  block: null,
  confirmations: 0,
  finality: null,
  fee: null,
  calls: null,
  created: { eventIds: [], depositIds: [], positionIds: [] },
  createdIncomplete: false,
  logs: [],
  logsOmitted: 0,
  logsIncomplete: false,
  unknownLogs: [],
  unknownLogsOmitted: 0,
  userOperations: [],
  revert: null,
  revertStatus: 'none',
  indexed: false,
  dropped: false,
  replacedBy: null,
})
