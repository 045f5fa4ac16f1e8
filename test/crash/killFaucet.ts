/**
 * Kills explorers with SIGKILL at random instants while their faucet pays, and the node under them, whose mempool is then empty; somebody
 * else who has the faucet's key takes nonces meanwhile. At the end everybody who was promised coins has them, once. First over an SQLite
 * file, then, where PostgreSQL is installed, with two explorers over its database, which is killed too.
 *
 *   node test/crash/killFaucet.ts [kills] [seed]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWalletClient, type Hex, http } from 'viem'
import type { GrantView } from '../../explorer/faucet/shapes.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, GWEI, KEYS, viemChain } from '../e2e/devChain.ts'
import { startQuickDevnet } from '../e2e/quickDevnet.ts'
import { rpc, rpcBatch } from '../e2e/rpc.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { type ExplorerProcess, startExplorerProcess } from '../indexProof/explorerProcess.ts'
import { postgresPrograms, startPostgres } from '../postgres/startPostgres.ts'
import { createRandom } from '../support/state/randomChain.ts'

/** Of the faucet's account. */
const PURSE = 9
const AMOUNT = 100n * COIN
/** The faucet gives 1,000 in 24 hours. */
const MAX_ASKED = 950
const ASK_MS = 100
const FOREIGN_MS = 1_500
/** Milliseconds that explorers serve before one is killed. */
const MAX_UP_MS = 3_000
/** What is promised at the end is paid within so many. */
const END_MS = 120_000

const [kills = '60', seed = '1'] = process.argv.slice(2)
const random = createRandom(Number(seed))
const row = (cells: readonly (string | number)[]): void =>
  console.log(cells.map((cell) => String(cell).padStart(14)).join(''))

/** What somebody was promised. */
interface Asked {
  readonly address: Hex
  /** undefined: the answer was lost, or a refusal */
  id: number | undefined
}

