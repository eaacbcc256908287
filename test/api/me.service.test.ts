import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ama = {
  sub: 'ama',
  email: 'ama@example.com',
  phone_number: '+233201234567',
  external_id: 'crm-7',
  // OpenID's own: where one lives.
  address: { formatted: '1 High Street, Accra' },
  wallets: [{ address: wallet.toLowerCase() }],
}
const kofi = { sub: 'kofi', address: wallet, email: 'not an address' }
const users = [ama, kofi, { sub: 'esi' }]

let provider: Awaited<ReturnType<typeof startIdentityProvider>>
let api: Awaited<ReturnType<typeof openApp>>
/** Waits for a provider that does not answer for a moment only. */
let impatient: Awaited<ReturnType<typeof openApp>>
let clock = 1_000
const lines: string[] = []

beforeAll(async () => {
  provider = await startIdentityProvider(users)
  const identity = { userinfoUrl: provider.userinfoUrl, now: () => clock }
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(line) })
  api = await openApp({ identity, log })
  impatient = await openApp({ identity: { ...identity, timeoutMs: 50 }, log })
})
afterEach(() => provider.fail('none'))
afterAll(async () => {
  await Promise.all([api.close(), impatient.close()])
  await provider.close()
})

const me = (token: string, of = api) => of.get('/me', { authorization: `Bearer ${token}` })

/** How often the provider is asked meanwhile. */
const askedBy = async (work: () => Promise<unknown>): Promise<number> => {
  const before = provider.asked()
  await work()
  return provider.asked() - before
}

describe('a user', () => {
  test('is read from the claims, the wallet wherever it is', async () => {
    const { data, headers } = await me(await provider.signIn('ama'))
    expect(data).toEqual({
      address: wallet,
      email: 'ama@example.com',
      phoneNumber: '+233201234567',
      externalId: 'crm-7',
      user: 'ama',
    })
    expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: expect.stringMatching(/authorization/i) })
  })

  test('has null for each claim that the provider lacks or has in no usable form', async () => {
    const { data } = await me(await provider.signIn('kofi'))
    expect(data).toEqual({ address: wallet, email: null, phoneNumber: null, externalId: null, user: 'kofi' })
  })

  test('without a wallet is a 502 that names the missing address', async () => {
    const { status, error } = await me(await provider.signIn('esi'))
    expect([status, error?.code]).toEqual([502, 'upstream_error'])
    expect(error?.message).toMatch(/no wallet address/)
  })

  test('is read from the configured claims', async () => {
    const claims = {
      user: ['external_id'],
      email: [],
      phoneNumber: [],
      externalId: ['sub'],
      address: ['wallets.0.address'],
    }
    const other = await openApp({ identity: { userinfoUrl: provider.userinfoUrl, claims } })
    const { data } = await other.get('/me', { authorization: `bearer ${await provider.signIn('ama')}` })
    await other.close()
    expect(data).toEqual({ address: wallet, email: null, phoneNumber: null, externalId: 'ama', user: 'crm-7' })
  })
})

describe('a request to /me is a 401 for', () => {
  test.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Basic YTpi'],
    ['a token without scheme', 'abc'],
    ['a scheme without token', 'Bearer'],
    ['an empty token', 'Bearer '],
    ['two tokens', 'Bearer a b'],
    ['a token of other characters', 'Bearer a,b'],
  ])('%s, without a request to the provider', async (_, authorization) => {
    const ask = () => api.get('/me', authorization === undefined ? {} : { authorization })
    expect(
      await askedBy(async () => {
        const { status, error } = await ask()
        expect([status, error?.code]).toEqual([401, 'unauthorized'])
      }),
    ).toBe(0)
  })

  test('a token that was never issued, is revoked or has expired', async () => {
    const [revoked, expired] = [await provider.signIn('ama'), await provider.signIn('ama', 1)]
    await provider.revoke(revoked)
    await sleep(1_100)
    for (const token of ['never-issued', revoked, expired]) {
      const { status, error } = await me(token)
      expect([token, status, error?.code]).toEqual([token, 401, 'unauthorized'])
    }
  })
})

