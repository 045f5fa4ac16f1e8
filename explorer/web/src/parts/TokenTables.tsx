import { Link } from '@tanstack/react-router'
import { type Token, type TokenHolding, type TokenTransfer, tokenListQuery } from '../api.ts'
import { formatUnits, shorten } from '../format.ts'
import { AddressLink, TransactionLink } from './Names.tsx'
import { TextPages } from './Pages.tsx'

/* Lists about tokens. Contracts choose their names, so these are untrusted text. */

type Named = TokenTransfer['token']

const KIND_NAMES: Readonly<Record<Token['kind'], string>> = {
  erc20: 'ERC-20',
  erc721: 'ERC-721',
  erc1155: 'ERC-1155',
}

export function TokenKind({ kind }: { readonly kind: Token['kind'] }) {
  return <span className="tag evm">{KIND_NAMES[kind]}</span>
}

export function TokenLink({ token }: { readonly token: Named }) {
  const { address, name, symbol } = token
  return (
    <Link to="/token/$address" params={{ address }} title={address}>
      {name ?? symbol ?? <span className="mono">{shorten(address)}</span>}
    </Link>
  )
}

/** An amount of a token; of an id where it has ids. */
export function TokenAmount({ token, amount }: { readonly token: Named; readonly amount: string }) {
  return (
    <span className="amount" title={`${amount} base units`}>
      {formatUnits(amount, token.kind === 'erc20' ? (token.decimals ?? 0) : 0)}{' '}
      <span className="symbol">{token.symbol === null ? '' : shorten(token.symbol, 12, 4)}</span>
    </span>
  )
}

export function TokenTransferTable({
  transfers,
  of,
  isOfTransaction = false,
}: {
  readonly transfers: readonly TokenTransfer[]
  /** the account whose list this is: its side is not a link */
  readonly of?: string | undefined
  readonly isOfTransaction?: boolean
}) {
  return (
    <table>
      <thead>
        <tr>
          {!isOfTransaction && <th>Transaction</th>}
          <th>From</th>
          <th>To</th>
          <th>Token</th>
          <th>ID</th>
          <th className="number">Amount</th>
        </tr>
      </thead>
      <tbody>
        {transfers.map(({ transaction, from, to, token, id, amount }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: transfers have no name but their order, which does not change
          <tr key={index}>
            {!isOfTransaction && (
              <td data-label="Transaction">
                <TransactionLink hash={transaction} />
              </td>
            )}
            <td data-label="From">{from === null ? 'minted' : <Side address={from} of={of} />}</td>
            <td data-label="To">{to === null ? 'burnt' : <Side address={to} of={of} />}</td>
            <td data-label="Token">
              <TokenLink token={token} />
            </td>
            <td data-label="ID" title={id ?? undefined}>
              {id === null ? '–' : shorten(id)}
            </td>
            <td data-label="Amount" className="number">
              <TokenAmount token={token} amount={amount} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Side({ address, of }: { readonly address: string; readonly of: string | undefined }) {
  return address === of ? <span className="mono self">this account</span> : <AddressLink address={address} />
}

export function TokenTransferPages({ path, of }: { readonly path: string; readonly of?: string }) {
  return (
    <TextPages
      key={path}
      query={(before: string | undefined) => tokenListQuery<TokenTransfer>(path, before)}
      empty="No token transfers yet."
    >
      {(transfers) => <TokenTransferTable transfers={transfers} of={of} />}
    </TextPages>
  )
}

/** Tokens that an account has. */
export function HoldingPages({ address }: { readonly address: string }) {
  return (
    <TextPages
      key={address}
      query={(before: string | undefined) => tokenListQuery<TokenHolding>(`addresses/${address}/tokens`, before)}
      empty="This account has no tokens."
    >
      {(holdings) => (
        <table>
          <thead>
            <tr>
              <th>Token</th>
              <th>Kind</th>
              <th className="number">Amount</th>
            </tr>
          </thead>
          <tbody>
            {holdings.map(({ token, amount }) => (
              <tr key={token.address}>
                <td data-label="Token">
                  <TokenLink token={token} />
                </td>
                <td data-label="Kind">
                  <TokenKind kind={token.kind} />
                </td>
                <td data-label="Amount" className="number">
                  <TokenAmount token={token} amount={amount} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TextPages>
  )
}
