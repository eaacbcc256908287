import { expect, test } from 'vitest'
import { environments } from '../../src/config/environments.ts'
import { load } from '../../src/config/load.ts'
import {
  appOf,
  chainsOf,
  engineOf,
  identityOf,
  metricsOf,
  poolOf,
  pricingOf,
  ratesOf,
  secretsOf,
  selfServiceOf,
  signedDeploymentsOf,
} from '../../src/config/parts.ts'

const address = (digit: string) => `0x${digit.repeat(40)}`

const chain = {
  CHAINS: '56',
  DATABASE_URL: 'postgres://u:p4ssword@db/fx',
  RPC_URLS_56: 'https://node.example/abcdefgh',
  PUBLIC_RPC_URL_56: 'https://bnb.example',
  DIAMOND_ADDRESS_56: address('1'),
  USDC_ADDRESS_56: address('2'),
  USDT_ADDRESS_56: address('3'),
  START_BLOCK_56: '7',
  USDC_DECIMALS_56: '8',
  USDT_DECIMALS_56: '9',
  PROFILE_56: 'deployed',
}

test('each setting of an API has its place', () => {
  const config = load(environments.api, {
    ...chain,
    ...{ RATE_LIMIT_PER_MINUTE: '1', MAX_STREAMS: '2', MAX_STREAMS_PER_CLIENT: '3', MAX_WAITS: '4' },
    ...{ MAX_WAITS_PER_CLIENT: '5', MAX_EVENT_LOOP_DELAY_MS: '6', MAX_HEAP_BYTES: '7', MAX_UNREAD_BYTES: '8' },
    ...{ API_POOL_SIZE: '9', TRUSTED_PROXIES: '10', PAGE_CACHE_BYTES: '11', API_QUERY_TIMEOUT_MS: '12' },
    ...{ IDENTITY_USERINFO_URL: 'https://identity.example/', IDENTITY_TIMEOUT_MS: '13', IDENTITY_CLAIMS: 'user=id' },
    ...{ ENGINE_URL: 'http://engine.example:3100', ENGINE_TIMEOUT_MS: '14', METRICS_HOST: 'm', METRICS_PORT: '15' },
    ...{ MCP: 'false', EXPLORER: 'off' },
  })
  expect(appOf(config)).toEqual({
    ...{ defaultChainId: 56, maxPageBytes: 11, mcp: false, explorer: null },
    limits: {
      ...{ requestsPerMinute: 1, maxStreams: 2, maxStreamsPerClient: 3, maxWaits: 4, maxWaitsPerClient: 5 },
      ...{ maxEventLoopDelayMs: 6, maxHeapBytes: 7, maxUnreadBytes: 8, connections: 9, trustedProxies: 10 },
    },
  })
  expect(poolOf(config)).toEqual({ maxConnections: 9, connectTimeoutMs: 12, statementTimeoutMs: 12 })
  expect(identityOf(config)).toMatchObject({
    ...{ userinfoUrl: 'https://identity.example/', timeoutMs: 13, claims: { user: ['id'] } },
  })
  expect(pricingOf(config)).toEqual({ url: 'http://engine.example:3100', timeoutMs: 14 })
  expect(metricsOf(config)).toEqual({ host: 'm', port: 15 })
})

