/**
 * An RPC fleet: three full nodes behind HAProxy, then behind nginx, with the files of deploy/fleet/: `npm run test:fleet -- [--proxy NAME]`.
 * While clients read and send, one node is cut off from the network, and another is killed and comes back. No request may fail but those that
 * were under way, and no client may see its head go back. Needs Debian's packages `haproxy` and `nginx`; what is missing is skipped.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { ACCOUNTS, CHAIN_ID, GWEI } from '../e2e/devChain.ts'
import { makeNetwork, waitForHeight } from '../e2e/network/localNetwork.ts'
import { startTcpProxy } from '../e2e/network/tcpProxy.ts'
import { freePort } from '../e2e/startNode.ts'
import { createFleetClient, type FleetClient } from './fleetClient.ts'
import { isInstalled, PROXIES, type ProxyKind, startProxy } from './proxies.ts'

const { values: flags } = parseArgs({ options: { proxy: { type: 'string' } } })
const CLIENTS = 6
const PAUSE_MS = 40
/** requests per second of one client; one that keeps to its pauses stays below */
const RATE_LIMIT = 50
const FLOOD = 1_000
/** In this time a proxy notices that a node is cut off, and moves the clients: 3 seconds of age, and its checks. */
const NOTICE_MS = 9_000

interface Failure {
  readonly startMs: number
  readonly endMs: number
  readonly what: string
}

/** What a client saw. */
interface Seen {
  requests: number
  readonly failures: Failure[]
  readonly headsBack: string[]
  moves: number
  filtersLost: number
  readonly foreignNonces: string[]
  transactions: number
  webSockets: number
  heads: number
}

/** Reads, sends and subscribes until the signal, always with one request under way. */
async function runClient(client: FleetClient, account: (typeof ACCOUNTS)[number], signal: AbortSignal): Promise<Seen> {
  const seen: Seen = {
    requests: 0,
    failures: [],
    headsBack: [],
    moves: 0,
    filtersLost: 0,
    foreignNonces: [],
    transactions: 0,
    webSockets: 0,
    heads: 0,
  }
  const attempt = async <T>(what: string, ask: () => Promise<T>): Promise<T | undefined> => {
    const startMs = performance.now()
    seen.requests++
    try {
      return await ask()
    } catch (error) {
      seen.failures.push({ startMs, endMs: performance.now(), what: `${what}: ${String(error)}` })
      return undefined
    }
  }
  const rising = (what: string) => {
    let newest = 0
    return (height: number): void => {
      if (height < newest) seen.headsBack.push(`${client.address} ${what}: ${newest} -> ${height}`)
      newest = height
    }
  }
  const readHead = rising('eth_blockNumber')
  const subscribedHead = rising('newHeads')
  const following = (async () => {
    while (!signal.aborted) {
      seen.webSockets++
      await client.followHeads((height) => {
        seen.heads++
        subscribedHead(height)
      }, signal)
      await sleep(200)
    }
  })()

  let node = ''
  let filter: string | undefined
  let nonce: number | undefined
  for (let turn = 0; !signal.aborted; turn++) {
    const head = await attempt('eth_blockNumber', () => client.call<string>('eth_blockNumber'))
    if (head !== undefined) readHead(Number(head))
    if (turn % 5 === 0) {
      const status = await attempt('status', () => nodeOf(client))
      if (status !== undefined && status !== node) {
        if (node !== '') seen.moves++
        node = status
        // Another node may not have the newest transactions yet.
        nonce = undefined
      }
    }
    if (turn % 5 === 1) {
      const lost = async (): Promise<undefined> => {
        seen.filtersLost++
        filter = undefined
      }
      const known = filter
      if (known === undefined) {
        filter = await attempt('eth_newBlockFilter', () => client.call<string>('eth_newBlockFilter'))
      } else {
        await attempt('eth_getFilterChanges', () =>
          client.call('eth_getFilterChanges', known).catch((error: Error) => {
            if (error.message.includes('filter not found')) return lost()
            throw error
          }),
        )
      }
    }
    if (turn % 10 === 2) {
      const pending = (): Promise<string> => client.call('eth_getTransactionCount', account.address, 'pending')
      if (nonce === undefined) {
        const counted = await attempt('eth_getTransactionCount', pending)
        nonce = counted === undefined ? undefined : Number(counted)
      } else {
        const raw = await account.signTransaction({
          chainId: CHAIN_ID,
          nonce,
          to: account.address,
          gas: 21_000n,
          gasPrice: 2n * GWEI,
        })
        const place = node
        const sent = await attempt('eth_sendRawTransaction', () =>
          client.call('eth_sendRawTransaction', raw).catch((error: Error) => {
            // The node that the client has left has passed it on.
            if (/already known|nonce too low/.test(error.message)) return 'overtaken'
            throw error
          }),
        )
        const counted = sent === undefined ? undefined : await attempt('eth_getTransactionCount', pending)
        const now = await attempt('status', () => nodeOf(client))
        if (sent !== undefined) seen.transactions++
        if (sent !== 'overtaken' && counted !== undefined && Number(counted) <= nonce && now === place)
          seen.foreignNonces.push(`${client.address}: ${Number(counted)} after ${nonce}`)
        nonce =
          sent === undefined || sent === 'overtaken' || counted === undefined || now !== place
            ? undefined
            : Number(counted)
      }
    }
    await sleep(PAUSE_MS)
  }
  await following
  return seen
}

