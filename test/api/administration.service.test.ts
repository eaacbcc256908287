import { type Address, getAddress, type Hex, toFunctionSelector, zeroAddress, zeroHash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol()
const { owner, heir, oracleA, oracleB, oracleC, send, read, create, diamond, start } = protocol

let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let api: Awaited<ReturnType<typeof openApp>>

// The chain alone: what only the owner changes is not indexed.
beforeAll(async () => {
  proxy = await startNodeProxy(protocol.url)
  api = await openApp({ nodes: [{ url: proxy.url, deployment: protocol.deployment }], headMaxAgeMs: 0 })
})
afterAll(async () => {
  await api.close()
  await proxy.close()
})

/** Queues a cut, gives its id and when it may be executed. */
const propose = async (functionSelectors: Hex[], init: Address = zeroAddress, data: Hex = '0x') => {
  const cut = { facetAddress: zeroAddress, action: 2, functionSelectors }
  const { logs } = await send(owner, 'diamondCut', [[cut], init, data])
  const queued = logs.find(([name]) => name === 'CutProposed')?.[1] as { proposalId: Hex; eta: bigint }
  return { id: queued.proposalId, eta: queued.eta }
}

const unmount = async (...signatures: string[]): Promise<void> => {
  const { id, eta } = await propose(signatures.map((signature) => toFunctionSelector(signature)))
  await protocol.at(eta)
  await send(owner, 'executeCut', [id])
}

describe('ownership', () => {
  const path = '/governance/owner?chainId=8453'

  test('shows a pending handover until it is accepted', async () => {
    expect((await api.get(path)).data).toEqual({ chainId: 8453, owner, pendingOwner: zeroAddress })
    await send(owner, 'transferOwnership', [heir])
    expect((await api.get(path)).data).toEqual({ chainId: 8453, owner, pendingOwner: heir })
    await send(heir, 'acceptOwnership', [])
    expect((await api.get('/governance/owner')).data).toEqual({ chainId: 8453, owner: heir, pendingOwner: zeroAddress })
  })

  test('is read from storage at the same block when the proxy does not mount its views', async () => {
    await unmount('owner()')
    await send(owner, 'transferOwnership', [heir])
    const half = await api.get(path)
    expect(half.data).toEqual({ chainId: 8453, owner, pendingOwner: heir })
    const { hash } = await protocol.client.getBlock()
    expect([half.headers['x-data-source'], half.headers['x-block-hash']]).toEqual(['chain', hash])

    await unmount('pendingOwner()')
    await send(heir, 'acceptOwnership', [])
    expect((await api.get(path)).data).toEqual({ chainId: 8453, owner: heir, pendingOwner: zeroAddress })
  })
})

test('the facets are those that the loupe lists', async () => {
  const { data } = await api.get('/governance/facets')
  const { facets } = data as { facets: { facetAddress: Address; functionSelectors: Hex[] }[] }
  expect(facets.flatMap(({ functionSelectors }) => functionSelectors)).toContain(toFunctionSelector('facets()'))
  for (const { facetAddress, functionSelectors } of facets) {
    for (const selector of functionSelectors) expect(await read('facetAddress', [selector])).toBe(facetAddress)
  }
  await unmount('isPaused()')
  const after = JSON.stringify((await api.get('/governance/facets?chainId=8453')).data)
  expect(after).not.toContain(toFunctionSelector('isPaused()'))
  expect((await api.get('/hedge/paused/8453')).error).toMatchObject({
    code: 'upstream_error',
    message: 'the protocol on chain 8453 has no function isPaused, which every deployment of its kind must have',
  })
})

describe('a proposal', () => {
  const at = (id: string) => `/governance/proposals/8453/${id}`

  test('is pending, then executed or cancelled', async () => {
    const first = await propose(['0x01020304'], diamond, '0xABcd')
    const record = { chainId: 8453, proposalId: first.id, initAddress: diamond, initCalldata: '0xabcd' }
    const pending = { ...record, status: 0, statusText: 'pending', executeAfter: Number(first.eta) }
    expect((await api.get(at(first.id))).data).toEqual(pending)
    expect((await api.get(at(first.id.toUpperCase().replace('0X', '0x')))).data).toEqual(pending)
    await send(owner, 'cancelCut', [first.id])
    expect((await api.get(at(first.id))).data).toEqual({ ...pending, status: 1, statusText: 'cancelled' })

    const second = await propose([toFunctionSelector('owner()')])
    await protocol.at(second.eta)
    await send(owner, 'executeCut', [second.id])
    expect((await api.get(at(second.id))).data).toMatchObject({
      status: 2,
      initAddress: zeroAddress,
      initCalldata: '0x',
    })
  })

  test('that does not exist is a 404', async () => {
    const { status, error } = await api.get(at(zeroHash))
    expect([status, error?.message]).toEqual([404, `proposal ${zeroHash} does not exist on chain 8453`])
  })

  test('is a 502 on a chain that lost its timelock, which is distinguished from a fault of the node', async () => {
    const { id } = await propose(['0x01020304'])
    await unmount('getProposal(bytes32)')
    const { status, error } = await api.get(at(id))
    expect([status, error?.message]).toEqual([
      502,
      'the protocol on chain 8453 has no function getProposal, which every deployment of its kind must have',
    ])

    proxy.alter((method, result) => {
      if (method === 'eth_call') throw new Error('the balancer breaks off')
      return result
    })
    try {
      await protocol.client.mine({ blocks: 1 })
      expect((await api.get(at(id))).status).toBe(503)
    } finally {
      proxy.honest()
    }
  })
})

describe('oracles', () => {
  test('are read with their configuration', async () => {
    const { data } = await api.get('/oracle/config/8453')
    expect(data).toEqual({ chainId: 8453, requiredSigners: 2, toleranceBps: 700, oracleCount: 3, maxOracles: 10 })
    expect((await api.get('/oracle/oracles/8453')).data).toEqual([oracleA, oracleB, oracleC])
    await send(owner, 'removeOracle', [oracleA])
    expect((await api.get('/oracle/oracles/8453')).data).toHaveLength(2)
    expect((await api.get('/oracle/config/8453')).data).toMatchObject({ oracleCount: 2 })
  })

  test('have their submissions shown, which are stale after 900 seconds', async () => {
    const eventId = await create({ expiryDate: start + DAY })
    const path = `/oracle/submissions/8453/${eventId}`
    expect((await api.get(path)).data).toEqual({ chainId: 8453, eventId: Number(eventId), count: 0, submissions: [] })

    await protocol.at(start + DAY)
    await send(oracleB, 'submitRate', [eventId, 12_345_678n])
    const timestamp = Number(start + DAY)
    const submission = { oracle: oracleB, price: '12345678', timestamp }
    const record = { chainId: 8453, eventId: Number(eventId), count: 1 }
    await protocol.mineAt(start + DAY + 900n)
    expect((await api.get(path)).data).toEqual({ ...record, submissions: [{ ...submission, isStale: false }] })
    await protocol.mineAt(start + DAY + 901n)
    expect((await api.get(path)).data).toEqual({ ...record, submissions: [{ ...submission, isStale: true }] })
  })

  test('have no submissions to an event that does not exist, which is a 404', async () => {
    for (const id of [0, 1, Number.MAX_SAFE_INTEGER]) {
      const { status, error } = await api.get(`/oracle/submissions/8453/${id}`)
      expect([status, error?.message]).toEqual([404, `event ${id} does not exist on chain 8453`])
    }
  })
})

test("the pricing engine's signer is the zero address until one is registered", async () => {
  const path = '/hedge/pricing-engine-signer/8453'
  expect((await api.get(path)).data).toBe(zeroAddress)
  await send(owner, 'setPricingEngineSigner', [heir])
  expect((await api.get(path)).data).toBe(getAddress(heir))
})
