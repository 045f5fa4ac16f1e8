/** The worst that was measured of a program. */
export interface Result {
  readonly name: string
  readonly megagasPerSecond: number
  /** share of the time that hashing the new state took */
  readonly commitShare: number
  readonly failure: string | undefined
}

/** Gas limits of blocks whose time the table says. */
const BLOCKS = [30, 50, 100]

/** Prints the slowest first, with the milliseconds that full blocks would take. */
export function printResults(results: readonly Result[]): void {
  const sorted = [...results].sort((a, b) => a.megagasPerSecond - b.megagasPerSecond)
  const width = Math.max(...sorted.map(({ name }) => name.length))
  const head = BLOCKS.map((megagas) => `${megagas} M, ms`.padStart(9)).join(' | ')
  console.log(`\n${'program'.padEnd(width)} | Mgas/s | ${head} | state | end`)
  for (const { name, megagasPerSecond, commitShare, failure } of sorted) {
    const blocks = BLOCKS.map((megagas) => ((megagas * 1_000) / megagasPerSecond).toFixed(0).padStart(9)).join(' | ')
    const share = commitShare === 0 ? '' : `${(commitShare * 100).toFixed(0)} %`
    const rate = megagasPerSecond.toFixed(megagasPerSecond < 100 ? 1 : 0).padStart(6)
    console.log(`${name.padEnd(width)} | ${rate} | ${blocks} | ${share.padStart(5)} | ${failure ?? ''}`)
  }
}
