import type { Address } from 'viem'
import { z } from 'zod'
import { shortcuts } from './decode.ts'
import type { ProfileName } from './profiles.ts'

/** The chains of the specification, in the order `/chains` lists them. */
export const chainIds = [8453, 56] as const

export type ChainId = (typeof chainIds)[number]

/** What is the same for every deployment on a chain. Decimals are those of the chain's canonical payment tokens. */
export const chainFacts = {
  8453: { name: 'Base', symbol: 'ETH', paymentDecimals: { USDC: 6 } },
  56: { name: 'BNB Smart Chain', symbol: 'BNB', paymentDecimals: { USDC: 18, USDT: 18 } },
} as const satisfies Record<ChainId, { name: string; symbol: string; paymentDecimals: { USDC: number; USDT?: number } }>

/** A deployment: where the protocol and its payment tokens are on one chain. */
export type Deployment = {
  readonly chainId: ChainId
  readonly diamond: Address
  readonly usdc: Address
  readonly usdt: Address | null
  /** Shown to clients; never an endpoint the service uses itself unless configured so. */
  readonly publicRpcUrl: string
  /** First block that can hold a log of the protocol. */
  readonly startBlock: bigint
  /** What kind of deployment it is. */
  readonly profile: ProfileName
}

/** What is wrong with a deployment's start block when the chain's newest block is `head`, and what to do; null when nothing is. */
export const startBlockFault = (
  { chainId, startBlock }: Pick<Deployment, 'chainId' | 'startBlock'>,
  head: bigint,
): string | null =>
  startBlock <= head
    ? null
    : `START_BLOCK_${chainId} is ${startBlock}, and the newest block of chain ${chainId} is ${head}: nothing is indexed. Set START_BLOCK_${chainId} to the block in which the diamond was deployed, and restart.`

const isChainId = (value: number): value is ChainId => chainIds.some((id) => id === value)

const unsupported = `unsupported chainId: expected one of ${chainIds.join(', ')}`

const supported = (value: number, context: z.RefinementCtx): ChainId => {
  if (isChainId(value)) return value
  context.addIssue({ code: 'custom', message: unsupported })
  return z.NEVER
}

const meta = { type: 'integer', enum: [...chainIds], example: chainIds[0] } as const

/** A chain id of a path or query: decimal digits, decoded to one of the supported ids. */
export const PathChainId = z
  .string()
  .refine((text) => /^\d{1,15}$/.test(text), { error: unsupported, abort: true })
  .transform(Number)
  .transform(supported)
  .meta({ id: 'PathChainId', ...meta })

/** A chain id of a body: a JSON integer or a decimal string. */
export const BodyChainId = z
  .union(
    [
      z.int(),
      z
        .string()
        .refine((text) => /^\d{1,15}$/.test(text), { error: unsupported })
        .transform(Number),
    ],
    {
      error: unsupported,
    },
  )
  .transform(supported)
  .register(shortcuts, { decode: (value) => (typeof value === 'number' && isChainId(value) ? value : undefined) })
  .meta({ id: 'BodyChainId', ...meta })
