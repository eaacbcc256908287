import type { Recorded } from '../../src/api/openapi/recorded.ts'
import { NOW } from './clock.ts'
import { ENDPOINT } from './endpoint.ts'

/** A part of the answers that is not recorded as it is. */
type Rule = {
  readonly reason: string
  /** The operations. */
  readonly of: readonly string[]
  /** Returns what is recorded instead of the value of a key. */
  readonly replace: (key: string, value: unknown) => unknown
}

/** The first items of a list under a key. */
const firstOf = (name: string, count: number) => (key: string, value: unknown) =>
  key === name && Array.isArray(value) ? value.slice(0, count) : value

/** A position in a feed: the clock of the database in microseconds. */
const POSITION = /\b1[0-9]{15}\b/g

/** The history of a database in a cursor of changes. */
const EPOCH = /\b[0-9a-f]{12}(?=\.\d)/g

/** The positions of an answer in their order, from the fixed time on. */
const renumbered = (text: string): string => {
  const found = [...new Set(text.match(POSITION))].sort()
  return text
    .replace(EPOCH, 'b7c1f0a29d4e')
    .replace(POSITION, (position) => String(NOW * 1_000_000 + found.indexOf(position)))
}

/** Everything that differs between two runs of the story, and what is shortened. */
const rules: readonly Rule[] = [
  {
    reason:
      'PostgreSQL has no fixed clock: it stamps heartbeats and upgrades with the time of the run. Its estimate of stored logs depends on its statistics.',
    of: ['getStatus'],
    replace: (key, value) => {
      if (key === 'heartbeat' || key === 'look') return { at: NOW, ageSeconds: 0 }
      if (key === 'ledger') return { ...(value as object), logs: 1_250, summedTo: 12, sumsLagSeconds: 0 }
      return key === 'upgrade' ? { ...(value as object), at: NOW } : value
    },
  },
  {
    reason: 'Positions in feeds are times of the database.',
    of: ['getHedgeSettlements', 'getHedgeSettlementsStream', 'getChanges', 'postChanges', 'getChangesStream'],
    replace: (key, value) => (key === '' ? JSON.parse(renumbered(JSON.stringify(value))) : value),
  },
  {
    reason:
      'Every change of this repository extends the changelog: only the last entries of its oldest release are an example.',
    of: ['getChangelog'],
    replace: (key, value) => {
      if (key === 'data' && Array.isArray(value)) return value.slice(-1)
      return key === 'changes' && Array.isArray(value) ? value.slice(-3) : value
    },
  },
  {
    reason: 'The id and the secret of a new endpoint are random.',
    of: ['postWebhooks', 'getWebhooks', 'postWebhooksRotateById'],
    replace: (key, value) => {
      if (key === 'secret') return 'whsec_ZngtcHJvdGVjdGlvbiBleGFtcGxlIHNlY3JldCwgMzI='
      return key === 'id' && value !== ENDPOINT ? 'we_89abcdef0123' : value
    },
  },
  { reason: 'The catalogue is long.', of: ['getReverts'], replace: firstOf('data', 3) },
  { reason: 'The engine has many pairs.', of: ['getPricingHealth'], replace: firstOf('pairs', 3) },
  { reason: 'The history has hundreds of months.', of: ['postPricingBacktest'], replace: firstOf('series', 3) },
  {
    reason: 'The diamond has many facets.',
    of: ['getGovernanceFacets'],
    replace: firstOf('facets', 2),
  },
]

/** The examples without what differs between two runs. */
export const normalised = (recorded: Readonly<Record<string, Recorded>>): Record<string, Recorded> =>
  Object.fromEntries(
    Object.entries(recorded).map(([id, example]) => {
      const applied = rules.filter(({ of }) => of.includes(id))
      return [id, applied.reduce((it, { replace }) => JSON.parse(JSON.stringify(it), replace), example)]
    }),
  )
