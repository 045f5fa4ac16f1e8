/**
 * Attacks a validator of a network of four with all that clients and peers can send, one attack after another and then all at once, and
 * prints what it did to block intervals, to another client and to memory: `npm run test:attack -- [flags]`.
 */
import { parseArgs } from 'node:util'
import { FUNDER, GWEI, sign } from '../../bench/load/sign.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
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
import { ATTACKS, STOP_ATTACKS } from './attacks.ts'
import { type Measured, measure, sizeOf } from './measure.ts'
import { OUTSIDERS } from './outsiders.ts'
import { createPlace, type Place } from './place.ts'
import { HEAD, lineOf, missed, type Row } from './table.ts'
import { attackerAccount } from './transactionAttacks.ts'

const HELP = `npm run test:attack -- [flags] [words of the names of attacks]
npm run test:attack -- stop [flags] [words]   what strangers with 100 COIN have tried to stop the chain, at the node's own priority;
                                              exits with 1 when a row misses the criteria or its attack did not run
  --only NAME      the attack of this name; may be given again
  --seconds 40     how long each attack goes on
  --rest 15        seconds after each attack, until memory is read again
  --share 1        of the usual size of each attack
  --validators 4   the second one is attacked
  --only-together  no attack alone, only all at once
  --loopback       all on the loopback interface, without network namespaces, where no budget by client bounds attackers
  --list           prints the attacks
`

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
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
/** Accounts of `attackerAccount`; when the chain is to be stopped they share what one outsider has. */
const SENDERS = isStop ? 15_000 : 50_001
const SENDER_BALANCE_ACOIN = isStop ? 66n * 10n ** 14n : 10n ** 18n
const OUTSIDER_BALANCE_ACOIN = 100n * 10n ** 18n
const OLD_TRANSACTIONS = 2_000
/** Blocks after which no cache has the old transactions any more. */
const OLD_BLOCKS = 150
const HEAVY_TRANSACTIONS = 4
const HEAVY_GAS = 3_000_000n
/** Ends with its gas: the init code of a contract that only loops. */
const ENDLESS = hexToBytes('0x5b600056')
/** Other programs that take more of a processor change the figures. */
const IDLE_SHARE = 0.1
/** Until then nodes compile their code and give back memory of their start. */
const SETTLED_HEIGHT = 30
/** After the last row all nodes must decide so many blocks. */
const END_BLOCKS = 5

const described = (attack: Attack): string =>
  attack.what.replace('#', sizeOf(attack, Number(flags.share)).toLocaleString('en'))

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

/** Those that share a network, and each of the others alone. */
function networksOf(attacks: readonly Attack[]): readonly (readonly Attack[])[] {
  const hasOwn = ({ changeGenesis, launcherOf }: Attack): boolean => (changeGenesis ?? launcherOf) !== undefined
  const sharing = attacks.filter((attack) => !hasOwn(attack))
  return [...(sharing.length > 0 ? [sharing] : []), ...attacks.filter(hasOwn).map((attack) => [attack])]
}

