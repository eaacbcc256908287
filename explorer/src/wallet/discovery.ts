import { createStore } from '../api/store.ts'
import { announcedWallet, type BrowserWallet, legacyWallet } from './provider.ts'

/** The most wallets that a page lists. */
const MOST = 20

/** The wallets that were announced, in their order. */
const announced = createStore<readonly BrowserWallet[]>([])

export const announcedWallets = announced

/** The wallets of the browser: those that were announced, or `window.ethereum`. */
export const walletsOf = (known: readonly BrowserWallet[]): readonly BrowserWallet[] => {
  if (known.length > 0) return known
  const legacy = legacyWallet(Reflect.get(globalThis, 'ethereum'))
  return legacy === null ? [] : [legacy]
}

/** Asks the wallets of the browser to announce themselves (EIP-6963), and lists those that do, also later. */
export const discoverWallets = (): (() => void) => {
  const listen = (event: Event): void => {
    const wallet = announcedWallet((event as CustomEvent).detail)
    const known = announced.get()
    // The first one with a name keeps it.
    if (wallet === null || known.length >= MOST || known.some(({ rdns }) => rdns === wallet.rdns)) return
    announced.set([...known, wallet])
  }
  addEventListener('eip6963:announceProvider', listen)
  dispatchEvent(new Event('eip6963:requestProvider'))
  return () => removeEventListener('eip6963:announceProvider', listen)
}
