/** One measured value of one node. */
export interface Row {
  readonly name: string
  readonly unit: string
  readonly value: number
  /** printed at once, not in the table */
  readonly note?: string
}

/** Rows that mean more the smaller they are; their ratio is turned round so that above 1 is always better. */
const SMALLER_IS_BETTER = new Set(['ms', 'µs each', 'MB'])

/** Collects the rows of each node and prints them side by side. */
export class Report {
  readonly #values = new Map<string, { readonly unit: string; readonly byTarget: Map<string, number> }>()

  add(target: string, rows: readonly Row[]): void {
    for (const { name, unit, value, note } of rows) {
      const line = this.#values.get(name) ?? { unit, byTarget: new Map<string, number>() }
      this.#values.set(name, line)
      line.byTarget.set(target, value)
      console.log(`${target.padEnd(17)} ${name}: ${format(value)} ${unit}${note === undefined ? '' : `   [${note}]`}`)
    }
  }

  /** @param peers each has a column, if it has values, and one of how `own` compares */
  print(own: string, peers: readonly string[]): void {
    const measured = peers.filter((peer) => [...this.#values.values()].some(({ byTarget }) => byTarget.has(peer)))
    const lines = [['', own, ...measured.flatMap((peer) => [peer, 'ratio'])]]
    for (const [name, { unit, byTarget }] of this.#values) {
      const a = byTarget.get(own)
      const compared = measured.flatMap((peer) => {
        const b = byTarget.get(peer)
        const ratio = a === undefined || b === undefined ? undefined : SMALLER_IS_BETTER.has(unit) ? b / a : a / b
        return [format(b), ratio === undefined ? '' : ratio.toFixed(2)]
      })
      lines.push([`${name} (${unit})`, format(a), ...compared])
    }
    const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
    console.log('\nratio: above 1 is better than the peer\n')
    for (const line of lines) {
      const cells = line.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
      )
      console.log(cells.join(' | '))
    }
  }
}

function format(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-'
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
}