test('self-service for webhooks is off by default, and needs a key when it is on', () => {
  const of = (env: object) => selfServiceOf(load(environments.api, { ...chain, ...env }))
  const key = 'ab'.repeat(32)
  expect(of({})).toBeNull()
  expect(of({ WEBHOOKS_KEY: key })).toBeNull()
  expect(of({ WEBHOOKS_SELF_SERVICE: 'false', WEBHOOKS_KEY: key })).toBeNull()
  const on = { WEBHOOKS_SELF_SERVICE: 'true', WEBHOOKS_KEY: key }
  expect(of(on)).toEqual({ keys: [Buffer.from(key, 'hex')], allowsLoopback: false, mostPerKey: 10 })
  expect(of({ ...on, MAX_WEBHOOKS_PER_KEY: '3', WEBHOOKS_ALLOW_LOOPBACK: 'true' })).toMatchObject({
    ...{ allowsLoopback: true, mostPerKey: 3 },
  })
  expect(() => of({ WEBHOOKS_SELF_SERVICE: 'true', DEFAULT_CHAIN_ID: '8453' })).toThrow(
    /(?=[\s\S]*DEFAULT_CHAIN_ID: )(?=[\s\S]*WEBHOOKS_KEY: is required with WEBHOOKS_SELF_SERVICE=true: give the API the workers' key)/,
  )
})

test('the default chain of an API is the one that is set, or the first', () => {
  const two = { ...chain, CHAINS: '56,8453', DEFAULT_CHAIN_ID: '8453' }
  const base = Object.entries(chain).flatMap(([name, value]) =>
    name.endsWith('_56') ? [[name.replace('_56', '_8453'), value]] : [],
  )
  const env = { ...two, ...Object.fromEntries(base) }
  expect(appOf(load(environments.api, env)).defaultChainId).toBe(8453)
  expect(appOf(load(environments.api, { ...env, DEFAULT_CHAIN_ID: '' })).defaultChainId).toBe(56)
})

test('each setting of a chain has its place', () => {
  const [only] = chainsOf(load(environments.audit, chain))
  expect(only).toEqual({
    deployment: {
      ...{ chainId: 56, name: 'BNB Smart Chain', symbol: 'BNB', paymentDecimals: { USDC: 8, USDT: 9 } },
      ...{ diamond: address('1'), usdc: address('2'), usdt: address('3'), publicRpcUrl: 'https://bnb.example' },
      ...{ startBlock: 7n, profile: 'deployed' },
    },
    rpcUrls: ['https://node.example/abcdefgh'],
  })
})

test('each setting of an engine has its place', () => {
  const key = `0x${'ab'.repeat(32)}`
  const config = load(environments.engine, {
    ...{ CHAINS: '56,8453', DIAMOND_ADDRESS_8453: address('1'), RPC_URLS_8453: 'https://node.example/abcdefgh' },
    ...{
      ENGINE_PRIVATE_KEY: key,
      NODE_ENV: 'production',
      ENGINE_RATES_FOLDER: 'folder',
      ENGINE_MAX_STALENESS_DAYS: '3',
    },
    ...{ ENGINE_ECB_URL: 'https://ecb.example/', ENGINE_FRED_URL: 'https://fred.example/' },
    ...{
      ENGINE_USD_RATE_URL: 'https://usd.example/',
      ENGINE_LOCAL_RATES_FILE: 'local',
      ENGINE_VOL_MARKUPS: 'pegged=2',
    },
  })
  const rates = {
    ratesFolder: 'folder',
    ecbUrl: 'https://ecb.example/',
    fredUrl: 'https://fred.example/',
    synthetic: false,
  }
  expect(ratesOf(config)).toEqual(rates)
  expect(engineOf(config)).toEqual({
    ...{ key, chainIds: [56, 8453], isProduction: true, ...rates, usdRateUrl: 'https://usd.example/' },
    ...{ localRatesFile: 'local', volMarkups: { pegged: 2 }, maxStalenessDays: 3 },
  })
  expect(engineOf({ ...config, NODE_ENV: 'test' }).isProduction).toBe(false)
  expect(signedDeploymentsOf(config)).toEqual([
    { chainId: 8453, diamond: address('1'), rpcUrls: ['https://node.example/abcdefgh'] },
  ])
})

test('the secrets of a configuration are keys, credentials, and every part of a node', () => {
  const key = `0x${'ab'.repeat(32)}`
  const api = secretsOf(load(environments.api, { ...chain, REDIS_URL: 'redis://:opensesame@cache' }))
  expect(api).toEqual(expect.arrayContaining(['p4ssword', 'opensesame', 'node.example', 'abcdefgh']))
  expect(api).not.toContain('bnb.example')
  expect(secretsOf(load(environments.engine, { CHAINS: '56', ENGINE_PRIVATE_KEY: key }))).toContain(key)
})