describe('a verdict on a token', () => {
  test('holds for 60 seconds, a revoked token included', async () => {
    const token = await provider.signIn('ama')
    expect(await askedBy(() => me(token))).toBe(1)
    await provider.revoke(token)
    clock += 59_999
    expect(await askedBy(async () => expect((await me(token)).status).toBe(200))).toBe(0)
    clock += 2
    expect(await askedBy(async () => expect((await me(token)).status).toBe(401))).toBe(1)
    clock += 59_999
    expect(await askedBy(async () => expect((await me(token)).status).toBe(401))).toBe(0)
    clock += 2
    expect(await askedBy(() => me(token))).toBe(1)
  })

  test('also holds for 60 seconds while the provider fails', async () => {
    const token = await provider.signIn('kofi')
    await me(token)
    provider.fail('error')
    expect((await me(token)).status).toBe(200)
    clock += 60_001
    expect((await me(token)).status).toBe(502)
  })

  test('is shared by concurrent requests with the same token, and never by two tokens', async () => {
    const [first, second] = [await provider.signIn('ama'), await provider.signIn('kofi')]
    const all = [first, second, first, second, first]
    expect(
      await askedBy(async () => {
        const answers = await Promise.all(all.map((token) => me(token)))
        expect(answers.map(({ data }) => data)).toMatchObject(
          all.map((token) => ({ user: token === first ? 'ama' : 'kofi' })),
        )
      }),
    ).toBe(2)
  })
})

describe('a provider', () => {
  test.each([
    ['that fails', 'error', 502],
    ['that answers nonsense', 'nonsense', 502],
    ['that does not answer', 'silence', 503],
  ] as const)('%s neither accepts nor rejects a token', async (_, fault, status) => {
    const token = await provider.signIn('ama')
    provider.fail(fault)
    expect((await me(token, fault === 'silence' ? impatient : api)).status).toBe(status)
    provider.fail('none')
    expect((await me(token)).status).toBe(200)
  })

  test('that is out of reach or not configured is a 503, and a request without a token is a 401 all the same', async () => {
    for (const options of [{ identity: { userinfoUrl: 'http://127.0.0.1:9/me' } }, {}]) {
      const without = await openApp(options)
      const { status, error } = await without.get('/me', { authorization: 'Bearer abc' })
      const anonymous = await without.get('/me')
      await without.close()
      expect([status, error?.code, anonymous.status]).toEqual([503, 'service_unavailable', 401])
      expect(error?.message).not.toContain('127.0.0.1')
    }
  })
})

describe('many new tokens at once', () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `never-issued-${at}`)

  test('open at most 16 requests to the provider, and those without a place are 503 with Retry-After', async () => {
    provider.fail('silence')
    const other = await openApp({ identity: { userinfoUrl: provider.userinfoUrl } })
    const ask = (token: string) => other.get('/me', { authorization: `Bearer ${token}` })
    let answered = 0
    const answers = many(500).map(async (token) => {
      const answer = await ask(token)
      answered += 1
      return answer
    })
    await expect.poll(() => answered).toBe(500 - 16 - 256)
    await expect.poll(() => provider.open()).toBe(16)
    provider.fail('none')
    const all = await Promise.all(answers)
    await other.close()
    const refused = all.filter(({ error }) => error?.message.includes('overloaded'))
    expect(refused.length).toBe(500 - 16 - 256)
    for (const { status, headers } of refused) expect([status, headers['retry-after']]).toEqual([503, '1'])
  })

  test('are all answered while no more of them wait than the limit allows', async () => {
    const other = await openApp({ identity: { userinfoUrl: provider.userinfoUrl } })
    const tokens = await Promise.all(Array.from({ length: 100 }, () => provider.signIn('ama')))
    const asked = askedBy(async () => {
      const twice = [...tokens, ...tokens].map((token) => other.get('/me', { authorization: `Bearer ${token}` }))
      expect(new Set((await Promise.all(twice)).map(({ status }) => status))).toEqual(new Set([200]))
    })
    expect(await asked).toBe(100)
    await other.close()
    expect(provider.mostOpen()).toBeLessThanOrEqual(16)
  })
})

describe('an answer of the provider', () => {
  test.each([
    ['without end', 'endless', 502, 'longer than 1048576 bytes'],
    ['that nests a million lists', 'nested', 502, 'nested more than 32 levels deep'],
  ] as const)('%s is refused', async (_, fault, status, message) => {
    provider.fail(fault)
    const answer = await me(`never-issued-${fault}`)
    expect(answer.error?.message).toContain(message)
    expect(answer.status).toBe(status)
  })
})

test('tokens and claims of users are never logged', async () => {
  const tokens = [await provider.signIn('ama'), await provider.signIn('esi'), 'never-issued-at-all']
  for (const token of tokens) await me(token)
  provider.fail('error')
  await me('asked-of-a-broken-provider')
  provider.fail('silence')
  await me('asked-of-a-silent-provider', impatient)
  expect(lines.length).toBeGreaterThan(20)
  const logged = lines.join('')
  for (const token of [...tokens, 'asked-of-a']) expect(logged).not.toContain(token)
  expect(logged).not.toMatch(/Bearer|ama@example|\+2332|crm-7|High Street/)
})
