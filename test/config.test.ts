import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { environments, privateNames } from '../src/config/environments.ts'
import { inherited, load } from '../src/config/load.ts'
import { chainsOf } from '../src/config/parts.ts'
import { chainRecord } from '../src/protocol/records.ts'

const example = (): string => readFileSync(new URL('../.env.example', import.meta.url), 'utf8')

/** What .env.example has above a variable, or above the group of variables that it is in. */
const commentOf = (name: string): string => {
  const lines = example().split('\n')
  let at = lines.findIndex((line) => line.startsWith(`${name}=`))
  while (at > 0 && !lines[at]?.startsWith('#')) at -= 1
  const end = at
  while (at > 0 && lines[at - 1]?.startsWith('#')) at -= 1
  return lines.slice(at, end + 1).join('\n')
}

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

/** Every number that a command reads: its name, its bounds, and what loads it with a value. Its own error message gives the bounds. */
const numbers = Object.entries(environments).flatMap(([command, environment]) =>
  Object.keys(environment.shape).flatMap((name) => {
    const open = (value: string) => load(environment, { ...complete, [name]: value })
    try {
      open('0x10')
      return []
    } catch (fault) {
      const [, min, max] =
        new RegExp(`${name}: expected a whole number from (\\d+) to (\\d+)`).exec(String(fault)) ?? []
      return min && max ? [{ command, name, min, max, open }] : []
    }
  }),
)

describe.each(numbers)('$name of $command', ({ name, min, max, open }) => {
  const above = String(BigInt(max) + 1n)
  const below = String(BigInt(min) - 1n)

  test.each([' ', '0x10', '1e3', '+1', '01', ' 5', '5 ', '5\n', '1.5', '1_000', '٣', '9'.repeat(400), above, below])(
    'refuses %j and repeats it with the bounds',
    (value) => {
      const shown = value.length > 40 ? `"${value.slice(0, 40)}…"` : JSON.stringify(value)
      expect(() => open(value)).toThrow(`  ${name}: expected a whole number from ${min} to ${max}`)
      expect(() => open(value)).toThrow(`got ${shown}`)
    },
  )

  test('takes its bounds', () => {
    for (const value of [min, max]) expect(() => open(value)).not.toThrow()
  })

  test('has its bounds in .env.example', () => {
    expect(commentOf(name)).toContain(`${min} to ${max}`)
  })
})

test('every variable that has a number in .env.example is read strictly, and so is every start block and port', () => {
  const strict = new Set(numbers.map(({ name }) => name))
  // A chain's id is one of two words.
  const shown = [...example().matchAll(/^([A-Z0-9_]+)=\d+$/gm)].flatMap(([, name = '']) =>
    name === 'DEFAULT_CHAIN_ID' ? [] : [name],
  )
  expect(shown.length).toBeGreaterThan(20)
  for (const name of [...shown, 'START_BLOCK_8453', 'START_BLOCK_56']) expect(strict).toContain(name)
})

test('no time-out is longer than a timer can be', () => {
  const times = numbers.filter(({ name }) => name.endsWith('_MS'))
  expect(times.length).toBeGreaterThan(8)
  for (const { name, max } of times) expect(Number(max), name).toBeLessThan(2 ** 31)
})

test('METRICS_PORT is off or a port', () => {
  expect(load(environments.worker, { ...complete, METRICS_PORT: 'off' }).METRICS_PORT).toBe('off')
  expect(() => load(environments.worker, { ...complete, METRICS_PORT: 'none' })).toThrow(
    'METRICS_PORT: expected a whole number from 0 to 65535, or off, got "none"',
  )
})

test.each([
  ['ENGINE_SYNTHETIC', 'yes', 'expected true or false, got "yes"'],
  ['NODE_ENV', 'prod', 'expected development, production or test, got "prod"'],
  ['ENGINE_URL', ' http://127.0.0.1:3100', 'expected a URL without blanks'],
  ['ENGINE_URL', 'ftp://engine', 'expected an http(s) URL'],
  ['HOST', ' ', 'expected a host without blanks, got " "'],
  ['RPC_URLS_56', 'http://a.example,,http://b.example', 'expected an http(s) URL'],
  ['RPC_URLS_56', Array(21).fill('http://a.example').join(','), 'expected at most 20 node URLs'],
  ['IDENTITY_CLAIMS', 'user=sub,user=id', 'user is given twice'],
  ['IDENTITY_CLAIMS', 'user=sub=id', 'expected field=place'],
  ['IDENTITY_CLAIMS', 'user=sub||id', 'expected field=place'],
  ['ENGINE_VOL_MARKUPS', 'pegged=1,pegged=2', 'pegged is given twice'],
  ['ENGINE_VOL_MARKUPS', 'pegged=0x1', 'expected TIER=FACTOR'],
  ['ENGINE_VOL_MARKUPS', 'pegged=11', 'expected factors from 0.1 to 10, got "11"'],
  ['ENGINE_VOL_MARKUPS', 'majors=1', 'expected tiers of'],
])('%s=%j is refused: %s', (name, value, message) => {
  const environment = name in environments.engine.shape ? environments.engine : environments.api
  const open = () => load(environment, { ...complete, [name]: value })
  expect(open).toThrow(`\n  ${name}`)
  expect(open).toThrow(message)
})

