/*
 * What the sandbox's controls answer. The panel in the browser imports these types, so this file imports nothing of the
 * server.
 */

/** An event; rates in 1e6 as decimal strings, `expiry` in Unix seconds. */
export type EventState = {
  readonly id: number
  /** From the chain: any text. */
  readonly name: string
  readonly strike: string
  /** `0` for an event that pays all or nothing. */
  readonly payoutCap: string
  readonly strikeAbove: boolean
  readonly expiry: number
  readonly isSettled: boolean
}

/** The answer of the control `state`. */
export type SandboxState = {
  readonly chains: readonly {
    readonly chainId: number
    readonly name: string
    readonly tokens: readonly { readonly symbol: string; readonly address: string; readonly decimals: number }[]
  }[]
  /** The accounts that the wallet may be; `name` as in the sandbox's summary. */
  readonly accounts: readonly { readonly address: string; readonly name: string }[]
  /** Time of the newest block of the chain that was asked for, in Unix seconds. */
  readonly time: number
  /** How far that is ahead of the machine's clock, in seconds; 0 when it is not. */
  readonly aheadSeconds: number
  /** The event that was asked for; null without one, and when it does not exist. */
  readonly event: EventState | null
}

/** The answer of every other control: what happened, in a sentence. */
export type Done = { readonly done: string }

/** The answer of a request that was refused or failed: why, in a sentence. */
export type Failure = { readonly error: string }
