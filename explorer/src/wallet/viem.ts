import type { Wallet } from 'fx-protection-client'
import { createWalletClient, custom } from 'viem'
import type { Provider } from './provider.ts'

/** A wallet as plans are executed with it. */
export const walletClientOf = (provider: Provider, account: `0x${string}`): Wallet =>
  createWalletClient({ account, transport: custom(provider) })
