import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Environment, environments, privateNames } from '../src/config/environments.ts'
import { inherited, load } from '../src/config/load.ts'
import { npmOptions } from '../src/config/npm.ts'
import { chainsOf, secretsOf, signedDeploymentsOf } from '../src/config/parts.ts'
import { chainRecord } from '../src/protocol/records.ts'
import { shapeOf } from './support/environment.ts'
import { chainIds } from './support/known-chains.ts'

const example = (): string => readFileSync(new URL('../.env.example', import.meta.url), 'utf8')

/** The comment of .env.example above a variable, or above the group of variables that contains it. */
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

/** A chain that has no facts of its own, complete. */
const third = {
  CHAINS: '137,8453,56',
  CHAIN_NAME_137: 'Polygon',
  NATIVE_SYMBOL_137: 'POL',
  RPC_URLS_137: 'http://127.0.0.1:8547',
  PUBLIC_RPC_URL_137: 'https://polygon.example',
  DIAMOND_ADDRESS_137: address('6'),
  USDC_ADDRESS_137: address('7'),
  USDC_DECIMALS_137: '6',
  START_BLOCK_137: '20',
}

describe('the chains of an environment', () => {
  const idsOf = (env: object) => load(environments.api, { ...complete, ...env }).CHAINS
  const recordsOf = (env: object) =>
    chainsOf(load(environments.api, { ...complete, ...env })).map(({ deployment }) => chainRecord(deployment))

  test('a third chain is configured by variables alone, and the order of CHAINS is kept', () => {
    expect(idsOf(third)).toEqual([137, 8453, 56])
    const [polygon, base] = recordsOf(third)
    expect(polygon).toMatchObject({
      ...{ chainId: 137, name: 'Polygon', symbol: 'POL', usdt: null, paymentDecimals: { USDC: 6 } },
      rpcUrl: 'https://polygon.example',
    })
    expect(base).toMatchObject({ name: 'Base', symbol: 'ETH', paymentDecimals: { USDC: 6 } })
  })

  test('a chain alone needs the variables of no other chain', () => {
    expect(idsOf({ CHAINS: '56', DIAMOND_ADDRESS_8453: '', RPC_URLS_8453: 'nonsense' })).toEqual([56])
  })

  test.each(Object.keys(third).filter((name) => name !== 'CHAINS'))('a third chain without %s is refused', (name) => {
    expect(() => idsOf({ ...third, [name]: '' })).toThrow(`  ${name}: expected `)
  })

  test('the decimals of USDT are required with its address, and shown with it', () => {
    const env = { ...third, USDT_ADDRESS_137: address('8') }
    expect(() => idsOf(env)).toThrow('  USDT_DECIMALS_137: expected the decimals of the token at USDT_ADDRESS')
    expect(recordsOf({ ...env, USDT_DECIMALS_137: '8' })[0]?.paymentDecimals).toEqual({ USDC: 6, USDT: 8 })
  })

  test('the facts of a known chain can be replaced', () => {
    const [base] = recordsOf({ CHAIN_NAME_8453: 'Base, forked', NATIVE_SYMBOL_8453: 'DEV', USDC_DECIMALS_8453: '18' })
    expect(base).toMatchObject({ name: 'Base, forked', symbol: 'DEV', paymentDecimals: { USDC: 18 } })
  })

  test.each([
    ['8453,56,8453', '8453 is given twice'],
    ['8453;56', 'got "8453;56"'],
    ['8453,', 'got ""'],
    ['1000000000000', 'expected chain ids from 1 to 2147483647'],
    ['0', 'expected chain ids from 1 to 2147483647'],
    ['2147483648', 'got "2147483648"'],
    ['-1', 'got "-1"'],
    ['0x1', 'got "0x1"'],
    [Array.from({ length: 33 }, (_, at) => at + 1).join(), 'expected at most 32 chain ids, got 33'],
  ])('CHAINS=%j is refused: %s', (CHAINS, message) => {
    expect(() => idsOf({ CHAINS })).toThrow('  CHAINS: ')
    expect(() => idsOf({ CHAINS })).toThrow(message)
  })

  test('the most chains, and the greatest id, are accepted', () => {
    const ids = Array.from({ length: 32 }, (_, at) => (at === 31 ? 2_147_483_647 : at + 1))
    expect(() => idsOf({ CHAINS: ids.join() })).not.toThrow(/ {2}CHAINS/)
    expect(() => idsOf({ CHAINS: ids.join() })).toThrow('RPC_URLS_2147483647')
  })

  test('the default chain is one of them', () => {
    const defaultOf = (env: object) => load(environments.api, { ...complete, ...env }).DEFAULT_CHAIN_ID
    expect(defaultOf({ DEFAULT_CHAIN_ID: '56' })).toBe(56)
    expect(() => defaultOf({ DEFAULT_CHAIN_ID: '137' })).toThrow('DEFAULT_CHAIN_ID: expected one of the ids in CHAINS')
    expect(defaultOf({ ...third, DEFAULT_CHAIN_ID: '137' })).toBe(137)
    expect(() => defaultOf({ DEFAULT_CHAIN_ID: 'base', IDLE_POLL_MS: '1', HOST: ' ' })).toThrow(
      /(?=[\s\S]*DEFAULT_CHAIN_ID: expected a chain id)(?=[\s\S]*HOST: )/,
    )
  })

  test('the engine signs for the chains whose diamonds it is given', () => {
    const engine = load(environments.engine, { CHAINS: '56,137', DIAMOND_ADDRESS_137: address('6') })
    expect(signedDeploymentsOf(engine)).toEqual([{ chainId: 137, diamond: address('6'), rpcUrls: [] }])
  })

  test('a sandbox starts any chain, each node on a port of its own', () => {
    const { chains } = load(environments.sandbox, { CHAINS: '8453,56,137', SANDBOX_RPC_PORT_56: '0' })
    expect(chains.map(({ SANDBOX_RPC_PORT }) => SANDBOX_RPC_PORT)).toEqual([8545, 0, 8547])
    expect(chains[2]).toMatchObject({ CHAIN_NAME: 'Chain 137', NATIVE_SYMBOL: 'ETH', USDC_DECIMALS: 6 })
    expect(chains[2]?.USDT_DECIMALS).toBeUndefined()
  })

  test('the sandbox rejects tokens with more than 24 decimals, whose amounts the protocol could not store', () => {
    const start = (decimals: string) => load(environments.sandbox, { CHAINS: '56', USDC_DECIMALS_56: decimals })
    expect(start('24').chains[0]?.USDC_DECIMALS).toBe(24)
    expect(() => start('25')).toThrow('USDC_DECIMALS_56: expected a whole number from 0 to 24')
  })

  test('private nodes of every chain are secrets', () => {
    const secrets = secretsOf(
      load(environments.api, { ...complete, ...third, RPC_URLS_137: 'http://a.example/hidden' }),
    )
    expect(secrets).toContain('http://a.example/hidden')
  })
})

