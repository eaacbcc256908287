import { toFunctionSelector, zeroAddress, zeroHash } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol('deployed')
const { owner, heir, send } = protocol

let api: Awaited<ReturnType<typeof openApp>>
beforeAll(async () => {
  api = await openApp({ nodes: [{ url: protocol.url, deployment: protocol.deployment }], headMaxAgeMs: 0 })
})
afterAll(() => api.close())

test('the owner and pending owner of a proxy without owner() are readable', async () => {
  const facets = JSON.stringify((await api.get('/governance/facets')).data)
  expect(facets).not.toContain(toFunctionSelector('owner()'))
  expect((await api.get('/governance/owner')).data).toEqual({ chainId: 8453, owner, pendingOwner: zeroAddress })
  await send(owner, 'transferOwnership', [heir])
  expect((await api.get('/governance/owner')).data).toEqual({ chainId: 8453, owner, pendingOwner: heir })
})

test('a proxy without a timelock has no proposals', async () => {
  const { status, error } = await api.get(`/governance/proposals/8453/${zeroHash}`)
  expect([status, error?.message]).toEqual([404, 'the protocol on chain 8453 has no function getProposal'])
})
