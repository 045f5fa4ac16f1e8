import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Period, statisticsQuery } from '../api.ts'
import { formatUnits } from '../format.ts'
import { BarChart, periodLabel, transactionBars } from '../parts/BarChart.tsx'
import { Card, Note } from '../parts/Card.tsx'

const UNITS = { hour: { name: 'Hours', shown: 48 }, day: { name: 'Days', shown: 60 } } as const
type Unit = keyof typeof UNITS

/** Amounts are too large for exact numbers: as heights of bars, whole thousandths of a coin are enough. */
const heightOf = (acoin: string): number => Number(BigInt(acoin) / 10n ** 15n)

/** The chain over time. */
export function StatisticsPage() {
  const [unit, setUnit] = useState<Unit>('hour')
  const { data, error } = useQuery(statisticsQuery(unit, UNITS[unit].shown))
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
  return (
    <>
      <h1>Statistics</h1>
      <div className="tabs" role="tablist">
        {(Object.keys(UNITS) as Unit[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={unit === name} onClick={() => setUnit(name)}>
            {UNITS[name].name}
          </button>
        ))}
      </div>
      {periods.length === 0 ? (
        <Note>{data === undefined ? 'Loading …' : 'The index has no block yet.'}</Note>
      ) : (
        <div className="charts">
          {charts.map(([title, series, shown]) => (
            <Card key={title} title={title}>
              <BarChart title={title} series={series} bars={shown} />
            </Card>
          ))}
        </div>
      )}
    </>
  )
}