test('a chain has the reference profile unless an existing profile is configured', () => {
  const profilesOf = (env: object) =>
    chainsOf(load(environments.api, { ...complete, ...env })).map(({ deployment }) => deployment.profile)
  expect(profilesOf({})).toEqual(['reference', 'reference'])
  expect(profilesOf({ PROFILE_56: 'deployed' })).toEqual(['reference', 'deployed'])
  expect(() => profilesOf({ PROFILE_56: 'Deployed' })).toThrow('PROFILE_56')
})

test('every fault is reported at once, and no address has a default', () => {
  const { DIAMOND_ADDRESS_8453: _, ...rest } = complete
  expect(() =>
    load(environments.worker, { ...rest, USDT_ADDRESS_56: 'usdt', IDLE_POLL_MS: '-1', START_BLOCK_56: '' }),
  ).toThrowError(
    /(?=[\s\S]*DIAMOND_ADDRESS_8453)(?=[\s\S]*USDT_ADDRESS_56)(?=[\s\S]*IDLE_POLL_MS)(?=[\s\S]*START_BLOCK_56)/,
  )
})

test('a variable that another one replaced is refused where that one is read', () => {
  expect(() => load(environments.worker, { ...complete, POLL_MS: '500' })).toThrow(
    'POLL_MS: has no effect any more: unset it, and see IDLE_POLL_MS',
  )
  expect(() => load(environments.api, { ...complete, POLL_MS: '500' })).not.toThrow()
  expect(() => load(environments.worker, { ...complete, POLL_MS: '' })).not.toThrow()
})

