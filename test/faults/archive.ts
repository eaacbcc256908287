import { setTimeout as sleep } from 'node:timers/promises'
import { encodeDeployData, encodeFunctionData, getAddress } from 'viem'
import { z } from 'zod'
import { artifact } from '../../src/sandbox/deploy.ts'
import { startAnvil } from '../../src/sandbox/parts/anvil.ts'
import { createAccounts } from '../../src/sandbox/story/accounts.ts'
import { createRpc, hex } from './rpc.ts'

/** Positions of the archive. */
export const ENTITIES = 100_000
const A_BLOCK = 500
const MINED_WITHIN_MS = 10_000

/** A node with a contract that knows very many positions without storing any. */
export const openArchive = async () => {
  const anvil = await startAnvil({ chainId: 8453 })
  const node = createRpc(anvil.url)
  const from = createAccounts().owner.account.address
  const { abi, bytecode } = artifact('Archive')
  const created = await node.send('eth_sendTransaction', [{ from, data: encodeDeployData({ abi, bytecode }) }])
  // The node returns the transaction hash before it has mined the transaction.
  const receiptOf = async (): Promise<unknown> => (await node.send('eth_getTransactionReceipt', [created])) ?? null
  let receipt = await receiptOf()
  for (const until = Date.now() + MINED_WITHIN_MS; receipt === null && Date.now() < until; await sleep(50))
    receipt = await receiptOf()
  const { contractAddress } = z.object({ contractAddress: z.string() }).parse(receipt)
  const diamond = getAddress(contractAddress)
  const deployBlock = await node.blockNumber()
  const data = encodeFunctionData({ abi, functionName: 'create', args: [BigInt(A_BLOCK)] })
  for (let made = 0; made < ENTITIES; made += A_BLOCK)
    await node.send('eth_sendTransaction', [{ from, to: diamond, data, gas: hex(10_000_000) }])
  return {
    anvil,
    rpcUrl: anvil.url,
    diamond,
    deployBlock,
    /** Replaces what the view returns for every position, with the log of an upgrade. */
    upgrade: () =>
      node.send('eth_sendTransaction', [
        { from, to: diamond, data: encodeFunctionData({ abi, functionName: 'upgrade' }) },
      ]),
  }
}
