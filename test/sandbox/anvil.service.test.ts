import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, createTestClient, createWalletClient, http } from 'viem'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { type AnvilOptions, startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { isAlive } from '../support/process.ts'
import { ranMs } from '../support/stopwatch.ts'

const dir = mkdtempSync(join(tmpdir(), 'fx-anvil-test-'))
afterAll(() => rmSync(dir, { recursive: true }))
afterEach(() => vi.unstubAllEnvs())

const open: (() => Promise<void>)[] = []
afterAll(() => Promise.all(open.map((close) => close())))

const start = async (options: AnvilOptions) => {
  const node = await startAnvil(options)
  open.push(node.close)
  return { ...node, client: createPublicClient({ transport: http(node.url), pollingInterval: 50 }) }
}

test('a node has the requested chain id and genesis time, and leaves neither a process nor files behind', async () => {
  const genesisTimestamp = Math.floor(Date.now() / 1000) - 90 * 86_400
  vi.stubEnv('TMPDIR', dir)
  const node = await start({ chainId: 56, genesisTimestamp })
  expect(await node.client.getChainId()).toBe(56)
  expect((await node.client.getBlock()).timestamp).toBe(BigInt(genesisTimestamp))
  expect(readdirSync(dir)).toHaveLength(1)
  await node.close()
  expect(isAlive(node.pid)).toBe(false)
  await expect.poll(() => readdirSync(dir)).toEqual([])
})

test('a port in use is an error that names the variable and the remedy', async () => {
  const first = await start({ chainId: 8453 })
  const port = Number(new URL(first.url).port)
  await expect(startAnvil({ chainId: 56, port, portVariable: 'SANDBOX_RPC_PORT_56' })).rejects.toThrow(
    `port ${port} is taken: stop the program that listens on it, or choose another port with SANDBOX_RPC_PORT_56=<port>`,
  )
  expect(await first.client.getChainId()).toBe(8453)
})

test('with a block time, blocks are mined periodically and transactions still immediately', async () => {
  const node = await start({ chainId: 8453, blockTime: 1 })
  const wallet = createWalletClient({
    account: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    transport: http(node.url),
  })
  const minedAfter = async (): Promise<number> => {
    const started = ranMs()
    const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const hash = await wallet.sendTransaction({ chain: null, to, value: 1n })
    await node.client.waitForTransactionReceipt({ hash })
    return ranMs() - started
  }
  // On a busy machine, one may take as long as a block.
  await expect.poll(minedAfter).toBeLessThan(500)
  const mined = await node.client.getBlockNumber({ cacheTime: 0 })
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(await node.client.getBlockNumber({ cacheTime: 0 })).toBeGreaterThanOrEqual(mined + 2n)
})

test('a node resumed from a state file has the same blocks and continues in the present', async () => {
  const stateFile = join(dir, 'state.json')
  const genesisTimestamp = Math.floor(Date.now() / 1000) - 1_000_000
  const first = await start({ chainId: 56, stateFile, genesisTimestamp })
  await createTestClient({ mode: 'anvil', transport: http(first.url) }).mine({ blocks: 3 })
  const hash = (await first.client.getBlock({ blockNumber: 2n })).hash
  await first.close()
  expect(existsSync(`${stateFile}.part`)).toBe(false)

  const second = await start({ chainId: 56, stateFile })
  expect((await second.client.getBlock({ blockNumber: 2n })).hash).toBe(hash)
  expect(await second.client.getBlockNumber()).toBe(3n)
  await createTestClient({ mode: 'anvil', transport: http(second.url) }).mine({ blocks: 1 })
  expect(Math.abs(Number((await second.client.getBlock()).timestamp) - Date.now() / 1000)).toBeLessThan(5)
})

test('a chain whose time was ahead of the clock does not go back when it is resumed', async () => {
  const stateFile = join(dir, 'ahead.json')
  const first = await start({ chainId: 56, stateFile })
  const ahead = createTestClient({ mode: 'anvil', transport: http(first.url) })
  await ahead.increaseTime({ seconds: 30 * 86_400 })
  await ahead.mine({ blocks: 2 })
  const saved = await first.client.getBlock()
  await first.close()

  const second = await start({ chainId: 56, stateFile })
  await createTestClient({ mode: 'anvil', transport: http(second.url) }).mine({ blocks: 1 })
  const next = await second.client.getBlock()
  expect([next.number, next.parentHash]).toEqual([saved.number + 1n, saved.hash])
  expect(Number(next.timestamp - saved.timestamp)).toSatisfy((seconds: number) => seconds > 0 && seconds < 60)
})
