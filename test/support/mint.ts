import { type Address, createWalletClient, http } from 'viem'
import type { LocalAccount } from 'viem/accounts'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'

/** Mints test tokens to every recipient, `amount` token units each. */
export const mintTo = async (
  rpcUrl: string,
  account: LocalAccount,
  token: Address,
  recipients: readonly Address[],
  amount: bigint,
): Promise<void> => {
  const wallet = createWalletClient({ account, transport: http(rpcUrl) })
  const mint = { chain: null, address: token, abi: erc20Abi, functionName: 'mint', throwOnReceiptRevert: true } as const
  for (const to of recipients) await wallet.writeContractSync({ ...mint, args: [to, amount] })
}
