import { z } from 'zod'
import { type AuditedTable, auditedTables, columnsOf, type How } from '../db/audit-columns.ts'
import type { Nodes } from '../db/looks.ts'
import type { Vitals } from '../db/vitals.ts'
import type { ChainId } from '../protocol/chains.ts'
import { Integer, OfChain, UnixSeconds } from '../protocol/values.ts'
import { alarmsOf } from './alarms.ts'
import { type Checked, checkNames } from './checks.ts'
import { lagOf, provenAgeOf, stateOf, states } from './vitals.ts'

const BlockNumber = Integer.meta({ description: 'Block number', example: 31_415_926 })
const Seconds = Integer.meta({ description: 'Seconds', example: 2 })
const Total = Integer.meta({ description: 'Since ever', example: 1_234 })
const Words = z.string().meta({ example: 'position 7 is missing' })

const Endpoint = z
  .object({
    index: Integer.meta({ description: 'Its place in the configuration', example: 0 }),
    state: z.string().meta({
      description:
        '`lagging` for a height behind the newest known block, `stale` for one that was read more than 10 s ago',
      example: 'ok',
    }),
    height: BlockNumber.nullable(),
    heightAgeSeconds: Seconds.nullable().meta({ description: 'Seconds since the height was read' }),
    width: Integer.meta({ description: 'Blocks whose logs it is asked for at once', example: 10_000 }),
    lacks: z.array(z.string().meta({ example: 'logs' })).meta({ description: 'What it turned out not to do' }),
    fault: z.string().nullable().meta({ description: 'Its last fault', example: 'node gave no answer (TimeoutError)' }),
  })
  .meta({ id: 'Endpoint' })

const Audit = z
  .object({
    at: UnixSeconds.meta({ description: 'When the last part was compared, in Unix seconds' }),
    block: BlockNumber,
    compared: Total,
    rounds: Total,
    roundAt: UnixSeconds.nullable().meta({ description: 'When the last round over all rows ended, in Unix seconds' }),
    differences: Total,
    repaired: Total,
    lastDifference: Words.nullable(),
    lastDifferenceAt: UnixSeconds.nullable(),
    compares: z
      .array(z.string().meta({ example: 'deposits: eventId, lp, amount, shares' }))
      .meta({ description: 'The columns that it compares, by table' }),
    comparesNot: z
      .array(z.string().meta({ example: 'deposits: blockNumber, blockHash, blockTimestamp, txHash, logIndex' }))
      .meta({
        description: 'The columns that only the `audit` command compares, and those that are of the service alone',
      }),
  })
  .meta({ description: 'The continuous comparison of the index with the chain' })

const Upgrade = z
  .object({
    block: BlockNumber,
    transaction: z
      .string()
      .nullable()
      .meta({ description: 'Null where no node serves logs', example: `0x${'7f'.repeat(32)}` }),
    at: UnixSeconds.meta({ description: 'When the index learned of it' }),
  })
  .meta({
    description:
      "The newest change of the diamond's functions, the deployment included. Every entity is read again after it: see `observations`",
  })

const Check = z
  .object({
    check: z.enum(checkNames),
    state: z.enum(['waiting', 'right', 'wrong']).meta({ description: '`waiting` until somebody could tell' }),
    at: UnixSeconds.nullable(),
    fault: z.string().nullable().meta({ description: 'What is wrong', example: null }),
  })
  .meta({ id: 'StartUpCheck' })

export const ChainStatus = z
  .object({
    chainId: OfChain,
    state: z.enum(states),
    head: z.object({ number: BlockNumber, timestamp: UnixSeconds }).nullable(),
    indexedBlock: BlockNumber.nullable(),
    lagSeconds: Seconds.nullable(),
    proven: z.object({ number: BlockNumber, ageSeconds: Seconds }).nullable().meta({
      description: 'The last block at which index and chain were proved equal, and how far the head is ahead',
    }),
    look: z
      .object({ at: UnixSeconds, ageSeconds: Seconds })
      .nullable()
      .meta({ description: 'When the worker saw the chain last' }),
    source: z.enum(['logs', 'ids']).nullable(),
    trouble: Words.nullable(),
    observations: z
      .object({ waiting: Integer.meta({ example: 3 }), oldestSeconds: Seconds.nullable() })
      .nullable()
      .meta({ description: 'What is to be read again' }),
    upgrade: Upgrade.nullable(),
    audit: Audit.nullable(),
    endpoints: z
      .object({ worker: z.array(Endpoint), api: z.array(Endpoint) })
      .meta({ description: 'The nodes as the worker and as this process see them' }),
    checks: z.array(Check).meta({
      description: 'What is configured, held against the nodes, the diamond, its tokens and the pricing engine',
    }),
    alarms: z.array(z.string().meta({ example: 'The worker has not reached chain 8453 for 12 s: …' })).meta({
      description: 'What is wrong and what to do about it; empty when all is well',
    }),
  })
  .meta({ id: 'ChainStatus' })

