import type { Address } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import { configuredTokens } from '../../protocol/tokens.ts'
import type { Facts } from '../steps/facts.ts'
import type { Issue } from '../steps/issue.ts'
import type { Step } from '../steps/step.ts'
import type { Price } from './price.ts'
import type { Situation } from './situation.ts'

/** Most steps of a plan that claims everything. */
export const MAX_CLAIMS = 50

/** What a plan consists of, before its exact calls are simulated. */
export type Draft = {
  readonly name: string
  readonly from: Address
  /** The field of the request that can name a foreign token. */
  readonly tokenField: 'token' | 'paymentToken'
  readonly block: Block
  /** Time of the block after it, in Unix seconds. */
  readonly time: bigint
  readonly steps: readonly Step[]
  /** What is known of each step's entity; null to read it with the simulation, which needs `eventIds`. */
  readonly facts: readonly Facts[] | null
  /** The events of the steps, as far as they are known without facts. */
  readonly eventIds: readonly bigint[]
  /** The price of the step that spends, and the most that it may take; null when none spends. */
  readonly price: Price | null
  readonly maxCost: bigint | null
  /** The id of what the last step will create; null when it is unknown or nothing is created. */
  readonly createdId: bigint | null
  /** The tokens that the steps may move, as far as they are known. */
  readonly tokens: readonly Address[]
  /** The last second at which the steps are accepted, in Unix seconds; null when no time makes them revert. */
  readonly validUntil: bigint | null
  /** Claims that were not tried. */
  readonly remaining: number
  /** The issues that were found before the simulation. */
  readonly issues: readonly Issue[]
  /** True when steps that revert, and those above `MAX_CLAIMS`, are left out of the plan. */
  readonly isPartial: boolean
  /** True to return requests for steps that revert. */
  readonly force: boolean
}

/** The fields of a draft that are the same for all actions. */
export const baseOf = ({ name, intent, block, time }: Situation) => ({
  name,
  block,
  time,
  from: intent.from,
  force: intent.force ?? false,
  tokenField: 'token' in intent ? ('token' as const) : ('paymentToken' as const),
  remaining: 0,
  issues: [],
  isPartial: false,
  eventIds: [],
  validUntil: null,
  price: null,
  maxCost: null,
  createdId: null,
})

/** The payment tokens of a chain. */
export const tokensOf = ({ deployment }: Chain): Address[] => configuredTokens(deployment).map(({ token }) => token)
