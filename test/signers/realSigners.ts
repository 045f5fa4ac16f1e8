import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ed25519Key } from '../../src/primitives/ed25519.ts'

/** A remote signer that others wrote, for one validator. */
export interface RealSigner {
  readonly name: string
  /** of the node that it signs for */
  readonly variables: Readonly<Record<string, string>>
  /** Starts it once the node listens. */
  start(): Promise<void>
  kill(): Promise<void>
}

interface SignerOptions {
  /** the validator's priv_validator_key.json */
  readonly keyFile: string
  /** for its own files; made here */
  readonly directory: string
  readonly chainId: string
  readonly port: number
}

/** The paths of both programs; undefined: one is not there. */
export function findSigners(): { readonly tmkms: string; readonly privValServer: string } | undefined {
  const tmkms = findProgram('TMKMS', 'tmkms')
  const privValServer = findProgram('PRIV_VALIDATOR_SERVER', 'priv_val_server')
  return tmkms === undefined || privValServer === undefined ? undefined : { tmkms, privValServer }
}

/** Why they cannot run here; undefined: they can. */
export function signersMissing(): string | undefined {
  if (findSigners() !== undefined) return undefined
  return 'it needs tmkms and priv_val_server, in PATH or named by TMKMS and PRIV_VALIDATOR_SERVER'
}

/** The program's path: in the environment variable, or in PATH; undefined: it is not there. */
function findProgram(variable: string, name: string): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, name))
  return [process.env[variable], ...paths].find((path) => path !== undefined && isExecutable(path))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** TMKMS with its software signer, over TCP with a connection key that the node knows. */
export function createTmkms(program: string, { keyFile, directory, chainId, port }: SignerOptions): RealSigner {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const seed = new Uint8Array(randomBytes(32))
  const file = (name: string): string => join(directory, name)
  writeFileSync(file('connection.key'), Buffer.from(seed).toString('base64'), { mode: 0o600 })
  execFileSync(program, ['softsign', 'import', keyFile, file('consensus.key')], { stdio: 'ignore' })
  writeFileSync(
    file('tmkms.toml'),
    `[[chain]]
id = "${chainId}"
key_format = { type = "hex" }
state_file = "${file('state.json')}"

[[providers.softsign]]
chain_ids = ["${chainId}"]
key_type = "consensus"
path = "${file('consensus.key')}"

[[validator]]
chain_id = "${chainId}"
addr = "tcp://127.0.0.1:${port}"
secret_key = "${file('connection.key')}"
protocol_version = "v0.38"
reconnect = true
`,
  )
  return {
    name: 'TMKMS over TCP',
    variables: {
      PRIV_VALIDATOR_LADDR: `tcp://127.0.0.1:${port}`,
      PRIV_VALIDATOR_SIGNER_KEYS: Buffer.from(ed25519Key(seed).publicKey).toString('base64'),
    },
    ...processOf(program, ['start', '-c', file('tmkms.toml')], () => isListening(port)),
  }
}

/** CometBFT's own signer, over TCP (a new connection key at each start) or a Unix socket. */
export function createPrivValServer(
  program: string,
  { keyFile, directory, chainId, port }: SignerOptions,
  kind: 'tcp' | 'unix',
): RealSigner {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const state = join(directory, 'state.json')
  writeFileSync(state, '{"height":"0","round":0,"step":0}')
  const socket = join(directory, 'signer.sock')
  const address = kind === 'tcp' ? `tcp://127.0.0.1:${port}` : `unix://${socket}`
  const flags = ['-addr', address, '-chain-id', chainId, '-priv-key', keyFile, '-priv-state', state]
  return {
    name: `priv_val_server over ${kind}`,
    variables: { PRIV_VALIDATOR_LADDR: address },
    ...processOf(program, flags, async () => (kind === 'tcp' ? isListening(port) : existsSync(socket))),
  }
}

function processOf(
  program: string,
  flags: readonly string[],
  isReady: () => Promise<boolean>,
): Pick<RealSigner, 'start' | 'kill'> {
  let running: ChildProcess | undefined
  return {
    start: async () => {
      while (!(await isReady())) await sleep(50)
      running = spawn(program, flags, { stdio: 'ignore' })
    },
    kill: async () => {
      const child = running
      if (child === undefined || child.exitCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
