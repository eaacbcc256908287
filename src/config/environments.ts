import { zeroAddress } from 'viem'
import { z } from 'zod'
import { type Claims, defaultClaims } from '../identity/me.ts'
import { tierNames } from '../pricing/tiers.ts'
import { type ChainFacts, type ChainId, knownChains, MAX_CHAINS } from '../protocol/chains.ts'
import { Address20 } from '../protocol/fields/request-fields.ts'
import { profileNames } from '../protocol/profiles.ts'
import {
  blockNumber,
  chainId,
  chainIds,
  explorer,
  factors,
  host,
  integer,
  keys,
  oneOf,
  pairs,
  port,
  portOrOff,
  text,
  trueOrFalse,
  url,
} from './codecs.ts'

/** Milliseconds of a timer. The maximum is a sensible limit, far below the maximum of a timer. */
const Milliseconds = (max: number) => integer(1, max)
const NodeUrl = url(/^https?$/, 'an http(s) URL').refine(
  (text) => !/^https?:\/\/[^/]*@/.test(text),
  'expected a URL without user and password, because they would not be sent: remove them',
)
const Contract = z
  .string({ error: 'expected an address: 0x and 40 hex digits' })
  .pipe(Address20)
  .refine((address) => address !== zeroAddress, 'the zero address is no contract')
/** Lets a check of several variables run when others are at fault too: all faults are reported at once. */
const always = (): boolean => true

const Level = oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])

/** Maximum nodes of a chain: more nodes only cause more health probes. */
const MAX_NODES = 20

const logging = { LOG_LEVEL: Level.default('info') }

const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: NodeUrl.optional() }

export const metrics = {
  METRICS_HOST: host.default('0.0.0.0'),
  METRICS_PORT: portOrOff.default(9464),
}

/** Without quotes in SQL, so that operators can type it. */
const RoleName = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, 'expected lower-case letters, digits and underscores')

