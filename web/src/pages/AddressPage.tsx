import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { accountQuery, movementsQuery, transactionsQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { Copyable } from '../parts/Names.tsx'
import { Pages } from '../parts/Pages.tsx'
import { MovementTable, TransactionTable } from '../parts/Tables.tsx'
import { HoldingPages, TokenTransferPages } from '../parts/TokenTables.tsx'

const TABS = ['Transactions', 'Coins', 'Tokens', 'Token transfers'] as const

export function AddressPage() {
  const { address: typed } = useParams({ from: '/address/$address' })
  const { data: account, error } = useQuery(accountQuery(typed))
  const [tab, setTab] = useState<(typeof TABS)[number]>('Transactions')
  if (error !== null) return <Note>{error.message}</Note>
  if (account === undefined) return <Note>Loading …</Note>
  const { address } = account
  return (
    <>
      <h1>Account</h1>
      <Card>
        <Facts
          facts={{
            Address: <Copyable text={address} />,
            'Native address': <Copyable text={account.bech32} />,
            Balance: <Amount acoin={account.balance} digits={18} />,
            Transactions: account.transactions === null ? 'more than 10,000' : formatNumber(account.transactions),
          }}
        />
      </Card>
      <Card>
        <div className="tabs" role="tablist">
          {TABS.map((name) => (
            <button key={name} type="button" role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>
              {name}
            </button>
          ))}
        </div>
        {tab === 'Transactions' ? (
          <Pages
            key={`${address} transactions`}
            query={(before) => transactionsQuery(`addresses/${address}`, before)}
            empty="No transaction yet."
          >
            {(transactions) => <TransactionTable transactions={transactions} of={address} />}
          </Pages>
        ) : tab === 'Tokens' ? (
          <HoldingPages address={address} />
        ) : tab === 'Token transfers' ? (
          <TokenTransferPages path={`addresses/${address}/token-transfers`} of={address} />
        ) : (
          <Pages
            key={`${address} coins`}
            query={(before) => movementsQuery(`addresses/${address}`, before)}
            empty="No coins came or went."
          >
            {(movements) => <MovementTable movements={movements} of={address} />}
          </Pages>
        )}
      </Card>
    </>
  )
}
