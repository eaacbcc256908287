import { beforeEach, expect, test } from 'vitest'

/** The module as a process that starts has it, with no chains configured: each query makes a module of its own. */
let chains: typeof import('../../src/protocol/chains.ts')
let started = 0

beforeEach(async () => {
  started += 1
  const path = `${new URL('../../src/protocol/chains.ts', import.meta.url).pathname}?process=${started}`
  chains = await import(/* @vite-ignore */ path)
})

test('no chain id is decoded before the chains are configured', () => {
  expect(() => chains.PathChainId.safeParse('8453')).toThrow('no chains are configured')
  expect(() => chains.BodyChainId.safeParse(8453)).toThrow('no chains are configured')
})

test('chain ids of requests are those that are configured, and a refusal names them in their order', () => {
  chains.configureChains([137, 8453, 56])
  expect(chains.PathChainId.parse('137')).toBe(137)
  expect(chains.BodyChainId.parse('137')).toBe(137)
  const texts = ['1', '', '0x89', ' 137', '137 ', '1e2', '-137', '137.0', '9'.repeat(400)]
  const values = [...texts, 1, -137, 137.5, 2 ** 53, 1e308, null, true, [137], {}]
  for (const refused of [
    ...texts.map((text) => chains.PathChainId.safeParse(text)),
    ...values.map((value) => chains.BodyChainId.safeParse(value)),
  ])
    expect(refused.error?.issues.map(({ message }) => message)).toEqual([
      'unsupported chainId: expected one of 137, 8453, 56',
    ])
})

test('a chain id that is not given is refused with the chains that there are', () => {
  chains.configureChains([137, 8453, 56])
  for (const schema of [chains.PathChainId, chains.BodyChainId])
    expect(schema.safeParse(undefined).error?.issues.map(({ message }) => message)).toEqual([
      'expected one of 137, 8453, 56',
    ])
})

test('the chains of a process are configured once: the same again is accepted, others are not', () => {
  chains.configureChains([8453, 56])
  chains.configureChains([8453, 56])
  expect(() => chains.configureChains([56, 8453])).toThrow('the chains of this process are 8453, 56')
  expect(chains.configuredChains()).toEqual([8453, 56])
})

test('a start block may be the newest block, and not a later one', () => {
  chains.configureChains([56])
  expect(chains.startBlockFault({ chainId: 56, startBlock: 7n }, 7n)).toBe(null)
  expect(chains.startBlockFault({ chainId: 56, startBlock: 8n }, 7n)).toContain('START_BLOCK_56 is 8')
})
