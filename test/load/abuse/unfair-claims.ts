import { quantile } from '../../faults/target.ts'
import type { Claim } from './claims.ts'
import type { HonestSample } from './messages.ts'
import type { Condition, Row } from './unfair-session.ts'

/** An honest caller's p95 during an attack is below this many times its idle one. */
const MAX_RATIO = 3

/**
 * The least idle p95 that is compared, in milliseconds: on two cores, a short wait for a core is as long as the fastest
 * answers take.
 */
const FLOOR_MS = 5

const ALL = 'all'

const p95 = (samples: readonly HonestSample[], kind: string): number =>
  quantile(
    samples.filter((it) => kind === ALL || it.kind === kind).map(({ ms }) => ms),
    0.95,
  )

type Comparison = { readonly kind: string; readonly idle: number; readonly attack: number; readonly ratio: number }

/** The p95 of each kind of request and of all, idle and during the attack. */
const comparisonsOf = ({ idle, attack }: Row): Comparison[] =>
  [ALL, ...new Set(idle.samples.map(({ kind }) => kind))].map((kind) => {
    const times = { idle: p95(idle.samples, kind), attack: p95(attack.samples, kind) }
    return { kind, ...times, ratio: times.attack / Math.max(FLOOR_MS, times.idle) }
  })

const ms = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0))

const faultsOf = ({ samples }: Condition): string => {
  const faults = samples.flatMap(({ fault }) => fault ?? [])
  const stale = samples.filter(({ isStale }) => isStale).length
  const kinds = new Map<string, number>()
  for (const { kind, fault } of samples) if (fault !== null) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  const failed = [...kinds].map(([kind, times]) => `${times} x ${kind}`).join(', ')
  const first = faults[0] === undefined ? '' : ` (first ${faults[0]})`
  return `${faults.length} of ${samples.length} failed${failed && `: ${failed}`}${first}, ${stale} stale`
}

const isServed = ({ samples }: Condition, rule: 'strict' | 'lenient'): boolean =>
  samples.length > 0 && samples.every(({ fault, isStale }) => fault === null && !(isStale && rule === 'strict'))

/** Processor time in cores, by process. */
const coresOf = ({ processor, ms, waitedMs }: Condition): string => {
  const used = Object.entries(processor).map(([process, busy]) => `${process} ${(busy / ms).toFixed(2)}`)
  return `${used.join(', ')}, and the API waited for one ${((100 * waitedMs) / ms).toFixed(0)} % of the time`
}

/** What a row used, as text: processor time, the answers of the unfair caller, and the time of the node. */
export const describeRow = ({ name, idle, attack, answers, recoveryMs, node }: Row): string => {
  const counts = Object.entries(answers).map(([status, times]) => `${times} x ${status}`)
  return `${name}: answers ${counts.join(', ') || 'none'}; cores used ${coresOf(attack)} (idle ${coresOf(idle)}); the node executed ${node.heavy} slow requests for ${(node.heavyMs / 1_000).toFixed(1)} s; recovered within ${(Math.max(...recoveryMs) / 1_000).toFixed(1)} s`
}

/**
 * All claims about a row. `strict` judges times; `lenient`, for a short run, judges only that both callers are
 * answered.
 */
export const unfairClaimsOf = (row: Row, rule: 'strict' | 'lenient'): Claim[] => {
  const { name, idle, attack, answers } = row
  const least = rule === 'strict' ? row.least : 1
  const comparisons = comparisonsOf(row)
  const answered = Object.entries(answers).reduce(
    (total, [status, times]) => total + (status === 'broken' ? 0 : times),
    0,
  )
  const shown = (kinds: readonly Comparison[]): string =>
    kinds.map((it) => `${it.kind} ${ms(it.attack)} ms (idle ${ms(it.idle)}, x ${it.ratio.toFixed(1)})`).join(', ')
  const [all, ...kinds] = comparisons
  const paused = [...new Set([...idle.paused, ...attack.paused])]
  const claims: readonly (Claim & { readonly isStrict?: boolean })[] = [
    {
      claim: `${name}: the p95 of an honest caller stays below ${MAX_RATIO} times its idle p95`,
      measured: shown(all === undefined ? [] : [all]),
      target: `x ${MAX_RATIO}, of an idle p95 of ${FLOOR_MS} ms at least`,
      isMet: all !== undefined && all.ratio < MAX_RATIO,
      isStrict: true,
    },
    {
      claim: `${name}: so does the p95 of each kind of request`,
      measured: shown(kinds),
      target: `x ${MAX_RATIO} each, of an idle p95 of ${FLOOR_MS} ms at least`,
      isMet: kinds.every(({ ratio }) => ratio < MAX_RATIO),
      isStrict: true,
    },
    {
      claim: `${name}: every honest request is answered from a current source`,
      measured: `idle ${faultsOf(idle)}; attack ${faultsOf(attack)}`,
      target: '0 failed, 0 stale',
      isMet: isServed(idle, rule) && isServed(attack, rule),
    },
    {
      claim: `${name}: no endpoint is paused or penalized`,
      measured: paused.join(', ') || 'none',
      target: 'none',
      isMet: paused.length === 0,
      isStrict: true,
    },
    {
      claim: `${name}: the unfair caller is answered`,
      measured: `${answered} answers`,
      target: `${least} at least`,
      isMet: answered >= least,
    },
  ]
  return claims.filter(({ isStrict = false }) => rule === 'strict' || !isStrict)
}
