import { readFileSync, writeFileSync } from 'node:fs'
import { percentile } from './measure/percentile.ts'

/** One measured value of one node. */
export interface Row {
  readonly name: string
  readonly unit: string
  readonly value: number
  /** printed at once, not in the table */
  readonly note?: string
}

/** Rows that mean more the smaller they are; their ratio is turned round so that above 1 is always better. */
const SMALLER_IS_BETTER = new Set(['ms', 's', 'µs each', 'MB'])

/** Measurements with one name: the values of each node, one for each run. */
interface Line {
  readonly unit: string
  readonly byTarget: Map<string, number[]>
}

/** A column of the table: the median of each line. */
type Column = ReadonlyMap<string, number>

/** Collects the rows of each node and prints their medians side by side. */
export class Report {
  readonly #lines = new Map<string, Line>()

  /** @throws Error (a bug) when a name has two units */
  add(target: string, rows: readonly Row[]): void {
    for (const { name, unit, value, note } of rows) {
      const line = this.#lines.get(name) ?? { unit, byTarget: new Map<string, number[]>() }
      if (line.unit !== unit) throw new Error(`${name} is in ${line.unit}, and in ${unit}`)
      this.#lines.set(name, line)
      line.byTarget.set(target, [...(line.byTarget.get(target) ?? []), value])
      console.log(`${target.padEnd(17)} ${name}: ${format(value)} ${unit}${note === undefined ? '' : `   [${note}]`}`)
    }
  }

  /** @param peers each has a column, if it has values, and one of how `own` compares */
  print(own: string, peers: readonly string[]): void {
    const columns = peers.map((peer) => [peer, this.#column(peer)] as const).filter(([, column]) => column.size > 0)
    console.log('\nratio: above 1 is better than the peer\n')
    this.#printTable([own, this.#column(own)], columns)
  }

  /** Prints the current values of `own` next to those in a file of {@link write}. @throws Error when the file cannot be read */
  compare(own: string, path: string): void {
    const older = JSON.parse(readFileSync(path, 'utf8')) as SavedReport
    const column: Column = new Map(
      older.rows.flatMap(({ name, values }) =>
        values[own] === undefined ? [] : [[name, median(values[own])] as const],
      ),
    )
    console.log(`\nbeside the run of ${older.date}; ratio: above 1 is better now\n`)
    this.#printTable([own, this.#column(own)], [['before', column]])
  }

  /** Writes all values as JSON. */
  write(path: string): void {
    const rows = [...this.#lines].map(([name, { unit, byTarget }]) => ({
      name,
      unit,
      values: Object.fromEntries(byTarget),
    }))
    const saved: SavedReport = { date: new Date().toISOString(), node: process.version, rows }
    writeFileSync(path, `${JSON.stringify(saved, undefined, 1)}\n`)
  }

  #column(target: string): Column {
    return new Map(
      [...this.#lines].flatMap(([name, { byTarget }]) => {
        const values = byTarget.get(target)
        return values === undefined ? [] : [[name, median(values)] as const]
      }),
    )
  }

  #printTable([own, ownColumn]: readonly [string, Column], others: readonly (readonly [string, Column])[]): void {
    const lines = [['', own, ...others.flatMap(([name]) => [name, 'ratio'])]]
    for (const [name, { unit }] of this.#lines) {
      const a = ownColumn.get(name)
      const compared = others.flatMap(([, column]) => {
        const b = column.get(name)
        const ratio = a === undefined || b === undefined ? undefined : SMALLER_IS_BETTER.has(unit) ? b / a : a / b
        return [format(b), ratio === undefined ? '' : ratio.toFixed(2)]
      })
      lines.push([`${name} (${unit})`, format(a), ...compared])
    }
    const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
    for (const line of lines) {
      const cells = line.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
      )
      console.log(cells.join(' | '))
    }
  }
}

interface SavedReport {
  /** ISO 8601 */
  readonly date: string
  readonly node: string
  readonly rows: readonly {
    readonly name: string
    readonly unit: string
    /** of each node, one for each run */
    readonly values: Readonly<Record<string, readonly number[]>>
  }[]
}

function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    50,
  )
}

function format(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-'
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
}
