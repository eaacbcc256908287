import { expect, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { linearCode } from '../support/linear-code.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol()
const { client, creator, lp, send, read, newEvent, usdc } = protocol
const { url, deployment } = protocol
const api = usePlans({ nodes: [{ url, deployment }] })

const deposit = async () => {
  await send(creator, 'createEvent', [newEvent({ initialLiquidity: 0n })])
  return { from: lp, eventId: await read('getTotalHedgeEvents'), amount: 1_000n * USDC }
}

test('a plan names its tokens, and when they were read', async () => {
  const before = Math.floor(Date.now() / 1_000)
  const { tokens, issues } = await planOf(api, 'deposit', await deposit())
  expect(tokens).toEqual([{ token: usdc, symbol: 'USDC', decimals: 6, readAt: expect.any(Number) }])
  expect(tokens[0]?.readAt).toBeGreaterThanOrEqual(before)
  expect(tokens[0]?.readAt).toBeLessThanOrEqual(Date.now() / 1_000)
  expect(issues).toEqual([])
})

test('a plan has the decimals of the chain, and an issue where they contradict the configuration', async () => {
  const other = { ...deployment, paymentDecimals: { ...deployment.paymentDecimals, USDC: 18 } }
  const misled = await openApp({ nodes: [{ url, deployment: other }], headMaxAgeMs: -1 })
  try {
    const { cost, summary, issues, executable } = await planOf(misled, 'deposit', await deposit())
    expect([cost?.decimals, executable]).toEqual([6, true])
    expect(summary).toContain('1000 USDC')
    expect(issues).toEqual([expect.objectContaining({ code: 'token_changed', blocking: false })])
    expect(issues[0]?.message).toContain('6 decimals')
    expect(issues[0]?.message).toContain('18 decimals')
  } finally {
    await misled.close()
  }
})

test('a token that returns neither symbol nor decimals has the configured ones', async () => {
  const intent = await deposit()
  const code = await client.getCode({ address: usdc })
  await client.setCode({ address: usdc, bytecode: linearCode({ 'balanceOf(address)': { constant: 5_000n * USDC } }) })
  try {
    const { tokens } = await planOf(api, 'deposit', intent)
    expect(tokens).toEqual([expect.objectContaining({ token: usdc, symbol: 'USDC', decimals: 6 })])
  } finally {
    await client.setCode({ address: usdc, bytecode: code ?? '0x' })
  }
})
