import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createRpc } from '../faults/rpc.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { eventually } from '../support/process.ts'
import { receiptOf } from '../support/receipt.ts'

let anvil: Awaited<ReturnType<typeof startAnvil>>
let proxy: Awaited<ReturnType<typeof startNodeProxy>>

beforeAll(async () => {
  anvil = await startAnvil({ chainId: 8453 })
  proxy = await startNodeProxy(anvil.url)
})
afterAll(async () => {
  await proxy?.close()
  await anvil?.close()
})

test('a receipt is found even if its block is the last one and arrives between two polls', async () => {
  const node = createRpc(anvil.url)
  const [from, to] = createAccounts().users.map(({ account }) => account.address)
  await node.send('evm_setAutomine', [false])
  const hash = await node.send('eth_sendTransaction', [{ from, to, value: '0x1' }])
  let polls = 0
  let headers = 0
  proxy.alter((method, result) => {
    if (method === 'eth_getTransactionReceipt') polls += 1
    // A wait that first reads the previous header, to detect a replaced transaction, is still busy when the block
    // arrives.
    return method === 'eth_getBlockByNumber' && ++headers <= 3 ? null : result
  })
  const client = createPublicClient({ transport: http(proxy.url, { batch: true }), pollingInterval: 50 })
  const receipt = receiptOf(client, `0x${String(hash).slice(2)}`)
  await eventually('it has polled twice', () => polls >= 2)
  await node.send('evm_mine')
  expect(await receipt).toMatchObject({ status: 'success', blockNumber: 1n, transactionHash: hash })
})