type Head = NonNullable<Vitals['look']>['head']

/** Seconds of chain time that an endpoint may be behind the newest known block. */
const LAG_SECONDS = 5n

/** The endpoints, none of them `ok` at a height that is behind the known head. */
const endpoints = (nodes: Nodes | undefined, head: Head | undefined): z.output<typeof Endpoint>[] =>
  (nodes?.endpoints ?? []).map(({ index, state, height, timestamp, heightAgeSeconds, width, lacks, fault }) => ({
    index,
    state: state === 'ok' && head && timestamp && head.timestamp - timestamp > LAG_SECONDS ? 'lagging' : state,
    height: height === null ? null : Number(height),
    heightAgeSeconds: heightAgeSeconds ?? null,
    width: Number(width),
    lacks: [...lacks],
    fault,
  }))

const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1_000)

const allTables = Object.keys(auditedTables) as AuditedTable[]

const columnsBy = (...hows: readonly How[]): string[] =>
  allTables.flatMap((table) => {
    const columns = columnsOf(table, ...hows)
    return columns.length === 0 ? [] : `${table}: ${columns.join(', ')}`
  })

/** What a slice of the continuous audit compares, and what it leaves to the command. */
const compares = columnsBy('key', 'view', 'text')
const comparesNot = columnsBy('log', 'block', 'own')

const auditOf = ({ audit }: Vitals): z.output<typeof Audit> | null =>
  audit && {
    at: unixSeconds(audit.auditedAt),
    block: Number(audit.blockNumber),
    compared: Number(audit.compared),
    rounds: Number(audit.rounds),
    roundAt: audit.roundAt && unixSeconds(audit.roundAt),
    differences: Number(audit.differences),
    repaired: Number(audit.repaired),
    lastDifference: audit.last?.difference ?? null,
    lastDifferenceAt: audit.last && unixSeconds(audit.last.at),
    compares,
    comparesNot,
  }

/** How a chain and its index are. `vitals` is null while the database is out of reach; `nodes` are this process's own. */
export const chainStatus = (seen: {
  readonly chainId: ChainId
  readonly vitals: Vitals | null
  /** Why there are no vitals. */
  readonly fault?: unknown
  readonly nodes: Nodes
  readonly checks: readonly Checked[]
  readonly maxLagSeconds: number
}): z.output<typeof ChainStatus> => {
  const { chainId, vitals, fault, nodes, checks, maxLagSeconds } = seen
  const state = stateOf(vitals, maxLagSeconds)
  const look = vitals?.look ?? null
  const waiting = vitals?.observations ?? null
  return {
    chainId,
    state,
    head: look && { number: Number(look.head.number), timestamp: Number(look.head.timestamp) },
    indexedBlock: vitals?.indexed ? Number(vitals.indexed.number) : null,
    lagSeconds: vitals && lagOf(vitals),
    proven: look?.proven ? { number: Number(look.proven.number), ageSeconds: provenAgeOf({ look }) ?? 0 } : null,
    look: look && { at: unixSeconds(look.at), ageSeconds: Math.floor(look.ageSeconds) },
    source: look?.source ?? null,
    trouble: look?.trouble ?? null,
    observations: waiting && {
      waiting: waiting.waiting,
      oldestSeconds: waiting.oldestSeconds === null ? null : Math.floor(waiting.oldestSeconds),
    },
    upgrade: vitals?.upgrade
      ? {
          block: Number(vitals.upgrade.blockNumber),
          transaction: vitals.upgrade.txHash,
          at: unixSeconds(vitals.upgrade.recordedAt),
        }
      : null,
    audit: vitals && auditOf(vitals),
    endpoints: { worker: endpoints(look?.nodes, look?.head), api: endpoints(nodes, look?.head) },
    checks: checks.map(({ name, state, at, fault }) => ({
      check: name,
      state,
      at: at === null ? null : Math.floor(at / 1_000),
      fault,
    })),
    alarms: alarmsOf({ chainId, vitals, fault, state, checks }),
  }
}
