import { QueryClient, QueryClientProvider } from '@tanstack/preact-query'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { Route, Router, Switch, useLocation } from 'wouter-preact'
import { guardLeaving } from './act/execution.ts'
import { explorerPath } from './base.ts'
import { ActPage } from './pages/act.tsx'
import { ActionPage } from './pages/action.tsx'
import { DepositPage } from './pages/deposit.tsx'
import { EventPage } from './pages/event.tsx'
import { EventsPage } from './pages/events.tsx'
import { HomePage } from './pages/home.tsx'
import { NotFoundPage } from './pages/not-found.tsx'
import { PositionPage } from './pages/position.tsx'
import { QuotePage } from './pages/quote.tsx'
import { StatusPage } from './pages/status.tsx'
import { TransactionPage } from './pages/transaction.tsx'
import { WalletPage } from './pages/wallet.tsx'
import { Layout } from './parts/layout.tsx'
import { isId } from './text/input.ts'
import { WalletButton } from './wallet/wallet-button.tsx'

// The client repeats what can be repeated. Without a network, a read fails instead of waiting for one.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 2_000, networkMode: 'always' } },
})

/** Goes to the top of a page that was opened. */
const useTop = (): void => {
  const [path] = useLocation()
  useEffect(() => scrollTo(0, 0), [path])
}

type Ids = { readonly chainId: string; readonly id: string }

/** A page of a record by its chain and its id, with a state of its own for each record. */
const ofRecord =
  (Page: ComponentType<Ids>) =>
  ({ chainId, id }: Ids) =>
    isId(chainId) && isId(id) ? <Page key={`${chainId} ${id}`} chainId={chainId} id={id} /> : <NotFoundPage />

const Pages = () => {
  useTop()
  return (
    <Layout account={<WalletButton />}>
      <Switch>
        <Route path="/" component={HomePage} />
        <Route path="/events" component={EventsPage} />
        <Route path="/event/:chainId/:id">{ofRecord(EventPage)}</Route>
        <Route path="/status" component={StatusPage} />
        <Route path="/wallet/:address">{(params) => <WalletPage {...params} />}</Route>
        <Route path="/position/:chainId/:id">{ofRecord(PositionPage)}</Route>
        <Route path="/deposit/:chainId/:id">{ofRecord(DepositPage)}</Route>
        <Route path="/tx/:chainId/:hash">{(params) => <TransactionPage {...params} />}</Route>
        <Route path="/quote" component={QuotePage} />
        <Route path="/act" component={ActPage} />
        <Route path="/act/:action">{(params) => <ActionPage {...params} />}</Route>
        <Route component={NotFoundPage} />
      </Switch>
    </Layout>
  )
}

export const App = () => (
  <QueryClientProvider client={queries}>
    <Router base={explorerPath} aroundNav={guardLeaving}>
      <Pages />
    </Router>
  </QueryClientProvider>
)
