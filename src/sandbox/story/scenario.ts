/**
 * The final state of a seeded event: its pool's state while it runs, or the settling role and rate (plain decimals).
 */
type Outcome =
  | { readonly state: 'open' | 'pool closed' | 'awaiting settlement' | 'one rate submitted' }
  | { readonly state: 'settled'; readonly by: 'oracles' | 'oracle admin'; readonly at: string }

/**
 * One event of the seeded scenario. Rates are plain decimals, amounts are whole tokens, times are days relative to now.
 */
export type EventPlan = {
  readonly name: string
  readonly underlying: string
  readonly initialRate: string
  readonly strike: string
  /** `0` for a legacy single-strike event. */
  readonly payoutCap: string
  readonly premiumRate: string
  readonly createdDaysAgo: number
  /** Days from creation to expiry. */
  readonly days: number
  readonly seed: number
  readonly deposits: number
  readonly positions: number
  readonly allowExternalLp: boolean
  readonly outcome: Outcome
}

const triggered = (at: string): Outcome => ({ state: 'settled', by: 'oracles', at })

const open: Outcome = { state: 'open' }

const columns = [
  ...(['name', 'underlying', 'initialRate', 'strike', 'payoutCap', 'premiumRate'] as const),
  ...(['createdDaysAgo', 'days', 'seed', 'deposits', 'positions', 'outcome'] as const),
] as const

type RowOf<C extends readonly (keyof EventPlan)[]> = { readonly [N in keyof C]: EventPlan[C[N]] }

// biome-ignore format: aligned columns are easier to read
const rows: readonly RowOf<typeof columns>[] = [
  // name                            pair        spot      strike    cap      premium  ago days  seed  lp pos  ends
  ['Cedi importers Q3',             'USD/GHS',  '11.40',  '12.00',  '13.50',  '0.027', 85,  30, 40_000, 3, 6, triggered('12.85')],
  ['Naira slide',                   'USD/NGN',  '1485',   '1560',   '1800',   '0.034', 80,  28, 60_000, 3, 6, triggered('1875')],
  ['Shilling calm',                 'USD/KES',  '129.50', '133.00', '142.00', '0.021', 75,  30, 30_000, 2, 5, triggered('128.90')],
  ['Euro floor for exporters',      'EUR/USD',  '1.0850', '1.0650', '1.0200', '0.012', 70,  25, 80_000, 3, 6, triggered('1.0475')],
  ['Rand all or nothing',           'USD/ZAR',  '18.20',  '19.00',  '0',      '0.030', 65,  30, 25_000, 2, 5, triggered('19.30')],
  ['Kwacha, settled by the admin',  'USD/ZMW',  '26.40',  '27.50',  '30.00',  '0.031', 60,  25, 20_000, 2, 4, { state: 'settled', by: 'oracle admin', at: '26.10' }],
  ['Real into the weekend',         'USD/BRL',  '5.42',   '5.60',   '6.10',   '0.024', 40,  38, 35_000, 2, 5, { state: 'awaiting settlement' }],
  ['Rupee, one oracle in',          'USD/INR',  '83.90',  '84.60',  '87.00',  '0.013', 35,  34, 45_000, 2, 5, { state: 'one rate submitted' }],
  ['Peso remittances',              'USD/MXN',  '18.60',  '19.20',  '21.00',  '0.026', 20,  60, 50_000, 3, 6, open],
  ['Sterling floor',                'GBP/USD',  '1.2700', '1.2450', '1.1900', '0.014', 18,  90, 70_000, 2, 5, open],
  ['Lira all or nothing',           'USD/TRY',  '34.20',  '36.00',  '0',      '0.045', 15,  45, 30_000, 2, 4, open],
  ['Pound, house money only',       'USD/EGP',  '48.60',  '50.00',  '55.00',  '0.029', 12,  75, 55_000, 0, 4, open],
  ['Cedi importers Q4, full',       'USD/GHS',  '11.65',  '12.20',  '13.80',  '0.028', 10,  40, 40_000, 2, 5, { state: 'pool closed' }],
]

/**
 * The seeded scenario of a chain: events in every state, 28 deposits in addition to the creators' own, and 66
 * positions. It is a table, so that records in the API can be found here.
 */
export const scenario: readonly EventPlan[] = rows.map((row) => {
  const plan = Object.fromEntries(columns.map((name, at) => [name, row[at]])) as Omit<EventPlan, 'allowExternalLp'>
  return { ...plan, allowExternalLp: plan.deposits > 0 }
})

/** Days before now at which the chain begins, so that the oldest event fits. */
export const SCENARIO_DAYS = 90
