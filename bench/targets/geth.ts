import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { CHAIN_ID, FUNDER } from '../load/sign.ts'
import { freePort, untilServing } from './ports.ts'
import type { Target } from './target.ts'

/** The command. */
export const GETH = process.env.GETH ?? 'geth'

/** Whether there is a geth: the command that the variable GETH names, or the one on the PATH. */
export function hasGeth(): boolean {
  return spawnSync(GETH, ['version']).status === 0
}

interface GethOptions {
  readonly gasLimit: number
  /** between blocks; 0: a block for what arrives */
  readonly period?: number
}

/** Starts `geth --dev` on a genesis with the bench's chain ID: blocks each second, on disk, without peers. */
export async function startGeth({ gasLimit, period = 1 }: GethOptions): Promise<Target> {
  const home = mkdtempSync(join(tmpdir(), 'geth-bench-'))
  const genesis = join(home, 'genesis.json')
  writeFileSync(genesis, JSON.stringify(genesisOf(gasLimit)))
  const { status, stderr } = spawnSync(GETH, ['init', '--datadir', home, genesis], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${GETH} init failed: ${stderr}`)
  const port = await freePort()
  const child = spawn(
    GETH,
    [
      ...[
        '--datadir',
        home,
        '--dev',
        '--dev.period',
        String(period),
        '--miner.gaslimit',
        String(gasLimit),
        '--ipcdisable',
      ],
      ...['--authrpc.port', String(await freePort()), '--http', '--http.port', String(port)],
      ...['--http.api', 'eth,net,web3,debug,txpool', '--rpc.gascap', '0', '--rpc.batch-request-limit', '0'],
      ...['--rpc.batch-response-max-size', '0', '--rpc.txfeecap', '0', '--gcmode', 'archive'],
      ...['--txpool.accountslots', '100000', '--txpool.globalslots', '200000', '--txpool.accountqueue', '100000'],
    ],
    { stdio: 'ignore' },
  )
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/`
  await untilServing(url, child)
  return {
    name: 'geth',
    url,
    port,
    pid: child.pid!,
    metricsUrl: undefined,
    takeBlocks: () => undefined,
    mainDelayMs: async () => undefined,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Returns a genesis with all forks up to Cancun from the first block on: later ones need system contracts. */
function genesisOf(gasLimit: number): unknown {
  const blocks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul']
  const forks = [...blocks, 'berlin', 'london'].map((name) => [`${name}Block`, 0] as const)
  const times = ['shanghai', 'cancun'].map((name) => [`${name}Time`, 0] as const)
  return {
    config: {
      chainId: Number(CHAIN_ID),
      ...Object.fromEntries([...forks, ...times]),
      terminalTotalDifficulty: 0,
      blobSchedule: {
        cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
      },
    },
    difficulty: '0x0',
    gasLimit: `0x${gasLimit.toString(16)}`,
    alloc: { [bytesToHex(FUNDER.address)]: { balance: `0x${(10n ** 30n).toString(16)}` } },
  }
}
