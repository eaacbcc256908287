import type { Vitals } from '../db/vitals.ts'
import { type Metrics, type Shown, show } from '../lib/metrics.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import type { Sources } from './read.ts'
import { lagOf, provenAgeOf, stateOf, states } from './vitals.ts'

type Seen = { readonly chain: ChainId; readonly vitals: Vitals | null }

type Row = readonly [name: string, help: string, of: (vitals: Vitals) => number | bigint | null | undefined]

const ageOf = (at: Date | null | undefined): number | null => (at == null ? null : (Date.now() - at.getTime()) / 1_000)

const rows: readonly Row[] = [
  ['fx_index_block', 'The block up to which the index is complete', (it) => it.indexed?.number],
  ['fx_index_head_block', 'The newest block that the worker saw', (it) => it.look?.head.number],
  ['fx_index_lag_seconds', 'How far the index is behind the chain, by the time of their blocks', lagOf],
  ['fx_index_look_age_seconds', 'Since the worker saw the chain last', (it) => it.look?.ageSeconds],
  [
    'fx_index_proven_block',
    'The last block at which index and chain were proved equal',
    (it) => it.look?.proven?.number,
  ],
  ['fx_index_proven_age_seconds', 'How far the head is ahead of that block, by the time of both', provenAgeOf],
  ['fx_index_observations_waiting', 'Entities that are to be read again', (it) => it.observations.waiting],
  [
    'fx_index_observations_oldest_seconds',
    'How long the one that waits longest has waited; 0 when none does',
    (it) => it.observations.oldestSeconds ?? 0,
  ],
  ['fx_audit_compared_total', 'Rows of the index that were compared with the chain', (it) => it.audit?.compared],
  ['fx_audit_rounds_total', 'Rounds of the audit over all rows', (it) => it.audit?.rounds],
  ['fx_audit_differences_total', 'Rows that differed from the chain', (it) => it.audit?.differences],
  ['fx_audit_repaired_total', 'Rows that were put right', (it) => it.audit?.repaired],
  ['fx_audit_age_seconds', 'Since rows were compared last', (it) => ageOf(it.audit?.auditedAt)],
]

const number = (value: number | bigint | null | undefined): number | null => (value == null ? null : Number(value))

/** Shows how each chain's index is, as `/status` does. While the database is out of reach only the state is told: `unknown`. */
export const showIndex = (metrics: Metrics, sources: Pick<Sources, 'chains' | 'vitals' | 'maxLagSeconds'>): void => {
  const look = (): Promise<Seen[]> =>
    Promise.all(chainIds.map(async (chain) => ({ chain, vitals: await sources.vitals(chain).catch(() => null) })))

  show(metrics, look, [
    ...rows.map(([name, help, of]): Shown<Seen[]> => {
      const values = (all: Seen[]) => all.map(({ chain, vitals }) => [{ chain }, vitals && number(of(vitals))] as const)
      return { name, help, labels: ['chain'], of: values }
    }),
    {
      name: 'fx_index_start_ahead_blocks',
      help: 'Blocks that the configured start block is above the newest block; 0 when it is not',
      labels: ['chain'],
      of: (all) =>
        all.map(({ chain, vitals }) => {
          const start = sources.chains.get(chain)?.deployment.startBlock
          const head = vitals?.look?.head.number
          return [
            { chain },
            start === undefined || head === undefined ? null : Math.max(0, Number(start - head)),
          ] as const
        }),
    },
    {
      name: 'fx_index_state',
      help: 'How a chain and its index are, in a word: 1 for the state they are in',
      labels: ['chain', 'state'],
      of: (all) =>
        all.flatMap(({ chain, vitals }) => {
          const is = stateOf(vitals, sources.maxLagSeconds)
          return states.map((state) => [{ chain, state }, state === is ? 1 : 0] as const)
        }),
    },
  ])
}
