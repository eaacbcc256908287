import { createStore, useStore } from '../api/store.ts'
import { announcedWallets, discoverWallets, walletsOf } from './discovery.ts'
import { accountOf, type BrowserWallet, chainIdOf, refusalText } from './provider.ts'

export type Connected = {
  readonly state: 'connected'
  readonly wallet: BrowserWallet
  readonly account: `0x${string}`
  /** The chain of the wallet; null when it does not return one. */
  readonly chainId: number | null
}

export type Session =
  | { readonly state: 'none'; readonly problem?: string }
  | { readonly state: 'connecting'; readonly wallet: BrowserWallet }
  | Connected

const session = createStore<Session>({ state: 'none' })

/** The wallet of the page. */
export const useSession = (): Session => useStore(session)

/** Where the name of the last wallet is kept. Browsers can refuse to keep anything. */
const REMEMBERED = 'fx-wallet'

const remembered = (): string | null => {
  try {
    return localStorage.getItem(REMEMBERED)
  } catch {
    return null
  }
}

const remember = (rdns: string | null): void => {
  try {
    if (rdns === null) localStorage.removeItem(REMEMBERED)
    else localStorage.setItem(REMEMBERED, rdns)
  } catch {}
}

/** What the page listens to of the wallet. */
let unfollow = (): void => {}
/** The number of the latest connection: an earlier one that is answered late is ignored. */
let latest = 0

const end = (problem?: string): void => {
  latest += 1
  unfollow()
  unfollow = () => {}
  session.set({ state: 'none', ...(problem !== undefined && { problem }) })
}

/** Forgets the wallet. The wallet itself may go on listing this page as connected. */
export const disconnect = (): void => {
  remember(null)
  end()
}

const follow = ({ provider }: BrowserWallet): void => {
  const change = (changed: Partial<Connected>): void => {
    const current = session.get()
    if (current.state === 'connected') session.set({ ...current, ...changed })
  }
  const listeners: Readonly<Record<string, (value: unknown) => void>> = {
    accountsChanged: (accounts) => {
      const account = accountOf(accounts)
      if (account === null) end()
      else change({ account })
    },
    chainChanged: (chainId) => change({ chainId: chainIdOf(chainId) }),
  }
  for (const [event, listener] of Object.entries(listeners)) provider.on?.(event, listener)
  unfollow = () => {
    for (const [event, listener] of Object.entries(listeners)) provider.removeListener?.(event, listener)
  }
}

const open = async (wallet: BrowserWallet, method: 'eth_requestAccounts' | 'eth_accounts'): Promise<void> => {
  end()
  const mine = latest
  const isQuiet = method === 'eth_accounts'
  if (!isQuiet) session.set({ state: 'connecting', wallet })
  try {
    const account = accountOf(await wallet.provider.request({ method }))
    const chainId = chainIdOf(await wallet.provider.request({ method: 'eth_chainId' }))
    if (mine !== latest) return
    if (account === null) return end(isQuiet ? undefined : 'The wallet gave no account.')
    follow(wallet)
    remember(wallet.rdns)
    session.set({ state: 'connected', wallet, account, chainId })
    // Needed to send something: it is there when a person has filled in a form.
    void import('./viem.ts').catch(() => {})
  } catch (error) {
    if (mine === latest) end(isQuiet ? undefined : refusalText(error))
  }
}

/** Asks a person for an account of a wallet. */
export const connect = (wallet: BrowserWallet): Promise<void> => open(wallet, 'eth_requestAccounts')

/** Finds wallets, and connects the one that was used last if it still lists this page: it asks no person. */
export const startWallets = (): (() => void) => {
  let isTried = false
  const reconnect = (): void => {
    const wallet = walletsOf(announcedWallets.get()).find(({ rdns }) => rdns === remembered())
    if (isTried || wallet === undefined || session.get().state !== 'none') return
    isTried = true
    void open(wallet, 'eth_accounts')
  }
  const unsubscribe = announcedWallets.subscribe(reconnect)
  const stop = discoverWallets()
  reconnect()
  return () => {
    unsubscribe()
    stop()
  }
}
