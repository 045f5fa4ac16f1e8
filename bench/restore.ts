/**
 * Measures the cost of a snapshot of a large state, on this machine alone. A running node makes it; it is then restored by two others, from a static web
 * server and from the node as a peer. Prints times, bytes per second, memory, and the intervals of blocks meanwhile; at the end it compares
 * what was restored with the source. `--help` lists the flags.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataPaths } from '../src/datadir/dataDirectory.ts'
import { readStateHead } from '../src/state/head.ts'
import { proofAt } from '../src/state/proof.ts'
import { Column, columnKey, prefixEnd } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'
import { readFlags } from './flags.ts'

const LAUNCHER = new URL('../bin/coind.js', import.meta.url).pathname
const INTERVAL = 100
const ADDRESS_BYTES = 20

const HELP = `node bench/restore.ts [flags]
  --home DIR            that bench/bigChain.ts has made
  --proofs 1000         random ones that are compared with the source
`

const values = readFlags(HELP, { home: { type: 'string' }, proofs: { type: 'string', default: '1000' } })
if (values.home === undefined) throw new Error('--home DIR is missing: the directory that bench/bigChain.ts has made')
const home = values.home

interface BenchNode {
  readonly homedir: string
  readonly rpcUrl: string
  readonly p2pPort: number
  readonly process: ChildProcess
  readonly lines: { readonly atMs: number; readonly text: string }[]
}

function start(homedir: string, port: number, environment: Readonly<Record<string, string>>): BenchNode {
  const variables = { NETWORK: 'testnet', METRICS_PORT: '0', P2P_HOST: '127.0.0.1', LOG_FORMAT: 'json', ...environment }
  const child = spawn(process.execPath, [LAUNCHER, 'start', '--homedir', homedir], {
    env: { PATH: process.env.PATH, ...variables, RPC_PORT: String(port), P2P_PORT: String(port + 1) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const node: BenchNode = {
    homedir,
    rpcUrl: `http://127.0.0.1:${port}/`,
    p2pPort: port + 1,
    process: child,
    lines: [],
  }
  child.stdout!.on('data', (chunk: Buffer) => {
    for (const text of chunk.toString().split('\n')) if (text !== '') node.lines.push({ atMs: performance.now(), text })
  })
  return node
}

/** Waits until the node logs this text. @returns when it did, milliseconds */
async function logged(node: BenchNode, text: string): Promise<number> {
  for (;;) {
    const line = node.lines.find((found) => found.text.includes(text))
    if (line !== undefined) return line.atMs
    if (node.process.exitCode !== null)
      throw new Error(`the node has ended:\n${node.lines.map((l) => l.text).join('\n')}`)
    await sleep(50)
  }
}

async function stop(node: BenchNode): Promise<void> {
  const ended = new Promise((resolve) => node.process.once('exit', resolve))
  node.process.kill('SIGTERM')
  await ended
}

/** Returns the peak memory of the node's process in megabytes. */
function peakMegabytes({ homedir }: BenchNode): number {
  const pid = readFileSync(dataPaths(homedir).pid, 'utf8').trim()
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1000
}

interface Status {
  readonly result: {
    readonly node_info: { readonly id: string }
    readonly sync_info: { readonly latest_block_height: string }
  }
}

const statusOf = async ({ rpcUrl }: BenchNode): Promise<Status['result']> =>
  ((await (await fetch(`${rpcUrl}rpc/status`)).json()) as Status).result

/**
 * Intervals between the blocks from one height to another. Those before a block of a later round are counted apart: most validators of the
 * generated chain have no node, so now and then a proposer is absent.
 */
async function printIntervals(node: BenchNode, what: string, from: number): Promise<void> {
  const to = await heightOf(node)
  const gaps: number[] = []
  let laterRounds = 0
  let beforeMs: number | undefined
  for (let height = from; height < to; height++) {
    const answer = (await (await fetch(`${node.rpcUrl}rpc/commit?height=${height}`)).json()) as {
      readonly result: {
        readonly signed_header: {
          readonly header: { readonly time: string }
          readonly commit: { readonly round: number }
        }
      }
    }
    const { header, commit } = answer.result.signed_header
    const timeMs = Date.parse(header.time)
    if (beforeMs !== undefined) {
      if (commit.round === 0) gaps.push(timeMs - beforeMs)
      else laterRounds++
    }
    beforeMs = timeMs
  }
  gaps.sort((a, b) => a - b)
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const p99 = gaps[Math.floor(gaps.length * 0.99)]
  console.log(
    `  blocks ${what}: ${gaps.length}, mean ${mean.toFixed(0)} ms, p99 ${p99} ms, longest ${gaps.at(-1)} ms; ` +
      `${laterRounds} more in later rounds`,
  )
}

const heightOf = async (node: BenchNode): Promise<number> =>
  Number((await statusOf(node)).sync_info.latest_block_height)

