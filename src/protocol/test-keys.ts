import { pbkdf2Sync } from 'node:crypto'
import { type Address, toHex } from 'viem'
import { HDKey, privateKeyToAccount } from 'viem/accounts'

/** The default mnemonic of anvil and hardhat nodes: its keys are publicly known. */
export const TEST_MNEMONIC = 'test test test test test test test test test test test junk'

/** Number of the mnemonic's accounts that own coins on such a node. */
export const TEST_ACCOUNTS = 20

/** The mnemonic's seed (BIP-39, without a passphrase). viem's function is not used: it takes 0.3 s. */
const testSeed = (): Uint8Array => pbkdf2Sync(TEST_MNEMONIC, 'mnemonic', 2_048, 64, 'sha512')

type TestKey = { readonly privateKey: `0x${string}`; readonly address: Address }

const deriveKeys = (): readonly TestKey[] => {
  const parent = HDKey.fromMasterSeed(testSeed()).derive("m/44'/60'/0'/0")
  return Array.from({ length: TEST_ACCOUNTS }, (_, index) => {
    const key = parent.deriveChild(index).privateKey
    if (key === null) throw new Error(`account ${index} has no private key`)
    const privateKey = toHex(key)
    return { privateKey, address: privateKeyToAccount(privateKey).address }
  })
}

let derived: readonly TestKey[] | undefined

/** The accounts of such a node, by index. They are derived once per process, which takes more than 0.1 s. */
export const testKeys = (): readonly TestKey[] => {
  derived ??= deriveKeys()
  return derived
}
