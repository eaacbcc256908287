import { formatAmount, type PostPath } from 'fx-protection-client'
import { type FieldName, fieldOf, readField, type Value, type Values } from './fields.ts'

type ActionOf<P> = P extends `/v1/plans/${infer Action}` ? Action : never

/** The actions that the API plans, as they are in its paths. */
export type ActionName = ActionOf<PostPath>

/** What an action is about. */
export type EntityKind = 'event' | 'position' | 'deposit'

type Body = Readonly<Record<string, unknown>>

type Conditions = Readonly<Partial<Record<FieldName, readonly [field: FieldName, value: string]>>>

type Action = {
  readonly title: string
  readonly about: string
  /** Who does it. */
  readonly who: 'Hedgers' | 'Liquidity providers' | 'Event creators' | 'Oracles' | 'Every wallet'
  readonly entity?: EntityKind
  readonly fields: readonly FieldName[]
  /** Fields that are shown only with a value of another one. */
  readonly only?: Conditions
  /** Optional fields that are required with a value of another one. */
  readonly required?: Conditions
  /** The request body, where it has another form than the fields. */
  readonly shape?: (values: Readonly<Record<string, Value>>, decimals: number) => Body
}

/** A value in fixed point as the number that the pricing engine takes. */
const numberOf = (fixed: Value | undefined, decimals: number): number =>
  Number(formatAmount(BigInt(fixed ?? 0), decimals))

/** The range that the engine prices. */
export const rangeOf = (
  { underlying, strike, payoutCap, expiry, notional, strikeAbove }: Readonly<Record<string, Value>>,
  decimals: number,
) => ({
  pair: String(underlying),
  strike: numberOf(strike, 6),
  payoutCap: numberOf(payoutCap, 6),
  expiryUnixSeconds: Number(expiry),
  notional: numberOf(notional, decimals),
  strikeAbove: strikeAbove === true,
})

/** What an event has in place of a signature when its creator sets the premium. */
const unsigned = { signature: '0x', quoteTimestamp: '0', quoteNonce: `0x${'0'.repeat(64)}` }

const createEvent: Action['shape'] = ({ pricing, ...values }, decimals) => {
  if (pricing === 'own') return { payoutCap: '0', ...values, ...unsigned }
  const { chainId, name, paymentToken, initialLiquidity, allowExternalLp, approval, signed } = values
  const quote = { ...rangeOf(values, decimals), ...(signed !== undefined && { signed: signed === 'true' }) }
  return {
    ...{ chainId, name, paymentToken, initialLiquidity, allowExternalLp, quote },
    ...(approval !== undefined && { approval }),
  }
}

const ofEngine = ['pricing', 'engine'] as const
const ofCreator = ['pricing', 'own'] as const

/** What the API plans, each with the fields that its request is made of. */
export const actions: Readonly<Record<ActionName, Action>> = {
  'buy-protection': {
    title: 'Buy protection',
    about: 'Pay a premium now, and receive a payout if the rate is beyond the strike at the expiry.',
    who: 'Hedgers',
    entity: 'event',
    fields: ['chainId', 'eventId', 'notional', 'approval', 'maxCostBps', 'deadlineSeconds'],
  },
  'claim-payout': {
    title: 'Claim a payout',
    about: 'Receive what a position pays after its event was settled.',
    who: 'Hedgers',
    entity: 'position',
    fields: ['chainId', 'positionId'],
  },
  deposit: {
    title: 'Provide liquidity',
    about: 'Fund the payouts of an event, and earn a share of its premiums.',
    who: 'Liquidity providers',
    entity: 'event',
    fields: ['chainId', 'eventId', 'amount', 'approval'],
  },
  'claim-premiums': {
    title: 'Claim premiums',
    about: 'Receive the premiums that a deposit has earned.',
    who: 'Liquidity providers',
    entity: 'deposit',
    fields: ['chainId', 'depositId'],
  },
  'withdraw-capital': {
    title: 'Withdraw capital',
    about: 'Take what is left of a deposit out of the pool of a settled event.',
    who: 'Liquidity providers',
    entity: 'deposit',
    fields: ['chainId', 'depositId'],
  },
  'create-event': {
    title: 'Create an event',
    about: 'Offer protection with terms of your own, and put the first liquidity into its pool.',
    who: 'Event creators',
    fields: [
      ...(['chainId', 'name', 'pricing', 'underlying', 'strikeAbove', 'strike', 'payoutCap', 'expiry'] as const),
      ...(['premiumRate', 'initialRate', 'notional', 'signed', 'paymentToken', 'initialLiquidity'] as const),
      ...(['allowExternalLp', 'approval'] as const),
    ],
    only: { premiumRate: ofCreator, initialRate: ofCreator, notional: ofEngine, signed: ofEngine },
    required: { payoutCap: ofEngine },
    shape: createEvent,
  },
  'set-pool-settings': {
    title: 'Open or close a pool',
    about: 'Change whether the pool of your event takes deposits and purchases, and whether others may deposit.',
    who: 'Event creators',
    entity: 'event',
    fields: ['chainId', 'eventId', 'poolOpen', 'allowExternalLp'],
  },
  'withdraw-creator-earnings': {
    title: 'Withdraw creator earnings',
    about: 'Receive your share of the premiums of your event.',
    who: 'Event creators',
    entity: 'event',
    fields: ['chainId', 'eventId'],
  },
  'submit-rate': {
    title: 'Submit a settlement rate',
    about: 'Report the rate of an expired event as one of its oracles.',
    who: 'Oracles',
    entity: 'event',
    fields: ['chainId', 'eventId', 'price'],
  },
  'claim-all': {
    title: 'Claim everything',
    about: 'Receive all payouts, premiums and capital that your wallet can claim on a chain.',
    who: 'Every wallet',
    fields: ['chainId'],
  },
  'revoke-approval': {
    title: 'Revoke an approval',
    about: 'Take back the allowance that the protocol has of a token.',
    who: 'Every wallet',
    fields: ['chainId', 'token'],
  },
}

