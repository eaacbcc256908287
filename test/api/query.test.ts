import { afterAll, beforeAll, expect, test } from 'vitest'
import { listings } from '../../src/reads/lists/listings.ts'
import { reads } from '../../src/reads/table/table.ts'
import { openApp } from '../support/app.ts'
import { mountedBy } from '../support/mounted.ts'

let api: Awaited<ReturnType<typeof openApp>>
let paths: readonly string[]
beforeAll(async () => {
  const routes = await mountedBy(async () => {
    api = await openApp({})
  })
  paths = routes.flatMap(({ method, url }) => (method === 'GET' && url.startsWith('/v1/') ? [url] : []))
})
afterAll(() => api.close())

const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const details = async (url: string) => {
  const answer = await api.app.inject(url)
  return [answer.statusCode, answer.json().error?.details]
}

test('a name that is nearly that of a parameter is refused with the name that may be meant', async () => {
  for (const [path, wrong, meant] of [
    ['/hedge/positions', 'claimabe', 'claimable'],
    ['/hedge/positions', 'Wallet', 'wallet'],
    ['/hedge/settlements', 'eventids', 'eventIds'],
    ['/hedge/events/8453/1', 'minblock', 'minBlock'],
    [`/wallets/${wallet}/portfolio`, 'sate', 'state'],
    ['/governance/owner', 'chainid', 'chainId'],
  ]) {
    const message = `unknown parameter '${wrong}'; did you mean '${meant}'?`
    expect(await details(`/v1${path}?${wrong}=true`)).toEqual([400, [{ path: wrong, message }]])
  }
  const message = "unknown parameter 'something'"
  expect(await details('/v1/hedge/positions?something=1')).toEqual([400, [{ path: 'something', message }]])
})

test('a parameter that only another request has is refused with the name of that request', async () => {
  for (const path of ['/v1/changes', '/v1/changes/stream']) {
    const message = "unknown parameter 'wallet'; POST /v1/changes takes `wallets` in its body"
    expect(await details(`${path}?wallet=${wallet}`)).toEqual([400, [{ path: 'wallet', message }]])
  }
})

test('every GET of the API, with parameters of its own or without, refuses a parameter that it does not know', async () => {
  expect(paths.length).toBeGreaterThan(35)
  for (const path of paths) {
    const hash = `0x${'5f'.repeat(32)}`
    const values: Record<string, string> = { addr: wallet, proposalId: hash, hash, chainId: '8453' }
    if (path.startsWith('/v1/webhooks/')) values.id = 'we_0123456789ab'
    const url = path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '1')
    const [status, faults] = await details(`${url}?unheard_of=1`)
    expect([url, status, faults?.[0]?.path]).toEqual([url, 400, 'unheard_of'])
  }
})

test('a parameter that is given twice is refused by its name, also with the same value', async () => {
  const message = 'expected once, got 2 times'
  for (const query of ['chainId=56&chainId=8453', 'chainId=56&chainId=56'])
    expect(await details(`/v1/hedge/fees?${query}`)).toEqual([400, [{ path: 'chainId', message }]])
  expect(await details('/v1/hedge/positions?limit=1&limit=2&claimabe=1')).toEqual([
    400,
    [
      { path: 'limit', message },
      { path: 'claimabe', message: "unknown parameter 'claimabe'; did you mean 'claimable'?" },
    ],
  ])
})

test('names that begin with _ are ignored, however they are spelt and however often they come', async () => {
  for (const query of ['_=1', '_=1&_=2', '%5Fcache=x', '_', '__proto__=1'])
    expect([query, (await api.app.inject(`/v1/chains?${query}`)).statusCode]).toEqual([query, 200])
})

test('many or long unknown names make a short answer', async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => `a${at}=1`).join('&')
  const long = 'x'.repeat(15_000)
  for (const query of [many, long, `${long}=1`]) {
    const { statusCode, body } = await api.app.inject(`/v1/hedge/positions?${query}`)
    expect(statusCode).toBe(400)
    expect(JSON.parse(body).error.details.length).toBeLessThanOrEqual(20)
    expect(body.length).toBeLessThan(4_000)
  }
})

test('every read of the chain or the index takes minBlock, afterTx and waitMs', () => {
  for (const { path, query } of [...reads, ...listings])
    expect([path, 'minBlock' in query.shape && 'afterTx' in query.shape && 'waitMs' in query.shape]).toEqual([
      path,
      path !== '/chains',
    ])
})
