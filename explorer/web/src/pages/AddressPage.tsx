import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Abi } from 'viem'
import { type Account, accountQuery, movementsQuery, transactionsQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { ContractTab } from '../parts/ContractTab.tsx'
import { InternalCallPages } from '../parts/EvmTables.tsx'
import { LogPages } from '../parts/Logs.tsx'
import { Copyable } from '../parts/Names.tsx'
import { Pages, TextPages } from '../parts/Pages.tsx'
import { StakeTab } from '../parts/StakeTables.tsx'
import { MovementTable, TransactionTable } from '../parts/Tables.tsx'
import { type Tab, Tabs } from '../parts/Tabs.tsx'
import { HoldingPages, TokenTransferPages } from '../parts/TokenTables.tsx'
import { VotePages } from '../parts/VoteTables.tsx'
import { useInterface } from '../verificationApi.ts'

/** Of verified contracts alone, so they are loaded with the first one. */
const SourceTab = lazy(() => import('../parts/SourceTab.tsx').then((own) => ({ default: own.SourceTab })))
const ReadTab = lazy(() => import('../parts/ReadTab.tsx').then((own) => ({ default: own.ReadTab })))
const WriteTab = lazy(() => import('../wallet/WriteTab.tsx').then((own) => ({ default: own.WriteTab })))

export function AddressPage() {
  const { address: typed } = useParams({ from: '/address/$address' })
  const { data: account, error } = useQuery(accountQuery(typed))
  const verified = useInterface(account?.isContract === true ? account.address : null)
  if (error !== null) return <Note>{error.message}</Note>
  if (account === undefined) return <Note>Loading …</Note>
  const { address } = account
  return (
    <>
      <h1>{account.isContract ? 'Contract' : 'Account'}</h1>
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
        <Tabs label="About this account" key={address} tabs={tabsOf(account, verified?.abi)} />
      </Card>
    </>
  )
}

/** @param abi of a verified contract */
function tabsOf(account: Account, abi: Abi | undefined): readonly Tab[] {
  const { address, isContract } = account
  const path = `addresses/${address}`
  const tabs: Tab[] = [
    {
      name: 'Transactions',
      view: () => (
        <Pages query={(before) => transactionsQuery(path, before)} empty="No transactions yet.">
          {(transactions) => <TransactionTable transactions={transactions} of={address} />}
        </Pages>
      ),
    },
    {
      name: 'Coins',
      view: () => (
        <TextPages query={(before) => movementsQuery(path, before)} empty="No coin movements yet.">
          {(movements) => <MovementTable movements={movements} of={address} />}
        </TextPages>
      ),
    },
    { name: 'Stake', view: () => <StakeTab address={address} /> },
    { name: 'Votes', view: () => <VotePages of={path} /> },
    { name: 'Internal calls', view: () => <InternalCallPages address={address} /> },
    { name: 'Tokens', view: () => <HoldingPages address={address} /> },
    { name: 'Token transfers', view: () => <TokenTransferPages path={`${path}/token-transfers`} of={address} /> },
  ]
  if (!isContract) return tabs
  return [
    ...tabs,
    { name: 'Contract', view: () => <ContractTab address={address} isVerified={abi !== undefined} /> },
    ...(abi === undefined ? [] : verifiedTabs(account, abi)),
    { name: 'Logs', view: () => <LogPages address={address} /> },
  ]
}

function verifiedTabs(account: Account, abi: Abi): readonly Tab[] {
  const { address } = account
  return [
    { name: 'Code', view: () => <SourceTab address={address} /> },
    { name: 'Read', view: () => <ReadTab address={address} abi={abi} /> },
    { name: 'Write', view: () => <WriteTab account={account} abi={abi} /> },
  ].map(({ name, view }) => ({ name, view: () => <Suspense fallback={<Note>Loading …</Note>}>{view()}</Suspense> }))
}
