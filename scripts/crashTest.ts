/**
 * Kills a node under load with SIGKILL at random instants, and prints the result of each restart. The same seed makes the same choices;
 * the instants still depend on the machine.
 *
 *   node scripts/crashTest.ts [kills] [seed] [PRUNING] [EXECUTION_THREADS]
 */
import { killNode } from '../test/crash/killNode.ts'

const [kills = '200', seed = '1', pruning = '200', executionThreads = '1'] = process.argv.slice(2)
const row = (cells: readonly (string | number)[]): void =>
  console.log(cells.map((cell) => String(cell).padStart(12)).join(''))

row(['kill', 'killed in', 'up in ms', 'shown block', 'at block', 'receipts'])
const report = await killNode({
  kills: Number(kills),
  seed: Number(seed),
  environment: { PRUNING: pruning, EXECUTION_THREADS: executionThreads },
  onRestart: ({ kill, phase, upMs, shownHeight, height, receipts }) =>
    row([kill, phase, upMs.toFixed(0), shownHeight, height, receipts]),
})
const times = report.restarts.map(({ upMs }) => upMs).sort((a, b) => a - b)
const quantile = (share: number): string => times[Math.floor(share * (times.length - 1))]?.toFixed(0) ?? '-'
console.log(`
restarts      ${times.length}, ms until serving: p50 ${quantile(0.5)}, p95 ${quantile(0.95)}, most ${quantile(1)}
blocks shown  ${report.blocks}
receipts seen ${report.receipts}
accepted      ${report.survivors} in no block when the node was killed, and still there
signatures    ${report.signedMessages}, never two for one step
problems      ${report.problems.length === 0 ? 'none' : ''}`)
for (const problem of report.problems) console.log(`  ${problem}`)
process.exitCode = report.problems.length === 0 ? 0 : 1
