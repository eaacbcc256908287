import { zeroAddress } from 'viem'
import { z } from 'zod'
import { type Claims, defaultClaims } from '../identity/me.ts'
import { tierNames } from '../pricing/tiers.ts'
import { BodyChainId, type ChainId, chainIds } from '../protocol/chains.ts'
import { profileNames } from '../protocol/profiles.ts'
import { Address20 } from '../protocol/wire.ts'

const Port = z.coerce.number({ error: 'expected a port' }).int().min(0).max(65_535)
const Milliseconds = z.coerce.number({ error: 'expected milliseconds' }).int().positive()
const NodeUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http(s) URL', abort: true })
  .refine((url) => !/^https?:\/\/[^/]*@/.test(url), 'expected a URL without user and password: they would not be sent')
const Contract = Address20.refine((address) => address !== zeroAddress, 'the zero address is no contract')
const Level = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
const BlockNumber = z
  .string()
  .regex(/^\d{1,18}$/, 'expected a block number')
  .transform(BigInt)

const logging = { LOG_LEVEL: Level.default('info') }

const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: NodeUrl.optional() }

export const metrics = {
  METRICS_HOST: z.string().min(1).default('0.0.0.0'),
  METRICS_PORT: z.union([z.literal('off'), Port], { error: 'expected a port or off' }).default(9464),
}

const database = { DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'expected a postgres:// URL' }) }

/** One chain's variables; each ends in the chain's id. Addresses and nodes have no default: money goes there. */
const chain = {
  RPC_URLS: z
    .string({ error: 'expected one or more node URLs, separated by commas' })
    // A file has them on lines.
    .transform((list) => list.split(/[,\n]/).map((url) => url.trim()))
    .pipe(z.array(NodeUrl).min(1)),
  PUBLIC_RPC_URL: NodeUrl,
  DIAMOND_ADDRESS: Contract,
  USDC_ADDRESS: Contract,
  START_BLOCK: BlockNumber,
  PROFILE: z.enum(profileNames).default('reference'),
}

type OfChain<Id extends ChainId> = { [Name in keyof typeof chain as `${Name}_${Id}`]: (typeof chain)[Name] }

const ofChain = <Id extends ChainId>(id: Id): OfChain<Id> =>
  Object.fromEntries(Object.entries(chain).map(([name, codec]) => [`${name}_${id}`, codec])) as OfChain<Id>

export const chains = {
  ...ofChain(8453),
  ...ofChain(56),
  USDT_ADDRESS_56: Contract,
  NODE_TIMEOUT_MS: Milliseconds.default(3_000),
}

/** Servers that others send requests to. */
const serving = {
  DRAIN_MS: z.coerce.number({ error: 'expected milliseconds' }).int().min(0).max(600_000).default(5_000),
}

const redis = {
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'expected a redis:// URL' }).optional(),
  JOBS_PREFIX: z
    .string()
    .regex(/^[\w-]+$/, 'expected letters, digits, - and _')
    .default('fx-protection'),
}

export const api = {
  DATABASE_READ_URL: database.DATABASE_URL.optional(),
  HOST: z.string().min(1).default('0.0.0.0'),
  PORT: Port.default(3000),
  DEFAULT_CHAIN_ID: BodyChainId.default(8453),
  API_POOL_SIZE: z.coerce.number().int().min(1).max(1_000).default(10),
  API_QUERY_TIMEOUT_MS: Milliseconds.max(10_000).default(2_000),
  PAGE_CACHE_BYTES: z.coerce.number().int().min(1_048_576).default(67_108_864),
  MAX_STREAMS: z.coerce.number().int().min(1).max(100_000).default(2_000),
  MAX_STREAMS_PER_CLIENT: z.coerce.number().int().min(1).max(100_000).default(100),
  MAX_WAITS: z.coerce.number().int().min(1).max(100_000).default(1_000),
  MAX_WAITS_PER_CLIENT: z.coerce.number().int().min(1).max(100_000).default(50),
  MAX_EVENT_LOOP_DELAY_MS: z.coerce.number().int().min(0).default(500),
  MAX_HEAP_BYTES: z.coerce.number().int().min(0).default(0),
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).default(0),
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(100).default(0),
  ...redis,
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
export const rates = {
  NODE_ENV: z.string().default('development'),
  ENGINE_RATES_FOLDER: z.string().optional(),
  ENGINE_ECB_URL: NodeUrl.optional(),
  ENGINE_FRED_URL: NodeUrl.optional(),
  ENGINE_SYNTHETIC: z.stringbool({ error: 'expected true or false' }).default(false),
}

const worker = {
  ...redis,
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
  ENGINE_PRIVATE_KEY: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'expected 0x and 64 hex digits')
    .optional(),
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
  REDIS_URL: redis.REDIS_URL,
  // The sandbox prints for a person; the services' structured lines would drown that.
  LOG_LEVEL: Level.default('warn'),
}

type MadeUp = { readonly NODE_ENV?: string; readonly ENGINE_SYNTHETIC?: boolean }

const isHonest = ({ NODE_ENV, ENGINE_SYNTHETIC }: MadeUp): boolean => NODE_ENV !== 'production' || !ENGINE_SYNTHETIC

const honesty = {
  path: ['ENGINE_SYNTHETIC'],
  error: 'NODE_ENV=production prices on no made-up rates: unset it',
  // Also when something else is wrong: all faults are told at once.
  when: () => true,
}

/** The variables of each command; `.env.example` is held against them by a test. */
export const environments = {
  api: z.object({ ...logging, ...metrics, ...tracing, ...serving, ...database, ...chains, ...api, ...identity }),
  worker: z.object({ ...logging, ...metrics, ...database, ...chains, ...rates, ...worker }).refine(isHonest, honesty),
  engine: z.object({ ...logging, ...metrics, ...serving, ...rates, ...engine }).refine(isHonest, honesty),
  audit: z.object({ ...logging, ...database, ...chains }),
  migrate: z.object({ ...logging, ...database }),
  sandbox: z.object(sandbox),
}

/** What is secret or private: instead of `NAME`, `NAME_FILE` may name a file that holds it. */
export const privateNames: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'REDIS_URL',
  ...chainIds.map((id) => `RPC_URLS_${id}`),
  'IDENTITY_USERINFO_URL',
  'ENGINE_PRIVATE_KEY',
]