export const isAction = (name: string): name is ActionName => Object.hasOwn(actions, name)

/** Whether the condition of a field is true; undefined without one. */
const holds = (conditions: Conditions, name: FieldName, values: Values): boolean | undefined => {
  const condition = conditions[name]
  if (condition === undefined) return undefined
  const [field, value] = condition
  return (values[field] ?? fieldOf(field).initial) === value
}

/** The fields of an action that are shown with these values. */
export const fieldsOf = (action: ActionName, values: Values): readonly FieldName[] => {
  const { fields: names, only = {} } = actions[action]
  return names.filter((name) => holds(only, name, values) ?? true)
}

/** Whether a field that may be empty with other values must not be empty with these. */
export const isRequired = (action: ActionName, name: FieldName, values: Values): boolean =>
  holds(actions[action].required ?? {}, name, values) ?? false

/** Problems by field; an empty one is a field that is still to be filled in. */
export type Problems = Readonly<Partial<Record<FieldName, string>>>

export type Filled = { readonly body: Body } | { readonly problems: Problems }

/** A cap has to be beyond its strike. */
const capProblem = ({ strike, payoutCap, strikeAbove }: Readonly<Record<string, Value>>): Problems => {
  if (strike === undefined || payoutCap === undefined || strikeAbove === undefined) return {}
  const width = BigInt(payoutCap) - BigInt(strike)
  if (strikeAbove ? width > 0n : width < 0n) return {}
  return { payoutCap: `Expected a rate ${strikeAbove ? 'above' : 'below'} the strike.` }
}

/** Reads fields into the values of a request. `mustHave`: whether an optional field must not be empty. */
export const readFields = (
  names: readonly FieldName[],
  values: Values,
  decimals: number | null,
  mustHave: (name: FieldName) => boolean = () => false,
): { readonly read: Readonly<Record<string, Value>> } | { readonly problems: Problems } => {
  const read: Record<string, Value> = {}
  const found: Partial<Record<FieldName, string>> = {}
  for (const name of names) {
    const reading = readField(name, values[name], { decimals })
    if (reading === undefined) {
      if (mustHave(name)) found[name] = ''
    } else if ('problem' in reading) found[name] = reading.problem
    else read[name] = reading.value
  }
  const problems = { ...capProblem(read), ...found }
  return Object.keys(problems).length > 0 ? { problems } : { read }
}

/**
 * The request body of an action from what a person typed, without `from`. `decimals`: those of the token of its
 * amounts; null while they are not known.
 */
export const bodyOf = (action: ActionName, values: Values, decimals: number | null): Filled => {
  const { shape } = actions[action]
  const filled = readFields(fieldsOf(action, values), values, decimals, (name) => isRequired(action, name, values))
  if ('problems' in filled) return filled
  return { body: shape === undefined ? filled.read : shape(filled.read, decimals ?? 0) }
}
