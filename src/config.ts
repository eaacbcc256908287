import { z } from 'zod'
import { type Claims, defaultClaims } from './identity/me.ts'
import { OperatorError } from './lib/errors.ts'
import type { Rates } from './pricing/market/open-market.ts'
import { tierNames } from './pricing/tiers.ts'
import { BodyChainId, type ChainId, chainIds, type Deployment } from './protocol/chains.ts'
import { profileNames } from './protocol/profiles.ts'
import { Address20 } from './protocol/wire.ts'

/** A mistake in the environment; the message lists every faulty variable, so that one start is enough to mend them all. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError'
}

const Port = z.coerce.number({ error: 'expected a port' }).int().min(0).max(65_535)
const Milliseconds = z.coerce.number({ error: 'expected milliseconds' }).int().positive()
const NodeUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http(s) URL', abort: true })
  .refine((url) => !/^https?:\/\/[^/]*@/.test(url), 'expected a URL without user and password: they would not be sent')
const Level = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
const BlockNumber = z
  .string()
  .regex(/^\d{1,18}$/, 'expected a block number')
  .transform(BigInt)

const logging = { LOG_LEVEL: Level.default('info') }

const database = { DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'expected a postgres:// URL' }) }

/** One chain's variables; each ends in the chain's id. Addresses and nodes have no default: money goes there. */
const chain = {
  RPC_URLS: z
    .string({ error: 'expected one or more node URLs, separated by commas' })
    .transform((list) => list.split(',').map((url) => url.trim()))
    .pipe(z.array(NodeUrl).min(1)),
  PUBLIC_RPC_URL: NodeUrl,
  DIAMOND_ADDRESS: Address20,
  USDC_ADDRESS: Address20,
  START_BLOCK: BlockNumber,
  PROFILE: z.enum(profileNames).default('reference'),
}

type OfChain<Id extends ChainId> = { [Name in keyof typeof chain as `${Name}_${Id}`]: (typeof chain)[Name] }

const ofChain = <Id extends ChainId>(id: Id): OfChain<Id> =>
  Object.fromEntries(Object.entries(chain).map(([name, codec]) => [`${name}_${id}`, codec])) as OfChain<Id>

const chains = {
  ...ofChain(8453),
  ...ofChain(56),
  USDT_ADDRESS_56: Address20,
  NODE_TIMEOUT_MS: Milliseconds.default(3_000),
}

/** Servers that others send requests to. */
const serving = {
  DRAIN_MS: z.coerce.number({ error: 'expected milliseconds' }).int().min(0).max(600_000).default(5_000),
}

const api = {
  HOST: z.string().min(1).default('0.0.0.0'),
  PORT: Port.default(3000),
  DEFAULT_CHAIN_ID: BodyChainId.default(8453),
  API_POOL_SIZE: z.coerce.number().int().min(1).max(1_000).default(10),
  PAGE_CACHE_BYTES: z.coerce.number().int().min(1_048_576).default(67_108_864),
  MAX_STREAMS: z.coerce.number().int().min(1).max(100_000).default(2_000),
  HEAD_MAX_AGE_MS: Milliseconds.default(200),
  MAX_LAG_SECONDS: z.coerce.number().int().positive().default(60),
  ENGINE_URL: NodeUrl.default('http://127.0.0.1:3100'),
  ENGINE_TIMEOUT_MS: Milliseconds.default(5_000),
}

const fields = Object.keys(defaultClaims)

/** `user=sub|id,address=wallet.address`: for each named field the places to look at; the others keep theirs. */
const IdentityClaims = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.split('=').map((part) => part.trim())))
  .refine((entries) => entries.every(([field = '', places]) => fields.includes(field) && places), {
    error: `expected field=place|place,… with fields of ${fields.join(', ')}`,
  })
  .transform(
    (entries): Claims => ({
      ...defaultClaims,
      ...Object.fromEntries(entries.map(([field = '', places = '']) => [field, places.split('|')])),
    }),
  )

const identity = {
  IDENTITY_USERINFO_URL: z.url({ protocol: /^https?$/, error: 'expected an http(s) URL' }).optional(),
  IDENTITY_TIMEOUT_MS: Milliseconds.default(3_000),
  IDENTITY_CLAIMS: IdentityClaims.default(defaultClaims),
}

/** The market's rates. The worker calibrates on them and the engine prices on them, so both are given the same. */
const rates = {
  ENGINE_RATES_FOLDER: z.string().optional(),
  ENGINE_ECB_URL: NodeUrl.optional(),
  ENGINE_FRED_URL: NodeUrl.optional(),
  ENGINE_SYNTHETIC: z.stringbool({ error: 'expected true or false' }).default(false),
}

