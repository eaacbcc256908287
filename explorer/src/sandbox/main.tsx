import { render } from 'preact'
import { announce } from './announce.ts'
import { setAhead } from './clock.ts'
import { callNode, readState } from './controls.ts'
import { eventOf } from './page-event.ts'
import styles from './panel.css'
import { Panel } from './panel.tsx'
import { saved } from './saved.ts'
import { createWallet } from './wallet.ts'

/** A place in the page with styles of its own. */
const mount = (): HTMLElement => {
  const place = document.createElement('div')
  place.id = 'sandbox'
  document.body.append(place)
  const root = place.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(styles)
  root.adoptedStyleSheets = [sheet]
  const inner = document.createElement('div')
  root.append(inner)
  return inner
}

const start = async (): Promise<void> => {
  const { chains, accounts, aheadSeconds } = await readState()
  setAhead(aheadSeconds)
  const [firstChain, firstAccount] = [chains[0], accounts[0]]
  if (firstChain === undefined || firstAccount === undefined) return
  const account = accounts.find(({ address }) => address === saved.read('account')) ?? firstAccount
  const page = eventOf(`${location.pathname}${location.search}`)
  const chain = chains.find(({ chainId }) => chainId === page?.chainId) ?? firstChain
  const chainIds = chains.map(({ chainId }) => chainId)
  const wallet = createWallet({ account: account.address, chainId: chain.chainId }, chainIds, callNode)
  announce(wallet)
  render(<Panel wallet={wallet} chains={chains} accounts={accounts} first={account.address} />, mount())
}

await start()
