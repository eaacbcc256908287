import { type Address, decodeEventLog, encodeFunctionData, type Hex, isHex, type TransactionReceipt } from 'viem'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { deployedLogsAbi, protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { revertOf } from '../../src/protocol/reverts/decode.ts'
import { receiptOf } from './receipt.ts'
import type { UsedProtocol } from './use-protocol.ts'

const logAbi = [...protocolAbi, ...deployedLogsAbi, ...erc20Abi]

type Request = NonNullable<Plan['steps'][number]['request']>

/** Signs and sends the requests of plans as they are. */
export const createPlanRunner = ({ client, accounts, url }: Pick<UsedProtocol, 'client' | 'accounts' | 'url'>) => {
  const wallets = [accounts.owner, ...accounts.oracles, ...accounts.users, ...accounts.extras]

  const send = async (request: Request, from: string): Promise<TransactionReceipt> => {
    const wallet = wallets.find(({ account }) => account.address === from)
    if (wallet === undefined) throw new Error(`no key of ${from}`)
    const serializedTransaction = await wallet.account.signTransaction({
      type: 'eip1559',
      chainId: Number(request.chainId),
      nonce: Number(request.nonce),
      to: request.to as Hex,
      data: request.data as Hex,
      value: BigInt(request.value),
      // A step that reverts in the plan has no gas limit.
      gas: BigInt(request.gas ?? 5_000_000),
      maxFeePerGas: BigInt(request.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(request.maxPriorityFeePerGas),
    })
    return receiptOf(client, await client.sendRawTransaction({ serializedTransaction }))
  }

  return {
    /** The receipts of a plan's requests in their order, with their logs by name and arguments. */
    async execute({ steps, from }: Pick<Plan, 'steps' | 'from'>) {
      const done = []
      for (const { id, request } of steps) {
        if (request === undefined) throw new Error(`step ${id} has no request`)
        const receipt = await send(request, from)
        const logs = receipt.logs.map(({ data, topics }) => {
          const { eventName, args } = decodeEventLog({ abi: logAbi, data, topics })
          return [eventName, args] as const
        })
        done.push({ id, request, receipt, logs })
      }
      return done
    },

    /** The code of the catalogue for why a transaction reverted; null for one that did not. */
    async revertOf({ status, transactionHash, blockNumber }: TransactionReceipt): Promise<string | null> {
      if (status === 'success') return null
      const [{ from, to, input, gas }, { timestamp }] = await Promise.all([
        client.getTransaction({ hash: transactionHash }),
        client.getBlock({ blockNumber }),
      ])
      const hex = (value: bigint) => `0x${value.toString(16)}`
      const params = [{ from, to, data: input, gas: hex(gas) }, hex(blockNumber - 1n), {}, { time: hex(timestamp) }]
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params }),
      })
      const { error } = (await response.json()) as { error?: { message: string; data?: unknown } }
      if (error === undefined) return 'nothing'
      return revertOf({ data: isHex(error.data) ? error.data : null, message: error.message }).code
    },

    encodeTransfer: (to: Address, amount: bigint): Hex =>
      encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] }),
  }
}
