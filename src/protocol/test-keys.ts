import { type Address, toHex } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'

/** The default mnemonic of anvil and hardhat nodes: its keys are publicly known. */
export const TEST_MNEMONIC = 'test test test test test test test test test test test junk'

/** Number of the mnemonic's accounts that own coins on such a node. */
export const TEST_ACCOUNTS = 20

/**
 * The accounts of such a node, by index. Deriving them takes more than 0.1 s, because the mnemonic's seed is stretched.
 */
export const testKeys = (): { readonly privateKey: `0x${string}`; readonly address: Address }[] => {
  const parent = mnemonicToAccount(TEST_MNEMONIC, { path: "m/44'/60'/0'/0" }).getHdKey()
  return Array.from({ length: TEST_ACCOUNTS }, (_, index) => {
    const key = parent.deriveChild(index).privateKey
    if (key === null) throw new Error(`account ${index} has no private key`)
    const privateKey = toHex(key)
    return { privateKey, address: privateKeyToAccount(privateKey).address }
  })
}
