import { zeroAddress } from 'viem'
import { z } from 'zod'
import { type Claims, defaultClaims } from '../identity/me.ts'
import { tierNames } from '../pricing/tiers.ts'
import { type ChainId, chainIds, PathChainId } from '../protocol/chains.ts'
import { profileNames } from '../protocol/profiles.ts'
import { Address20 } from '../protocol/wire.ts'
import { blockNumber, factors, host, integer, oneOf, pairs, port, portOrOff, trueOrFalse, url } from './codecs.ts'

/** Milliseconds that a timer waits: at most what is sensible, which is far below what a timer can. */
const Milliseconds = (max: number) => integer(1, max)
const NodeUrl = url(/^https?$/, 'an http(s) URL').refine(
  (text) => !/^https?:\/\/[^/]*@/.test(text),
  'expected a URL without user and password: they would not be sent',
)
const Contract = z
  .string({ error: 'expected an address: 0x and 40 hex digits' })
  .pipe(Address20)
  .refine((address) => address !== zeroAddress, 'the zero address is no contract')
const Level = oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])

/** More nodes of a chain would only be asked more often whether they answer. */
const MAX_NODES = 20

const logging = { LOG_LEVEL: Level.default('info') }

const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: NodeUrl.optional() }

export const metrics = {
  METRICS_HOST: host.default('0.0.0.0'),
  METRICS_PORT: portOrOff.default(9464),
}

const database = { DATABASE_URL: url(/^postgres(ql)?$/, 'a postgres:// URL') }

/** One chain's variables; each ends in the chain's id. Addresses and nodes have no default: money goes there. */
const chain = {
  RPC_URLS: z
    .string({ error: 'expected one or more node URLs, separated by commas' })
    // A file has them on lines.
    .transform((list) => list.split(/[,\n]/).map((url) => url.trim()))
    .pipe(z.array(NodeUrl).min(1).max(MAX_NODES, `expected at most ${MAX_NODES} node URLs: remove some`)),
  PUBLIC_RPC_URL: NodeUrl,
  DIAMOND_ADDRESS: Contract,
  USDC_ADDRESS: Contract,
  START_BLOCK: blockNumber,
  PROFILE: oneOf(profileNames).default('reference'),
}

type OfChain<Id extends ChainId> = { [Name in keyof typeof chain as `${Name}_${Id}`]: (typeof chain)[Name] }

const ofChain = <Id extends ChainId>(id: Id): OfChain<Id> =>
  Object.fromEntries(Object.entries(chain).map(([name, codec]) => [`${name}_${id}`, codec])) as OfChain<Id>

export const chains = {
  ...ofChain(8453),
  ...ofChain(56),
  USDT_ADDRESS_56: Contract.optional(),
  NODE_TIMEOUT_MS: Milliseconds(600_000).default(3_000),
}

/** What the engine knows of a chain; it signs nothing for one that it is not given. */
const engineChains = {
  RPC_URLS_8453: chains.RPC_URLS_8453.optional(),
  RPC_URLS_56: chains.RPC_URLS_56.optional(),
  DIAMOND_ADDRESS_8453: chains.DIAMOND_ADDRESS_8453.optional(),
  DIAMOND_ADDRESS_56: chains.DIAMOND_ADDRESS_56.optional(),
  NODE_TIMEOUT_MS: chains.NODE_TIMEOUT_MS,
}

/** Servers that others send requests to. */
const serving = {
  DRAIN_MS: integer(0, 600_000).default(5_000),
}

const redis = {
  REDIS_URL: url(/^rediss?$/, 'a redis:// URL').optional(),
  JOBS_PREFIX: z
    .string()
    .regex(/^[\w-]+$/, 'expected letters, digits, - and _')
    .default('fx-protection'),
}

