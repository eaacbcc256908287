import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chainsOf, environments, load } from '../src/config.ts'

const address = (digit: string) => `0x${digit.repeat(40)}`

const complete = {
  DATABASE_URL: 'postgres://u:p@localhost:5432/fx',
  RPC_URLS_8453: 'http://127.0.0.1:8545, https://second.example/key',
  RPC_URLS_56: 'http://127.0.0.1:8546',
  PUBLIC_RPC_URL_8453: 'https://base.example',
  PUBLIC_RPC_URL_56: 'https://bnb.example',
  DIAMOND_ADDRESS_8453: address('1'),
  DIAMOND_ADDRESS_56: address('2'),
  USDC_ADDRESS_8453: address('3'),
  USDC_ADDRESS_56: address('4'),
  USDT_ADDRESS_56: address('5'),
  START_BLOCK_8453: '10',
  START_BLOCK_56: '0',
}

test('a complete environment becomes two deployments with their private nodes', () => {
  const chains = chainsOf(load(environments.api, complete))
  expect(chains.map(({ deployment }) => deployment.chainId)).toEqual([8453, 56])
  expect(chains[0]?.rpcUrls).toEqual(['http://127.0.0.1:8545', 'https://second.example/key'])
  expect(chains[0]?.deployment.usdt).toBeNull()
  expect(chains[1]?.deployment.usdt).toBe('0x5555555555555555555555555555555555555555')
  expect(chains[0]?.deployment.startBlock).toBe(10n)
})

test('a chain has the reference profile unless it is given another that there is', () => {
  const profilesOf = (env: object) =>
    chainsOf(load(environments.api, { ...complete, ...env })).map(({ deployment }) => deployment.profile)
  expect(profilesOf({})).toEqual(['reference', 'reference'])
  expect(profilesOf({ PROFILE_56: 'deployed' })).toEqual(['reference', 'deployed'])
  expect(() => profilesOf({ PROFILE_56: 'Deployed' })).toThrow('PROFILE_56')
})

test('every fault is named at once, and no address has a default', () => {
  const { DIAMOND_ADDRESS_8453: _, ...rest } = complete
  expect(() =>
    load(environments.worker, { ...rest, USDT_ADDRESS_56: 'usdt', POLL_MS: '-1', START_BLOCK_56: '' }),
  ).toThrowError(/(?=[\s\S]*DIAMOND_ADDRESS_8453)(?=[\s\S]*USDT_ADDRESS_56)(?=[\s\S]*POLL_MS)(?=[\s\S]*START_BLOCK_56)/)
})

test('claims that are configured replace their defaults, and a field nobody has is refused', () => {
  const claims = (IDENTITY_CLAIMS: string) => load(environments.api, { ...complete, IDENTITY_CLAIMS }).IDENTITY_CLAIMS
  const expected = { user: ['id', 'sub'], address: ['wallet.address'], email: ['email'] }
  expect(claims('user=id|sub, address=wallet.address')).toMatchObject(expected)
  for (const wrong of ['name=sub', 'user', 'user=']) expect(() => claims(wrong)).toThrowError(/IDENTITY_CLAIMS/)
})

test('.env.example lists every variable and nothing else', () => {
  const listed = readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => /^([A-Z][A-Z0-9_]*)=/.exec(line)?.[1] ?? [])
  const read = new Set(Object.values(environments).flatMap((environment) => Object.keys(environment.shape)))
  expect(new Set(listed)).toEqual(read)
  expect(listed).toHaveLength(read.size)
})

test('the defaults of .env.example are the defaults of the code', () => {
  const example = Object.fromEntries(
    readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.+)$/.exec(line) ?? []
        return name === undefined || name === 'DATABASE_URL' ? [] : [[name, value]]
      }),
  )
  for (const environment of [environments.api, environments.worker, environments.engine]) {
    const { ...defaults } = load(environment, complete)
    const shown = load(environment, { ...complete, ...example })
    expect(shown).toEqual(defaults)
  }
})

test('a URL with a password is refused, and the password not repeated', () => {
  const environment = { ...complete, RPC_URLS_56: 'https://bob:hidden@node.example' }
  expect(() => load(environments.api, environment)).toThrow(/RPC_URLS_56.*without user and password/s)
  expect(() => load(environments.api, environment)).not.toThrow(/hidden/)
})