/** @returns what is wrong */
async function attackNetwork(network: LocalNetwork, place: Place, attacks: readonly Attack[]): Promise<string[]> {
  await Promise.all(network.validators.map((node) => node.start(place.variablesOf(network, node))))
  const { seed } = network
  const attacked = network.validators[1] ?? seed
  await waitForHeight(seed, SETTLED_HEIGHT)
  const [peerHost, peerPort] = attacked.peerAddress.split(':') as [string, string]
  const target: Target = {
    host: new URL(attacked.rpcUrl).hostname,
    rpcPort: attacked.rpcPort,
    peerHost,
    peerPort: Number(peerPort),
    otherPeers: network.validators.filter((node) => node !== attacked).map(({ peerAddress }) => peerAddress),
    chainId: network.chainId,
    genesisHash: network.genesisHash,
    fundedSenders: SENDERS,
    homes: network.validators.map(({ home }) => home),
    // Only attacks of clients ask for old blocks.
    ...(isStop ? { oldTransactions: [], heavyBlock: 1 } : await makeHistory(attacked)),
  }
  const measured: Measured = {
    network,
    attacked,
    place,
    target,
    seconds: Number(flags.seconds),
    rest: Number(flags.rest),
    share: Number(flags.share),
    niceness: isStop ? 0 : LOWEST_PRIORITY,
  }
  const rows: Row[] = []
  const add = (row: Row): void => {
    rows.push(row)
    console.log(lineOf(row, { isStop, quiet: rows[0]! }))
    for (const failure of row.failures) console.log(`  ${row.name}: ${failure}`)
  }
  console.log(`\n${attacks.map(({ name }) => name).join(', ')}\n\n${HEAD}`)
  add({ name: 'quiet', what: 'no attack', ...(await measure([], measured)) })
  if (!flags['only-together']) {
    for (const attack of attacks) {
      add({ name: attack.name, what: described(attack), ...(await measure([attack], measured)) })
      if (attack.isCostly !== true) continue
      const closedPort = await freePort()
      const closed = { ...measured, target: { ...target, rpcPort: closedPort, peerPort: closedPort } }
      const figures = await measure([attack], closed)
      add({ name: `${attack.name}, closed port`, what: 'the same load, nobody listens', ...figures, failures: [] })
    }
  }
  const joinable = attacks.filter(({ meanwhile }) => meanwhile === undefined)
  if (joinable.length > 1) {
    add({ name: 'all at once', what: 'all without a scene', ...(await measure(joinable, measured)) })
  }
  add({ name: 'quiet again', what: 'no attack', ...(await measure([], measured)) })
  const height = await seed.height()
  const running = network.nodes.filter((node) => node.isRunning())
  await Promise.all(running.map((node) => waitForHeight(node, height + END_BLOCKS)))
  const different = await differences(running)
  console.log(`\n${different.length} blocks differ`)
  const othersShare = Math.max(...rows.map((row) => row.othersShare))
  if (othersShare > IDLE_SHARE) {
    console.log(
      `This machine is not idle: others took up to ${othersShare.toFixed(2)} processors, so the figures say little.`,
    )
  }
  return [...(isStop ? rows.flatMap(missed) : rows.flatMap(({ failures }) => failures)), ...different]
}

/** @param stopped rejects when the run must end, after its nodes */
async function run(place: Place, attacks: readonly Attack[], stopped: Promise<never>): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const sharing of networksOf(attacks)) {
    const [{ changeGenesis, launcherOf }] = sharing as [Attack]
    const network = await makeNetwork({
      ...place.networkOptions,
      validators: Number(flags.validators),
      fullNodes: 1,
      ...(changeGenesis && { changeGenesis }),
      ...(launcherOf && { launcherOf }),
      fundedAccounts: [
        ...(isStop ? OUTSIDERS.map(({ address }) => ({ address, balanceAcoin: OUTSIDER_BALANCE_ACOIN })) : []),
        ...Array.from({ length: SENDERS }, (_, index) => ({
          address: attackerAccount(index).address,
          balanceAcoin: SENDER_BALANCE_ACOIN,
        })),
      ],
    })
    try {
      wrong.push(...(await Promise.race([attackNetwork(network, place, sharing), stopped])))
    } finally {
      await network.stop()
    }
  }
  return wrong
}

if (flags.help || flags.list) {
  console.log(flags.help ? HELP : OFFERED.map((attack) => `${attack.name}: ${described(attack)}`).join('\n'))
  process.exit()
}
const unknown = flags.only.filter((only) => OFFERED.every(({ name }) => name !== only))
if (unknown.length > 0) throw new Error(`no attack is named ${unknown.join(', ')}: --list prints their names`)
const isChosen = ({ name }: Attack): boolean => {
  if (flags.only.length > 0) return flags.only.includes(name)
  return words.length === 0 || words.some((word) => name.includes(word))
}
const place = createPlace(flags.loopback)
const stopping = Promise.withResolvers<never>()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stopping.reject(new Error(`ended by ${signal}`)))
}
try {
  const wrong = await run(place, OFFERED.filter(isChosen), stopping.promise)
  console.log(wrong.length === 0 ? '\nAll criteria are met.' : `\nMissed:\n${wrong.join('\n')}`)
  if (wrong.length > 0) process.exitCode = 1
} finally {
  place.remove()
}