test('a missing variable is asked for in words', () => {
  const { DIAMOND_ADDRESS_56: _, START_BLOCK_56: __, ...rest } = complete
  const open = () => load(environments.audit, rest)
  expect(open).toThrow('DIAMOND_ADDRESS_56: expected an address')
  expect(open).toThrow('START_BLOCK_56: expected a whole number from 0 to')
  expect(open).not.toThrow('Invalid input')
})

test('a chain may have no USDT, and then its decimals are not shown either', () => {
  const { USDT_ADDRESS_56: _, ...rest } = complete
  const [, bnb] = chainsOf(load(environments.api, rest))
  if (bnb === undefined) throw new Error('no second chain')
  expect(bnb.deployment.usdt).toBeNull()
  expect(chainRecord(bnb.deployment)).toMatchObject({ usdt: null, paymentDecimals: { USDC: 18 } })
  expect(chainRecord(bnb.deployment).paymentDecimals).not.toHaveProperty('USDT')
})

test('.env.example lists every variable and nothing else', () => {
  const listed = readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => /^([A-Z][A-Z0-9_]*)=/.exec(line)?.[1] ?? [])
  const names = Object.values(environments).flatMap((environment) => Object.keys(environment.shape))
  const read = new Set([...names, ...privateNames.map((name) => `${name}_FILE`)])
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

test.each(['DIAMOND_ADDRESS_8453', 'USDC_ADDRESS_56', 'USDT_ADDRESS_56'])('%s is not the zero address', (name) => {
  expect(() => load(environments.audit, { ...complete, [name]: address('0') })).toThrow(
    new RegExp(`${name}.*zero address`),
  )
})

test('production prices on no made-up rates, and says so beside every other fault', () => {
  const madeUp = { ENGINE_SYNTHETIC: 'true', NODE_ENV: 'production' }
  expect(() => load(environments.engine, { ...madeUp, ENGINE_PORT: 'x', ENGINE_PRIVATE_KEY: '0x12' })).toThrow(
    /(?=[\s\S]*ENGINE_SYNTHETIC: )(?=[\s\S]*ENGINE_PORT: )(?=[\s\S]*ENGINE_PRIVATE_KEY: )/,
  )
  expect(() => load(environments.worker, { ...complete, ...madeUp })).toThrow('ENGINE_SYNTHETIC')
  expect(load(environments.engine, { ENGINE_SYNTHETIC: 'true' }).ENGINE_SYNTHETIC).toBe(true)
})

describe('what is private', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-config-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: string): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }

  test('comes from the environment or from a file', () => {
    const url = 'postgres://u:canary@db:5432/fx'
    expect(load(environments.migrate, { DATABASE_URL_FILE: file('url', `${url}\n`) }).DATABASE_URL).toBe(url)
    const { RPC_URLS_56: _, ...rest } = complete
    const { RPC_URLS_56 } = load(environments.audit, {
      ...rest,
      RPC_URLS_56_FILE: file('nodes', 'http://a.example/1\nhttp://b.example/2\n'),
    })
    expect(RPC_URLS_56).toEqual(['http://a.example/1', 'http://b.example/2'])
  })

  test('is not given twice, and a file that cannot be read or is empty is told of beside every other fault', () => {
    const { REDIS_URL_FILE, RPC_URLS_8453_FILE, ...env } = {
      ...complete,
      RPC_URLS_8453: '',
      DATABASE_URL_FILE: file('second', 'postgres://u:canary@db/fx'),
      REDIS_URL_FILE: join(folder, 'absent'),
      RPC_URLS_8453_FILE: file('empty', '\n'),
      POLL_MS: '-1',
    }
    const open = () => load(environments.worker, { ...env, REDIS_URL_FILE, RPC_URLS_8453_FILE })
    for (const told of [/DATABASE_URL: .*twice/, /REDIS_URL_FILE: .*ENOENT/, /RPC_URLS_8453_FILE: .*empty/, /POLL_MS/])
      expect(open).toThrow(told)
    // What a file that cannot be read leaves open is no fault of its own.
    expect(open).not.toThrow(/RPC_URLS_8453: /)
    expect(open).not.toThrow(/canary|u:p@/)
  })

  test('in a file of the wrong shape is refused without a word of it', () => {
    const open = () => load(environments.engine, { ENGINE_PRIVATE_KEY_FILE: file('key', 'canary-key') })
    expect(open).toThrow(/ENGINE_PRIVATE_KEY: expected 0x/)
    expect(open).not.toThrow(/canary/)
  })

  test('has a file for each, which no process inherits: what is given to it is what counts', () => {
    const known = new Set(Object.values(environments).flatMap(({ shape }) => Object.keys(shape)))
    for (const name of privateNames) {
      expect(known).toContain(name)
      expect(inherited()[`${name}_FILE`]).toBe('')
    }
  })
})
