import { chainText } from '../text/terms.ts'

/** What a wallet puts into a page (EIP-1193). */
export type Provider = {
  request(request: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
  on?(event: string, listener: (value: unknown) => void): unknown
  removeListener?(event: string, listener: (value: unknown) => void): unknown
}

/** A wallet of the browser. Its name and icon are what it claims. */
export type BrowserWallet = {
  /** Its name as a domain, by which it is remembered. */
  readonly rdns: string
  readonly name: string
  /** A `data:` URL of an image; null without a usable one. */
  readonly icon: string | null
  readonly provider: Provider
}

const MOST_ICON = 65_536
const MOST_NAME = 40

const iconOf = (icon: unknown): string | null =>
  typeof icon === 'string' && icon.length <= MOST_ICON && /^data:image\/[a-z0-9.+-]{1,40}[;,]/i.test(icon) ? icon : null

const providerOf = (provider: unknown): Provider | null =>
  typeof Object(provider).request === 'function' ? (provider as Provider) : null

/** A wallet from its announcement (EIP-6963); null for what announces none. */
export const announcedWallet = (detail: unknown): BrowserWallet | null => {
  const { info, provider: given } = Object(detail)
  const { rdns, name, icon } = Object(info)
  const provider = providerOf(given)
  if (provider === null || typeof rdns !== 'string' || !/^[\w.-]{1,100}$/.test(rdns)) return null
  return { rdns, name: chainText(typeof name === 'string' ? name : rdns, MOST_NAME), icon: iconOf(icon), provider }
}

/** The wallet of a browser that announces none: `window.ethereum`. */
export const legacyWallet = (ethereum: unknown): BrowserWallet | null => {
  const provider = providerOf(ethereum)
  return provider && { rdns: 'window.ethereum', name: 'Wallet of this browser', icon: null, provider }
}

/** The first account that a wallet returns; null when it returns none. */
export const accountOf = (accounts: unknown): `0x${string}` | null => {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof first === 'string' && /^0x[0-9a-fA-F]{40}$/.test(first) ? (first as `0x${string}`) : null
}

/** A chain id as wallets return it (`0x2105`); null for anything else. */
export const chainIdOf = (chainId: unknown): number | null => {
  const id = typeof chainId === 'string' || typeof chainId === 'number' ? Number(chainId) : Number.NaN
  return Number.isSafeInteger(id) && id > 0 ? id : null
}

/** The codes of an error and of those in it: wallets wrap those of their nodes. */
const codesOf = (error: unknown): readonly unknown[] => {
  const { code, data, cause } = Object(error)
  return [code, Object(Object(data).originalError).code, Object(cause).code]
}

const DECLINED = 4001
const ALREADY_OPEN = -32_002
const UNKNOWN_CHAIN = 4902

/** Whether a person declined a request in the wallet. */
export const isDeclined = (error: unknown): boolean => codesOf(error).includes(DECLINED)

/** Why a wallet did not do something, in words. */
export const refusalText = (error: unknown): string => {
  const codes = codesOf(error)
  if (isDeclined(error)) return 'The request was declined in the wallet.'
  if (codes.includes(ALREADY_OPEN)) return 'The wallet already shows a request: open it and answer there.'
  const { message } = Object(error)
  return typeof message === 'string' ? chainText(message.split('\n')[0] ?? '', 200) : 'The wallet gave no reason.'
}

type NewChain = {
  readonly chainId: number
  readonly name: string
  readonly symbol: string
  readonly rpcUrl: string
}

/** Switches a wallet to a chain, and adds the chain to a wallet that does not know it. Rejects as the wallet does. */
export const switchChain = async (provider: Provider, { chainId, name, symbol, rpcUrl }: NewChain): Promise<void> => {
  const current = chainIdOf(await provider.request({ method: 'eth_chainId' }))
  if (current === chainId) return
  const id = `0x${chainId.toString(16)}`
  const change = () => provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: id }] })
  try {
    await change()
  } catch (error) {
    if (!codesOf(error).includes(UNKNOWN_CHAIN)) throw error
    const nativeCurrency = { name: symbol, symbol, decimals: 18 }
    const chain = { chainId: id, chainName: name, nativeCurrency, rpcUrls: [rpcUrl] }
    await provider.request({ method: 'wallet_addEthereumChain', params: [chain] })
    // Not every wallet switches to a chain that it adds.
    await change()
  }
}
