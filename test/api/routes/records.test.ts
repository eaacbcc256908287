import { expect, test } from 'vitest'
import { meRoutes } from '../../../src/api/routes/me.ts'
import { changelogRoutes } from '../../../src/api/routes/pages/changelog.ts'
import { planRoutes } from '../../../src/api/routes/plans.ts'
import { revertRoutes } from '../../../src/api/routes/reverts.ts'
import { transactionRoutes } from '../../../src/api/routes/transactions.ts'
import { conflict } from '../../../src/lib/errors.ts'
import { reverts } from '../../../src/protocol/reverts/catalogue.ts'
import { REVERTED, revertOf } from '../../../src/protocol/reverts/decode.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { operations } from '../../support/openapi.ts'
import { openRoutes } from './route-app.ts'

const operationOf = (id: string) => operations.find(({ operationId }) => operationId === id)
const exampleOf = (id: string) =>
  (operationOf(id)?.responses[200]?.content['application/json']?.example ?? {}) as { readonly data: object }

const hash = `0x${'5f'.repeat(32)}`

test.each<[string, object, string]>([
  ['final and indexed', {}, 'public, max-age=30'],
  ['not final', { finality: 'safe' }, 'no-store'],
  ['not indexed', { indexed: false }, 'no-store'],
  ['reverted with the exact reason', { revert: { exact: true } }, 'public, max-age=30'],
  ['reverted without the exact reason', { revert: { exact: false } }, 'no-store'],
])('a transaction that is %s may be cached or not', async (_, change, cacheControl) => {
  const asked: unknown[] = []
  const record: Readonly<Record<string, unknown>> = {
    ...exampleOf('getTransactionsByHash').data,
    finality: 'finalized',
    indexed: true,
    revert: null,
    ...change,
  }
  const revert = record.revert && { ...revertOf({ data: null, message: REVERTED }), ...Object(record.revert) }
  const transactions = {
    read: async (client: { readonly address: string }, ...rest: readonly unknown[]) => {
      asked.push(client.address, ...rest)
      return { data: { ...record, revert }, freshness: { source: 'chain', stale: true, block: blockAt(7) } }
    },
  }
  const app = await openRoutes((it) => it.register(transactionRoutes, { transactions: transactions as never }))
  const { statusCode, headers } = await app.inject(`/transactions/8453/${hash}?waitMs=20`)
  expect(statusCode).toBe(200)
  expect(headers).toMatchObject({
    ...{ 'cache-control': cacheControl, 'x-data-source': 'chain', 'x-block-number': '7', 'x-stale': '1' },
  })
  expect(asked).toEqual(['127.0.0.1', 8453, hash, 20])
  await app.inject(`/transactions/8453/${hash}`)
  expect(asked.at(-1)).toBe(0)
})

test('the catalogue of reverts has all entries, or the one that matches the code and the data', async () => {
  const app = await openRoutes((it) => it.register(revertRoutes))
  const codesOf = async (query: string) => {
    const { statusCode, headers, body } = await app.inject(`/reverts${query}`)
    expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=30'])
    return JSON.parse(body).data.map(({ code }: { readonly code: string }) => code)
  }
  expect(await codesOf('')).toEqual(reverts.map(({ code }) => code))
  const code = String(reverts[0]?.code)
  expect(await codesOf(`?code=${code}`)).toEqual([code])
  expect(await codesOf('?code=none')).toEqual([])
  expect(await codesOf('?data=0x01020304')).toEqual(['unknown_error'])
  expect(await codesOf('?code=unknown_error&data=0x01020304')).toEqual(['unknown_error'])
  expect(await codesOf(`?code=${code}&data=0x01020304`)).toEqual([])
})

