import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createWalletClient, custom, encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWallet } from '../../explorer/src/sandbox/wallet.ts'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { explorerRoutes } from '../../src/api/routes/pages/explorer.ts'
import type { Done, Failure, SandboxState } from '../../src/sandbox/controls/messages.ts'
import { startControls } from '../../src/sandbox/controls/server.ts'
import { claimPorts } from '../../src/sandbox/parts/ports.ts'
import { openRoutes } from '../api/routes/route-app.ts'
import { startProtocolChain } from '../support/sandbox-chain.ts'

type Chain = Awaited<ReturnType<typeof startProtocolChain>>

const [one, other] = [8453, 56] as const
const DAY = 86_400
const API_PORT = 3_000
const origin = `http://127.0.0.1:${API_PORT}`
const UNITS = 1_000_000n

let here: Chain
let there: Chain
let port = 0
let controls: Awaited<ReturnType<typeof startControls>>

beforeAll(async () => {
  const claimed = claimPorts([{ variable: 'CONTROLS', port: 0 }])
  ;[here, there] = await Promise.all([startProtocolChain(one), startProtocolChain(other)])
  for (const { actions } of [here, there]) await actions.mineNow()
  ;[port = 0] = await claimed
  const chains = [here, there].map(({ actions, chain }) => ({ name: chain.name, actions }))
  controls = await startControls({ port, apiPort: API_PORT, chains, accounts: here.accounts })
})

afterAll(async () => {
  await controls?.close()
  await Promise.all([here, there].map((chain) => chain?.node.close()))
})

type Answer = Partial<SandboxState & Done & Failure>
type Sent = { method?: string; path: string; body?: string; headers?: Record<string, string> }

/** Sends a request as it is: `fetch` does not let a program choose its host and origin. */
const send = async ({ method = 'POST', path, body = '{}', headers = {} }: Sent) => {
  const own = { origin, 'content-type': 'application/json', ...headers }
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ''))
  const sent = request({ host: '127.0.0.1', port, method, path, headers: given })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject)
    sent.end(method === 'GET' ? undefined : body)
  })
  const answer = await text(response)
  return { status: response.statusCode, headers: response.headers, text: answer }
}

const control = async (name: string, body: unknown) => {
  const { status, text } = await send({ path: `/controls/${name}`, body: JSON.stringify(body) })
  return { status, ...(JSON.parse(text) as Answer) }
}

const call = async (chainId: number, method: string, params: unknown) => {
  const body = JSON.stringify({ method, params })
  const answer = await send({ path: `/rpc/${chainId}`, body })
  return JSON.parse(answer.text) as { result?: unknown; error?: { code: number; message: string } }
}

const tokenOf = ({ chain }: Chain) => {
  const [token] = chain.tokens
  if (token === undefined) throw new Error('the chain has no token')
  return token.address
}

const userOf = ({ accounts }: Chain, at: number) => {
  const user = accounts.users[at]
  if (user === undefined) throw new Error(`there is no user ${at}`)
  return user
}

/** Creates an event that expires after some days, with liquidity. */
const createEvent = async (chain: Chain, days: number): Promise<number> => {
  const { actions } = chain
  const [creator, token] = [userOf(chain, 5), tokenOf(chain)]
  await actions.mint(creator, token, 200_000n * UNITS)
  await actions.approve(creator, token)
  const { eventId } = await actions.createEvent(creator, {
    ...{ name: 'Peso', underlying: 'USD/MXN', strike: 19_200_000n, payoutCap: 21_000_000n, premiumRate: 26_000n },
    ...{ expiry: (await actions.now()) + days * DAY, allowExternalLp: true, initialLiquidity: 100_000n * UNITS },
    ...{ initialRate: 18_600_000n, strikeAbove: true, paymentToken: token },
  })
  return Number(eventId)
}

