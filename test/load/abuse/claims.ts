import { MAX_LIVEZ_MS } from './messages.ts'
import type { Seen } from './session.ts'

/** One claim about a session, with the figure that was measured. */
export type Claim = {
  readonly claim: string
  readonly measured: string
  readonly target: string
  readonly isMet: boolean
}

/** The most memory of a process, and the longest error, in bytes. */
const MAX_MEMORY = 400_000_000
const MAX_ERROR = 16_384

/**
 * How `/livez` is judged. `strict` limits its worst time above the reference. `lenient`, for a machine with other work,
 * limits the sum of the milliseconds of all probes above that limit: it tolerates a short delay, but not a process that
 * blocks.
 */
type Rule = 'strict' | 'lenient'

/** The limit of the lenient rule, in milliseconds. */
const MAX_LATE_MS = 1_000

const ms = (value: number): string => `${value.toFixed(0)} ms`
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

const livez = ({ measured: { times } }: Seen, rule: Rule): Claim[] =>
  Object.entries(times)
    .filter(([name]) => name !== 'reference')
    .map(([name, { p99Ms, worstMs, worstAboveMs, lateMs, failed, probes }]) => {
      const reference = times.reference?.worstMs ?? Number.NaN
      const isInTime = rule === 'strict' ? worstAboveMs <= MAX_LIVEZ_MS : lateMs <= MAX_LATE_MS
      return {
        claim: `/livez of the ${name} answers in time`,
        measured: `worst ${ms(worstAboveMs)} above the reference, late by ${ms(lateMs)} in all; p99 ${ms(p99Ms)}, worst ${ms(worstMs)}, reference worst ${ms(reference)}; ${failed} of ${probes} probes failed`,
        target: rule === 'strict' ? `${ms(MAX_LIVEZ_MS)} above the reference` : `late by ${ms(MAX_LATE_MS)} in all`,
        isMet: isInTime && failed === 0 && probes > 0,
      }
    })

const memory = ({ measured }: Seen): Claim[] =>
  Object.entries(measured.memory).map(([name, bytes]) => ({
    claim: `the memory of the ${name} stays bounded`,
    measured: megabytes(bytes),
    target: megabytes(MAX_MEMORY),
    isMet: bytes <= MAX_MEMORY,
  }))

/** All claims about the measurements of a session. */
export const claimsOf = (seen: Seen, rule: Rule): Claim[] => {
  const { attacks, exits } = seen
  const { series, nodes, faults, longestError } = attacks
  const idle = Object.keys(series).filter((name) => Object.keys(series[name] ?? {}).every((it) => it === 'broken'))
  const hostile = Object.keys(nodes).filter((kind) => kind !== 'honest').length
  return [
    ...livez(seen, rule),
    ...memory(seen),
    { claim: 'no process ends', measured: exits.join('; ') || 'none', target: 'none', isMet: exits.length === 0 },
    {
      claim: 'no answer has a status above 499 but 502 and 503, nor is an error too long',
      measured: `${faults.join('; ') || 'none'}; longest error ${longestError} bytes`,
      target: `none; ${MAX_ERROR} bytes`,
      isMet: faults.length === 0,
    },
    {
      claim: 'every series is answered, and the hostile nodes are asked',
      measured: `${idle.join(', ') || 'all series'}; ${hostile} kinds of hostile answers`,
      target: 'all series; at least 1 kind',
      isMet: idle.length === 0 && hostile > 0,
    },
  ]
}
