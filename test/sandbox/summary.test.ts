import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { summary } from '../../src/sandbox/summary.ts'

const address = `0x${'12'.repeat(20)}` as const
const chain = { chainId: 8453, rpcUrl: 'http://127.0.0.1:8545', diamond: address, tokens: [] }
const other = { ...chain, chainId: 56 }
const text = summary('http://api', 'sandbox.env', [chain, other], createAccounts(), ['fast blocks'])
const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))

test('the calls of the summary are paths of the API, with quotes where a shell needs them', () => {
  const calls = [...text.matchAll(/curl -s ('?)http:\/\/api([^\s'?]+)(\?[^\s']+)?\1/g)]
  expect(calls).toHaveLength(text.split('curl').length - 1)
  const templates = Object.keys(paths).map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`))
  for (const [call, quote, path = '', query] of calls) {
    expect([call, templates.some((template) => template.test(path))]).toEqual([call, true])
    expect([call, quote]).toEqual([call, query === undefined ? '' : "'"])
  }
})

test('the parameters of the calls are those of their operations', () => {
  const queries = [...text.matchAll(/http:\/\/api([^\s'?]+)\?([^\s']+)/g)]
  expect(queries.length).toBeGreaterThan(3)
  for (const [, path = '', query] of queries) {
    const template =
      Object.keys(paths).find((it) => new RegExp(`^${it.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)) ?? ''
    const known = paths[template].get.parameters.map(({ name }: { readonly name: string }) => name)
    for (const name of new URLSearchParams(query).keys()) expect(known).toContain(name)
  }
})

test('the summary has calls of the history of a wallet and of an event', () => {
  const wallet = createAccounts().users[0]?.account.address
  expect(text).toContain(`curl -s 'http://api/v1/activity?wallet=${wallet}&limit=5&format=csv'`)
  expect(text).toContain(
    `curl -s 'http://api/v1/hedge/events/8453/1/series?interval=week&metric=liquidity,premiums,payouts&format=csv'`,
  )
})

test('the summary has a call of each feed', () => {
  expect(text).toContain("curl -s 'http://api/v1/changes?types=wallet&limit=3'")
  expect(text).toContain("curl -s 'http://api/v1/hedge/settlements?chainId=8453&finality=finalized&limit=3'")
})

test('the summary has each account once with its role, each chain and each note', () => {
  const roles = [...text.matchAll(/^ {2}(\d) {2}0x\w{40} {2}0x\w{64} {2}(.+)$/gm)].map(
    ([, index, role]) => `${index} ${role}`,
  )
  expect(roles).toEqual([
    '0 owner, oracle admin',
    ...['1 oracle', '2 oracle', '3 oracle'],
    ...['4 user', '5 user', '6 user', '7 user', '8 user', '9 user'],
  ])
  expect(text).toContain('\n  fast blocks\n')
  expect(text).toContain('\n  56    node ')
  expect(text).toContain('/v1/hedge/events/56/9/utilization')
  expect(createAccounts().engine.index).toBe(16)
})

test('the summary names the explorer first', () => {
  expect(text).toMatch(
    /^\nThe sandbox is ready: http:\/\/api\n {2}Explorer, with a wallet and controls: http:\/\/api\/explorer\n/,
  )
})
