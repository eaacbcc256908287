import {
  type ContractFunctionArgs,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Wallet } from '../../src/sandbox/accounts.ts'
import { receiptOf } from '../../src/sandbox/receipt.ts'
import type { World } from './indexing.ts'

const REPLACE = 1
const TIMELOCK_SECONDS = 48 * 3_600

type Abi = typeof protocolAbi
type Write = Extract<Abi[number], { type: 'function'; stateMutability: 'nonpayable' }>['name']

/** Code that answers every call with one number below 65,536: PUSH2, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN; what goes before returns it. */
const answering = (value: number): Hex => `0x6861${value.toString(16).padStart(4, '0')}5f5260205ff35f5260096017f3`

/** Calls of the protocol that `createActions` has no name for: those of its owner above all. Each resolves when its receipt says success. */
export const ownerCalls = ({ actions: { client, node, chain }, owner, deployment: { diamond, profile } }: World) => {
  const send = async ({ account }: Wallet, to: Hex | null, data: Hex) => {
    const wallet = createWalletClient({ account, transport: http(chain.rpcUrl) })
    const hash = await wallet.sendTransaction({ chain: null, to, data })
    const receipt = await receiptOf(client, hash)
    if (receipt.status !== 'success') throw new Error(`${hash} reverted`)
    return receipt
  }
  const write = <N extends Write>(functionName: N, args: ContractFunctionArgs<Abi, 'nonpayable', N>, by = owner) =>
    // The arguments are those of the function, which the union of all functions hides from the compiler.
    send(by, diamond, encodeFunctionData({ abi: protocolAbi, functionName, args } as never))

  return {
    write,
    /**
     * Replaces one view of the diamond by code that returns `value` for every call, as an upgrade does: through the timelock where the
     * deployment has one.
     *
     * @example await ownerCalls(world).replaceView('pendingPremiums(uint256)', 777)
     */
    async replaceView(view: string, value: number): Promise<void> {
      const { contractAddress } = await send(owner, null, answering(value))
      if (contractAddress == null) throw new Error('no contract was created')
      const cut = { facetAddress: contractAddress, action: REPLACE, functionSelectors: [toFunctionSelector(view)] }
      await write('diamondCut', [[cut], zeroAddress, '0x'])
      if (profile === 'deployed') return
      const read = { address: diamond, abi: protocolAbi, functionName: 'getPendingCutIds' } as const
      const [proposal] = await client.readContract(read)
      if (proposal === undefined) throw new Error('no proposal is queued')
      await node.increaseTime({ seconds: TIMELOCK_SECONDS })
      await node.mine({ blocks: 1 })
      await write('executeCut', [proposal])
    },
  }
}
