import { useEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useChains } from '../api/chains.ts'
import { createStore, useStore } from '../api/store.ts'
import { Copy } from '../parts/copy.tsx'
import { useDismiss } from '../parts/dismiss.ts'
import { announcedWallets, walletsOf } from './discovery.ts'
import type { BrowserWallet } from './provider.ts'
import { type Connected, connect, disconnect, startWallets, useSession } from './session.ts'

const Icon = ({ icon }: { readonly icon: string | null }) =>
  icon === null ? <span class="wallet-icon" aria-hidden="true" /> : <img class="wallet-icon" src={icon} alt="" />

const Choices = () => {
  const wallets = walletsOf(useStore(announcedWallets))
  const session = useSession()
  const isConnecting = session.state === 'connecting'
  return (
    <>
      {session.state === 'none' && session.problem && (
        <p class="problem" role="alert">
          {session.problem}
        </p>
      )}
      {wallets.length === 0 && (
        <p class="muted">
          This browser announces no wallet. Install a wallet extension and load the page again. Without one, every
          action can be simulated.
        </p>
      )}
      {wallets.map((wallet: BrowserWallet) => (
        <button key={wallet.rdns} type="button" class="plain" onClick={() => void connect(wallet)}>
          <Icon icon={wallet.icon} /> <span>{wallet.name}</span>
          {isConnecting && session.wallet.rdns === wallet.rdns && <small>answer in the wallet…</small>}
        </button>
      ))}
    </>
  )
}

const Account = ({ session: { wallet, account, chainId } }: { readonly session: Connected }) => {
  const name = useChains().find((chain) => chain.chainId === chainId)?.name
  return (
    <>
      <p>
        <Icon icon={wallet.icon} /> {wallet.name} <small>on {name ?? `chain ${chainId ?? 'unknown'}`}</small>
      </p>
      <p class="hash">{account}</p>
      <div class="actions">
        <Link href={`/wallet/${account}`} class="button plain">
          Holdings
        </Link>
        <Copy text={account} label="Copy address" />
        <button type="button" class="small plain" onClick={disconnect}>
          Disconnect
        </button>
      </div>
    </>
  )
}

const menu = createStore(false)

/** Shows the wallets to choose from. */
export const chooseWallet = (): void => {
  menu.set(true)
  scrollTo(0, 0)
}

const short = (account: string): string => `${account.slice(0, 6)}…${account.slice(-4)}`

/** Connects a wallet, and shows which one is connected. */
export const WalletButton = () => {
  const open = useStore(menu)
  const place = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const session = useSession()
  const { state } = session
  useEffect(startWallets, [])
  useEffect(() => menu.set(false), [state === 'connected'])
  useDismiss(
    open,
    () => menu.set(false),
    button,
    (target) => place.current?.contains(target) === true,
  )
  return (
    <div class="wallet" ref={place}>
      <button
        ref={button}
        type="button"
        class={state === 'connected' ? 'plain' : ''}
        aria-expanded={open}
        aria-controls="wallet-menu"
        aria-label={state === 'connected' ? `Wallet ${short(session.account)}` : 'Connect a wallet'}
        onClick={() => menu.set(!open)}
      >
        {session.state === 'connected' ? (
          <>
            <Icon icon={session.wallet.icon} />
            <span class="hash">{short(session.account)}</span>
          </>
        ) : (
          'Connect'
        )}
      </button>
      {open && (
        <section id="wallet-menu" class="wallet-menu" aria-label="Wallet">
          {session.state === 'connected' ? <Account session={session} /> : <Choices />}
        </section>
      )}
    </div>
  )
}
