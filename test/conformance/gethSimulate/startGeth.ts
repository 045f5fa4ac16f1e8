import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../e2e/startNode.ts'

/** A geth that answers over HTTP. */
export interface Geth {
  readonly url: string
  /** as `geth version` says it: `1.17.10-stable` */
  readonly version: string
  close(): Promise<void>
}

const START_TIMEOUT_MS = 60_000

/** @returns the version of a geth, or undefined where the command is not there */
export function gethVersion(command: string): string | undefined {
  const { status, stdout } = spawnSync(command, ['version'], { encoding: 'utf8' })
  return status === 0 ? /^Version: (.+)$/m.exec(stdout)?.[1] : undefined
}

/**
 * Imports the chain of a suite of execution-apis into a geth and serves it, without peers and with this node's gas cap.
 * @param directory with `genesis.json` and `chain.rlp`
 * @throws Error with what geth printed when a step fails
 */
export async function startGeth(command: string, directory: string): Promise<Geth> {
  const version = gethVersion(command)
  if (version === undefined) throw new Error(`${command} is no geth`)
  const home = mkdtempSync(join(tmpdir(), 'coind-geth-'))
  const storage = ['--datadir', home, '--state.scheme', 'hash', '--gcmode', 'archive']
  const run = (...args: string[]): void => {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`geth ${args.join(' ')} ended with ${status}:\n${stderr}`)
  }
  run('init', '--datadir', home, '--state.scheme', 'hash', join(directory, 'genesis.json'))
  run(...storage, 'import', join(directory, 'chain.rlp'))
  const [engine, http] = [await freePort(), await freePort()]
  const server = spawn(
    command,
    [
      ...storage,
      ...['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(engine)],
      ...[
        '--http',
        '--http.port',
        String(http),
        '--http.api',
        'eth',
        '--rpc.gascap',
        '50000000',
        '--rpc.evmtimeout',
        '60s',
      ],
    ],
    { stdio: 'ignore' },
  )
  const exit = once(server, 'exit')
  const url = `http://127.0.0.1:${http}`
  const deadlineMs = Date.now() + START_TIMEOUT_MS
  while (!(await answers(url))) {
    if (server.exitCode !== null || Date.now() > deadlineMs) {
      server.kill('SIGKILL')
      throw new Error(`geth does not answer (exit code ${server.exitCode})`)
    }
    await sleep(100)
  }
  return {
    url,
    version,
    close: async () => {
      server.kill()
      await exit
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' })
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(
    () => undefined,
  )
  return reply?.ok ?? false
}
