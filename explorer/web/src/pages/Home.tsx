import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Block, blocksQuery, statisticsQuery, transactionsQuery } from '../api.ts'
import { formatNumber, formatUnits } from '../format.ts'
import { NEWEST, useLive } from '../live.ts'
import { BarChart, transactionBars } from '../parts/BarChart.tsx'
import { Card, Note } from '../parts/Card.tsx'
import { BlockTable, TransactionTable } from '../parts/Tables.tsx'
import { validatorsQuery } from '../stakingApi.ts'

/** The chain as it grows. */
export function Home() {
  useLive()
  const blocks = useQuery(blocksQuery(undefined, NEWEST)).data?.items
  const transactions = useQuery(transactionsQuery('', undefined, NEWEST)).data?.items
  return (
    <>
      <h1 className="visually-hidden">Latest blocks and transactions</h1>
      <Figures blocks={blocks ?? []} />
      <TransactionsByHour />
      <Card title="Latest blocks" more={<Link to="/blocks">All blocks</Link>}>
        {blocks === undefined ? <Note>Loading …</Note> : <BlockTable blocks={blocks} />}
      </Card>
      <Card title="Latest transactions" more={<Link to="/transactions">All transactions</Link>}>
        {transactions === undefined || transactions.length === 0 ? (
          <Note>
            {transactions === undefined
              ? 'Loading …'
              : 'No transactions yet. A new transaction appears here about a second after it is sent.'}
          </Note>
        ) : (
          <TransactionTable transactions={transactions} />
        )}
      </Card>
    </>
  )
}

/** Hours on the small chart. */
const HOURS = 24

function TransactionsByHour() {
  const hours = useQuery(statisticsQuery('hour', HOURS)).data?.items ?? []
  if (hours.length === 0) return null
  return (
    <Card title="Transactions per hour" more={<Link to="/statistics">Statistics</Link>}>
      <BarChart
        title="Transactions per hour"
        series={['EVM', 'native']}
        bars={transactionBars(hours, 'hour')}
        isSmall
      />
    </Card>
  )
}

/** Numbers of the newest blocks. */
function Figures({ blocks }: { readonly blocks: readonly Block[] }) {
  const validators = useQuery(validatorsQuery('active')).data
  const [newest, oldest] = [blocks[0], blocks.at(-1)]
  const seconds = newest === undefined ? 0 : (Date.parse(newest.time) - Date.parse(oldest!.time)) / 1000
  // The oldest one only says when the others began.
  const counted = blocks.slice(0, -1)
  const perSecond = (of: (block: Block) => number): string =>
    seconds === 0
      ? '–'
      : formatNumber(Math.round((counted.reduce((sum, block) => sum + of(block), 0) / seconds) * 10) / 10)
  const figures = [
    ['Height', newest === undefined ? '–' : formatNumber(newest.height)],
    ['Block interval', seconds === 0 ? '–' : `${Math.round((seconds * 1000) / counted.length)} ms`],
    [
      'Transactions per second',
      perSecond(({ evmTransactions, nativeTransactions }) => evmTransactions + nativeTransactions),
    ],
    ['Gas per second', perSecond(({ gasUsed }) => gasUsed)],
    [
      'Validators',
      validators === undefined
        ? '–'
        : `${formatNumber(validators.items.length)}${validators.next === null ? '' : ' or more'}`,
    ],
    ['Base fee', newest === undefined ? '–' : `${formatUnits(newest.baseFeePerGas, 9)} gwei`],
  ] as const
  return (
    <ul className="figures" aria-label="The chain now">
      {figures.map(([name, value]) => (
        <li key={name}>
          <span className="name">{name}</span>
          <span className="value">{value}</span>
        </li>
      ))}
    </ul>
  )
}
