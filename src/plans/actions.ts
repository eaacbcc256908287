import type { Kind } from '../protocol/entities.ts'
import type { ProtocolWrite } from '../tx/builders.ts'
import type { Payable } from './subjects.ts'

/** An action that one call of the protocol does. */
export type Action = {
  readonly summary: string
  readonly function: ProtocolWrite
  /** The kind of entity that the call's first argument names; null when it names none. */
  readonly subject: Kind | null
  /** Arguments that the plan works out: the request does not have them. */
  readonly derived: readonly string[]
  /** True when the protocol pulls tokens from the wallet, which has to approve them before. */
  readonly spends: boolean
  /** The id of what the call creates, which it returns; null when it creates nothing. */
  readonly creates: 'eventId' | 'depositId' | 'positionId' | null
  /** What the call pays to the wallet; null when it pays nothing. */
  readonly pays: Payable | null
}

const call = { subject: 'event', derived: [], spends: false, creates: null, pays: null } as const

/** The actions that one call does, by their names in the path. To add an action, add a row. */
export const actions = {
  'create-event': {
    ...{ ...call, function: 'createEvent', subject: null, spends: true, creates: 'eventId' },
    summary: 'create an event and seed its pool',
  },
  deposit: {
    ...{ ...call, function: 'deposit', spends: true, creates: 'depositId' },
    summary: "add liquidity to an event's pool",
  },
  'buy-protection': {
    ...{ ...call, function: 'buyProtection', spends: true, creates: 'positionId', derived: ['maxCost', 'deadline'] },
    summary: 'buy a position against an event',
  },
  'claim-payout': {
    ...{ ...call, function: 'claimPayout', subject: 'position', pays: 'payout' },
    summary: "claim a position's payout",
  },
  'claim-premiums': {
    ...{ ...call, function: 'claimPremiums', subject: 'deposit', pays: 'premiums' },
    summary: "claim a deposit's premiums",
  },
  'withdraw-capital': {
    ...{ ...call, function: 'withdrawCapital', subject: 'deposit', pays: 'capital' },
    summary: "withdraw a deposit's capital",
  },
  'withdraw-creator-earnings': {
    ...{ ...call, function: 'withdrawCreatorEarnings', pays: 'creator-earnings' },
    summary: "withdraw an event creator's earnings",
  },
  'set-pool-settings': { ...call, function: 'setPoolSettings', summary: "open or close an event's pool" },
  'submit-rate': { ...call, function: 'submitRate', summary: "submit an event's settlement rate" },
} as const satisfies Readonly<Record<string, Action>>

/** The name of an action that one call does. */
export type ActionName = keyof typeof actions
