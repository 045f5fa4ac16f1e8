import { homedir } from 'node:os'
import { Command } from 'commander'
import { addConfigFlags, configSources } from '../src/cli/configFlags.ts'
import { ConfigError } from '../src/config/configError.ts'
import { ListenError } from '../src/config/listeners.ts'
import type { Variable } from '../src/config/variables.ts'
import { loadExplorerConfig } from './config/config.ts'
import { EXPLORER_VARIABLES } from './config/variables.ts'
import { isDatabaseAway } from './database/databaseAway.ts'
import { type RunningExplorer, startExplorer } from './startExplorer.ts'

/* The entry of `coind explorer`: bin/coind.js comes here in place of src/cli/run.ts. */

/** Exit codes as in src/cli/program.ts. */
const EXIT_USAGE = 64
const EXIT_DATA = 65
const EXIT_UNAVAILABLE = 69
/** Set by bin/coind.js when it runs the explorer as its child process. */
const LAUNCHED = 'COIND_LAUNCHED'

let running: RunningExplorer | undefined
let isStopped = false
const stop = (): void => {
  if (running === undefined || isStopped) process.exit(0)
  isStopped = true
  running.stop()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
// The launcher has ended and can pass on no more signals.
process.on('disconnect', () => {
  if (!isStopped) stop()
})
if (process.env[LAUNCHED] === '1' && !process.connected) process.exit(0)

const variables = Object.values<Variable>(EXPLORER_VARIABLES)
const command = new Command('coind explorer')
  .description("Run an explorer: an index of a node's chain, with an API and web pages")
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE))
addConfigFlags(command, variables)
command.action(async () => {
  const sources = configSources(command, { environment: process.env, workingDirectory: process.cwd() }, variables)
  running = await startExplorer(loadExplorerConfig(sources, homedir()))
  process.send?.({ url: running.url })
  await running.ended
})
try {
  await command.parseAsync(process.argv.slice(3), { from: 'user' })
} catch (error) {
  const known = exitCodeOf(error)
  if (known === undefined) throw error
  process.stderr.write(`coind: ${(error as Error).message}\n`)
  process.exitCode = known
}
if (process.connected) process.disconnect?.()

/** The exit code of an error whose message is a line for the operator; undefined for a bug, which needs its stack. */
function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof ConfigError) return EXIT_USAGE
  if (!(error instanceof Error)) return undefined
  // By name: an error that comes from the index's thread has lost its class.
  if (error.name === 'ChainMismatch' || error.name === 'BalanceError') return EXIT_DATA
  if (error.name === 'IndexInUse' || error instanceof ListenError || isDatabaseAway(error)) return EXIT_UNAVAILABLE
  return (error as NodeJS.ErrnoException).code === 'EACCES' ? EXIT_UNAVAILABLE : undefined
}
