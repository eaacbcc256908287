import type { Address } from 'viem'
import { z } from 'zod'
import type { ProfileName } from './profiles.ts'

/** The id of a chain, as EIP-155 has it. What clients send is one of the configured chains once it is decoded. */
export type ChainId = number

/** What clients are shown of a chain, apart from addresses. */
export type ChainFacts = {
  readonly name: string
  /** Symbol of the native coin. */
  readonly symbol: string
  /** Decimals of the payment tokens. */
  readonly paymentDecimals: { readonly USDC: number; readonly USDT?: number }
}

/**
 * The chains with default facts, in the order that `CHAINS` has by default. Those of another chain come from settings.
 */
export const knownChains: ReadonlyMap<ChainId, ChainFacts> = new Map([
  [8453, { name: 'Base', symbol: 'ETH', paymentDecimals: { USDC: 6 } }],
  [56, { name: 'BNB Smart Chain', symbol: 'BNB', paymentDecimals: { USDC: 18, USDT: 18 } }],
])

/** A deployment: the addresses of the protocol and its payment tokens on one chain. */
export type Deployment = ChainFacts & {
  readonly chainId: ChainId
  readonly diamond: Address
  readonly usdc: Address
  readonly usdt: Address | null
  /** Shown to clients. The service does not use it unless it is also in `RPC_URLS_<chain>`. */
  readonly publicRpcUrl: string
  /** First block that can contain a log of the protocol. */
  readonly startBlock: bigint
  /** The kind of deployment. */
  readonly profile: ProfileName
}

/**
 * The fault of a deployment's start block when the chain's newest block is `head`, and what to do; null for a valid
 * start block.
 */
export const startBlockFault = (
  { chainId, startBlock }: Pick<Deployment, 'chainId' | 'startBlock'>,
  head: bigint,
): string | null =>
  startBlock <= head
    ? null
    : `START_BLOCK_${chainId} is ${startBlock}, and the newest block of chain ${chainId} is ${head}: nothing is indexed. Set START_BLOCK_${chainId} to the block in which the diamond was deployed, and restart.`

/** The largest chain id: the columns of the index hold 31 bits. */
export const MAX_CHAIN_ID = 2_147_483_647

/** Most chains of one process: each has connections and jobs of its own. */
export const MAX_CHAINS = 32

let configured: readonly ChainId[] | null = null

/**
 * Sets the chains that requests may name, in the order of `CHAINS`. A process does so once, before it decodes a
 * request. Throws an Error when other chains were set before.
 */
export const configureChains = (chainIds: readonly ChainId[]): void => {
  if (configured !== null && configured.join() !== chainIds.join())
    throw new Error(`the chains of this process are ${configured.join(', ')} and cannot become ${chainIds.join(', ')}`)
  configured = [...chainIds]
}

/** The chains that requests may name. Throws an Error before `configureChains`: there is no chain to fall back to. */
export const configuredChains = (): readonly ChainId[] => {
  if (configured === null)
    throw new Error('no chains are configured: call configureChains before a chain id is decoded')
  return configured
}

const isConfigured = (value: number): boolean => configuredChains().includes(value)

const unsupported = ({ input }: { readonly input?: unknown }): string =>
  `${input === undefined ? '' : 'unsupported chainId: '}expected one of ${configuredChains().join(', ')}`

const supported = (value: number, context: z.RefinementCtx): ChainId => {
  if (isConfigured(value)) return value
  context.addIssue({ code: 'custom', message: unsupported({ input: value }) })
  return z.NEVER
}

const DIGITS = /^\d{1,15}$/

const meta = { type: 'integer', minimum: 1, maximum: MAX_CHAIN_ID } as const

/** A chain id of a path or query: decimal digits, decoded to one of the configured ids. */
export const PathChainId = z
  .string({ error: unsupported })
  .refine((text) => DIGITS.test(text), { error: unsupported, abort: true })
  .transform(Number)
  .transform(supported)
  .meta(meta)

/** A chain id of a body: a JSON integer or a decimal string. */
export const BodyChainId = z
  .union(
    [
      z.number(),
      z
        .string()
        .refine((text) => DIGITS.test(text), { error: unsupported })
        .transform(Number),
    ],
    { error: unsupported },
  )
  .transform(supported)
  .meta(meta)

/** A chain id in an answer. */
export const OfChain = z.int().min(1).max(MAX_CHAIN_ID).meta(meta)

/** The schemas of chain ids. They list no ids: the API description that a process serves adds the configured ones. */
export const chainIdSchemas: ReadonlySet<z.core.$ZodType> = new Set<z.core.$ZodType>([
  PathChainId,
  BodyChainId,
  OfChain,
])