test('configured claims replace their defaults, and an unknown field is rejected', () => {
  const claims = (IDENTITY_CLAIMS: string) => load(environments.api, { ...complete, IDENTITY_CLAIMS }).IDENTITY_CLAIMS
  const expected = { user: ['id', 'sub'], address: ['wallet.address'], email: ['email'] }
  expect(claims('user=id|sub, address=wallet.address')).toMatchObject(expected)
  for (const wrong of ['name=sub', 'user', 'user=']) expect(() => claims(wrong)).toThrowError(/IDENTITY_CLAIMS/)
})

/** Every number that a command reads: its name and its bounds, which its own error message gives. */
const commands: readonly (readonly [string, Environment])[] = Object.entries(environments)
const numbers = commands.flatMap(([command, environment]) =>
  Object.keys(shapeOf(environment)).flatMap((name) => {
    try {
      load(environment, { ...complete, [name]: '0x10' })
      return []
    } catch (fault) {
      const [, min, max] =
        new RegExp(`${name}: expected a whole number from (\\d+) to (\\d+)`).exec(String(fault)) ?? []
      return min && max ? [{ command, name, min, max }] : []
    }
  }),
)

/** The numbers of each command: all get a value at once, because every fault is reported. */
const byCommand = commands.flatMap(([command, environment]) => {
  const own = numbers.filter((it) => it.command === command)
  return own.length === 0 ? [] : [{ command, environment, own }]
})

describe.each(byCommand)('the numbers of $command', ({ environment, own }) => {
  type Numeric = (typeof own)[number]
  const open = (pick: (of: Numeric) => string) =>
    load(environment, { ...complete, ...Object.fromEntries(own.map((it) => [it.name, pick(it)])) })

  const expectRejected = (pick: (of: Numeric) => string): void => {
    let lines: string[] = []
    try {
      open(pick)
    } catch (fault) {
      lines = String(fault).split('\n')
    }
    for (const it of own) {
      const value = pick(it)
      const shown = value.length > 40 ? `"${value.slice(0, 40)}…"` : JSON.stringify(value)
      const line = lines.find((each) => each.startsWith(`  ${it.name}: `))
      expect(line).toContain(`  ${it.name}: expected a whole number from ${it.min} to ${it.max}`)
      expect(line).toContain(`got ${shown}`)
    }
  }

  test.each([' ', '0x10', '1e3', '+1', '01', ' 5', '5 ', '5\n', '1.5', '1_000', '٣', '9'.repeat(400)])(
    'a number of the environment is rejected when it is %j, with its bounds in the message',
    (value) => expectRejected(() => value),
  )

  test('a number of the environment is rejected outside its bounds', () => {
    expectRejected(({ max }) => String(BigInt(max) + 1n))
    expectRejected(({ min }) => String(BigInt(min) - 1n))
  })

  test('a number of the environment is accepted at its bounds', () => {
    expect(() => open(({ min }) => min)).not.toThrow()
    expect(() => open(({ max }) => max)).not.toThrow()
  })

  test('the bounds of a number are in .env.example', () => {
    for (const { name, min, max } of own)
      expect([name, commentOf(name)]).toEqual([name, expect.stringContaining(`${min} to ${max}`)])
  })
})

test('every numeric variable of .env.example is parsed strictly, and so are every start block and port', () => {
  const strict = new Set(numbers.map(({ name }) => name))
  // Chain ids are checked against each other, not against bounds.
  const shown = [...example().matchAll(/^([A-Z0-9_]+)=\d+$/gm)].flatMap(([, name = '']) =>
    ['CHAINS', 'DEFAULT_CHAIN_ID'].includes(name) ? [] : [name],
  )
  expect(shown.length).toBeGreaterThan(20)
  for (const name of [...shown, 'START_BLOCK_8453', 'START_BLOCK_56']) expect(strict).toContain(name)
})

