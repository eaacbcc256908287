import type { Wallet } from './wallet.ts'

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b57b7"/><path d="M8 12h16v11H8zM8 12l11-4v4" fill="none" stroke="#fff" stroke-width="2.5"/></svg>',
)}`

/** Announces the wallet to the page, as EIP-6963 has it: now, and whenever the page looks for wallets. */
export const announce = ({ provider }: Wallet): void => {
  const info = { uuid: crypto.randomUUID(), name: 'Sandbox wallet', icon: ICON, rdns: 'localhost.sandbox' }
  const detail = Object.freeze({ info: Object.freeze(info), provider })
  const send = (): void => {
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  }
  addEventListener('eip6963:requestProvider', send)
  send()
}
