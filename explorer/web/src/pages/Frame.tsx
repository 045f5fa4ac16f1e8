import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { statusQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Search } from '../parts/Search.tsx'

/** The frame of every page: the chain's name, links to other pages, the search, the index's progress. */
export function Frame() {
  const { data } = useQuery(statusQuery)
  useEffect(() => {
    if (data !== undefined) document.title = `${data.chainName} explorer`
  }, [data])
  return (
    <>
      <a className="skip" href="#page">
        Skip to content
      </a>
      <Top chainName={data?.chainName ?? ''} hasFaucet={data?.hasFaucet === true} />
      <main id="page">
        <Outlet />
      </main>
      <footer className="bottom">
        <span>
          {data?.chainId ?? 'no blocks yet'} · EVM chain ID {data?.evmChainId ?? '–'}
        </span>
        <IndexState height={data?.height ?? null} nodeHeight={data?.nodeHeight ?? null} />
        <a href="/api/v1/openapi.json">API</a>
      </footer>
    </>
  )
}

/** The pages of the menu, by topic. */
const GROUPS = [
  {
    name: 'Chain',
    pages: [
      { to: '/blocks', name: 'Blocks' },
      { to: '/transactions', name: 'Transactions' },
      { to: '/mempool', name: 'Mempool' },
      { to: '/statistics', name: 'Statistics' },
      { to: '/network', name: 'Network' },
    ],
  },
  {
    name: 'Contracts',
    pages: [
      { to: '/tokens', name: 'Tokens' },
      { to: '/contracts', name: 'Contracts' },
      { to: '/verify', name: 'Verify' },
    ],
  },
  {
    name: 'Validators',
    pages: [
      { to: '/validators', name: 'Validators' },
      { to: '/governance', name: 'Governance' },
      { to: '/parameters', name: 'Parameters' },
    ],
  },
  {
    name: 'Your coins',
    pages: [
      { to: '/wallet', name: 'Wallet' },
      { to: '/staking', name: 'Staking' },
      { to: '/faucet', name: 'Faucet' },
    ],
  },
] as const

/** The search and the way to the other pages, which on a phone is behind a button. */
function Top({ chainName, hasFaucet }: { readonly chainName: string; readonly hasFaucet: boolean }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <header className="top">
      <Link to="/" className="brand">
        <img src="/icon.svg" alt="" width="28" height="28" /> {chainName}
      </Link>
      <button
        type="button"
        className="menu"
        aria-expanded={isOpen}
        aria-controls="pages"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <Search />
      <nav id="pages" aria-label="Pages" className={isOpen ? 'open' : undefined}>
        {GROUPS.map(({ name: group, pages }) => (
          <ul key={group} aria-label={group}>
            {pages.map(
              ({ to, name }) =>
                (to !== '/faucet' || hasFaucet) && (
                  <li key={to}>
                    <Link to={to} onClick={() => setOpen(false)}>
                      {name}
                    </Link>
                  </li>
                ),
            )}
          </ul>
        ))}
      </nav>
    </header>
  )
}

/** Blocks that the index may lack while it simply follows. */
const FOLLOWING = 3

function IndexState({ height, nodeHeight }: { readonly height: number | null; readonly nodeHeight: number | null }) {
  if (height === null) return <span>the index is empty</span>
  const behind = (nodeHeight ?? height) - height
  return (
    <span>
      {behind > FOLLOWING
        ? `indexing: ${formatNumber(height)} of ${formatNumber(nodeHeight ?? 0)}`
        : `block ${formatNumber(height)}`}
    </span>
  )
}
