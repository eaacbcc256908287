import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { startBrowser } from '../../support/browser.ts'
import { byForm } from '../../support/repetitions.ts'
import { createWalletProvider } from '../../support/wallet-provider.ts'
import { sandbox } from './process.ts'

const chainId = 8453
const account = createAccounts().users[3]?.account
if (account === undefined) throw new Error('the sandbox has no such account')

/** What the page runs: the client and viem with the wallet of the page. */
const script = `
  import { createClient } from 'fx-protection-client'
  import { createWalletClient, custom } from 'viem'
  const text = (value) => JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? it + 'n' : it))
  window.run = async (baseUrl, chainId, from) => {
    const client = createClient({ baseUrl })
    const listed = []
    for await (const { id } of client.positions.list({ chainId, wallet: from })) listed.push(id)
    const followed = []
    for await (const { type, settlementPrice } of client.settlements.follow({ since: 0, chainId })) {
      if (followed.push({ type, settlementPrice }) === 2) break
    }
    const { data: [event] } = await client.get('/v1/hedge/events', { chainId, state: 'open', poolOpen: true, limit: 1 })
    const wallet = createWalletClient({ account: from, transport: custom(window.ethereum) })
    const plan = await client.plans.buyProtection({ chainId, from, eventId: event.id, notional: 10_000_000n })
    const { positionIds } = await client.execute(plan, wallet)
    const missing = await client.get('/v1/hedge/positions/{chainId}/{id}', { chainId, id: 999_999 }).catch((it) => it)
    const after = []
    for await (const { id } of client.positions.list({ chainId, wallet: from })) after.push(id)
    return text({ listed, followed, positionIds, after, failure: { code: missing.code, requestId: missing.requestId } })
  }
`

type Seen = { readonly listed: number[]; readonly positionIds: number[]; readonly after: number[] }

const run = async (): Promise<Seen> => {
  const stdin = { contents: script, resolveDir: import.meta.dirname, loader: 'ts' as const }
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'iife', platform: 'browser' })
  const page = `<!doctype html><link rel="icon" href="data:,"><script>${outputFiles[0]?.text.replaceAll('</script', '<\\/script')}</script>`
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const browser = await startBrowser()
  try {
    const tab = await browser.browser.newPage()
    const { request } = createWalletProvider({ node: sandbox.rpcUrls[chainId] ?? '', account })
    await tab.exposeFunction('askWallet', request)
    await tab.evaluateOnNewDocument('window.ethereum = { request: (call) => window.askWallet(call) }')
    // Another origin than the API's.
    await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    return JSON.parse(String(await tab.evaluate(`window.run('${sandbox.url}', ${chainId}, '${account.address}')`)))
  } finally {
    await browser.close()
    server.close()
  }
}

/** Chromium takes 14 seconds of a core, so the default form leaves it out. */
if (byForm(false, true)) {
  test('a page of another origin lists a wallet, follows settlements and executes a plan with its wallet', async () => {
    const seen = await run()
    expect(seen.positionIds).toHaveLength(1)
    expect(seen.after).toEqual([...seen.positionIds, ...seen.listed])
    expect(seen).toMatchObject({
      followed: Array(2).fill({ type: 'settled', settlementPrice: expect.stringMatching(/^\d+n$/) }),
      failure: { code: 'not_found', requestId: expect.stringMatching(/^[\w-]{36}$/) },
    })
  })
}
