import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestClient, encodeDeployData, encodeFunctionData, http, publicActions, walletActions } from 'viem'
import { z } from 'zod'
import { artifact } from '../../src/sandbox/deploy.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'

/** A history of positions: `logsABlock` in a block, then `gap` empty blocks. */
type History = { readonly logs: number; readonly logsABlock: number; readonly gap: number }

/**
 * Seconds between the history and the chain's head. A backfill rarely covers the last minutes, where each block's
 * header is read.
 */
const LATER = 3_600

/** Mines a history; returns the address of its contract, and its first and last block. */
export const mineHistory = async (url: string, { logs, logsABlock, gap }: History) => {
  const node = createTestClient({ mode: 'anvil', transport: http(url, { timeout: 60_000 }) })
    .extend(publicActions)
    .extend(walletActions)
  const { abi, bytecode } = artifact('Archive')
  const { account } = createAccounts().owner
  const hash = await node.sendTransaction({ account, chain: null, data: encodeDeployData({ abi, bytecode }) })
  const { contractAddress, blockNumber } = await node.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  if (!contractAddress) throw new Error('the archive was not created')
  const data = encodeFunctionData({ abi, functionName: 'create', args: [BigInt(logsABlock)] })
  await node.setAutomine(false)
  for (let made = 0; made < logs; made += logsABlock) {
    // Unsigned, because a signature costs this process more than the logs cost the node.
    await node.sendUnsignedTransaction({ from: account.address, to: contractAddress, data, gas: 10_000_000n })
    await node.mine({ blocks: 1 + gap })
    if (made % 10_000 === 0) process.stderr.write(`\rbuilding a chain of ${logs} logs: ${made}`)
  }
  process.stderr.write('\n')
  await node.increaseTime({ seconds: LATER })
  await node.mine({ blocks: 1 })
  const count = await node.readContract({ address: contractAddress, abi, functionName: 'count' })
  if (count !== BigInt(logs)) throw new Error(`${count} logs were emitted and not ${logs}`)
  return {
    diamond: contractAddress,
    startBlock: Number(blockNumber),
    head: Number(await node.getBlockNumber({ cacheTime: 0 })),
  }
}

const Range = z.object({ fromBlock: z.string(), toBlock: z.string() })
const Batch = z.array(z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) }))

/** The errors of a batch that requests the logs of more than `width` blocks; null for any other batch. */
const refusals = (body: string, width: number) => {
  const asked = Batch.parse(JSON.parse(body))
  const isTooWide = asked.some(({ method, params }) => {
    if (method !== 'eth_getLogs') return false
    const { fromBlock, toBlock } = Range.parse(params[0])
    return toBlock.startsWith('0x') && Number(toBlock) - Number(fromBlock) >= width
  })
  const error = { code: -32_602, message: `block range is limited to ${width}` }
  return isTooWide ? JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, error }))) : null
}

/** The node behind a proxy that delays each answer and serves the logs of at most `width` blocks at once. */
export const behindLatency = async (target: string, ms: number, width: number) => {
  const server = createServer(async (asked, answer) => {
    const body = (await asked.toArray()).join('')
    await sleep(ms)
    const refused = refusals(body, width)
    if (refused !== null) return answer.end(refused)
    const relayed = request(target, { method: 'POST', headers: asked.headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    relayed.on('error', () => answer.destroy()).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = z.object({ port: z.number() }).parse(server.address())
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}