/** Which node answers this client. */
async function nodeOf(client: FleetClient): Promise<string> {
  const { status, body } = await client.get('/rpc/status')
  if (status !== 200) throw new Error(`status ${status}`)
  return (JSON.parse(body.toString()) as { result: { node_info: { id: string } } }).result.node_info.id
}

/** What clients accept, and how they read it. */
const DECOMPRESS = [
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
] as const

/** Compressed answers pass through, and limits go by the address of the client. @returns what is wrong */
async function checkPassage(port: number): Promise<readonly string[]> {
  const problems: string[] = []
  const client = createFleetClient(port, '127.0.2.1')
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['0x1', false] }
  const body = JSON.stringify(Array.from({ length: 20 }, () => call))
  const plain = await client.send(body)
  if (plain.headers['content-encoding'] !== undefined)
    problems.push('an answer is compressed for a client that did not ask')
  for (const [encoding, decompress] of DECOMPRESS) {
    const { headers, body: bytes } = await client.send(body, { 'accept-encoding': encoding })
    if (headers['content-encoding'] !== encoding) problems.push(`an answer is not compressed with ${encoding}`)
    else if (!decompress(bytes).equals(plain.body)) problems.push(`an answer compressed with ${encoding} differs`)
  }
  const hidden = await client.get('/.ready/first')
  if (hidden.status === 200) problems.push('the check of the proxy is open to clients')
  client.close()

  // It says that it is somebody else each time, which must not help.
  const flooder = createFleetClient(port, '127.0.2.2')
  const ask = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
  const answers = await Promise.all(
    Array.from({ length: FLOOD }, (_, index) =>
      flooder.send(ask, { 'x-forwarded-for': `203.0.113.${index % 250}`, forwarded: 'for=203.0.113.9' }),
    ),
  )
  const statuses = Map.groupBy(answers, ({ status }) => status)
  if (!statuses.has(429)) {
    const counts = [...statuses].map(([status, { length }]) => `${length} with status ${status}`)
    problems.push(`no request of ${FLOOD} of one client was refused: ${counts.join(', ')}`)
  }
  flooder.close()
  return problems
}

const missing = PROXIES.filter((kind) => !isInstalled(kind))
for (const { name } of missing) console.log(`skipped: ${name} is not installed (apt-get install ${name})`)
const kinds = PROXIES.filter((kind) => !missing.includes(kind) && (flags.proxy ?? kind.name) === kind.name)
if (kinds.length === 0) process.exit()