test('a page reads the chains, the accounts of the wallet and an event', async () => {
  const eventId = await createEvent(here, 3)
  const { status, ...state } = await control('state', { chainId: one, eventId })
  expect(status).toBe(200)
  expect(state).toMatchObject({
    chains: [
      { chainId: one, tokens: [{ symbol: 'USDC', decimals: 6 }] },
      { chainId: other, tokens: [{ symbol: 'USDC' }, { symbol: 'USDT' }] },
    ],
    event: {
      id: eventId,
      name: 'Peso',
      strike: '19200000',
      payoutCap: '21000000',
      strikeAbove: true,
      isSettled: false,
    },
  })
  expect(state.accounts).toEqual(
    here.accounts.users.map(({ index, account }) => ({ address: account.address, name: `account ${index}` })),
  )
  expect(JSON.stringify(state)).not.toContain(userOf(here, 0).privateKey.slice(2))
  expect(await control('state', {})).toMatchObject({ status: 200, event: null })
  expect(await control('state', { chainId: one, eventId: 999 })).toMatchObject({ status: 200, event: null })
})

test('advancing the time moves all chains, which stay ahead of the machine', async () => {
  const before = await Promise.all([here, there].map(({ actions }) => actions.now()))
  expect(await control('advance-time', { seconds: DAY })).toMatchObject({ status: 200 })
  for (const [at, { actions }] of [here, there].entries()) {
    const passed = (await actions.now()) - (before[at] ?? 0)
    expect(passed).toBeGreaterThanOrEqual(DAY)
    expect(passed).toBeLessThan(DAY + 600)
  }
  expect(Number((await control('state', { chainId: other })).aheadSeconds)).toBeGreaterThan(DAY - 600)
})

test('an event is bought with the wallet, expires by one control, is settled by another, and pays the wallet', async () => {
  const { actions, chain } = here
  const eventId = await createEvent(here, 30)
  const { account } = userOf(here, 1)
  const { provider } = createWallet({ account: account.address, chainId: one }, [one, other], call)
  const wallet = createWalletClient({ account: account.address, transport: custom(provider) })
  const write = async (to: `0x${string}`, data: `0x${string}`): Promise<void> => {
    const hash = await wallet.sendTransaction({ chain: null, to, data })
    const receipt = await actions.client.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
  }
  const token = tokenOf(here)
  const minted = await control('mint', {
    chainId: one,
    account: account.address,
    token,
    amount: String(5_000n * UNITS),
  })
  expect(minted).toEqual({ status: 200, done: 'Account 5 has 5000 USDC more.' })
  expect(await actions.balance(token, account.address)).toBe(5_000n * UNITS)
  const approval = { functionName: 'approve', args: [chain.diamond, 5_000n * UNITS] } as const
  await write(token, encodeFunctionData({ abi: erc20Abi, ...approval }))
  const deadline = BigInt((await actions.now()) + DAY)
  const purchase = { functionName: 'buyProtection', args: [BigInt(eventId), 10_000n * UNITS, 5_000n * UNITS, deadline] }
  await write(chain.diamond, encodeFunctionData({ abi: protocolAbi, ...purchase } as never))
  const [positionId = 0n] = await actions.positionsOf(userOf(here, 1))

  const rates = { chainId: one, eventId, rate: '21000000' }
  expect(await control('submit-rates', { ...rates, oracles: 2 })).toEqual({
    status: 409,
    error: `event ${eventId} has not expired: advance the time to its expiry first`,
  })
  expect(await control('advance-to-expiry', { chainId: one, eventId })).toEqual({
    status: 200,
    done: `Event ${eventId} has expired: it can be settled.`,
  })
  expect(await control('advance-to-expiry', { chainId: one, eventId })).toMatchObject({
    status: 409,
    error: `event ${eventId} has expired`,
  })
  expect(await control('submit-rates', { ...rates, oracles: 1 })).toEqual({
    status: 200,
    done: `Event ${eventId} has a rate and waits for one more that agrees.`,
  })
  expect(await control('submit-rates', { ...rates, oracles: 2 })).toEqual({
    status: 200,
    done: `Event ${eventId} is settled.`,
  })
  expect(await control('submit-rates', { ...rates, oracles: 2 })).toMatchObject({ status: 409 })
  const before = await actions.balance(token, account.address)
  await write(chain.diamond, encodeFunctionData({ abi: protocolAbi, functionName: 'claimPayout', args: [positionId] }))
  expect(await actions.balance(token, account.address)).toBeGreaterThan(before)
})

