import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { revertOf, type UsedProtocol, type WriteArgs, type WriteName } from './use-protocol.ts'

/** In the order of the contract's own. */
export const manners = ['honest', 'takesFee', 'saysNo', 'saysNothing', 'callsBack'] as const

export type Manner = (typeof manners)[number]

const abi = parseAbi([
  'function behave(uint8 manner, address target, bytes data)',
  'function answer() view returns (bytes)',
])

/**
 * A payment token with 18 decimals that misbehaves on every transfer after `behave`.
 *
 * @example
 * const hostile = await deployHostileToken(protocol)
 * await hostile.behave('callsBack', 'claimPayout', [1n])
 */
export const deployHostileToken = async ({ deploy, transact, client, owner, diamond }: UsedProtocol) => {
  const token: Address = await deploy('HostileToken')
  return {
    token,
    /** Sets the behaviour. `callsBack` calls this function of the protocol from inside each transfer. */
    behave<N extends WriteName>(manner: Manner, ...back: [] | [name: N, args: WriteArgs<N>]) {
      const [functionName, args] = back
      const data = functionName ? encodeFunctionData({ abi: protocolAbi, functionName, args } as never) : '0x'
      const given = [manners.indexOf(manner), diamond, data] as const
      return transact(owner, token, encodeFunctionData({ abi, functionName: 'behave', args: given }))
    },
    /** The revert reason of the last call back; `no reason` if it did not revert. */
    answer: async (): Promise<string> =>
      revertOf(await client.readContract({ address: token, abi, functionName: 'answer' })),
  }
}
