import { type Hex, toHex } from 'viem'
import { mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { ANVIL_MNEMONIC } from './anvil.ts'

export type Wallet = { readonly index: number; readonly account: PrivateKeyAccount; readonly privateKey: Hex }

/** The cast of a sandbox chain; every key is public knowledge. */
export type Cast = {
  /** Account 0: protocol owner and oracle admin. */
  readonly owner: Wallet
  /** Accounts 1 to 3. */
  readonly oracles: readonly Wallet[]
  /** Accounts 4 to 9: yours; the live activity leaves their nonces alone. */
  readonly users: readonly Wallet[]
  /** Accounts 10 to 15: the wallets of the live activity. */
  readonly extras: readonly Wallet[]
  /** Account 16: signs the pricing engine's quotes. */
  readonly engine: Wallet
}

/** Derives the accounts of anvil's default mnemonic; the key stretching is done once for all of them. */
export const createCast = (): Cast => {
  const parent = mnemonicToAccount(ANVIL_MNEMONIC, { path: "m/44'/60'/0'/0" }).getHdKey()
  const wallet = (index: number): Wallet => {
    const key = parent.deriveChild(index).privateKey
    if (key === null) throw new Error(`account ${index} has no private key`)
    const privateKey = toHex(key)
    return { index, account: privateKeyToAccount(privateKey), privateKey }
  }
  const range = (from: number, to: number): Wallet[] =>
    Array.from({ length: to - from + 1 }, (_, i) => wallet(from + i))
  return { owner: wallet(0), oracles: range(1, 3), users: range(4, 9), extras: range(10, 15), engine: wallet(16) }
}
