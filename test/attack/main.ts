/**
 * Attacks a validator of a network of four with all that clients and peers can send, one attack after another and then all at once, and
 * prints what it did to block intervals, to another client and to memory: `npm run test:attack -- [flags]`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { FUNDER, GWEI, sign } from '../../bench/load/sign.ts'
import { residentMegabytes } from '../../bench/measure/processUsage.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { BlockIntervals } from '../e2e/network/blockIntervals.ts'
import {
  differences,
  type LocalNetwork,
  makeNetwork,
  type NetworkNode,
  waitForHeight,
} from '../e2e/network/localNetwork.ts'
import { mined, rpc } from '../e2e/rpc.ts'
import { freePort } from '../e2e/startNode.ts'
import type { Attack, Target } from './attack.ts'
import type { AttackerOptions, AttackerReport } from './attacker.ts'
import { ATTACKS, STOP_ATTACKS } from './attacks.ts'
import { type ClientReport, latency, startGoodClient } from './goodClient.ts'
import { OUTSIDERS } from './stopAttacks.ts'
import { attackerAccount } from './transactionAttacks.ts'

const HELP = `npm run test:attack -- [flags] [words of the names of attacks]
npm run test:attack -- stop [flags] [words]   what strangers with 100 COIN have tried to stop the chain, at the node's own priority
  --seconds 40     how long each attack goes on
  --rest 15        seconds after each attack, until memory is read again
  --share 1        of the usual size of each attack
  --validators 4   the second one is attacked
  --only-together  no attack alone, only all at once
  --loopback       attackers on the node's own machine, whom no budget by client bounds
  --list           prints the attacks
`

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '40' },
    rest: { type: 'string', default: '15' },
    share: { type: 'string', default: '1' },
    validators: { type: 'string', default: '4' },
    'only-together': { type: 'boolean', default: false },
    loopback: { type: 'boolean', default: false },
  },
})
const [firstWord] = positionals
const isStop = firstWord === 'stop'
const words = isStop ? positionals.slice(1) : positionals
const OFFERED = isStop ? STOP_ATTACKS : ATTACKS
const LOWEST_PRIORITY = 19
const ATTACKER = new URL('attacker.ts', import.meta.url).pathname
const SENDERS = 50_001
const SENDER_BALANCE_ACOIN = 10n ** 18n
const OLD_TRANSACTIONS = 2_000
/** Blocks after which no cache has the old transactions any more. */
const OLD_BLOCKS = 150
const HEAVY_TRANSACTIONS = 4
const HEAVY_GAS = 3_000_000n
const LOOPBACK = { host: '127.0.0.1', from: '127.0.0.66' } as const
/** Ends with its gas: the init code of a contract that only loops. */
const ENDLESS = hexToBytes('0x5b600056')
/** The share of the quiet interval's p99, the milliseconds and the share of the memory that an attack should not cost more than. */
const AIMS = { intervalShare: 1.25, latencyMs: 250, memoryShare: 1.1 }
/** Of what is to stop the chain: milliseconds of intervals (p99) meanwhile and ten seconds later, and megabytes of memory. */
const STOP_AIMS = { intervalMs: 1_500, laterMs: 500, megabytes: 1_500 }
const STOP_BALANCE_ACOIN = 100n * 10n ** 18n
const CALM_MS = 10_000

interface Row {
  readonly name: string
  readonly what: string
  readonly processorShare: number
  readonly intervals: BlockIntervals
  /** from ten seconds after the attack on */
  readonly later: BlockIntervals
  readonly client: ClientReport
  /** megabytes of the attacked node before, at most, and after the rest */
  readonly memory: readonly [number, number, number]
  readonly counts: string
}

interface Attacker {
  readonly process: ChildProcess
  begin(): void
  end(): Promise<AttackerReport>
}

const sized = (attack: Attack): number => Math.max(1, Math.round(attack.size * Number(flags.share)))
const described = (attack: Attack): string => attack.what.replace('#', sized(attack).toLocaleString('en'))