// 1. The source makes a snapshot while it makes blocks.
const source = start(home, 28_080, { SNAPSHOT_INTERVAL: String(INTERVAL), SNAPSHOT_KEEP: '1' })
await logged(source, 'node is up')
const { id } = (await statusOf(source)).node_info
const shelf = dataPaths(home).snapshots
rmSync(shelf, { recursive: true, force: true })
const nextHeight = (Math.floor((await heightOf(source)) / INTERVAL) + 1) * INTERVAL
while ((await heightOf(source)) < nextHeight) await sleep(100)
const makingMs = performance.now()
while (!existsSync(join(shelf, String(nextHeight)))) await sleep(200)
const madeSeconds = (performance.now() - makingMs) / 1000
const snapshot = mkdtempSync(join(tmpdir(), 'coind-bench-'))
cpSync(join(shelf, String(nextHeight)), snapshot, { recursive: true })
const names = readdirSync(snapshot)
const megabytes = names.reduce((sum, name) => sum + statSync(join(snapshot, name)).size, 0) / 1e6
console.log(
  `made of block ${nextHeight}: ${names.length - 1} chunks, ${megabytes.toFixed(1)} MB in ${madeSeconds.toFixed(1)} s`,
)
await printIntervals(source, 'meanwhile', nextHeight)

// 2. and 3. Two nodes restore it.
const server = createServer((request, response) => {
  const name = new URL(request.url!, 'http://host').pathname.slice(1)
  if (!names.includes(name)) return void response.writeHead(404).end()
  response.end(readFileSync(join(snapshot, name)))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const joining = {
  JOIN_NETWORK: 'true',
  SEED_NODE_URL: source.rpcUrl,
  SEED_NODE_ID: id,
  SEED_PEER_HOST: `127.0.0.1:${source.p2pPort}`,
}
const ways: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['from a web server', { SNAPSHOT_MANIFEST_URL: `http://127.0.0.1:${port}/manifest.json` }],
  ['from a peer', {}],
]
const restored: { readonly way: string; readonly homedir: string }[] = []
for (const [index, [way, variables]] of ways.entries()) {
  const homedir = mkdtempSync(join(tmpdir(), 'coind-bench-'))
  mkdirSync(dataPaths(homedir).config)
  cpSync(dataPaths(home).genesis, dataPaths(homedir).genesis)
  const from = await heightOf(source)
  const node = start(homedir, 28_090 + 10 * index, { ...joining, ...variables })
  const beganMs = await logged(node, 'the header of the snapshot is verified')
  const seconds = ((await logged(node, 'the node starts from the state of a snapshot')) - beganMs) / 1000
  const peak = peakMegabytes(node)
  console.log(
    `restored ${way}: ${seconds.toFixed(1)} s, ${(megabytes / seconds).toFixed(1)} MB/s, ${peak.toFixed(0)} MB of memory at most`,
  )
  await logged(node, 'taking part in consensus')
  await printIntervals(source, 'meanwhile', from)
  await stop(node)
  restored.push({ way, homedir })
}
server.close()
await stop(source)

// 4. What was restored is what the source has.
for (const { way, homedir } of restored) {
  const differing = await differingProofs(dataPaths(home).db, dataPaths(homedir).db, Number(values.proofs))
  console.log(`${way}: ${differing} of ${values.proofs} proofs differ from the source's; ${await invariants(homedir)}`)
  rmSync(homedir, { recursive: true })
}
rmSync(snapshot, { recursive: true })

/**
 * Counts the proofs of so many random accounts and slots that differ between the two databases,
 * after the block that `b` began with.
 */
async function differingProofs(a: string, b: string, count: number): Promise<number> {
  const databases = await Promise.all([a, b].map((location) => Database.open(location, { readOnly: true })))
  const at = readStateHead(databases[1]!)!.oldestHeight
  let differing = 0
  for (let i = 0; i < count; i++) {
    const column = i % 2 === 0 ? Column.account : Column.slot
    const key = await randomKey(databases[0]!, column)
    const address = key.slice(0, ADDRESS_BYTES)
    const slots = column === Column.slot ? [key.slice(ADDRESS_BYTES)] : []
    const proofs = await Promise.all(
      databases.map((database) => proofAt(database, readStateHead(database)!, at, address, slots)),
    )
    if (textOf(proofs[0]) !== textOf(proofs[1])) differing++
  }
  for (const database of databases) await database.close()
  return differing
}

/** Returns a key of the column, without the column's byte: the first one after a random place. */
async function randomKey(database: Database, column: number): Promise<Uint8Array> {
  for (;;) {
    const start = columnKey(column, crypto.getRandomValues(new Uint8Array(ADDRESS_BYTES + 2)))
    const range = { start, end: prefixEnd(Uint8Array.of(column)), limit: 1 }
    for await (const [key] of database.entries(range)) return key.slice(1)
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === 'bigint') return String(part)
    return part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part
  })
}

/** Runs `coind debug invariants`. */
async function invariants(homedir: string): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, 'debug', 'invariants', '--homedir', homedir], {
    env: { PATH: process.env.PATH, NETWORK: 'testnet' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  await new Promise((resolve) => child.once('close', resolve))
  return output.trim()
}
