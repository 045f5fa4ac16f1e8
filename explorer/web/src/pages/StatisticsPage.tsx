import { useQuery } from '@tanstack/react-query'
import { type Period, statisticsQuery } from '../api.ts'
import { formatUnits } from '../format.ts'
import { BarChart, periodLabel, transactionBars } from '../parts/BarChart.tsx'
import { Card, Note } from '../parts/Card.tsx'
import { Tabs } from '../parts/Tabs.tsx'

/** Bars at most. */
const SHOWN = { hour: 48, day: 60 } as const
type Unit = keyof typeof SHOWN

/** Amounts are too large for exact numbers: as heights of bars, whole thousandths of a coin are enough. */
const heightOf = (acoin: string): number => Number(BigInt(acoin) / 10n ** 15n)

/** The chain over time. */
export function StatisticsPage() {
  return (
    <>
      <h1>Statistics</h1>
      <Tabs
        label="Time per bar"
        tabs={[
          { name: 'Hours', view: () => <Charts unit="hour" /> },
          { name: 'Days', view: () => <Charts unit="day" /> },
        ]}
      />
    </>
  )
}

function Charts({ unit }: { readonly unit: Unit }) {
  const { data, error } = useQuery(statisticsQuery(unit, SHOWN[unit]))
  if (error !== null) return <Note>{error.message}</Note>
  const periods = data?.items ?? []
  const bars = (value: (period: Period) => number) =>
    periods.toReversed().map((period) => ({ label: periodLabel(period, unit), values: [value(period)] }))
  const amounts = (acoin: (period: Period) => string) =>
    periods.toReversed().map((period) => ({
      label: periodLabel(period, unit),
      values: [heightOf(acoin(period))],
      texts: [formatUnits(acoin(period))],
    }))
  const charts = [
    ['Transactions', ['EVM', 'native'], transactionBars(periods, unit)],
    ['Failed transactions', ['failed'], bars(({ failed }) => failed)],
    ['Gas', ['gas'], bars(({ gasUsed }) => gasUsed)],
    ['Fees in coins', ['fees'], amounts(({ fees }) => fees)],
    ['Coins moved by transactions', ['coins'], amounts(({ moved }) => moved)],
    ['New accounts', ['accounts'], bars(({ newAccounts }) => newAccounts)],
    ['Blocks', ['blocks'], bars(({ blocks }) => blocks)],
  ] as const
  if (periods.length === 0) return <Note>{data === undefined ? 'Loading …' : 'The index has no blocks yet.'}</Note>
  return (
    <div className="charts">
      {charts.map(([title, series, shown]) => (
        <Card key={title} title={title}>
          <BarChart title={title} series={series} bars={shown} />
        </Card>
      ))}
    </div>
  )
}
