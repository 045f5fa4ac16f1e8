import { Link } from '@tanstack/react-router'
import { blocksQuery, transactionsQuery } from '../api.ts'
import { Card } from '../parts/Card.tsx'
import { ContractPages } from '../parts/EvmTables.tsx'
import { Pages } from '../parts/Pages.tsx'
import { BlockTable, TransactionTable } from '../parts/Tables.tsx'

export function Blocks() {
  return (
    <>
      <h1>Blocks</h1>
      <Card>
        <Pages query={blocksQuery} empty="The index has no blocks yet.">
          {(blocks) => <BlockTable blocks={blocks} />}
        </Pages>
      </Card>
    </>
  )
}

export function Transactions() {
  return (
    <>
      <h1>Transactions</h1>
      <Card>
        <Pages query={(before) => transactionsQuery('', before)} empty="No transactions yet.">
          {(transactions) => <TransactionTable transactions={transactions} />}
        </Pages>
      </Card>
    </>
  )
}

export function Contracts() {
  return (
    <>
      <div className="title">
        <h1>Contracts</h1>
        <Link to="/verify">Verify a contract</Link>
      </div>
      <Card>
        <ContractPages path="contracts" empty="The chain has no contracts yet." />
      </Card>
    </>
  )
}
