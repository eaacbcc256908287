import { type Address, encodeAbiParameters, getAddress, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { type Batch, flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { createEventTokens } from '../../src/indexer/reading/event-tokens.ts'
import { partOfChain } from '../support/fake-log-chain.ts'
import { seedDeployment, seedToken } from '../support/seed-index.ts'

const MINUTE = 60_000
const tokenOf = (nth: number) => getAddress(numberToHex(nth, { size: 20 }))
const events = (...tokens: readonly Address[]) => tokens.map((paymentToken) => ({ paymentToken }))

const open = () => {
  const state = { now: 0, decimals: 6, failing: [] as Address[] }
  const asked: Address[] = []
  const learned: Address[] = []
  const chain = partOfChain({
    chainId: 8453,
    deployment: seedDeployment(8453),
    learnToken: (token) => void learned.push(token),
    async send<B extends Batch>(batch: B) {
      const requests = flatten<Request<unknown>>(batch)
      const [{ to = tokenOf(0) } = {}] = (requests[0]?.params ?? []) as { readonly to?: Address }[]
      asked.push(to)
      if (state.failing.includes(to)) throw new NodeError({ code: -32_000, message: 'header not found' })
      const raw = [encodeAbiParameters([{ type: 'string' }], ['T']), numberToHex(state.decimals, { size: 32 })]
      return unflatten(
        batch,
        requests.map(({ parse }, at) => ({ ok: true, value: parse(raw[at]) })),
      )
    },
  })
  const tokens = createEventTokens(chain, () => state.now)
  return { state, learned, tokens, asked: () => asked.splice(0) }
}

const shown = (nth: number, decimals = 6) => ({ token: tokenOf(nth), symbol: 'T', decimals })

test('each token of the events is read once, but no configured one', async () => {
  const { tokens, asked, learned } = open()
  const seen = events(tokenOf(1), getAddress(seedToken), tokenOf(2), tokenOf(1))
  expect(await tokens.read(seen)).toEqual([shown(1), shown(2)])
  expect([asked(), learned]).toEqual([
    [tokenOf(1), tokenOf(2)],
    [tokenOf(1), tokenOf(2)],
  ])
  expect(await tokens.read([])).toEqual([])
})

test('a token that no node returns does not keep out the others', async () => {
  const { tokens, state } = open()
  state.failing.push(tokenOf(1))
  expect(await tokens.read(events(tokenOf(1), tokenOf(2)))).toEqual([shown(2)])
  state.failing.pop()
  expect(await tokens.read(events(tokenOf(1), tokenOf(2)))).toEqual([shown(1), shown(2)])
})

test('a token is returned until it is stored, and again once it has changed', async () => {
  const { tokens, state } = open()
  const first = await tokens.read(events(tokenOf(1), tokenOf(2)))
  expect(await tokens.read(events(tokenOf(1), tokenOf(2)))).toEqual(first)
  tokens.stored(first.slice(0, 1))
  expect(await tokens.read(events(tokenOf(1), tokenOf(2)))).toEqual([shown(2)])
  tokens.stored(first)
  state.now += MINUTE
  expect(await tokens.read(events(tokenOf(1), tokenOf(2)))).toEqual([])
  state.decimals = 8
  state.now += MINUTE
  expect(await tokens.read(events(tokenOf(1)))).toEqual([shown(1, 8)])
})