/** What is wrong after `count` kills, with explorers over one database; empty when all is well. */
async function killFaucet(name: string, count: number, database: string, crash?: () => void): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-faucet-kills-'))
  const quick = await startQuickDevnet()
  let node: TestNode = quick
  const explorers: ExplorerProcess[] = []
  const settings = { EXPLORER_FAUCET_KEY_FILE: join(directory, 'faucet.key'), TRUSTED_PROXIES: '127.0.0.1/32' }
  const index = database === '' ? join(directory, 'index.sqlite') : database
  const start = (port?: number) =>
    startExplorerProcess({ nodeUrl: node.url, home: directory, database: index, settings, ...(port && { port }) })
  const asked: Asked[] = []
  const load = new AbortController()
  try {
    writeFileSync(join(directory, 'faucet.key'), `${KEYS[PURSE]!.slice(2)}\n`, { mode: 0o600 })
    await fillPurse(node.url)
    // With PostgreSQL there are two.
    for (let made = 0; made < (crash === undefined ? 1 : 2); made++) explorers.push(await start())
    const loads = [
      ask(() => explorers[random(explorers.length)]!.url, asked, load.signal),
      takeNonces(node.url, load.signal),
    ]
    for (let kill = 1; kill <= count; kill++) {
      await sleep(random(MAX_UP_MS))
      const place = random(explorers.length)
      const victim = explorers[place]!
      const isNodeKilled = kill % 5 === 0
      const isDatabaseKilled = crash !== undefined && kill % 7 === 0
      const end = victim.kill()
      if (isNodeKilled) {
        await node.kill('SIGKILL')
        node = await startNode({ homedir: node.homedir, rpcPort: node.rpcPort })
      }
      if (isDatabaseKilled) crash()
      await end
      explorers[place] = await start(Number(new URL(victim.url).port))
      const what = `explorer${isNodeKilled ? ' node' : ''}${isDatabaseKilled ? ' db' : ''}`
      row([name, kill, what, asked.length, asked.filter(({ id }) => id !== undefined).length])
    }
    load.abort()
    await Promise.all(loads)
    return await problemsOf(explorers[0]!.url, node.url, asked)
  } finally {
    load.abort()
    for (const explorer of explorers) void explorer.kill()
    if (node !== quick) await node.kill('SIGKILL')
    await quick.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Coins for all that ask. */
async function fillPurse(url: string): Promise<void> {
  const wallet = createWalletClient({ chain: viemChain(url), transport: http(url), account: ACCOUNTS[0]! })
  await wallet.sendTransaction({ to: ACCOUNTS[PURSE]!.address, value: 200_000n * COIN })
}

/** Asks for new addresses, each of a new client, and for former ones again, in the other spelling. */
async function ask(explorer: () => string, asked: Asked[], stop: AbortSignal): Promise<void> {
  for (let client = 0; !stop.aborted; client++) {
    await sleep(ASK_MS)
    const isAgain = asked.length > 0 && (client % 4 === 0 || asked.length === MAX_ASKED)
    const entry = isAgain ? asked[random(asked.length)]! : { address: freshAddress(), id: undefined }
    if (!isAgain) asked.push(entry)
    try {
      const response = await fetch(`${explorer()}api/v1/faucet`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.0.${client >> 8}.${client & 255}` },
        body: JSON.stringify({ address: isAgain ? toBech32(hexToBytes(entry.address)) : entry.address }),
        signal: AbortSignal.timeout(10_000),
      })
      const answer = (await response.json()) as GrantView
      if (response.status !== 202) continue
      if (entry.id !== undefined) throw new Error(`${entry.address} was promised coins twice`)
      entry.id = answer.id
    } catch (error) {
      // The explorer is killed just now.
      if (!(error instanceof TypeError || error instanceof DOMException || error instanceof SyntaxError)) throw error
    }
  }
}

/** Has other transactions of the faucet's account in blocks: they pay more for gas than the faucet's. */
async function takeNonces(url: string, stop: AbortSignal): Promise<void> {
  const wallet = createWalletClient({ chain: viemChain(url), transport: http(url), account: ACCOUNTS[PURSE]! })
  while (!stop.aborted) {
    await sleep(FOREIGN_MS)
    try {
      const { address } = ACCOUNTS[PURSE]!
      const nonce = Number(await rpc<Hex>(url, 'eth_getTransactionCount', address, 'latest'))
      const fees = { gas: 21_000n, maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 100n * GWEI }
      await wallet.sendTransaction({ to: freshAddress(), value: 1n, nonce, ...fees })
    } catch {
      // Too late for this nonce, or the node is killed just now.
    }
  }
}

/** Waits until what was promised is paid, and compares what everybody has with what was promised. */
async function problemsOf(explorer: string, nodeUrl: string, asked: readonly Asked[]): Promise<string[]> {
  const problems: string[] = []
  const endMs = performance.now() + END_MS
  for (const { address, id } of asked) {
    if (id === undefined) continue
    for (;;) {
      const grant = (await (await fetch(`${explorer}api/v1/faucet/grants/${id}`)).json()) as GrantView
      if (grant.state === 'paid') break
      if (grant.state === 'failed' || performance.now() > endMs) {
        problems.push(`${address} was promised coins: ${JSON.stringify(grant)}`)
        break
      }
      await sleep(50)
    }
  }
  const calls = asked.map(({ address }) => ({ method: 'eth_getBalance', params: [address, 'latest'] }))
  const balances: unknown[] = []
  for (let at = 0; at < calls.length; at += 50) balances.push(...(await rpcBatch(nodeUrl, calls.slice(at, at + 50))))
  let lost = 0
  for (const [place, { address, id }] of asked.entries()) {
    const balance = BigInt(balances[place] as Hex)
    if (id === undefined && balance === AMOUNT) lost++
    // Without an answer there may be a promise, or none.
    if (balance !== AMOUNT && !(id === undefined && balance === 0n)) problems.push(`${address} has ${balance} acoin`)
  }
  const promised = asked.filter(({ id }) => id !== undefined).length
  console.log(`${asked.length} addresses, ${promised} promises, ${lost} that were paid without a known answer`)
  if (promised === 0) problems.push('nobody was promised anything')
  return problems
}

row(['database', 'kill', 'of', 'asked', 'promised'])
const problems = await killFaucet('sqlite', Number(kills), '')
const programs = postgresPrograms()
if (programs !== undefined) {
  const postgres = await startPostgres(programs)
  try {
    problems.push(...(await killFaucet('postgres', Number(kills), postgres.url, postgres.crash)))
  } finally {
    postgres.stop()
  }
}
console.log(`problems      ${problems.length === 0 ? 'none' : ''}`)
for (const problem of problems) console.log(`  ${problem}`)
process.exitCode = problems.length === 0 ? 0 : 1
