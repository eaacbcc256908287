import {
  type ContractFunctionArgs,
  concat,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  size,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Wallet } from '../../src/sandbox/story/accounts.ts'
import type { World } from './indexing.ts'

const REPLACE = 1
const TIMELOCK_SECONDS = 48 * 3_600

type Abi = typeof protocolAbi
type Write = Extract<Abi[number], { type: 'function'; stateMutability: 'nonpayable' }>['name']

/**
 * Code that returns what follows it: PUSH2 length, PUSH1 `at` (where that is), PUSH0, CODECOPY, PUSH2 length, PUSH0,
 * RETURN.
 */
const returning = (data: Hex, at = 12): Hex => {
  const length = size(data).toString(16).padStart(4, '0')
  return concat([`0x61${length}60${at.toString(16).padStart(2, '0')}5f3961${length}5ff3`, data])
}

/** Code that reverts for an id above `lastId`: it jumps over a REVERT where its first argument is not greater. */
const answering = (data: Hex, lastId: number): Hex =>
  concat([`0x60043560${lastId.toString(16).padStart(2, '0')}1015600d575f5ffd5b`, returning(data, 26)])

/**
 * Calls of the protocol that `createActions` has no name for: those of its owner above all. Each resolves when its
 * receipt reports success.
 */
export const ownerCalls = ({
  actions: { client, node, chain },
  owner,
  deployment: { diamond, profile },
}: Pick<World, 'actions' | 'owner' | 'deployment'>) => {
  const send = ({ account }: Wallet, to: Hex | null, data: Hex) =>
    createWalletClient({ account, transport: http(chain.rpcUrl) }).sendTransactionSync({
      chain: null,
      to,
      data,
      throwOnReceiptRevert: true,
    })
  const write = <N extends Write>(functionName: N, args: ContractFunctionArgs<Abi, 'nonpayable', N>, by = owner) =>
    // The arguments are those of the function, which the union of all functions hides from the compiler.
    send(by, diamond, encodeFunctionData({ abi: protocolAbi, functionName, args } as never))

  return {
    write,
    /**
     * Replaces one view of the diamond by code that returns `data` for the ids up to `lastId` (at most 255), as an
     * upgrade does: through the timelock where the deployment has one.
     *
     * @example await ownerCalls(world).replaceView('pendingPremiums(uint256)', toHex(777n, { size: 32 }))
     */
    async replaceView(view: string, data: Hex, lastId = 255): Promise<void> {
      // The code that returns the new code is its constructor.
      const { contractAddress } = await send(owner, null, returning(answering(data, lastId)))
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
