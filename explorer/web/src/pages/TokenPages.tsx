import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type Token, type TokenHolder, tokenListQuery, tokenQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink } from '../parts/Names.tsx'
import { TextPages } from '../parts/Pages.tsx'
import { Tabs } from '../parts/Tabs.tsx'
import { TokenAmount, TokenKind, TokenLink, TokenTransferPages } from '../parts/TokenTables.tsx'

export function Tokens() {
  return (
    <>
      <h1>Tokens</h1>
      <Card>
        <TextPages
          query={(before: string | undefined) => tokenListQuery<Token>('tokens', before)}
          empty="No tokens yet."
        >
          {(tokens) => (
            <table>
              <thead>
                <tr>
                  <th>Token</th>
                  <th>Kind</th>
                  <th>Contract</th>
                  <th className="number">Holders</th>
                  <th className="number">Transfers</th>
                  <th className="number">Supply</th>
                </tr>
              </thead>
              <tbody>
                {tokens.map((token) => (
                  <tr key={token.address}>
                    <td data-label="Token">
                      <TokenLink token={token} />
                    </td>
                    <td data-label="Kind">
                      <TokenKind kind={token.kind} />
                    </td>
                    <td data-label="Contract">
                      <AddressLink address={token.address} />
                    </td>
                    <td data-label="Holders" className="number">
                      {formatNumber(token.holders)}
                    </td>
                    <td data-label="Transfers" className="number">
                      {formatNumber(token.transfers)}
                    </td>
                    <td data-label="Supply" className="number">
                      <TokenAmount token={token} amount={token.supply} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </TextPages>
      </Card>
    </>
  )
}

/** The precompile by which contracts see coins as an ERC-20 token: the index keeps its balances as coins. */
const COIN_TOKEN = /^0xe{40}$/i

export function TokenPage() {
  const { address } = useParams({ from: '/token/$address' })
  const { data: token, error } = useQuery(tokenQuery(address))
  if (COIN_TOKEN.test(address)) {
    return <Note>This token is the chain's coin as ERC-20. Its balances are the coin balances of accounts.</Note>
  }
  if (error !== null) return <Note>{error.message}</Note>
  if (token === undefined) return <Note>Loading …</Note>
  return (
    <>
      <div className="title">
        <h1>{token.name ?? token.symbol ?? 'Token'}</h1>
        <TokenKind kind={token.kind} />
      </div>
      <Card>
        {!token.isExact && (
          <Note>
            The balances below may differ from the contract's: the token's transfers do not add up, or the index lacks
            the oldest ones.
          </Note>
        )}
        <Facts
          facts={{
            Contract: <AddressLink address={token.address} isShort={false} />,
            Symbol: token.symbol,
            Decimals: token.kind === 'erc20' ? token.decimals : undefined,
            Supply: <TokenAmount token={token} amount={token.supply} />,
            Holders: formatNumber(token.holders),
            Transfers: formatNumber(token.transfers),
          }}
        />
      </Card>
      <Card>
        <Tabs
          label="About this token"
          key={token.address}
          tabs={[
            { name: 'Transfers', view: () => <TokenTransferPages path={`tokens/${address}/transfers`} /> },
            { name: 'Holders', view: () => <Holders token={token} /> },
          ]}
        />
      </Card>
    </>
  )
}

function Holders({ token }: { readonly token: Token }) {
  return (
    <TextPages
      key={token.address}
      query={(before: string | undefined) => tokenListQuery<TokenHolder>(`tokens/${token.address}/holders`, before)}
      empty="No holders."
    >
      {(holders) => (
        <table>
          <thead>
            <tr>
              <th>Holder</th>
              <th className="number">Amount</th>
            </tr>
          </thead>
          <tbody>
            {holders.map(({ address, amount }) => (
              <tr key={address}>
                <td data-label="Holder">
                  <AddressLink address={address} isShort={false} />
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
