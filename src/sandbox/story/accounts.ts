import type { Hex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testKeys } from '../../protocol/test-keys.ts'

export type Wallet = { readonly index: number; readonly account: PrivateKeyAccount; readonly privateKey: Hex }

/** The accounts of a sandbox chain by role; every key is publicly known. */
export type Accounts = {
  /** Account 0: protocol owner and oracle admin. */
  readonly owner: Wallet
  /** Accounts 1 to 3. */
  readonly oracles: readonly Wallet[]
  /** Accounts 4 to 9, for the person who runs the sandbox. The live activity does not use their nonces. */
  readonly users: readonly Wallet[]
  /** Accounts 10 to 15: the wallets of the live activity. */
  readonly extras: readonly Wallet[]
  /** Account 16: signs the pricing engine's quotes. */
  readonly engine: Wallet
}

const deriveAccounts = (): Accounts => {
  const keys = testKeys()
  const wallet = (index: number): Wallet => {
    const known = keys[index]
    if (known === undefined) throw new Error(`there is no account ${index}`)
    const { privateKey } = known
    return { index, account: privateKeyToAccount(privateKey), privateKey }
  }
  const range = (from: number, to: number): Wallet[] =>
    Array.from({ length: to - from + 1 }, (_, i) => wallet(from + i))
  return { owner: wallet(0), oracles: range(1, 3), users: range(4, 9), extras: range(10, 15), engine: wallet(16) }
}

let derived: Accounts | undefined

/** The accounts of anvil's default mnemonic, made once per process. */
export const createAccounts = (): Accounts => {
  derived ??= deriveAccounts()
  return derived
}
