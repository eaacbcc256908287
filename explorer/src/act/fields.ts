import { parseDecimal, parseUnits } from '../text/input.ts'
import { dateAt } from '../text/time.ts'

/** A value of a request body. */
export type Value = string | number | boolean

/** What a person typed, by the names of the fields. */
export type Values = Readonly<Record<string, string | undefined>>

/** The values after a change. One that is undefined is taken back, so that a first value of the page counts again. */
export const changedValues = (before: Values, changed: Values): Values =>
  Object.fromEntries(Object.entries({ ...before, ...changed }).filter(([, value]) => value !== undefined))

type Kind =
  | 'chain'
  | 'id'
  | 'amount'
  | 'rate'
  | 'share'
  | 'basisPoints'
  | 'minutes'
  | 'time'
  | 'flag'
  | 'choice'
  | 'address'
  | 'text'

export type Field = {
  readonly label: string
  readonly kind: Kind
  /** What the value means, where the label is not enough. */
  readonly hint?: string
  /** What an empty optional field means. */
  readonly whenEmpty?: string
  /** What the number is in: shown after it. */
  readonly unit?: string
  /** What the field has before a person changes it. */
  readonly initial?: string
  /** An empty field is left out of the request. */
  readonly optional?: true
  /** Shown on demand. */
  readonly advanced?: true
  /** Values and what they are called. */
  readonly choices?: Readonly<Record<string, string>>
  /** The smallest and the greatest number, or the most characters. */
  readonly range?: readonly [number, number]
}

const yes = (text: string, other: string) => ({ true: text, false: other })

/** The fields of all actions: one definition for each. */
const fields = {
  chainId: { label: 'Chain', kind: 'chain' },
  eventId: { label: 'Event', kind: 'id', hint: 'The number of the event on this chain.' },
  positionId: { label: 'Position', kind: 'id', hint: 'The number of the position on this chain.' },
  depositId: { label: 'Deposit', kind: 'id', hint: 'The number of the deposit on this chain.' },
  amount: { label: 'Amount', kind: 'amount' },
  notional: { label: 'Notional', kind: 'amount', hint: 'The amount that is protected.' },
  initialLiquidity: { label: 'Liquidity', kind: 'amount', hint: 'What you put into the pool of the event.' },
  triedRate: { label: 'If it settles at', kind: 'rate', hint: 'Try a rate: nothing is sent.' },
  price: { label: 'Settlement rate', kind: 'rate', hint: 'Only an oracle of the protocol may submit it.' },
  pricing: {
    ...{ label: 'Premium', kind: 'choice', initial: 'engine' },
    choices: { engine: 'set by the pricing engine', own: 'set by me' },
  },
  name: { label: 'Name', kind: 'text', hint: 'Shown in the lists of events.', range: [1, 256] },
  underlying: { label: 'Pair', kind: 'text', hint: 'BASE/QUOTE, as USD/MXN.', range: [1, 256] },
  strikeAbove: {
    ...{ label: 'Pays when the rate', kind: 'flag', initial: 'true' },
    choices: yes('rises above the strike', 'falls below the strike'),
  },
  strike: { label: 'Strike', kind: 'rate', hint: 'The rate at which the payout begins.' },
  payoutCap: {
    ...{ label: 'Cap', kind: 'rate', optional: true },
    hint: 'The rate at which the payout stops growing.',
    whenEmpty: 'All or nothing when empty.',
  },
  initialRate: { label: 'Rate today', kind: 'rate' },
  premiumRate: { label: 'Premium rate', kind: 'share', unit: '%', hint: 'Of the notional.' },
  expiry: { label: 'Expiry (UTC)', kind: 'time' },
  paymentToken: { label: 'Token', kind: 'address', hint: 'The token of all amounts of the event.' },
  token: { label: 'Token', kind: 'address', hint: 'The address of the token.' },
  allowExternalLp: {
    ...{ label: 'Deposits', kind: 'flag', initial: 'true' },
    choices: yes('anyone', 'only me'),
  },
  poolOpen: {
    ...{ label: 'The pool', kind: 'flag', initial: 'true' },
    choices: yes('is open', 'is closed'),
  },
  signed: {
    ...{ label: 'Signed price', kind: 'choice', optional: true, advanced: true },
    choices: { '': 'if the engine signs it', true: 'required', false: 'not signed' },
  },
  approval: {
    ...{ label: 'Allowance', kind: 'choice', optional: true, advanced: true },
    choices: { '': 'exactly the cost', unlimited: 'without a limit' },
  },
  deadlineSeconds: {
    ...{ label: 'Valid for', kind: 'minutes', unit: 'minutes', optional: true, advanced: true, range: [1, 1_440] },
    hint: 'The purchase fails when it is mined later.',
    whenEmpty: '10 minutes when empty.',
  },
  maxCostBps: {
    ...{ label: 'Accept a price rise of', kind: 'basisPoints', unit: '%', optional: true, advanced: true },
    hint: 'The purchase fails when it costs more.',
    whenEmpty: 'No rise when empty.',
  },
} as const satisfies Readonly<Record<string, Field>>