/** Starts the process of an attack, which prepares and waits. */
async function startAttacker(attack: Attack, target: Target): Promise<Attacker> {
  const options: AttackerOptions = {
    attack: attack.name,
    size: sized(attack),
    niceness: isStop ? 0 : LOWEST_PRIORITY,
    target,
  }
  const child = spawn(process.execPath, [ATTACKER], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.write(`${JSON.stringify(options)}\n`)
  const lines: Interface = createInterface(child.stdout)
  const ended = once(child, 'exit')
  const report = new Promise<AttackerReport>((resolve) => {
    lines.on('line', (line) => {
      if (line.startsWith('{')) resolve(JSON.parse(line) as AttackerReport)
    })
  })
  await Promise.race([once(lines, 'line'), ended])
  if (child.exitCode !== null) throw new Error(`the attacker of ${attack.name} ended with ${child.exitCode}`)
  return {
    process: child,
    begin: () => void child.stdin.write('\n'),
    end: async () => {
      child.stdin.end()
      await ended
      return report
    },
  }
}

const megabytes = (node: NetworkNode): number => Math.round(residentMegabytes(node.running.process.pid!))

/** Measures for a while, with these attacks. */
async function measure(
  { seed, attacked }: { readonly seed: NetworkNode; readonly attacked: NetworkNode },
  attacks: readonly Attack[],
  target: Target,
): Promise<Omit<Row, 'name' | 'what'>> {
  const attackers = await Promise.all(attacks.map((attack) => startAttacker(attack, target)))
  const before = megabytes(attacked)
  for (const attacker of attackers) attacker.begin()
  // The first moments are those of the attackers' own connections.
  await sleep(2_000)
  const intervals = new BlockIntervals(seed, await seed.height())
  const client = startGoodClient(attacked.rpcPort)
  let most = before
  const endMs = performance.now() + Number(flags.seconds) * 1_000
  while (performance.now() < endMs) {
    await sleep(1_000)
    most = Math.max(most, megabytes(attacked))
  }
  const report = await client.stop()
  await intervals.follow()
  const reports = await Promise.all(attackers.map((attacker) => attacker.end()))
  await sleep(Math.min(CALM_MS, Number(flags.rest) * 1_000))
  const later = new BlockIntervals(seed, await seed.height())
  await sleep(Math.max(0, Number(flags.rest) * 1_000 - CALM_MS))
  await later.follow()
  const processorShare = reports.reduce((sum, { processorShare }) => sum + processorShare, 0)
  return {
    processorShare,
    intervals,
    later,
    client: report,
    memory: [before, most, megabytes(attacked)],
    counts: reports.length > 1 ? '' : countsText(reports[0]?.counts ?? {}),
  }
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
    .join(', ')
}

/** Blocks with transactions that are old when the attacks begin, and one that takes long to execute. */
async function makeHistory(node: NetworkNode): Promise<Pick<Target, 'oldTransactions' | 'heavyBlock'>> {
  const url = `${node.rpcUrl}/`
  const first = Number(
    await rpc(url, 'eth_getTransactionCount', `0x${Buffer.from(FUNDER.address).toString('hex')}`, 'latest'),
  )
  const oldTransactions: string[] = []
  for (let index = 0; index < OLD_TRANSACTIONS; index++) {
    const { raw, hash } = sign(FUNDER, { nonce: BigInt(first + index), to: FUNDER.address, value: 1n })
    await rpc(url, 'eth_sendRawTransaction', raw)
    oldTransactions.push(hash)
  }
  await mined(url, oldTransactions.at(-1)!, 60_000)
  const heavy = Array.from({ length: HEAVY_TRANSACTIONS }, (_, index) =>
    sign(FUNDER, {
      nonce: BigInt(first + OLD_TRANSACTIONS + index),
      gasLimit: HEAVY_GAS,
      data: ENDLESS,
      maxPriorityFeePerGas: 2n * GWEI,
    }),
  )
  for (const { raw } of heavy) await rpc(url, 'eth_sendRawTransaction', raw)
  const { blockNumber } = await mined(url, heavy.at(-1)!.hash)
  await waitForHeight(node, Number(blockNumber) + OLD_BLOCKS, 120_000)
  return { oldTransactions, heavyBlock: Number(blockNumber) }
}

/** Where attackers connect to and from: as others on the network do, where this machine has one. */
function attackersPlace(): Pick<Target, 'host' | 'from'> {
  const addresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const outside = flags.loopback ? undefined : addresses.find(({ internal, family }) => !internal && family === 'IPv4')
  return outside === undefined ? LOOPBACK : { host: outside.address, from: outside.address }
}

async function run(network: LocalNetwork): Promise<boolean> {
  await network.start()
  const { seed } = network
  const attacked = network.validators[1] ?? seed
  await waitForHeight(seed, 5)
  const target: Target = {
    ...attackersPlace(),
    rpcPort: attacked.rpcPort,
    peerPort: Number(attacked.peerAddress.split(':')[1]),
    otherPeers: network.nodes.filter((node) => node !== attacked).map(({ peerAddress }) => peerAddress),
    chainId: network.chainId,
    genesisHash: network.genesisHash,
    fundedSenders: SENDERS,
    ...(await makeHistory(attacked)),
  }
  const nodes = { seed, attacked }
  const rows: Row[] = []
  const add = (row: Row): void => {
    rows.push(row)
    console.log(lineOf(row, rows[0]!))
  }
  console.log(`attackers from ${target.from} to ${target.host}\n\n${HEAD}`)
  add({ name: 'quiet', what: 'no attack', ...(await measure(nodes, [], target)) })
  const chosen = OFFERED.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
  if (!flags['only-together']) {
    for (const attack of chosen) {
      add({ name: attack.name, what: described(attack), ...(await measure(nodes, [attack], target)) })
      if (attack.isCostly !== true) continue
      const closedPort = await freePort()
      const closed: Target = { ...target, rpcPort: closedPort, peerPort: closedPort }
      add({
        name: `${attack.name}, closed port`,
        what: 'the same load, nobody listens',
        ...(await measure(nodes, [attack], closed)),
      })
    }
  }
  if (chosen.length > 1) add({ name: 'all at once', what: 'all of them', ...(await measure(nodes, chosen, target)) })
  add({ name: 'quiet again', what: 'no attack', ...(await measure(nodes, [], target)) })
  const height = await seed.height()
  await Promise.all(network.nodes.map((node) => waitForHeight(node, height + 5)))
  const different = await differences(network.nodes)
  console.log(`${different.length} blocks differ`)
  return different.length === 0
}

const HEAD = `| attack | processor | interval p50 | p99 | p99 later | client p50 | p99 | failed | MB before, most, after | what it did |
|---|---|---|---|---|---|---|---|---|---|`

/** A row of the table; what misses its aim is bold. */
function lineOf({ name, what, processorShare, intervals, later, client, memory, counts }: Row, quiet: Row): string {
  const aimed = (text: string, isMet: boolean): string => (isMet ? text : `**${text}**`)
  const p99 = intervals.percentile(99)
  const latencyMs = latency(client, 99)
  const [before, most, after] = memory
  const cells = [
    name,
    processorShare.toFixed(2),
    String(intervals.percentile(50)),
    aimed(String(p99), p99 <= (isStop ? STOP_AIMS.intervalMs : quiet.intervals.percentile(99) * AIMS.intervalShare)),
    aimed(String(later.percentile(99)), !isStop || later.percentile(99) <= STOP_AIMS.laterMs),
    latency(client, 50).toFixed(1),
    aimed(latencyMs.toFixed(1), latencyMs <= AIMS.latencyMs),
    aimed(failuresText(client), client.failures.length === 0),
    isStop
      ? `${before}, ${aimed(String(most), most <= STOP_AIMS.megabytes)}, ${after}`
      : `${before}, ${most}, ${aimed(String(after), after <= before * AIMS.memoryShare)}`,
    counts === '' ? what : `${what}: ${counts}`,
  ]
  return `| ${cells.join(' | ')} |`
}

function failuresText({ latenciesMs, failures }: ClientReport): string {
  const first = failures[0] === undefined ? '' : ` (${failures[0].slice(0, 80)})`
  return `${failures.length} of ${latenciesMs.length}${first}`
}

if (flags.help || flags.list) {
  console.log(flags.help ? HELP : OFFERED.map((attack) => `${attack.name}: ${described(attack)}`).join('\n'))
  process.exit()
}
const network = await makeNetwork({
  validators: Number(flags.validators),
  environment: { RPC_HOST: '0.0.0.0', P2P_HOST: '0.0.0.0' },
  fundedAccounts: isStop
    ? OUTSIDERS.map(({ address }) => ({ address, balanceAcoin: STOP_BALANCE_ACOIN }))
    : Array.from({ length: SENDERS }, (_, index) => ({
        address: attackerAccount(index).address,
        balanceAcoin: SENDER_BALANCE_ACOIN,
      })),
})
try {
  if (!(await run(network))) process.exitCode = 1
} finally {
  await network.stop()
}