const worker = {
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'expected a redis:// URL' }).optional(),
  JOBS_PREFIX: z
    .string()
    .regex(/^[\w-]+$/, 'expected letters, digits, - and _')
    .default('fx-protection'),
  POLL_MS: Milliseconds.default(500),
  WORKER_POOL_SIZE: z.coerce.number().int().min(1).max(1_000).default(6),
  CALIBRATION_INTERVAL_MS: Milliseconds.default(3_600_000),
}

/** `TIER=FACTOR,…`: what a tier's volatility is multiplied by. */
const Markups = z
  .string()
  .regex(/^\w+=[\d.]+(,\w+=[\d.]+)*$/, 'expected TIER=FACTOR, separated by commas')
  .transform((list) => Object.fromEntries(list.split(',').map((item) => item.split('='))))
  .pipe(z.partialRecord(z.enum(tierNames), z.coerce.number().min(0.1).max(10)))

const engine = {
  DATABASE_URL: database.DATABASE_URL.optional(),
  ENGINE_HOST: z.string().min(1).default('127.0.0.1'),
  ENGINE_PORT: Port.default(3100),
  ENGINE_PRIVATE_KEY: z.string().optional(),
  ENGINE_PRIVATE_KEY_FILE: z.string().optional(),
  ENGINE_USD_RATE_URL: NodeUrl.optional(),
  ENGINE_LOCAL_RATES_FILE: z.string().optional(),
  ENGINE_VOL_MARKUPS: Markups.default({}),
  ENGINE_MAX_STALENESS_DAYS: z.coerce.number().int().min(0).default(7),
  ENGINE_REFRESH_MS: Milliseconds.default(60_000),
}

const sandbox = {
  PORT: Port.default(3000),
  SANDBOX_RPC_PORT_8453: Port.default(8545),
  SANDBOX_RPC_PORT_56: Port.default(8546),
  REDIS_URL: worker.REDIS_URL,
  // The sandbox prints for a person; the services' structured lines would drown that.
  LOG_LEVEL: Level.default('warn'),
}

/** The variables of each command; `.env.example` is held against them by a test. */
export const environments = {
  api: z.object({ ...logging, ...serving, ...database, ...chains, ...api, ...identity }),
  worker: z.object({ ...logging, ...database, ...chains, ...rates, ...worker }),
  engine: z.object({ ...logging, ...serving, ...rates, ...engine }),
  audit: z.object({ ...logging, ...database, ...chains }),
  migrate: z.object({ ...logging, ...database }),
  sandbox: z.object(sandbox),
}

/**
 * The environment of one command, checked and frozen. An empty variable counts as unset. Throws a ConfigError that names every
 * fault at once.
 *
 * @example const { DATABASE_URL } = load(environments.migrate)
 */
export const load = <S extends z.ZodObject>(
  environment: S,
  env: NodeJS.ProcessEnv = process.env,
): Readonly<z.output<S>> => {
  const parsed = environment.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')))
  if (parsed.success) return Object.freeze(parsed.data)
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`the environment is not complete:\n${faults.join('\n')}\nSee .env.example for what each means.`)
}

/** What processes started by this one inherit. */
export const inherited = (): NodeJS.ProcessEnv => ({ ...process.env })

/** The chains of a parsed environment: where the protocol is, and the private nodes that serve it. */
export const chainsOf = (
  config: z.output<z.ZodObject<typeof chains>>,
): { deployment: Deployment; rpcUrls: readonly string[] }[] =>
  chainIds.map((chainId) => ({
    deployment: {
      chainId,
      diamond: config[`DIAMOND_ADDRESS_${chainId}`],
      usdc: config[`USDC_ADDRESS_${chainId}`],
      usdt: chainId === 56 ? config.USDT_ADDRESS_56 : null,
      publicRpcUrl: config[`PUBLIC_RPC_URL_${chainId}`],
      startBlock: config[`START_BLOCK_${chainId}`],
      profile: config[`PROFILE_${chainId}`],
    },
    rpcUrls: config[`RPC_URLS_${chainId}`],
  }))

/** The rates of a parsed environment. */
export const ratesOf = (config: z.output<z.ZodObject<typeof rates>>): Rates => ({
  ratesFolder: config.ENGINE_RATES_FOLDER,
  ecbUrl: config.ENGINE_ECB_URL,
  fredUrl: config.ENGINE_FRED_URL,
  synthetic: config.ENGINE_SYNTHETIC,
})
