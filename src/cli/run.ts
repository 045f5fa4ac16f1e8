import { homedir } from 'node:os'
import { checkInvariants, exportBlocks, importBlocks, initNode, showNodeId, startNode } from '../main.ts'
import { createLineWriter } from '../telemetry/lineWriter.ts'
import type { Terminal } from './ports.ts'
import { runCommand } from './program.ts'
import { readSecret } from './readSecret.ts'

const STDOUT = 1
/** Set by bin/coind.js when it runs the node as its child process. */
const LAUNCHED = 'COIND_LAUNCHED'

const terminal: Terminal = {
  environment: process.env,
  workingDirectory: process.cwd(),
  homeDirectory: homedir(),
  processId: process.pid,
  platform: `${process.platform}-${process.arch}, Node.js ${process.version}`,
  print: (text) => {
    process.stdout.write(text)
  },
  // Node.js waits for a terminal; the log's writer does not, and it keeps the text apart from lines of the log.
  announce: (text) => createLineWriter(STDOUT, () => undefined).write(text, Number.MAX_SAFE_INTEGER),
  readSecret: (question, instead) => readSecret(question, instead),
  now: () => performance.now(),
  onStopSignal: (handler) => {
    process.on('SIGTERM', handler)
    process.on('SIGINT', handler)
    // The launcher was killed and can pass on no more signals: stop as if it had passed on SIGTERM.
    if (process.env[LAUNCHED] === '1') process.on('disconnect', handler)
  },
  exitNow: (code) => process.exit(code),
}

// A reader may close the pipe early (`| head`): the node continues without it. This use of `process.stdout` also makes a pipe or
// socket non-blocking, which the log's writers need (src/telemetry/lineWriter.ts).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const commands = { startNode, initNode, exportBlocks, importBlocks, showNodeId, checkInvariants }
process.exitCode = await runCommand(process.argv.slice(2), commands, terminal, (line) => {
  process.stderr.write(`coind: ${line}\n`)
})
if (process.env[LAUNCHED] === '1' && process.connected) process.disconnect()
