import type { RunReport } from './randomRun.ts'

/** What went wrong in a run, with the command that does it again. */
export function describeViolation({ seed, validators, mode, violations, height }: RunReport): string {
  const lines = violations.slice(0, 3).map(({ atMs, rule, details }) => `  ${atMs.toFixed(1)} ms ${rule}: ${details}`)
  const command = `node test/sim/run.ts --seed ${seed} --validators ${validators} --mode ${mode} --trace`
  return [`VIOLATION in seed ${seed} (${validators} validators, height ${height})`, ...lines, `  ${command}`].join('\n')
}