export type FieldName = keyof typeof fields

export const isField = (name: string): name is FieldName => Object.hasOwn(fields, name)

/** The definition of a field. */
export const fieldOf = (name: FieldName): Field => fields[name]

type Reading = { readonly value: Value } | { readonly problem: string }

const orProblem = (value: Value | null, problem: string): Reading => (value === null ? { problem } : { value })

const decimal = (text: string, decimals: number, what: string): Reading =>
  orProblem(parseDecimal(text, decimals)?.toString() ?? null, `${what} above 0 with at most ${decimals} decimals`)

const wholeNumber = (text: string, [least, most]: readonly [number, number]): number | null => {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1
  return number >= least && number <= most && Number.isSafeInteger(number) ? number : null
}

/** Hundredths of a percent. */
const HUNDRED_PERCENT = 10_000n

const basisPointsOf = (text: string): number | null => {
  const points = parseUnits(text, 2)
  return points !== null && points <= HUNDRED_PERCENT ? Number(points) : null
}

const secondsOfMinutes = (text: string, range: readonly [number, number]): number | null => {
  const minutes = wholeNumber(text, range)
  return minutes === null ? null : minutes * 60
}

/** Unix seconds of a time as a browser writes it (`2027-03-03T14:05`), which is in UTC here. Null for anything else. */
const secondsOf = (text: string): number | null => {
  const seconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? Date.parse(`${text}:00Z`) / 1_000 : Number.NaN
  return Number.isNaN(seconds) ? null : seconds
}

/** Unix seconds as a field for a time has them. */
export const inputTime = (seconds: number): string => dateAt(seconds).toISOString().slice(0, 16)

type Context = {
  /** The decimals of the token of amounts; null while the token is not known. */
  readonly decimals: number | null
}

const readers: Readonly<Record<Kind, (text: string, field: Field, context: Context) => Reading>> = {
  chain: (text) => orProblem(wholeNumber(text, [1, 2_147_483_647]), 'a chain of the list'),
  id: (text) => orProblem(wholeNumber(text, [0, Number.MAX_SAFE_INTEGER]), 'a whole number'),
  amount: (text, _, { decimals }) =>
    decimals === null ? { problem: '' } : decimal(text, decimals, 'an amount in whole tokens'),
  rate: (text) => decimal(text, 6, 'a rate'),
  share: (text) => decimal(text, 4, 'a percentage'),
  time: (text) => orProblem(secondsOf(text)?.toString() ?? null, 'a day and a time'),
  flag: (text) => orProblem(text === 'true' ? true : text === 'false' ? false : null, 'one of the choices'),
  choice: (text, { choices = {} }) => orProblem(Object.hasOwn(choices, text) ? text : null, 'one of the choices'),
  address: (text) => orProblem(/^0x[0-9a-fA-F]{40}$/.test(text) ? text : null, '0x and 40 hexadecimal digits'),
  basisPoints: (text) => orProblem(basisPointsOf(text), 'a percentage from 0 to 100 with at most 2 decimals'),
  minutes: (text, { range = [0, 0] }) =>
    orProblem(secondsOfMinutes(text, range), `a whole number from ${range.join(' to ')}`),
  text: (text, { range = [0, 0] }) =>
    orProblem(text.length <= range[1] ? text : null, `at most ${range[1]} characters`),
}

/**
 * A field as its value in a request body: amounts in units of the token, rates in 1e6 fixed point. Undefined for an
 * empty optional field. An empty problem means that something is still missing, which is no mistake.
 */
export const readField = (name: FieldName, given: string | undefined, context: Context): Reading | undefined => {
  const field = fieldOf(name)
  const text = (given ?? field.initial ?? '').trim()
  if (text === '') return field.optional ? undefined : { problem: '' }
  const reading = readers[field.kind](text, field, context)
  return 'problem' in reading && reading.problem !== '' ? { problem: `Expected ${reading.problem}.` } : reading
}
