/**
 * A validator that only its two sentries know, one of four validators, each node in a network namespace with an address of the Internet.
 * Somebody with networks of his own poisons the address book of one sentry, takes its places, and floods both with connections; then the
 * attacked sentry starts anew, and then the other one is away: `node test/e2e/network/sentries.ts [flags]`, as root.
 *
 * It prints block intervals and what is in the books, and fails when blocks come a fifth more slowly than before the attack, when anybody
 * knows the validator's address, or when the attacked sentry has no peer but the attackers and its validator.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import type { PoisonerOptions, PoisonerReport } from './addressPoisoner.ts'
import { BlockIntervals } from './blockIntervals.ts'
import { makeNetwork, type NetworkNode, QUICK, waitForHeight } from './localNetwork.ts'
import { createNamespaces, namespacesMissing } from './namespaces.ts'

const HELP = `node test/e2e/network/sentries.ts [flags]
  --seconds 60          how long each of the four phases is watched
  --block-interval 400  milliseconds
  --networks 4          how many /16 the attackers have
  --identities 48       how many nodes they run
`
const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    'block-interval': { type: 'string', default: '400' },
    networks: { type: 'string', default: '4' },
    identities: { type: 'string', default: '48' },
  },
})
const missing = namespacesMissing()
if (flags.help || missing !== undefined) {
  console.log(missing ?? HELP)
  process.exit(flags.help ? 0 : 1)
}

const POISONER = new URL('addressPoisoner.ts', import.meta.url).pathname
const VALIDATOR = 3
const [ATTACKED, OTHER] = [4, 5]
const ATTACKER = 6
/** Blocks may come this much more slowly than before. */
const MAX_SLOWDOWN = 1.2
const SETTLE_MS = 20_000

const addressOf = (index: number): string => `20.${10 + index}.0.1`
const networks = Array.from({ length: Number(flags.networks) }, (_, index) => `45.${index + 1}`)
const failures: string[] = []
function check(holds: boolean, failure: string): void {
  if (holds) return
  failures.push(failure)
  console.log(`WRONG: ${failure}`)
}

interface NetInfo {
  readonly peers: readonly { readonly node_info: { readonly id: string }; readonly is_outbound: boolean }[]
}
interface Commit {
  readonly signed_header: {
    readonly commit: { readonly signatures: readonly { readonly validator_address: string }[] }
  }
}
interface BookEntry {
  readonly id: string
  readonly address: string
  readonly table: 'new' | 'tried'
}

const namespaces = createNamespaces(ATTACKER + 1)
let attack: ChildProcess | undefined
const network = await makeNetwork({
  validators: 4,
  fullNodes: 2,
  environment: QUICK.environment,
  blockIntervalMs: Number(flags['block-interval']),
  placeOf: namespaces.hostOf,
  announcedAddress: async (index, address) => `${addressOf(index)}:${address.split(':')[1]}`,
})
const { nodes } = network
const validator = nodes[VALIDATOR]!
const peerOf = (index: number): string => `${nodes[index]!.nodeId}@${nodes[index]!.peerAddress}`
const isSentry = (index: number): boolean => index === ATTACKED || index === OTHER

function variablesOf(index: number): Readonly<Record<string, string>> {
  const { address } = namespaces.hostOf(index)
  const common = { P2P_HOST: addressOf(index), METRICS_HOST: address, ADDR_BOOK_STRICT: 'true' }
  if (index === VALIDATOR) {
    return {
      ...common,
      PEX: 'false',
      PERSISTENT_PEERS: `${peerOf(ATTACKED)},${peerOf(OTHER)}`,
      EXTERNAL_P2P_ADDRESS: '',
    }
  }
  if (!isSentry(index)) {
    const others = [0, 1, 2].filter((other) => other !== index)
    return { ...common, PERSISTENT_PEERS: others.map(peerOf).join(',') }
  }
  return {
    ...common,
    SEEDS: peerOf(0),
    PERSISTENT_PEERS: peerOf(VALIDATOR),
    PRIVATE_PEER_IDS: validator.nodeId,
    UNCONDITIONAL_PEER_IDS: validator.nodeId,
  }
}

