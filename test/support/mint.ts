import { type Address, createPublicClient, createWalletClient, http } from 'viem'
import type { LocalAccount } from 'viem/accounts'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { mined } from '../../src/sandbox/deploy.ts'

/** Mints test tokens to every recipient, `amount` token units each. */
export const mintTo = async (
  rpcUrl: string,
  account: LocalAccount,
  token: Address,
  recipients: readonly Address[],
  amount: bigint,
): Promise<void> => {
  const transport = http(rpcUrl)
  const wallet = createWalletClient({ account, transport })
  const node = createPublicClient({ transport })
  let nonce = await node.getTransactionCount({ address: account.address })
  const hashes = await Promise.all(
    recipients.map((to) =>
      wallet.writeContract({
        chain: null,
        address: token,
        abi: erc20Abi,
        functionName: 'mint',
        args: [to, amount],
        nonce: nonce++,
      }),
    ),
  )
  for (const hash of hashes) await mined(node, hash)
}