export const api = {
  DATABASE_READ_URL: database.DATABASE_URL.optional(),
  HOST: host.default('0.0.0.0'),
  PORT: port.default(3000),
  DEFAULT_CHAIN_ID: oneOf(['8453', '56']).transform(String).pipe(PathChainId).default(8453),
  API_POOL_SIZE: integer(1, 1_000).default(10),
  API_QUERY_TIMEOUT_MS: Milliseconds(10_000).default(2_000),
  PAGE_CACHE_BYTES: integer(0, 17_179_869_184).default(67_108_864),
  MAX_STREAMS: integer(1, 100_000).default(2_000),
  MAX_STREAMS_PER_CLIENT: integer(1, 100_000).default(100),
  MAX_WAITS: integer(1, 100_000).default(1_000),
  MAX_WAITS_PER_CLIENT: integer(1, 100_000).default(50),
  MAX_EVENT_LOOP_DELAY_MS: integer(0, 60_000).default(500),
  MAX_HEAP_BYTES: integer(0, 1_099_511_627_776).default(0),
  RATE_LIMIT_PER_MINUTE: integer(0, 1_000_000).default(0),
  TRUSTED_PROXIES: integer(0, 100).default(0),
  ...redis,
  HEAD_MAX_AGE_MS: Milliseconds(60_000).default(200),
  MAX_LAG_SECONDS: integer(1, 86_400).default(60),
  ENGINE_URL: NodeUrl.default('http://127.0.0.1:3100'),
  ENGINE_TIMEOUT_MS: Milliseconds(60_000).default(5_000),
}

const fields = Object.keys(defaultClaims)

const CLAIMS = 'field=place|place,…'

/** `user=sub|id,address=wallet.address`: for each named field the places to look at; the others keep theirs. */
const IdentityClaims = pairs(CLAIMS)
  .refine(
    (entries) => entries.every(([field, places]) => fields.includes(field) && !places.split('|').includes('')),
    `expected ${CLAIMS} with fields of ${fields.join(', ')}`,
  )
  .transform(
    (entries): Claims => ({
      ...defaultClaims,
      ...Object.fromEntries(entries.map(([field, places]) => [field, places.split('|')])),
    }),
  )

const identity = {
  IDENTITY_USERINFO_URL: url(/^https?$/, 'an http(s) URL').optional(),
  IDENTITY_TIMEOUT_MS: Milliseconds(60_000).default(3_000),
  IDENTITY_CLAIMS: IdentityClaims.default(defaultClaims),
}

/** The market's rates. The worker calibrates on them and the engine prices on them, so both are given the same. */
export const rates = {
  NODE_ENV: oneOf(['development', 'production', 'test']).default('development'),
  ENGINE_RATES_FOLDER: z.string().optional(),
  ENGINE_ECB_URL: NodeUrl.optional(),
  ENGINE_FRED_URL: NodeUrl.optional(),
  ENGINE_SYNTHETIC: trueOrFalse.default(false),
}

const worker = {
  ...redis,
  POLL_MS: Milliseconds(60_000).default(500),
  WORKER_POOL_SIZE: integer(1, 1_000).default(6),
  CALIBRATION_INTERVAL_MS: Milliseconds(604_800_000).default(3_600_000),
}

/** `TIER=FACTOR,…`: what a tier's volatility is multiplied by. */
const Markups = factors('TIER=FACTOR, separated by commas', tierNames, [0.1, 10])

export const engine = {
  DATABASE_URL: database.DATABASE_URL.optional(),
  ...engineChains,
  ENGINE_HOST: host.default('127.0.0.1'),
  ENGINE_PORT: port.default(3100),
  ENGINE_PRIVATE_KEY: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'expected 0x and 64 hex digits')
    .optional(),
  ENGINE_USD_RATE_URL: NodeUrl.optional(),
  ENGINE_LOCAL_RATES_FILE: z.string().optional(),
  ENGINE_VOL_MARKUPS: Markups.default({}),
  ENGINE_MAX_STALENESS_DAYS: integer(0, 365).default(7),
  ENGINE_REFRESH_MS: Milliseconds(86_400_000).default(60_000),
}

const sandbox = {
  PORT: port.default(3000),
  SANDBOX_RPC_PORT_8453: port.default(8545),
  SANDBOX_RPC_PORT_56: port.default(8546),
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
