import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { blockQuery, movementsQuery, transactionsQuery } from '../api.ts'
import { formatNumber, formatTime, formatUnits } from '../format.ts'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink, Copyable } from '../parts/Names.tsx'
import { Pages, TextPages } from '../parts/Pages.tsx'
import { Gas, MovementTable, TransactionTable } from '../parts/Tables.tsx'
import { Age } from '../parts/Time.tsx'

export function BlockPage() {
  const { id } = useParams({ from: '/block/$id' })
  const { data: block, error } = useQuery(blockQuery(id))
  const { data: moved } = useQuery(movementsQuery(`blocks/${id}`))
  if (error !== null) return <Note>{error.message}</Note>
  if (block === undefined) return <Note>Loading …</Note>
  return (
    <>
      <div className="title">
        <h1>Block {formatNumber(block.height)}</h1>
        <nav aria-label="Neighbours">
          {block.height > 1 && (
            <Link to="/block/$id" params={{ id: String(block.height - 1) }}>
              ← {formatNumber(block.height - 1)}
            </Link>
          )}
          <Link to="/block/$id" params={{ id: String(block.height + 1) }}>
            {formatNumber(block.height + 1)} →
          </Link>
        </nav>
      </div>
      <Card>
        <Facts
          facts={{
            Time: (
              <>
                {formatTime(block.time)} (<Age time={block.time} />)
              </>
            ),
            'Ethereum hash': <Copyable text={block.hash} />,
            'Consensus hash': <Copyable text={block.consensusHash.slice(2).toUpperCase()} />,
            Proposer: <span className="mono">{block.proposer}</span>,
            'Fee recipient': <AddressLink address={block.feeRecipient} isShort={false} />,
            Gas: <Gas used={block.gasUsed} limit={block.gasLimit} />,
            'Base fee': `${formatUnits(block.baseFeePerGas, 9)} gwei`,
            Size: `${formatNumber(block.size)} bytes`,
          }}
        />
      </Card>
      <Card title={`${formatNumber(block.evmTransactions + block.nativeTransactions)} transactions`}>
        <Pages key={id} query={(before) => transactionsQuery(`blocks/${id}`, before)} empty="This block is empty.">
          {(transactions) => <TransactionTable transactions={transactions} />}
        </Pages>
      </Card>
      {moved !== undefined && moved.items.length > 0 && (
        <Card title="Coins that modules moved at the start and end of the block">
          <TextPages
            key={id}
            name="coins"
            query={(before) => movementsQuery(`blocks/${id}`, before)}
            empty="No coins moved."
          >
            {(movements) => <MovementTable movements={movements} />}
          </TextPages>
        </Card>
      )}
    </>
  )
}