/** Watches the network: the interval of its blocks, and in how many of them the validator's signature is. */
async function watch(name: string): Promise<number> {
  const from = await network.seed.height()
  const intervals = new BlockIntervals(network.seed, from)
  await sleep(Number(flags.seconds) * 1_000)
  await intervals.follow()
  const to = await network.seed.height()
  const { validator_info } = await validator.comet<{ readonly validator_info: { readonly address: string } }>('status')
  let signed = 0
  for (let height = from + 1; height < to; height++) {
    const { signed_header } = await network.seed.comet<Commit>(`commit?height=${height}`)
    if (signed_header.commit.signatures.some((each) => each.validator_address === validator_info.address)) signed++
  }
  console.log(`${name}: ${intervals.summary()}; the validator signed ${signed} of ${to - from - 1}`)
  console.log(`  ${await bookSummary(nodes[ATTACKED]!)}; peers ${await peerSummary(nodes[ATTACKED]!)}`)
  check(signed > (to - from - 1) / 2, `${name}: the validator signed ${signed} of ${to - from - 1}`)
  const lag = (await network.seed.height()) - (await validator.height())
  check(lag < 10, `${name}: the validator is ${lag} blocks behind`)
  return (Number(flags.seconds) * 1_000) / (to - from)
}

function bookOf({ home }: NetworkNode): readonly BookEntry[] {
  const { addressBook } = dataPaths(home)
  return existsSync(addressBook)
    ? (JSON.parse(readFileSync(addressBook, 'utf8')) as { readonly peers: readonly BookEntry[] }).peers
    : []
}

const isHonest = (id: string): boolean => nodes.some((node) => node.nodeId === id)

async function bookSummary(node: NetworkNode): Promise<string> {
  const response = await fetch(`http://${new URL(node.rpcUrl).hostname}:${node.variables['METRICS_PORT']}/metrics`)
  const text = await response.text()
  const values = ['new', 'tried'].map(
    (kind) =>
      `${kind} ${new RegExp(`coind_p2p_known_addresses\\{.*kind="${kind}".*\\} (\\d+)`).exec(text)?.[1] ?? '?'}`,
  )
  return `book of the attacked sentry: ${values.join(', ')}`
}

async function peerSummary(node: NetworkNode): Promise<string> {
  const { peers } = await node.comet<NetInfo>('net_info')
  const count = (isOutbound: boolean, honest: boolean): number =>
    peers.filter((peer) => peer.is_outbound === isOutbound && isHonest(peer.node_info.id) === honest).length
  return `honest ${count(true, true)} out ${count(false, true)} in, hostile ${count(true, false)} out ${count(false, false)} in`
}

async function honestPeers(node: NetworkNode): Promise<number> {
  const { peers } = await node.comet<NetInfo>('net_info')
  return peers.filter(({ node_info }) => isHonest(node_info.id)).length
}