const network = await makeNetwork({
  validators: 1,
  fullNodes: 3,
  environment: {
    PEX: 'false',
    RPC_RATE_LIMIT: String(RATE_LIMIT),
    TRUSTED_PROXIES: '127.0.0.1',
    RPC_THREADS: '1',
    VIEW_THREADS: '1',
    LOG_LEVEL: 'warn',
  },
})
const [validator, ...fleet] = network.nodes
const line = await startTcpProxy(Number(validator!.peerAddress.split(':')[1]))
/** Each node has the validator as its only peer; the third one by a line that can be cut. */
const peersOf = (index: number): Record<string, string> => ({
  PERSISTENT_PEERS: `${validator!.nodeId}@${index === 2 ? `127.0.0.1:${line.port}` : validator!.peerAddress}`,
})

async function runFleet(kind: ProxyKind): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-fleet-'))
  const ports = fleet.map(({ rpcPort }) => rpcPort)
  const proxy = await startProxy(kind, directory, await freePort(), ports)
  // Until the checks of all nodes have passed.
  await sleep(4_000)
  const stop = new AbortController()
  const clients = Array.from({ length: CLIENTS }, (_, index) => createFleetClient(proxy.port, `127.0.1.${index + 1}`))
  const running = clients.map((client, index) => runClient(client, ACCOUNTS[index + 1]!, stop.signal))
  await sleep(3_000)
  const problems = [...(await checkPassage(proxy.port))]

  const cutMs = performance.now()
  line.cut()
  await sleep(NOTICE_MS)
  const noticedMs = performance.now()
  line.heal()
  await sleep(6_000)

  const killMs = performance.now()
  await fleet[0]!.kill('SIGKILL')
  await sleep(5_000)
  await fleet[0]!.start(peersOf(0))
  await sleep(8_000)
  stop.abort()
  const seen = await Promise.all(running)
  for (const client of clients) client.close()
  await proxy.stop()
  rmSync(directory, { recursive: true, force: true })

  const sum = (count: (record: Seen) => number): number => seen.reduce((total, record) => total + count(record), 0)
  const underWay = ({ startMs, endMs }: Failure): boolean => startMs <= killMs + 100 && endMs >= killMs
  // A proxy that takes a cut-off node out may end what is under way there.
  const isMoved = ({ startMs }: Failure): boolean => startMs >= cutMs && startMs <= noticedMs
  for (const { failures, headsBack, foreignNonces } of seen) {
    const moved = failures.filter(isMoved)
    const others = failures.filter((failure) => !underWay(failure) && !isMoved(failure))
    if (moved.length > 1) others.push(...moved.slice(1))
    problems.push(...others.map(({ startMs, what }) => `${what} (${Math.round(startMs - killMs)} ms after the kill)`))
    problems.push(...headsBack, ...foreignNonces)
  }
  const moves = sum((record) => record.moves)
  const filtersLost = sum((record) => record.filtersLost)
  if (moves < 2) problems.push('no client has moved')
  if (filtersLost > moves) problems.push(`${filtersLost} filters were lost in ${moves} moves`)
  console.log(
    `${kind.name}: ${sum((record) => record.requests)} requests, ${sum(({ failures }) => failures.length)} failed ` +
      `(${problems.length === 0 ? 'all' : 'some'} under way), ${sum((record) => record.transactions)} transactions, ` +
      `${sum((record) => record.heads)} heads over ${sum((record) => record.webSockets)} WebSockets, ` +
      `${sum(({ headsBack }) => headsBack.length)} heads went back, ${moves} moves, ${filtersLost} filters lost with their node`,
  )
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`)
  if (problems.length > 0) console.log(proxy.output().split('\n').slice(-20).join('\n'))
  return problems.length === 0
}

let isGood = true
try {
  await validator!.start({ PERSISTENT_PEERS: '' })
  await Promise.all(fleet.map((node, index) => node.start(peersOf(index))))
  for (const node of network.nodes) await waitForHeight(node, 5)
  for (const kind of kinds) isGood = (await runFleet(kind)) && isGood
} finally {
  await network.stop()
  await line.close()
}
process.exitCode = isGood ? 0 : 1