test('a reorg replaces the newest blocks, drops what was in them, and the time goes on', async () => {
  const { actions } = here
  const [token, { account }] = [tokenOf(here), userOf(here, 2)]
  const held = await actions.balance(token, account.address)
  await control('mint', { chainId: one, account: account.address, token, amount: '7' })
  expect(await actions.balance(token, account.address)).toBe(held + 7n)
  const tip = await actions.client.getBlock()
  expect(await control('reorg', { chainId: one, blocks: 1 })).toEqual({
    status: 200,
    done: `A reorg of 1 block removed the newest transactions of ${here.chain.name}.`,
  })
  expect(await actions.balance(token, account.address)).toBe(held)
  const replaced = await actions.client.getBlock({ blockNumber: tip.number })
  expect(replaced.hash).not.toBe(tip.hash)
  const newest = await actions.client.getBlock()
  expect(newest.number).toBe(tip.number + 1n)
  expect(newest.timestamp).toBeGreaterThan(tip.timestamp)
  // The node's clock did not go back to the time of the common block.
  await actions.node.mine({ blocks: 1 })
  expect((await actions.client.getBlock()).timestamp).toBeGreaterThan(tip.timestamp)
})

test.each([
  ['mint', { chainId: one, account: '0x', token: '0x', amount: '1.5' }, 400, /^amount: expected a positive integer/],
  ['mint', { chainId: one, account: '0x1234', token: '0x', amount: '1' }, 404, /^0x1234 is not an account/],
  ['reorg', { chainId: one, blocks: 33 }, 400, /^blocks: /],
  ['reorg', { chainId: 1, blocks: 1 }, 404, /^the sandbox has no chain 1$/],
  ['advance-time', { seconds: 367 * DAY }, 400, /^seconds: /],
  ['advance-time', { seconds: -1 }, 400, /^seconds: /],
  ['advance-to-expiry', { chainId: one, eventId: 999 }, 404, /^event 999 does not exist on chain 8453$/],
  ['submit-rates', { chainId: one, eventId: 1, rate: '', oracles: 2 }, 400, /^rate: /],
  ['submit-rates', { chainId: one, eventId: 1, rate: '1', oracles: 4 }, 400, /^oracles: /],
  ['toString', {}, 404, /^there is no control toString$/],
  ['state', [], 400, /^body: /],
])('the control %s refuses %j', async (name, body, status, error) => {
  expect(await control(name, body)).toEqual({ status, error: expect.stringMatching(error) })
})

test('a second control is refused while one is at work', async () => {
  process.kill(here.node.pid, 'SIGSTOP')
  const answers = [1, 2].map(() => control('advance-time', { seconds: 1 }))
  try {
    expect(await Promise.race(answers)).toEqual({
      status: 409,
      error: 'another control is at work: try again when it is done',
    })
  } finally {
    process.kill(here.node.pid, 'SIGCONT')
  }
  expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 409])
})