test.each([
  [`code=${'a'.repeat(64)}`, 200],
  [`code=${'a'.repeat(65)}`, 400],
  ['code=A', 400],
  [`data=0x${'0a'.repeat(1_024)}`, 200],
  [`data=0x${'0a'.repeat(1_025)}`, 400],
  ['data=0x0', 400],
  ['data=0x', 200],
])('the catalogue answers ?%.20s with a %i', async (query, status) => {
  const app = await openRoutes((it) => it.register(revertRoutes))
  expect((await app.inject(`/reverts?${query}`)).statusCode).toBe(status)
})

const me = { address: `0x${'1'.repeat(40)}`, email: null, phoneNumber: null, externalId: null, user: 'ama' }

test.each([
  ['Bearer abc', 'abc'],
  ['bearer   a.b~c+d/e-f==', 'a.b~c+d/e-f=='],
  ['Bearer a=b', null],
  ['Bearer ', null],
  ['Basic abc', null],
  ['xBearer abc', null],
  [undefined, null],
])('Authorization: %s has the token %s', async (authorization, token) => {
  const verified: string[] = []
  const identity = {
    verify: async (given: string) => {
      verified.push(given)
      return me
    },
    close: () => {},
  }
  const app = await openRoutes((it) => it.register(meRoutes, { identity: identity as never }))
  const { statusCode, headers, body } = await app.inject({
    url: '/me',
    headers: authorization ? { authorization } : {},
  })
  expect([statusCode, verified]).toEqual(token === null ? [401, []] : [200, [token]])
  expect(headers).toMatchObject({ 'cache-control': 'no-store', vary: 'authorization' })
  if (token === null) expect(headers['www-authenticate']).toBe('Bearer')
  else expect(JSON.parse(body)).toEqual({ data: me })
})

test('a plan is of the action of its path, for the client of the request, and is never cached', async () => {
  const operation = operationOf('planDeposit')
  const planned: unknown[] = []
  const plan = async (name: string, intent: object, client: { readonly address: string }) => {
    planned.push(name, intent, client.address)
    if (name === 'claim-all') throw conflict('not now', [])
    return exampleOf('planDeposit').data
  }
  const app = await openRoutes((it) => it.register(planRoutes, { plan: plan as never }))
  const payload = operation?.body as object
  const { statusCode, headers, body } = await app.inject({ method: 'POST', url: '/plans/deposit', payload })
  expect([statusCode, headers['cache-control'], JSON.parse(body)]).toEqual([200, 'no-store', exampleOf('planDeposit')])
  expect(planned[0]).toBe('deposit')
  expect(planned[1]).toMatchObject({ chainId: 8453 })
  expect(planned[2]).toBe('127.0.0.1')
  const all = operationOf('planClaimAll')?.body as object
  const refused = await app.inject({ method: 'POST', url: '/plans/claim-all', payload: all })
  expect([refused.statusCode, refused.headers['cache-control']]).toEqual([409, 'no-store'])
})

test('the changelog is served', async () => {
  const app = await openRoutes((it) => it.register(changelogRoutes))
  const { statusCode, body } = await app.inject('/changelog')
  const [newest] = JSON.parse(body).data
  expect([statusCode, newest.version, newest.date]).toEqual([200, 'Unreleased', null])
})

test('a browser gets the changelog as a page, whose code is code and whose links lead to what is served', async () => {
  const app = await openRoutes((it) => it.register(changelogRoutes))
  const { statusCode, headers, body } = await app.inject({ url: '/changelog', headers: { accept: 'text/html' } })
  expect([statusCode, headers['content-type'], headers.vary]).toEqual([
    ...[200, 'text/html; charset=utf-8', 'accept, accept-encoding'],
  ])
  expect(headers['content-security-policy']).toMatch(/^default-src 'none';/)
  expect(body).toContain('<h2 id="unreleased">Unreleased</h2>')
  expect(body).toContain('<code>/explorer</code>')
  expect(body).not.toMatch(/`|href="[^"]+\.md|href="(client|docs)\//)
  expect(body).toContain('<link rel="alternate" type="application/json" href="changelog">')
})
