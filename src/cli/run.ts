import { constants, homedir } from 'node:os'
import type { NodeCommands, Terminal } from './ports.ts'

const STDOUT = 1
/** Set by bin/coind.js when it runs the node as its child process. */
const LAUNCHED = 'COIND_LAUNCHED'

/** Commands that run until they are stopped: for these a stop is not a failure. */
const NODE_COMMANDS: readonly string[] = ['start', 'devnet', 'supervise']

/*
 * The stop signals come first of all, before the sources are loaded, which takes a second or two. Until a command says how it stops it
 * has begun nothing that must be ended, so the process ends at once.
 */
let onStop = (signal: 'SIGTERM' | 'SIGINT'): void =>
  process.exit(NODE_COMMANDS.includes(process.argv[2] ?? '') ? 0 : 128 + constants.signals[signal])
let isAsked = false
const stop = (signal: 'SIGTERM' | 'SIGINT'): void => {
  isAsked = true
  onStop(signal)
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal))
// The launcher has ended, or the npm that started this process. It can no longer pass on signals: stop as if it had passed on
// SIGTERM. It may have passed one on before: this one does not count as the second.
const onLauncherEnded = (): void => {
  if (!isAsked) stop('SIGTERM')
}
process.on('disconnect', onLauncherEnded)
if (process.env[LAUNCHED] === '1' && !process.connected) onLauncherEnded()

const [main, besideNode, stoppedNode, explorerProcess, { runCommand }, { createLineWriter }, { readSecret }] =
  await Promise.all([
    import('../main.ts'),
    import('../operator/besideNode.ts'),
    import('../operator/stoppedNode.ts'),
    import('../operator/explorerProcess.ts'),
    import('./program.ts'),
    import('../telemetry/lineWriter.ts'),
    import('./readSecret.ts'),
  ])

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
  openLedger: async () => (await import('./keys/ledger.ts')).openHidTransport(),
  now: () => performance.now(),
  onStopSignal: (handler) => {
    onStop = handler
  },
  exitNow: endAtOnce,
}

// A reader may close the pipe early (`| head`): the node continues without it. This use of `process.stdout` also makes a pipe or
// socket non-blocking, which the log's writers need (src/telemetry/lineWriter.ts).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

let areThreadsLeft = false
const commands: NodeCommands = {
  ...main,
  ...besideNode,
  ...stoppedNode,
  ...explorerProcess,
  startNode: (config, options) =>
    main.startNode(config, {
      ...options,
      onThreadsLeft: () => {
        areThreadsLeft = true
      },
    }),
}
try {
  process.exitCode = await runCommand(process.argv.slice(2), commands, terminal, (line) => {
    process.stderr.write(`coind: ${line}\n`)
  })
  if (areThreadsLeft) endAtOnce(process.exitCode)
} catch (error) {
  if (!areThreadsLeft) throw error
  console.error(error)
  endAtOnce(1)
}
process.off('disconnect', onLauncherEnded)
if (process.env[LAUNCHED] === '1' && process.connected) process.disconnect?.()

/**
 * Ends the process with all its threads, without waiting for any. `process.exit` would end the threads one after another, and a thread for
 * which LevelDB works, or which loads modules, crashes then. So the process becomes another one, which does nothing but end: for the
 * data this is as if the process had been killed, which loses nothing.
 */
function endAtOnce(code: number): never {
  // Writes what is left of the log.
  process.emit('exit', code)
  const environment = { ...process.env, NODE_OPTIONS: '' }
  process.execve?.(process.execPath, [process.execPath, '-e', `process.exitCode = ${code}`], environment)
  process.exit(code)
}