test.each([
  ['of another page', { path: '/controls/advance-time', headers: { origin: 'https://attacker.example' } }, 403],
  ['without an origin', { path: '/controls/advance-time', headers: { origin: '' } }, 403],
  ['to another host', { path: '/controls/advance-time', headers: { host: 'attacker.example' } }, 403],
  ['of another page to the wallet', { path: `/rpc/${one}`, headers: { origin: 'https://attacker.example' } }, 403],
  ['with a text', { path: '/controls/advance-time', headers: { 'content-type': 'text/plain' } }, 415],
  ['with a form', { path: '/rpc/56', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
  ['with what is not JSON', { path: '/controls/advance-time', body: '{' }, 400],
  ['with a body of 200 KB', { path: '/controls/state', body: JSON.stringify({ name: 'x'.repeat(200_000) }) }, 413],
  ['by GET', { method: 'GET', path: '/controls/advance-time' }, 404],
  ['by GET to the wallet', { method: 'GET', path: `/rpc/${one}` }, 404],
  ['to a chain that it does not have', { path: '/rpc/1' }, 404],
])('a request %s is refused', async (_, sent, status) => {
  const before = await here.actions.client.getBlockNumber()
  const answer = await send({ body: JSON.stringify({ seconds: 3_600, method: 'eth_chainId' }), ...sent })
  expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error: expect.any(String) }])
  const isOwn = answer.headers['access-control-allow-origin'] === origin
  expect(isOwn).toBe(status !== 403)
  expect(await here.actions.client.getBlockNumber()).toBe(before)
})

test('a preflight of a page of the API is answered, and one of another page is refused without CORS headers', async () => {
  const own = await send({ method: 'OPTIONS', path: '/controls/mint', body: '', headers: { 'content-type': '' } })
  expect(own).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-origin': origin, 'access-control-allow-headers': 'content-type' },
  })
  const foreign = { origin: 'https://attacker.example', 'content-type': '' }
  const refused = await send({ method: 'OPTIONS', path: '/controls/mint', body: '', headers: foreign })
  expect(refused.status).toBe(403)
  expect(refused.headers).not.toHaveProperty('access-control-allow-origin')
})

test('the wallet calls its node by the methods of the list only, with the keys of its own accounts only', async () => {
  expect(await call(one, 'eth_chainId', [])).toMatchObject({ result: '0x2105' })
  expect(await call(other, 'eth_chainId', [])).toMatchObject({ result: '0x38' })
  for (const method of ['anvil_setBalance', 'evm_increaseTime', 'eth_sign', 'eth_sendRawTransaction', 'eth_accounts']) {
    expect(await call(one, method, [])).toEqual({
      error: { code: 4200, message: `the sandbox wallet has no method ${method}` },
    })
  }
  const { address: to } = userOf(here, 0).account
  const owner = here.accounts.owner.account.address
  for (const params of [[{ from: owner, to }], [{ from: to, to }, { from: owner }]]) {
    expect(await call(one, 'eth_sendTransaction', params)).toMatchObject({ error: { code: 4100 } })
  }
  expect((await send({ path: `/rpc/${one}`, body: '{"method":"eth_sendTransaction"}' })).status).toBe(400)
  expect(await call(one, 'eth_sendTransaction', [{ from: to.toLowerCase(), to: owner, value: '0x1' }])).toMatchObject({
    result: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  })
})

test('the script of the panel is a file that the pages of the API may load from another origin', async () => {
  const { status, headers, text } = await send({ method: 'GET', path: '/sandbox.js' })
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': origin,
  })
  expect(text).toContain('eip6963:announceProvider')
  for (const { privateKey } of here.accounts.users) expect(text).not.toContain(privateKey.slice(2))
})

test('an API has no script, no controls and no wallet of a sandbox, and names none', async () => {
  const app = await openRoutes((routes) => routes.register(explorerRoutes, { sandboxUrl: null }))
  const page = await app.inject('/explorer')
  expect(page.statusCode).toBe(200)
  expect(`${page.body} ${page.headers['content-security-policy']}`).not.toMatch(/sandbox|127\.0\.0\.1/)
  for (const path of [
    '/sandbox.js',
    '/sandbox/sandbox.js',
    '/explorer/assets/sandbox.js',
    '/explorer/assets/..%2f..%2fsandbox%2fsandbox.js',
  ])
    expect([path, (await app.inject(path)).statusCode]).toEqual([path, 404])
  for (const url of ['/controls/state', '/rpc/8453', '/explorer/controls/state'])
    expect([url, (await app.inject({ method: 'POST', url, payload: {} })).statusCode]).toEqual([url, 404])
  // The image is built without the script.
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^RUN npm run build && rm -r dist\/sandbox$/m)
})
