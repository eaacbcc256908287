import type { Address } from 'viem'
import { z } from 'zod'
import type { Limits } from '../api/limits.ts'
import { credentialsOf, partsOf } from '../lib/secrets.ts'
import type { Rates } from '../pricing/market/open-market.ts'
import { type ChainId, chainIds, type Deployment } from '../protocol/chains.ts'
import type { api, chains, engine, metrics, rates } from './environments.ts'

/** The chains of a parsed environment: where the protocol is, and the private nodes that serve it. */
export const chainsOf = (
  config: z.output<z.ZodObject<typeof chains>>,
): { deployment: Deployment; rpcUrls: readonly string[] }[] =>
  chainIds.map((chainId) => ({
    deployment: {
      chainId,
      diamond: config[`DIAMOND_ADDRESS_${chainId}`],
      usdc: config[`USDC_ADDRESS_${chainId}`],
      usdt: chainId === 56 ? (config.USDT_ADDRESS_56 ?? null) : null,
      publicRpcUrl: config[`PUBLIC_RPC_URL_${chainId}`],
      startBlock: config[`START_BLOCK_${chainId}`],
      profile: config[`PROFILE_${chainId}`],
    },
    rpcUrls: config[`RPC_URLS_${chainId}`],
  }))

/** The diamonds that an engine signs quotes for, and the nodes that tell it the time of their chains. */
export const signedDeploymentsOf = (
  config: z.output<z.ZodObject<typeof engine>>,
): { chainId: ChainId; diamond: Address; rpcUrls: readonly string[] }[] =>
  chainIds.flatMap((chainId) => {
    const diamond = config[`DIAMOND_ADDRESS_${chainId}`]
    return diamond === undefined ? [] : [{ chainId, diamond, rpcUrls: config[`RPC_URLS_${chainId}`] ?? [] }]
  })

/** The rates of a parsed environment. */
export const ratesOf = (config: z.output<z.ZodObject<typeof rates>>): Rates => ({
  ratesFolder: config.ENGINE_RATES_FOLDER,
  ecbUrl: config.ENGINE_ECB_URL,
  fredUrl: config.ENGINE_FRED_URL,
  synthetic: config.ENGINE_SYNTHETIC,
})

/** Where a parsed environment has metrics served. */
export const metricsOf = (
  config: z.output<z.ZodObject<typeof metrics>>,
): { readonly host: string; readonly port: number | 'off' } => ({
  host: config.METRICS_HOST,
  port: config.METRICS_PORT,
})

/** How much the API of a parsed environment takes. */
export const limitsOf = (config: z.output<z.ZodObject<typeof api>>): Limits => ({
  requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
  maxStreams: config.MAX_STREAMS,
  maxStreamsPerClient: config.MAX_STREAMS_PER_CLIENT,
  maxWaits: config.MAX_WAITS,
  maxWaitsPerClient: config.MAX_WAITS_PER_CLIENT,
  maxEventLoopDelayMs: config.MAX_EVENT_LOOP_DELAY_MS,
  maxHeapBytes: config.MAX_HEAP_BYTES,
  trustedProxies: config.TRUSTED_PROXIES,
})

/** What of a parsed environment nobody may be told: node URLs in every part, of the others what lets somebody in. */
export const secretsOf = (config: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(config).flatMap(([name, value]) => {
    const texts = z.array(z.string()).catch([]).parse([value].flat())
    if (name.startsWith('RPC_URLS_')) return texts.flatMap(partsOf)
    return name.endsWith('PRIVATE_KEY') ? texts : texts.flatMap(credentialsOf)
  })
