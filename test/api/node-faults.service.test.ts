import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { eventually } from '../support/process.ts'
import { ranMs } from '../support/stopwatch.ts'
import { useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol()

let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let api: Awaited<ReturnType<typeof openApp>>

// The chain alone, so that nothing stands in for it.
beforeAll(async () => {
  proxy = await startNodeProxy(protocol.url)
  const nodes = [{ url: `${proxy.url}/?key=secret`, deployment: protocol.deployment }]
  api = await openApp({ nodes, headMaxAgeMs: 0, nodeTimeoutMs: 300 })
  // A node is used once it has reported its chain. The API relays its reasons from then on.
  await heal()
})
afterEach(() => proxy.honest())
afterAll(async () => {
  await api.close()
  await proxy.close()
})

/** Every call of a batch refused alike, as nodes do. */
const refusal = (code: number, message: string) => (asked: readonly { readonly id: number }[]) => ({
  body: JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }))),
})

const otherShape = (asked: readonly { readonly id: number }[]) => ({
  body: JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, result: { hash: 1 } }))),
})

const faults = [
  ['refuses with its own error', refusal(-32_000, 'stack limit reached'), 502],
  ['has dropped the state', refusal(-32_000, 'missing trie node 5c2f (path 0a) state 0x5c2f is not available'), 503],
  ['refuses with its own address', refusal(-32_603, 'internal error at https://node.example/?key=secret'), 502],
  ['is behind', refusal(-32_000, 'header not found'), 503],
  ['limits us', refusal(-32_005, 'Too Many Requests'), 503],
  [
    'refuses the batch as a whole',
    () => ({ body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}' }),
    503,
  ],
  ['answers fewer than asked', () => ({ body: '[]' }), 503],
  ['answers another shape', otherShape, 503],
  ['hides behind a page', () => ({ status: 502, body: '<html>Bad gateway</html>' }), 503],
  [
    'breaks off',
    () => {
      throw new Error('the balancer breaks off')
    },
    503,
  ],
  ['does not answer', () => 'nothing' as const, 503],
] as const

const paths = ['/hedge/events/8453/1', '/governance/owner', `/governance/proposals/8453/0x${'00'.repeat(32)}`]

/** A node that failed rests for up to five seconds; then it is asked again. */
const heal = async (): Promise<void> => {
  proxy.honest()
  await eventually('the node is in use again', async () => (await api.get('/governance/owner')).status === 200)
}

describe('a node that', () => {
  test.each(faults)('%s', async (_, say, status) => {
    proxy.say(say)
    for (const path of paths) {
      const answer = await api.get(path)
      const code = status === 502 ? 'upstream_error' : 'service_unavailable'
      expect([path, answer.status, answer.error?.code]).toEqual([path, status, code])
      expect(JSON.stringify(answer)).not.toContain('secret')
    }
    await heal()
  })

  test('does not answer fails neither a build nor a request that needs no node', async () => {
    proxy.say(() => 'nothing')
    const started = ranMs()
    const body = { chainId: 8453, eventId: 1, amount: '5', from: protocol.hedger }
    const unavailable = { status: 'unavailable', code: null, reason: null, hint: null, blockNumber: null }
    const { status, data } = await api.post('/tx/hedge/deposit', body)
    expect([status, data]).toEqual([200, expect.objectContaining({ estimatedGas: null, simulation: unavailable })])
    expect(ranMs() - started).toBeLessThan(5_000)
    expect((await api.get('/chains')).status).toBe(200)
    await heal()
  })

  test('rejects a transaction with a reason has its reason in the error of the relay', async () => {
    proxy.say(refusal(-32_000, 'nonce too low'))
    const { status, error } = await api.post('/tx/broadcast', { chainId: 8453, signedTx: '0x02' })
    expect([status, error?.code]).toEqual([502, 'upstream_error'])
    expect(error?.message).toContain('nonce too low')
  })
})
