import { once } from 'node:events'
import { createServer } from 'node:http'
import { zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Deployment } from '../../../src/protocol/chains.ts'
import { freePort } from '../../../src/sandbox/parts/ports.ts'
import { openApp } from '../../support/app.ts'
import { signingTarget, startEngine } from '../../support/engine.ts'
import { factsOf } from '../../support/known-chains.ts'
import { startScriptedNode } from '../../support/scripted-node.ts'

/** Has letters, so that an address has several spellings. */
const diamond = '0xAbCdEFabcdefABCdefABcdEFAbcDEFabcdEFaBcD'.toLowerCase() as `0x${string}`
const creator = `0x${'2'.repeat(40)}`

const deployment: Deployment = {
  chainId: 8453,
  ...factsOf(8453),
  diamond,
  usdc: signingTarget,
  usdt: null,
  publicRpcUrl: 'https://base.example',
  startBlock: 0n,
  profile: 'reference',
}

let engine: Awaited<ReturnType<typeof startEngine>>
let node: Awaited<ReturnType<typeof startScriptedNode>>
let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  ;[engine, node] = await Promise.all([startEngine({ diamond }), startScriptedNode()])
  api = await openApp({ nodes: [{ url: node.url, deployment }], engineUrl: engine.url, headMaxAgeMs: 1 })
})
afterAll(async () => {
  await api.close()
  await Promise.all([engine.close(), node.close()])
})

const quote = async (parties: object, { app } = api) => {
  const payload = {
    ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 10_000 },
    expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 90 * 86_400,
    ...{ chainId: 8453, diamondAddress: diamond, creator, ...parties },
  }
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/v1/pricing/quote', payload })
  return { statusCode, ...JSON.parse(body) }
}

test.each([
  ['the diamond of another chain or protocol', 'diamondAddress', { diamondAddress: signingTarget }],
  ['the zero address as the creator', 'creator', { creator: zeroAddress }],
])('%s is rejected with a 400 that names the field', async (_, path, parties) => {
  expect(await quote(parties)).toMatchObject({
    statusCode: 400,
    error: { code: 'validation_error', details: [{ path }] },
  })
})

test('the configured diamond is accepted in any letter case, and the quote is signed', async () => {
  node.time = Math.floor(Date.now() / 1_000)
  for (const diamondAddress of [diamond, `0x${diamond.slice(2).toUpperCase()}`]) {
    expect(await quote({ diamondAddress })).toMatchObject({
      statusCode: 200,
      data: { attestation: { expiresAt: expect.any(String) }, breakdown: { attestation: { reason: null } } },
    })
  }
})

test('a signature that is dated ahead of the newest block the API sees is removed, and the reason is reported', async () => {
  node.time = Math.floor(Date.now() / 1_000) - 60
  node.height += 1
  // A head that is lower or equal is not taken at once; this one is higher.
  await expect
    .poll(() => quote({}))
    .toMatchObject({
      statusCode: 200,
      data: {
        attestation: null,
        breakdown: { attestation: { reason: expect.stringMatching(/5\d s ahead of the newest block/) } },
      },
    })
})

test('an API without a node returns the signature of the engine', async () => {
  const without = await openApp({ nodes: [{ deployment }], engineUrl: engine.url, nodeTimeoutMs: 1_000 })
  const payload = {
    ...{ pair: 'USD/GHS', strike: 12, payoutCap: 13.5, strikeAbove: true, notional: 10_000 },
    expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 90 * 86_400,
    ...{ chainId: 8453, diamondAddress: diamond, creator },
  }
  const answer = await without.app.inject({ method: 'POST', url: '/v1/pricing/quote', payload })
  expect(answer.json()).toMatchObject({ data: { attestation: { signature: expect.any(String) } } })
  await without.close()
})

test('a chain that only the engine refuses is a fault of the service and not of the request', async () => {
  const message = 'unsupported chainId: expected one of 56'
  const error = { code: 'validation_error', message: `chainId: ${message}`, details: [{ path: 'chainId', message }] }
  const other = createServer((_, response) => response.writeHead(400).end(JSON.stringify({ error })))
  const port = await freePort()
  await once(other.listen(port, '127.0.0.1'), 'listening')
  const apart = await openApp({ nodes: [{ url: node.url, deployment }], engineUrl: `http://127.0.0.1:${port}` })
  expect(await quote({}, apart)).toMatchObject({
    statusCode: 502,
    error: { code: 'upstream_error', message: expect.stringContaining('CHAINS') },
  })
  await apart.close()
  other.close()
})

const backtest = (changes: object = {}, { app } = api) =>
  app.inject({
    method: 'POST',
    url: '/v1/pricing/backtest',
    payload: {
      ...{ pair: 'USD/HKD', strike: 7.8, payoutCap: 8.1, strikeAbove: true, notional: 10_000 },
      expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 90 * 86_400,
      ...changes,
    },
  })

test('a backtest waits for the calibration of its pair, and then returns every month', async () => {
  await expect.poll(async () => (await backtest()).statusCode, { timeout: 60_000 }).toBe(200)
  const { data } = (await backtest()).json()
  expect(data).toMatchObject({ pair: 'USD/HKD', horizonDays: 90, closesEnd: '2024-11-29', summary: { dates: 416 } })
  expect(data.series).toHaveLength(416)
})

test.each([
  ['strike', { strike: '7.8' }],
  ['payoutCap', { payoutCap: 7.7 }],
  ['expiryUnixSeconds', { expiryUnixSeconds: 1 }],
  ['pair', { pair: 'USD/GHS', strike: 12, payoutCap: 13 }],
])('a backtest with a wrong %s is rejected with a 400 that names it', async (path, changes) => {
  const answer = await backtest(changes)
  expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'validation_error'])
  expect(answer.json().error.details).toMatchObject([{ path }])
})

test('a backtest that the engine is not ready for is a 503 with its message and its time to wait', async () => {
  const message = 'the history of EUR/USD is being calibrated: retry after 10 s'
  const details = [{ path: 'pair', message: 'the history of EUR/USD is being calibrated' }]
  const busy = createServer((_, response) =>
    response
      .writeHead(503, { 'retry-after': '10' })
      .end(JSON.stringify({ error: { code: 'service_unavailable', message, details } })),
  )
  const port = await freePort()
  await once(busy.listen(port, '127.0.0.1'), 'listening')
  const apart = await openApp({ nodes: [{ url: node.url, deployment }], engineUrl: `http://127.0.0.1:${port}` })
  const answer = await backtest({}, apart)
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '10'])
  expect(answer.json().error).toEqual({ code: 'service_unavailable', message, details })
  await apart.close()
  busy.close()
})