/** The part of a URL between its credentials and its path. */
const hostsOf = (text: string): string | undefined => text.split(/[/?#]/)[2]?.split('@').at(-1)

/** The driver connects to one host. It would take several as the name of one, and ignore `target_session_attrs`. */
const DatabaseUrl = z
  .string({ error: 'expected a postgres:// URL' })
  .refine((text) => hostsOf(text)?.includes(',') !== true, {
    error: 'names several hosts: name one address that leads to the primary (docs/operations/failover.md)',
    abort: true,
  })
  .pipe(url(/^postgres(ql)?$/, 'a postgres:// URL'))

const database = { DATABASE_URL: DatabaseUrl }

/** The chains, in the order that clients see. */
export const chains = { CHAINS: chainIds(MAX_CHAINS).prefault([...knownChains.keys()].join()) }

const nodes = {
  NODE_TIMEOUT_MS: Milliseconds(600_000).default(3_000),
  // The engine does not sign when its clock is 10 s ahead of the head.
  HEAD_MAX_AGE_MS: Milliseconds(8_000).default(5_000),
}

const RpcUrls = z
  .string({ error: 'expected one or more node URLs, separated by commas' })
  // A file has them on lines.
  .transform((list) => list.split(/[,\n]/).map((url) => url.trim()))
  .pipe(z.array(NodeUrl).min(1).max(MAX_NODES, `expected at most ${MAX_NODES} node URLs: remove some`))

const Decimals = integer(0, 255)

/** Amounts of the generated history fit the protocol's limit of 128 bits. */
const SandboxDecimals = integer(0, 24)

/** A codec whose variable may be unset where its value is known. */
const orKnown = <T>(codec: z.ZodType<T, string>, known: T | undefined): z.ZodType<T, string | undefined> =>
  known === undefined ? codec : codec.optional().transform((value) => value ?? known)

/** Names and decimals of a chain. The token that a chain may lack has decimals only where these are known or given. */
const facts = (known: ChainFacts | undefined, decimals = Decimals) => ({
  CHAIN_NAME: orKnown(text('the name of the chain'), known?.name),
  NATIVE_SYMBOL: orKnown(text('the symbol of the native coin'), known?.symbol),
  USDC_DECIMALS: orKnown(decimals, known?.paymentDecimals.USDC),
  USDT_DECIMALS: decimals.optional().transform((value) => value ?? known?.paymentDecimals.USDT),
})

/** The variables of a chain for the API, the worker and the audit. Addresses and nodes have no default. */
const ofChain = (chainId: ChainId) =>
  z
    .object({
      ...facts(knownChains.get(chainId)),
      RPC_URLS: RpcUrls,
      PUBLIC_RPC_URL: NodeUrl,
      DIAMOND_ADDRESS: Contract,
      USDC_ADDRESS: Contract,
      USDT_ADDRESS: Contract.optional(),
      START_BLOCK: blockNumber,
      PROFILE: oneOf(profileNames).default('reference'),
    })
    .refine(({ USDT_ADDRESS, USDT_DECIMALS }) => USDT_ADDRESS === undefined || USDT_DECIMALS !== undefined, {
      path: ['USDT_DECIMALS'],
      error: 'expected the decimals of the token at USDT_ADDRESS, a whole number from 0 to 255',
      when: always,
    })

/** The variables of a chain that the engine reads; it signs nothing for a chain whose diamond it is not given. */
const ofSignedChain = () => z.object({ RPC_URLS: RpcUrls.optional(), DIAMOND_ADDRESS: Contract.optional() })

/** The variables of a chain of the sandbox, whose nodes are local and whose tokens are made for it. */
const ofLocalChain = (chainId: ChainId, place: number) =>
  z.object({
    ...facts(
      knownChains.get(chainId) ?? { name: `Chain ${chainId}`, symbol: 'ETH', paymentDecimals: { USDC: 6 } },
      SandboxDecimals,
    ),
    SANDBOX_RPC_PORT: port.default(8_545 + place),
  })

/** Variables of processes that serve requests. */
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
  DEFAULT_CHAIN_ID: chainId.optional(),
  API_POOL_SIZE: integer(1, 1_000).default(10),
  API_QUERY_TIMEOUT_MS: Milliseconds(10_000).default(2_000),
  PAGE_CACHE_BYTES: integer(0, 17_179_869_184).default(67_108_864),
  MAX_STREAMS: integer(1, 100_000).default(2_000),
  MAX_STREAMS_PER_CLIENT: integer(1, 100_000).default(100),
  MAX_WAITS: integer(1, 100_000).default(1_000),
  MAX_WAITS_PER_CLIENT: integer(1, 100_000).default(50),
  MAX_EVENT_LOOP_DELAY_MS: integer(0, 60_000).default(500),
  MAX_HEAP_BYTES: integer(0, 1_099_511_627_776).default(0),
  MAX_UNREAD_BYTES: integer(1, 1_099_511_627_776).default(134_217_728),
  RATE_LIMIT_PER_MINUTE: integer(0, 1_000_000).default(0),
  TRUSTED_PROXIES: integer(0, 100).default(0),
  MCP: trueOrFalse.default(true),
  ...redis,
  MAX_LAG_SECONDS: integer(1, 86_400).default(60),
  EXPLORER: explorer.prefault('on'),
  ENGINE_URL: NodeUrl.default('http://127.0.0.1:3100'),
  ENGINE_TIMEOUT_MS: Milliseconds(60_000).default(5_000),
}

const fields = Object.keys(defaultClaims)

const CLAIMS = 'field=place|place,…'

/** `user=sub|id,address=wallet.address`: the paths for each named field; other fields keep their defaults. */
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

/** The market's rates. The worker calibrates on them and the engine prices on them, so both need the same values. */
export const rates = {
  NODE_ENV: oneOf(['development', 'production', 'test']).default('development'),
  ENGINE_RATES_FOLDER: z.string().optional(),
  ENGINE_ECB_URL: NodeUrl.optional(),
  ENGINE_FRED_URL: NodeUrl.optional(),
  ENGINE_SYNTHETIC: trueOrFalse.default(false),
}

/** Keys of the secrets of webhook endpoints: the first encrypts, the others still decrypt. */
const WebhooksKey = keys(5)

const webhooks = { WEBHOOKS_ALLOW_LOOPBACK: trueOrFalse.default(false) }

/** Whether integrators register webhook endpoints by themselves, with keys of the operator. */
const selfService = { WEBHOOKS_SELF_SERVICE: trueOrFalse.default(false) }

/** What the API needs for it. */
const registration = {
  ...selfService,
  ...webhooks,
  WEBHOOKS_KEY: WebhooksKey.optional(),
  MAX_WEBHOOKS_PER_KEY: integer(1, 200).default(10),
}

type Registration = { readonly WEBHOOKS_SELF_SERVICE?: boolean; readonly WEBHOOKS_KEY?: readonly Buffer[] | undefined }

const hasWebhooksKey = ({ WEBHOOKS_SELF_SERVICE, WEBHOOKS_KEY }: Registration): boolean =>
  WEBHOOKS_SELF_SERVICE !== true || WEBHOOKS_KEY !== undefined

const keyFault = {
  path: ['WEBHOOKS_KEY'],
  error: "is required with WEBHOOKS_SELF_SERVICE=true: give the API the workers' key",
  when: always,
}

const worker = {
  WEBHOOKS_KEY: WebhooksKey.optional(),
  ...webhooks,
  ...redis,
  IDLE_POLL_MS: Milliseconds(5_000).default(2_000),
  FAST_POLL_MS: Milliseconds(5_000).default(250),
  WORKER_POOL_SIZE: integer(1, 1_000).default(6),
  CALIBRATION_INTERVAL_MS: Milliseconds(604_800_000).default(3_600_000),
}

/** `TIER=FACTOR,…`: the factor of a tier's volatility. */
const Markups = factors('TIER=FACTOR, separated by commas', tierNames, [0.1, 10])

const engine = {
  DATABASE_URL: database.DATABASE_URL.optional(),
  ...chains,
  ...nodes,
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
  ...chains,
  REDIS_URL: redis.REDIS_URL,
  // The sandbox prints for a person, and the services' structured lines would hide that output.
  LOG_LEVEL: Level.default('warn'),
}

type SyntheticRates = { readonly NODE_ENV?: string; readonly ENGINE_SYNTHETIC?: boolean }

const allowsRates = ({ NODE_ENV, ENGINE_SYNTHETIC }: SyntheticRates): boolean =>
  NODE_ENV !== 'production' || !ENGINE_SYNTHETIC

const syntheticFault = {
  path: ['ENGINE_SYNTHETIC'],
  error: 'NODE_ENV=production rejects synthetic rates: unset it',
  when: always,
}

type Defaulting = { readonly CHAINS?: readonly ChainId[]; readonly DEFAULT_CHAIN_ID?: ChainId | undefined }

const hasDefault = ({ CHAINS, DEFAULT_CHAIN_ID }: Defaulting): boolean =>
  DEFAULT_CHAIN_ID === undefined || !Array.isArray(CHAINS) || CHAINS.includes(DEFAULT_CHAIN_ID)

const defaulting = {
  path: ['DEFAULT_CHAIN_ID'],
  error: 'expected one of the ids in CHAINS: change it, or add it to CHAINS',
  when: always,
}

type Exploring = { readonly HOST?: string; readonly EXPLORER?: { readonly sandboxUrl: string | null } | null }

/** Whether only this machine reaches the pages that have the controls of a sandbox. */
const hidesControls = ({ HOST = '', EXPLORER }: Exploring): boolean =>
  EXPLORER?.sandboxUrl == null || ['127.0.0.1', '::1', 'localhost'].includes(HOST)

const controlsFault = {
  path: ['EXPLORER'],
  error: 'the address of a sandbox needs a HOST that only this machine reaches: set EXPLORER to on or off',
  when: always,
}

/** The variables of a command: its own, and those of each chain of `CHAINS`, whose names end in the chain's id. */
export type Environment<Own extends z.ZodObject = z.ZodObject, OfChain extends z.ZodObject = z.ZodObject> = {
  readonly own: Own
  /** Those of the chain at a position in `CHAINS`, named without the id; absent if the command reads none. */
  readonly ofChain?: (chainId: ChainId, place: number) => OfChain
}

const indexed = { ...logging, ...database, ...chains, ...nodes }

/** The variables of each command; a test compares `.env.example` with them. */
export const environments = {
  api: {
    own: z
      .object({ ...indexed, ...metrics, ...tracing, ...serving, ...api, ...identity, ...registration })
      .refine(hasDefault, defaulting)
      .refine(hasWebhooksKey, keyFault)
      .refine(hidesControls, controlsFault),
    ofChain,
  },
  worker: {
    own: z.object({ ...indexed, ...metrics, ...rates, ...worker }).refine(allowsRates, syntheticFault),
    ofChain,
  },
  engine: {
    own: z.object({ ...logging, ...metrics, ...serving, ...rates, ...engine }).refine(allowsRates, syntheticFault),
    ofChain: ofSignedChain,
  },
  audit: { own: z.object(indexed), ofChain },
  webhooks: { own: z.object({ ...logging, ...database, ...chains, ...webhooks, WEBHOOKS_KEY: WebhooksKey }) },
  migrate: { own: z.object({ ...logging, ...database, ...selfService, DATABASE_READ_ROLE: RoleName.optional() }) },
  carry: { own: z.object({ ...database, PREVIOUS_DATABASE_URL: database.DATABASE_URL }) },
  sandbox: { own: z.object(sandbox), ofChain: ofLocalChain },
} as const satisfies Readonly<Record<string, Environment>>

/** Variables that hold something secret or private: instead of `NAME`, `NAME_FILE` may name a file that holds it. */
export const privateNames = (chainIds: readonly ChainId[]): string[] => [
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'PREVIOUS_DATABASE_URL',
  'REDIS_URL',
  ...chainIds.map((id) => `RPC_URLS_${id}`),
  'IDENTITY_USERINFO_URL',
  'ENGINE_PRIVATE_KEY',
  'WEBHOOKS_KEY',
]