async function startAttack(): Promise<() => Promise<PoisonerReport>> {
  const [program, ...args] = [...namespaces.hostOf(ATTACKER).within, process.execPath, POISONER]
  const options: PoisonerOptions = {
    targets: [nodes[ATTACKED]!.peerAddress],
    flooded: [nodes[ATTACKED]!.peerAddress, nodes[OTHER]!.peerAddress],
    networks,
    chainId: network.chainId,
    genesisHash: network.genesisHash,
    identities: Number(flags.identities),
  }
  const child = spawn(program!, [...args, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
  attack = child
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  reader.on('line', (line) => lines.push(line))
  const ended = once(child, 'exit')
  await Promise.race([once(reader, 'line'), ended])
  return async () => {
    child.stdin.end()
    await ended
    return JSON.parse(lines.at(-1)!) as PoisonerReport
  }
}

/** All texts in which the validator's address or ID must not be. */
async function checkHidden(report: PoisonerReport): Promise<void> {
  const host = addressOf(VALIDATOR)
  const places = new Map<string, string>([['what the attackers were told', report.told.join(' ')]])
  for (const node of nodes.filter((each) => each !== validator && each.isRunning())) {
    const open = ['net_info', 'dump_consensus_state', 'status']
    const answers = await Promise.all(open.map((path) => node.comet<unknown>(path)))
    places.set(`what ${node.name} answers`, JSON.stringify(answers))
  }
  for (const node of nodes) await node.kill('SIGTERM')
  for (const node of nodes) places.set(`the address book of ${node.name}`, JSON.stringify(bookOf(node)))
  for (const [place, text] of places) {
    check(!text.includes(validator.nodeId) && !text.includes(host), `the validator is in ${place}`)
  }
  check(bookOf(validator).length === 0, 'the validator has an address book')
}

async function run(): Promise<void> {
  for (const index of nodes.keys()) namespaces.publish(index, addressOf(index))
  namespaces.publish(
    ATTACKER,
    addressOf(ATTACKER),
    networks.map((prefix) => `${prefix}.0.0/16`),
  )
  await Promise.all(nodes.map((node, index) => node.start(variablesOf(index))))
  await waitForHeight(network.seed, 20)
  await sleep(SETTLE_MS)

  const before = await watch('before the attack')
  const endAttack = await startAttack()
  const during: number[] = [await watch('under attack')]

  const attacked = nodes[ATTACKED]!
  await attacked.kill('SIGTERM')
  const book = bookOf(attacked)
  const count = (table: BookEntry['table'], honest: boolean): number =>
    book.filter((entry) => entry.table === table && isHonest(entry.id) === honest).length
  console.log(
    `at its restart the sentry's book has: honest ${count('new', true)} new ${count('tried', true)} tried, ` +
      `others ${count('new', false)} new ${count('tried', false)} tried`,
  )
  check(count('tried', true) >= 2, 'the sentry has forgotten the nodes that it knew')
  check(
    count('tried', false) <= networks.length * 64,
    'the attackers have more than their share of the tried addresses',
  )
  check(
    count('new', false) <= (networks.length + 6) * 256,
    'the attackers have more than their share of the new addresses',
  )
  await attacked.start(variablesOf(ATTACKED))
  await sleep(SETTLE_MS)
  during.push(await watch('after a restart of the attacked sentry'))
  check((await honestPeers(attacked)) > 0, 'the attacked sentry has no honest peer')

  await nodes[OTHER]!.kill('SIGTERM')
  await sleep(SETTLE_MS / 4)
  during.push(await watch('with the other sentry away'))
  check((await honestPeers(attacked)) > 0, 'the attacked sentry has no honest peer')
  await nodes[OTHER]!.start(variablesOf(OTHER))
  await waitForHeight(nodes[OTHER]!, await network.seed.height())

  const report = await endAttack()
  const { told, ...counts } = report
  console.log(`attackers: ${JSON.stringify(counts)}, told ${told.length} addresses and IDs`)
  check(counts.joined > 0 && counts.named > 1_000, 'the attack was none')
  for (const interval of during) {
    console.log(
      `block interval ${before.toFixed(0)} ms before, ${interval.toFixed(0)} ms: ${(interval / before).toFixed(2)}`,
    )
    check(interval <= before * MAX_SLOWDOWN, `blocks came ${(interval / before).toFixed(2)} times as slowly`)
  }
  await checkHidden(report)
}

try {
  await run()
} finally {
  attack?.kill('SIGKILL')
  await network.stop()
  namespaces.remove()
}
console.log(failures.length === 0 ? 'passed' : `FAILED: ${failures.join('; ')}`)
process.exitCode = failures.length === 0 ? 0 : 1
