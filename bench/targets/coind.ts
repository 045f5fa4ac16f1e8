import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { FUNDER } from '../load/sign.ts'
import { freePort, untilServing } from './ports.ts'
import type { BlockTiming, Target } from './target.ts'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname

interface CoindOptions {
  /** gas of one block */
  readonly gasLimit: number
  /** milliseconds; 400 by default */
  readonly blockIntervalMs?: number
  /** for Node.js, before the program (a profiler) */
  readonly nodeFlags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a chain of one validator in a temporary directory: durable, 400 ms blocks. */
export async function startCoind(options: CoindOptions): Promise<Target> {
  const { nodeFlags = [], environment = {} } = options
  const home = mkdtempSync(join(tmpdir(), 'coind-bench-'))
  const port = await freePort()
  const metricsPort = await freePort()
  const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  const env = {
    PATH: process.env.PATH,
    NETWORK: 'devnet',
    GENESIS_WALLET: bytesToHex(FUNDER.address),
    HOMEDIR: home,
    RPC_HOST: '127.0.0.1',
    RPC_PORT: String(port),
    P2P_PORT: String(await freePort()),
    METRICS_PORT: String(metricsPort),
    // anvil accepts any fee
    RPC_TX_FEE_CAP: '0',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
    ...environment,
  }
  makeGenesis(home, env, options)
  const child = spawn(process.execPath, [...nodeFlags, LAUNCHER, 'start'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const blocks: BlockTiming[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (!line.includes('block decided')) {
        if (/"level":("warn"|"error"|"fatal"|[456]0)/.test(line)) console.error(line)
        continue
      }
      const { txs, buildMs, finalizeMs } = JSON.parse(line) as BlockTiming
      blocks.push({ atMs: performance.now(), txs, buildMs, finalizeMs })
    }
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/`
  await untilServing(url, child)
  return {
    name: 'coind',
    url,
    port,
    pid: child.pid!,
    metricsUrl,
    takeBlocks: () => blocks.splice(0),
    mainDelayMs: async () => {
      const page = await (await fetch(metricsUrl)).text()
      const seconds = /coind_event_loop_delay_seconds\{thread="main",quantile="0\.99"\} (\S+)/.exec(page)?.[1]
      return seconds === undefined ? undefined : Number(seconds) * 1_000
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function makeGenesis(home: string, env: NodeJS.ProcessEnv, { gasLimit, blockIntervalMs }: CoindOptions): void {
  const { status, stderr } = spawnSync(process.execPath, [LAUNCHER, 'init'], { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`coind init failed: ${stderr}`)
  const path = join(home, 'config', 'genesis.json')
  const genesis = JSON.parse(readFileSync(path, 'utf8'))
  genesis.consensus.params.block.max_gas = String(gasLimit)
  if (blockIntervalMs !== undefined) genesis.app_state.timing.params.block_interval_ms = String(blockIntervalMs)
  writeFileSync(path, JSON.stringify(genesis, undefined, 2))
}
