import type { Chain } from '../../chain/chain.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import type { ListSources } from '../../reads/lists/sources.ts'
import type { Body } from '../../tx/compile.ts'
import type { EventTokens } from '../steps/event-tokens.ts'
import type { Issue } from '../steps/issue.ts'
import type { Intent } from './request-body.ts'

/** What an action asks for before its block is read. */
export type Prepared = {
  /** Arguments that the request leaves out. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** The last second at which they are valid, in Unix seconds; null when they do not end. */
  readonly expiresAt: bigint | null
  readonly issues: readonly Issue[]
}

/** What is planned, on which state, and with what; `time` is that of the next block, in Unix seconds. */
export type Situation = {
  readonly name: string
  readonly intent: Intent
  readonly prepared: Prepared
  readonly chain: Chain
  readonly block: Block
  readonly time: bigint
  readonly eventTokens: EventTokens
  readonly lists: ListSources
}

/** All arguments of the call that a request asks for. */
export const argumentsOf = ({ intent, prepared }: Situation): Body => ({ ...intent, ...prepared.arguments })
