import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname
const START_TIMEOUT_MS = 60_000
const ANSWER_TIMEOUT_MS = 30_000
const POLL_MS = 50

export interface NodeOptions {
  /** variables and flags as an operator sets them; `devnet` ignores those that it decides itself */
  readonly environment?: Readonly<Record<string, string>>
  /** `devnet` (funded accounts) by default */
  readonly command?: 'devnet' | 'start' | 'supervise'
  /** of the command */
  readonly flags?: readonly string[]
  /** a fresh temporary directory by default, which `stop` then removes */
  readonly homedir?: string
  readonly rpcPort?: number
  /** where its RPC port is reached; the loopback interface by default */
  readonly host?: string
  /** a command that runs the rest of its arguments, elsewhere: in a network namespace */
  readonly within?: readonly string[]
  /** arguments of Node.js in the place of the launcher, for a node that is not as it is released */
  readonly launcher?: readonly string[]
  /** how long it may take until it serves; a minute by default */
  readonly timeoutMs?: number
  /** a descriptor in the place of the pipe whose bytes `output` gives */
  readonly stdout?: number
  /** Called with the process before it serves. */
  readonly onSpawn?: (child: ChildProcess) => void
}

/** A node in a process of its own. */
export interface TestNode {
  readonly url: string
  readonly wsUrl: string
  readonly homedir: string
  readonly rpcPort: number
  /** of the node itself, not of its launcher */
  readonly process: ChildProcess
  /** standard output and error so far */
  output(): string
  /** Ends it and waits for its end; gives the exit code. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Stops it cleanly; a temporary directory is removed. */
  stop(): Promise<void>
}

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * Starts a node as an operator does and waits until it serves.
 * @throws Error with the node's output when it ends or does not serve in time
 */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  const homedir = options.homedir ?? mkdtempSync(join(tmpdir(), 'coind-e2e-'))
  const rpcPort = options.rpcPort ?? (await freePort())
  const p2pPort = await freePort()
  const { command = 'devnet' } = options
  const { host = '127.0.0.1', within = [], launcher = [LAUNCHER] } = options
  const [program, ...args] = [
    ...within,
    process.execPath,
    ...launcher,
    command,
    '--homedir',
    homedir,
    ...(command === 'devnet' ? ['--no-explorer'] : []),
    ...(options.flags ?? []),
  ]
  const child = spawn(program!, args, {
    env: {
      PATH: process.env.PATH,
      RPC_HOST: host,
      RPC_PORT: String(rpcPort),
      P2P_PORT: String(p2pPort),
      METRICS_PORT: '0',
      // A thread less to start, in many tests; those that are about view threads say how many there are.
      ...(command === 'devnet' && { VIEW_THREADS: '1' }),
      ...options.environment,
    },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
  })
  options.onSpawn?.(child)
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = `http://${host}:${rpcPort}/`

  const deadline = Date.now() + (options.timeoutMs ?? START_TIMEOUT_MS)
  while (!(await isServing(url))) {
    if (hasEnded(child) || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`the node did not start:\n${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return exited
  }
  return {
    url,
    wsUrl: `ws://${host}:${rpcPort}/ws`,
    homedir,
    rpcPort,
    process: child,
    output: () => output,
    kill,
    stop: async () => {
      if (!hasEnded(child)) await kill('SIGTERM')
      if (options.homedir === undefined) rmSync(homedir, { recursive: true, force: true })
    },
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function isServing(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL('/rpc/health', url), { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })).ok
  } catch {
    // Nobody listens yet.
    return false
  }
}
