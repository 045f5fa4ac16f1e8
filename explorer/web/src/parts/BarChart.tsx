import type { Period } from '../api.ts'
import { formatNumber } from '../format.ts'

/** One bar, with a part for each series, from the bottom to the top. */
export interface Bar {
  readonly label: string
  readonly values: readonly number[]
  /** how each value is written; by default as a number */
  readonly texts?: readonly string[]
}

/** Colours of the series, in their order. */
const SERIES_CLASSES = ['first', 'second', 'third', 'fourth'] as const

const WIDTH = 1000
const HEIGHT = 200
/** Narrower charts have bars of the width that this many would have. */
const MIN_BARS = 12
/** Part of a bar's place that stays empty. */
const GAP = 0.18

/**
 * Bars over time, the oldest first, with the same numbers as a table for readers of screens. Hovering a bar tells its numbers.
 * @param series what the parts of a bar are
 */
export function BarChart({
  title,
  series,
  bars,
  isSmall = false,
}: {
  readonly title: string
  readonly series: readonly string[]
  readonly bars: readonly Bar[]
  readonly isSmall?: boolean
}) {
  const highest = Math.max(...bars.map(({ values }) => total(values)), 0)
  const scale = highest === 0 ? 0 : HEIGHT / highest
  const place = WIDTH / Math.max(bars.length, MIN_BARS)
  // The newest bar stands at the right.
  const left = WIDTH - place * bars.length
  const textOf = ({ values, texts }: Bar, index: number): string => texts?.[index] ?? formatNumber(values[index]!)
  const highestBar = bars.find(({ values }) => total(values) === highest)
  // A text shows a single value, so a bar of several parts has no text for their sum.
  const highestText = highestBar !== undefined && series.length === 1 ? textOf(highestBar, 0) : formatNumber(highest)
  return (
    <figure className={isSmall ? 'chart small' : 'chart'}>
      <p className="axis" aria-hidden="true">
        {highestText}
      </p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, index) => (
          <g key={bar.label}>
            <title>{`${bar.label}: ${series.map((name, at) => `${name} ${textOf(bar, at)}`).join(', ')}`}</title>
            <rect className="track" x={left + index * place} y="0" width={place * (1 - GAP)} height={HEIGHT} />
            {bar.values.map((value, at) => (
              <rect
                key={series[at]}
                className={SERIES_CLASSES[at]}
                x={left + index * place}
                y={HEIGHT - total(bar.values.slice(0, at + 1)) * scale}
                width={place * (1 - GAP)}
                height={value * scale}
              />
            ))}
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{bars[0]?.label}</span>
        {series.length > 1 && series.map((name, at) => <Legend key={name} name={name} at={at} />)}
        <span>{bars.length > 1 ? bars.at(-1)?.label : ''}</span>
      </figcaption>
      <div className="visually-hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th>Time</th>
              {series.map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.label}>
                <th>{bar.label}</th>
                {series.map((name, at) => (
                  <td key={name}>{textOf(bar, at)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

/** The colour of a series with its name. */
function Legend({ name, at }: { readonly name: string; readonly at: number }) {
  return (
    <span className="legend">
      <svg viewBox="0 0 1 1" aria-hidden="true">
        <rect className={SERIES_CLASSES[at]} width="1" height="1" />
      </svg>
      {name}
    </span>
  )
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** `2026-05-01 14:00 UTC` of an hour, the date of a day. */
export function periodLabel({ start }: Period, unit: 'hour' | 'day'): string {
  const [date, time] = [start.slice(0, 10), start.slice(11, 16)]
  return unit === 'day' ? date : `${date} ${time} UTC`
}

/** Transactions of both kinds, of periods that come the newest first. */
export function transactionBars(periods: readonly Period[], unit: 'hour' | 'day'): readonly Bar[] {
  return periods.toReversed().map((period) => ({
    label: periodLabel(period, unit),
    values: [period.evmTransactions, period.nativeTransactions],
  }))
}
