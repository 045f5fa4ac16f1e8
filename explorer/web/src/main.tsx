import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { NotFound } from './api.ts'
import { Frame } from './pages/Frame.tsx'
import { Home } from './pages/Home.tsx'
import { Note } from './parts/Card.tsx'
import { PLAIN_SEARCH } from './parts/listPlace.ts'
import './style.css'

/** Failures of the network are tried again; what the explorer refuses is not. */
const MAX_RETRIES = 2

const client = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 1_000, retry: (count, error) => !(error instanceof NotFound) && count < MAX_RETRIES },
  },
})

const root = createRootRoute({ component: Frame, notFoundComponent: () => <Note>This page does not exist.</Note> })
const page = <const P extends string>(
  path: P,
  component: ReturnType<typeof lazyRouteComponent> | (() => React.ReactNode),
) => createRoute({ getParentRoute: () => root, path, component })

const routeTree = root.addChildren([
  page('/', Home),
  page(
    '/blocks',
    lazyRouteComponent(() => import('./pages/Lists.tsx'), 'Blocks'),
  ),
  page(
    '/transactions',
    lazyRouteComponent(() => import('./pages/Lists.tsx'), 'Transactions'),
  ),
  page(
    '/block/$id',
    lazyRouteComponent(() => import('./pages/BlockPage.tsx'), 'BlockPage'),
  ),
  page(
    '/tx/$hash',
    lazyRouteComponent(() => import('./pages/TransactionPage.tsx'), 'TransactionPage'),
  ),
  page(
    '/tokens',
    lazyRouteComponent(() => import('./pages/TokenPages.tsx'), 'Tokens'),
  ),
  page(
    '/token/$address',
    lazyRouteComponent(() => import('./pages/TokenPages.tsx'), 'TokenPage'),
  ),
  page(
    '/contracts',
    lazyRouteComponent(() => import('./pages/Lists.tsx'), 'Contracts'),
  ),
  page(
    '/address/$address',
    lazyRouteComponent(() => import('./pages/AddressPage.tsx'), 'AddressPage'),
  ),
  page(
    '/validators',
    lazyRouteComponent(() => import('./pages/Validators.tsx'), 'Validators'),
  ),
  page(
    '/validator/$id',
    lazyRouteComponent(() => import('./pages/Validators.tsx'), 'ValidatorPage'),
  ),
  page(
    '/governance',
    lazyRouteComponent(() => import('./pages/Governance.tsx'), 'Proposals'),
  ),
  page(
    '/proposal/$id',
    lazyRouteComponent(() => import('./pages/Governance.tsx'), 'ProposalPage'),
  ),
  page(
    '/mempool',
    lazyRouteComponent(() => import('./pages/MempoolPage.tsx'), 'MempoolPage'),
  ),
  page(
    '/statistics',
    lazyRouteComponent(() => import('./pages/StatisticsPage.tsx'), 'StatisticsPage'),
  ),
  page(
    '/network',
    lazyRouteComponent(() => import('./pages/NetworkPage.tsx'), 'NetworkPage'),
  ),
  page(
    '/parameters',
    lazyRouteComponent(() => import('./pages/ParametersPage.tsx'), 'ParametersPage'),
  ),
  page(
    '/faucet',
    lazyRouteComponent(() => import('./pages/FaucetPage.tsx'), 'FaucetPage'),
  ),
  page(
    '/staking',
    lazyRouteComponent(() => import('./wallet/StakingPage.tsx'), 'StakingPage'),
  ),
  page(
    '/staking/$operator',
    lazyRouteComponent(() => import('./wallet/StakingPage.tsx'), 'StakingPage'),
  ),
  page(
    '/propose',
    lazyRouteComponent(() => import('./wallet/ProposePage.tsx'), 'ProposePage'),
  ),
  page(
    '/verify',
    lazyRouteComponent(() => import('./pages/VerifyPage.tsx'), 'VerifyPage'),
  ),
  page(
    '/verify/$address',
    lazyRouteComponent(() => import('./pages/VerifyPage.tsx'), 'VerifyPage'),
  ),
  page(
    '/wallet',
    lazyRouteComponent(() => import('./wallet/WalletPage.tsx'), 'WalletPage'),
  ),
])
const router = createRouter({ routeTree, defaultPreload: 'intent', scrollRestoration: true, ...PLAIN_SEARCH })

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