test('no time-out exceeds the maximum of a timer', () => {
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
  ['DATABASE_URL', 'postgres://u:p@one,two/fx?target_session_attrs=read-write', 'names several hosts: name one'],
  ['DATABASE_URL', 'postgres://one:5432,two:5432/fx', 'names several hosts: name one'],
  ['DATABASE_READ_URL', 'postgres://u:p@one,two/fx', 'names several hosts: name one'],
  ['DATABASE_URL', 'mysql://one/fx', 'expected a postgres:// URL'],
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
  ['ENGINE_VOL_MARKUPS', 'pegged=0.09', 'expected factors from 0.1 to 10, got "0.09"'],
  ['ENGINE_VOL_MARKUPS', 'pegged=11', 'expected factors from 0.1 to 10, got "11"'],
  ['ENGINE_VOL_MARKUPS', 'majors=1', 'expected tiers of'],
])('%s=%j is refused: %s', (name, value, message) => {
  const environment: Environment = name in shapeOf(environments.engine) ? environments.engine : environments.api
  const open = () => load(environment, { ...complete, [name]: value })
  expect(open).toThrow(`\n  ${name}`)
  expect(open).toThrow(message)
})

test('a comma in the password of a database is no second host', () => {
  const DATABASE_URL = 'postgres://u:p,q@one/fx?options=a,b'
  expect(load(environments.audit, { ...complete, DATABASE_URL })).toMatchObject({ DATABASE_URL })
})

test('twenty nodes of a chain are accepted', () => {
  const RPC_URLS_56 = Array(20).fill('http://a.example').join(',')
  expect(load(environments.audit, { ...complete, RPC_URLS_56 }).chains[1]?.RPC_URLS).toHaveLength(20)
})

test('a missing variable is requested in words', () => {
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
  const names = commands.flatMap(([, environment]) => Object.keys(shapeOf(environment)))
  const read = new Set([...names, ...privateNames(chainIds).map((name) => `${name}_FILE`)])
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
  const read: readonly Environment[] = [environments.api, environments.worker, environments.engine]
  for (const environment of read) {
    const { ...defaults } = load(environment, complete)
    const shown = load(environment, { ...complete, ...example })
    expect(shown).toEqual(defaults)
  }
})

test('a URL with a password is rejected, and the message does not repeat the password', () => {
  const environment = { ...complete, RPC_URLS_56: 'https://bob:hidden@node.example' }
  expect(() => load(environments.api, environment)).toThrow(/RPC_URLS_56.*without user and password/s)
  expect(() => load(environments.api, environment)).not.toThrow(/hidden/)
})

test.each(['DIAMOND_ADDRESS_8453', 'USDC_ADDRESS_56', 'USDT_ADDRESS_56'])('%s rejects the zero address', (name) => {
  expect(() => load(environments.audit, { ...complete, [name]: address('0') })).toThrow(
    new RegExp(`${name}.*zero address`),
  )
})

test('production rejects synthetic rates, and reports them together with every other fault', () => {
  const madeUp = { ENGINE_SYNTHETIC: 'true', NODE_ENV: 'production' }
  expect(() => load(environments.engine, { ...madeUp, ENGINE_PORT: 'x', ENGINE_PRIVATE_KEY: '0x12' })).toThrow(
    /(?=[\s\S]*ENGINE_SYNTHETIC: )(?=[\s\S]*ENGINE_PORT: )(?=[\s\S]*ENGINE_PRIVATE_KEY: )/,
  )
  expect(() => load(environments.worker, { ...complete, ...madeUp })).toThrow('ENGINE_SYNTHETIC')
  expect(load(environments.engine, { ENGINE_SYNTHETIC: 'true' }).ENGINE_SYNTHETIC).toBe(true)
})

test.each([
  ['127.0.0.1', 'http://127.0.0.1:4000', true],
  ['::1', 'http://127.0.0.1:4000', true],
  ['0.0.0.0', 'http://127.0.0.1:4000', false],
  ['192.0.2.1', 'http://127.0.0.1:4000', false],
  ['0.0.0.0', 'on', true],
  ['0.0.0.0', 'off', true],
])('an API at %s with EXPLORER=%s starts: %s, because other machines get no controls', (HOST, EXPLORER, starts) => {
  const start = () => load(environments.api, { ...complete, HOST, EXPLORER })
  if (starts) expect(start).not.toThrow()
  else expect(start).toThrow(/EXPLORER: .*HOST/)
})

