import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { useEffect } from 'react'
import { statusQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Search } from '../parts/Search.tsx'

/** What is around every page: the name of the chain, the way to the other pages, the search, how far the index is. */
export function Frame() {
  const { data } = useQuery(statusQuery)
  useEffect(() => {
    if (data !== undefined) document.title = `${data.chainName} explorer`
  }, [data])
  return (
    <>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <header className="top">
        <Link to="/" className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" /> {data?.chainName ?? ''}
        </Link>
        <nav aria-label="Pages">
          <Link to="/blocks">Blocks</Link>
          <Link to="/transactions">Transactions</Link>
          <Link to="/validators">Validators</Link>
          <Link to="/governance">Governance</Link>
          <Link to="/tokens">Tokens</Link>
          <Link to="/contracts">Contracts</Link>
          <Link to="/mempool">Mempool</Link>
          <Link to="/statistics">Statistics</Link>
          <Link to="/network">Network</Link>
          <Link to="/parameters">Parameters</Link>
          <Link to="/staking">Staking</Link>
          <Link to="/wallet">Wallet</Link>
          {data?.hasFaucet === true && <Link to="/faucet">Faucet</Link>}
        </nav>
        <Search />
      </header>
      <main id="page">
        <Outlet />
      </main>
      <footer className="bottom">
        <span>
          {data?.chainId ?? 'no chain yet'} · EVM chain ID {data?.evmChainId ?? '–'}
        </span>
        <IndexState height={data?.height ?? null} nodeHeight={data?.nodeHeight ?? null} />
        <a href="/api/v1/openapi.json">API</a>
      </footer>
    </>
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
