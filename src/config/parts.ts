import type { Address } from 'viem'
import { z } from 'zod'
import type { Limits } from '../api/limits/limits.ts'
import { credentialsOf, partsOf } from '../lib/observe/secrets.ts'
import type { Rates } from '../pricing/market/open-market.ts'
import type { ChainFacts, ChainId, Deployment } from '../protocol/chains.ts'
import type { api, environments, metrics, rates } from './environments.ts'
import type { ConfigOf } from './load.ts'

type Facts = Pick<
  ConfigOf<typeof environments.audit>['chains'][number],
  'CHAIN_NAME' | 'NATIVE_SYMBOL' | 'USDC_DECIMALS' | 'USDT_DECIMALS'
>

/** What clients are shown of a chain, apart from addresses. */
export const factsOf = (it: Facts): ChainFacts => ({
  name: it.CHAIN_NAME,
  symbol: it.NATIVE_SYMBOL,
  paymentDecimals: { USDC: it.USDC_DECIMALS, ...(it.USDT_DECIMALS !== undefined && { USDT: it.USDT_DECIMALS }) },
})

/** The chains of an environment: where the protocol is, and the private nodes that serve it. */
export const chainsOf = ({
  chains,
}: Pick<ConfigOf<typeof environments.audit>, 'chains'>): { deployment: Deployment; rpcUrls: readonly string[] }[] =>
  chains.map((it) => ({
    deployment: {
      chainId: it.chainId,
      ...factsOf(it),
      diamond: it.DIAMOND_ADDRESS,
      usdc: it.USDC_ADDRESS,
      usdt: it.USDT_ADDRESS ?? null,
      publicRpcUrl: it.PUBLIC_RPC_URL,
      startBlock: it.START_BLOCK,
      profile: it.PROFILE,
    },
    rpcUrls: it.RPC_URLS,
  }))

/** The diamonds that an engine signs quotes for, and the nodes that it reads the time of their chains from. */
export const signedDeploymentsOf = ({
  chains,
}: Pick<ConfigOf<typeof environments.engine>, 'chains'>): {
  chainId: ChainId
  diamond: Address
  rpcUrls: readonly string[]
}[] =>
  chains.flatMap(({ chainId, DIAMOND_ADDRESS: diamond, RPC_URLS: rpcUrls = [] }) =>
    diamond === undefined ? [] : [{ chainId, diamond, rpcUrls }],
  )

/** The rates of a parsed environment. */
export const ratesOf = (config: z.output<z.ZodObject<typeof rates>>): Rates => ({
  ratesFolder: config.ENGINE_RATES_FOLDER,
  ecbUrl: config.ENGINE_ECB_URL,
  fredUrl: config.ENGINE_FRED_URL,
  synthetic: config.ENGINE_SYNTHETIC,
})

/** The address of a parsed environment's metrics server. */
export const metricsOf = (
  config: z.output<z.ZodObject<typeof metrics>>,
): { readonly host: string; readonly port: number | 'off' } => ({
  host: config.METRICS_HOST,
  port: config.METRICS_PORT,
})

/** The API's limits in a parsed environment. */
const limitsOf = (config: z.output<z.ZodObject<typeof api>>): Limits => ({
  requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
  maxStreams: config.MAX_STREAMS,
  maxStreamsPerClient: config.MAX_STREAMS_PER_CLIENT,
  maxWaits: config.MAX_WAITS,
  maxWaitsPerClient: config.MAX_WAITS_PER_CLIENT,
  maxEventLoopDelayMs: config.MAX_EVENT_LOOP_DELAY_MS,
  maxHeapBytes: config.MAX_HEAP_BYTES,
  maxUnreadBytes: config.MAX_UNREAD_BYTES,
  connections: config.API_POOL_SIZE,
  trustedProxies: config.TRUSTED_PROXIES,
})

/** The API's connections to a database. */
export const poolOf = (
  config: Pick<ConfigOf<typeof environments.api>, 'API_POOL_SIZE' | 'API_QUERY_TIMEOUT_MS'>,
): { readonly maxConnections: number; readonly connectTimeoutMs: number; readonly statementTimeoutMs: number } => ({
  maxConnections: config.API_POOL_SIZE,
  connectTimeoutMs: config.API_QUERY_TIMEOUT_MS,
  statementTimeoutMs: config.API_QUERY_TIMEOUT_MS,
})

/** The identity provider of an API. */
export const identityOf = (config: ConfigOf<typeof environments.api>) => ({
  userinfoUrl: config.IDENTITY_USERINFO_URL,
  claims: config.IDENTITY_CLAIMS,
  timeoutMs: config.IDENTITY_TIMEOUT_MS,
})

/** The pricing engine of an API. */
export const pricingOf = (config: ConfigOf<typeof environments.api>) => ({
  url: config.ENGINE_URL,
  timeoutMs: config.ENGINE_TIMEOUT_MS,
})

/** How integrators register webhooks by themselves with an API; null when they cannot. */
export const selfServiceOf = (config: ConfigOf<typeof environments.api>) =>
  config.WEBHOOKS_SELF_SERVICE && config.WEBHOOKS_KEY !== undefined
    ? {
        keys: config.WEBHOOKS_KEY,
        allowsLoopback: config.WEBHOOKS_ALLOW_LOOPBACK,
        mostPerKey: config.MAX_WEBHOOKS_PER_KEY,
      }
    : null

/** What an API answers with. */
export const appOf = (config: ConfigOf<typeof environments.api>) => ({
  defaultChainId: config.DEFAULT_CHAIN_ID ?? config.CHAINS[0],
  maxPageBytes: config.PAGE_CACHE_BYTES,
  limits: limitsOf(config),
  explorer: config.EXPLORER,
  mcp: config.MCP,
})

/** What an engine prices with and signs. */
export const engineOf = (config: ConfigOf<typeof environments.engine>) => ({
  key: config.ENGINE_PRIVATE_KEY,
  chainIds: config.CHAINS,
  isProduction: config.NODE_ENV === 'production',
  ...ratesOf(config),
  usdRateUrl: config.ENGINE_USD_RATE_URL,
  localRatesFile: config.ENGINE_LOCAL_RATES_FILE,
  volMarkups: config.ENGINE_VOL_MARKUPS,
  maxStalenessDays: config.ENGINE_MAX_STALENESS_DAYS,
})

/** The same for a single command, which signs nothing, and reads no chain and no database. */
export const unsignedEngineOf = (config: ConfigOf<typeof environments.engine>) => ({
  ...engineOf(config),
  ...{ key: undefined, deployments: [], findSet: undefined },
})

/** The texts of an environment that no log may show: every part of node URLs, and the credentials in other values. */
export const secretsOf = (config: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(config).flatMap(([name, value]) => {
    if (name === 'chains') return z.array(z.record(z.string(), z.unknown())).parse(value).flatMap(secretsOf)
    const texts = z.array(z.string()).catch([]).parse([value].flat())
    if (name === 'RPC_URLS') return texts.flatMap(partsOf)
    return name.endsWith('PRIVATE_KEY') ? texts : texts.flatMap(credentialsOf)
  })