test('an API without HOST, which every machine reaches, gets no controls', () => {
  expect(() => load(environments.api, { ...complete, EXPLORER: 'http://127.0.0.1:4000' })).toThrow(/EXPLORER/)
})

describe('private variables', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-config-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: string): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }

  test('a private variable comes from the environment or from a file', () => {
    const url = 'postgres://u:canary@db:5432/fx'
    expect(load(environments.migrate, { DATABASE_URL_FILE: file('url', `${url}\n`) }).DATABASE_URL).toBe(url)
    const { RPC_URLS_56: _, ...rest } = complete
    const { chains } = load(environments.audit, {
      ...rest,
      RPC_URLS_56_FILE: file('nodes', 'http://a.example/1\nhttp://b.example/2\n'),
    })
    expect(chains.find(({ chainId }) => chainId === 56)?.RPC_URLS).toEqual(['http://a.example/1', 'http://b.example/2'])
  })

  test('a private variable that is given twice, or whose file is unreadable or empty, is reported together with every other fault', () => {
    const { REDIS_URL_FILE, RPC_URLS_8453_FILE, ...env } = {
      ...complete,
      RPC_URLS_8453: '',
      DATABASE_URL_FILE: file('second', 'postgres://u:canary@db/fx'),
      REDIS_URL_FILE: join(folder, 'absent'),
      RPC_URLS_8453_FILE: file('empty', '\n'),
      IDLE_POLL_MS: '-1',
    }
    const open = () => load(environments.worker, { ...env, REDIS_URL_FILE, RPC_URLS_8453_FILE })
    for (const told of [
      /DATABASE_URL: .*twice/,
      /REDIS_URL_FILE: .*ENOENT/,
      /RPC_URLS_8453_FILE: .*empty/,
      /IDLE_POLL_MS/,
    ])
      expect(open).toThrow(told)
    // A variable whose file cannot be read is not also reported as missing.
    expect(open).not.toThrow(/RPC_URLS_8453: /)
    expect(open).not.toThrow(/canary|u:p@/)
  })

  test('an invalid value in a private file is rejected without repeating it', () => {
    const open = () => load(environments.engine, { ENGINE_PRIVATE_KEY_FILE: file('key', 'canary-key') })
    expect(open).toThrow(/ENGINE_PRIVATE_KEY: expected 0x/)
    expect(open).not.toThrow(/canary/)
  })

  test('has a file for each, which no process inherits: what is given to it is what counts', () => {
    const known = new Set(commands.flatMap(([, environment]) => Object.keys(shapeOf(environment))))
    for (const name of privateNames(chainIds)) {
      expect(known).toContain(name)
      expect(inherited(chainIds)[`${name}_FILE`]).toBe('')
    }
  })
})

test.each([
  [
    { npm_config_loglevel: 'warn' },
    { quiet: true, persist: undefined, note: expect.stringContaining('npm start -- --quiet') },
  ],
  [
    { npm_config_quiet: 'true' },
    { quiet: true, persist: undefined, note: expect.stringContaining('npm start -- --quiet') },
  ],
  [
    { npm_config_persist: 'state' },
    { quiet: false, persist: 'state', note: expect.stringContaining('-- --persist=state') },
  ],
  [
    { npm_config_persist: 'true' },
    { quiet: false, persist: undefined, note: expect.stringContaining('-- --persist=DIR') },
  ],
  [{ npm_config_loglevel: 'silent' }, { quiet: false, persist: undefined, note: undefined }],
])('the options that npm start took for itself are understood: %j', (taken, expected) => {
  expect(npmOptions({ npm_lifecycle_event: 'start', ...taken })).toEqual(expected)
  const none = { quiet: false, persist: undefined, note: undefined }
  for (const npm_lifecycle_event of ['test', undefined])
    expect(npmOptions({ ...taken, npm_lifecycle_event })).toEqual(none)
})
