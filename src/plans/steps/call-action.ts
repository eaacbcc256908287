import type { Address } from 'viem'
import type { Output } from '../../protocol/abi/outputs.ts'
import type { Kind } from '../../protocol/entities.ts'
import type { ProfileName } from '../../protocol/profiles.ts'
import type { Terms, Unit } from '../../protocol/sentence.ts'
import type { ProtocolWrite } from '../../tx/builders.ts'
import type { Body } from '../../tx/compile.ts'
import type { Facts } from './facts.ts'

/** What the protocol pulls from the wallet by the formulas, in token units. */
type Spending = {
  /** The whole amount, with the fees of new events. */
  total(body: Body, facts: Facts, fees: Output<'getHedgeFeeConfig'>): bigint
  /** The part of it that the pool gets for a purchase. */
  premium?(body: Body, facts: Facts): bigint
}

/** What a call pays to the wallet, by the facts before it. */
type Payment = {
  /** The amount before fees, in token units; null when no fee is taken from what is paid. */
  gross(facts: Facts): bigint | null
  /** The last second at which the call is certain to be accepted, in Unix seconds; null when it always is. */
  lastSecond?(facts: Facts): bigint | null
}

/** A reason against a call that reads alone show, for chains whose nodes do not simulate. */
export type Check = {
  /** The reason's code in the catalogue. */
  readonly code: string
  /** The only kind of deployment that checks it; all do when it is left out. */
  readonly profile?: ProfileName
  /** `time` in Unix seconds. */
  fails(facts: Facts, from: Address, time: bigint): boolean
}

/** What a sentence needs in addition to the arguments of the call. */
export type About = {
  /** The token of the amounts. */
  readonly unit: Unit
  /** The terms of the event that protection is bought in; null when they are unknown. */
  readonly event: Terms | null
  /** What the call that spends costs; null when it is unknown. */
  readonly total: bigint | null
}

/** Decoded arguments: of a function, or of the one struct that it takes. */
export type Arguments = readonly unknown[]

/** An action that one call of the protocol does. */
export type CallAction = {
  readonly function: ProtocolWrite
  /** The kind of entity that the call's first argument names; null when it names none. */
  readonly entity: Kind | null
  /** What the wallet has to approve before the call. */
  readonly spends?: Spending
  /** The id that the call returns, of what it creates. */
  readonly creates?: 'eventId' | 'depositId' | 'positionId'
  readonly pays?: Payment
  /** In the order of the contract. */
  readonly checks: readonly Check[]
  /** The call as a part of a sentence. */
  sentence(args: Arguments, about: About): string
}
