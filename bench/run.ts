/**
 * Measures a node through its public RPC, next to anvil in the same run: `npm run bench -- [flags]`. It prints and asserts
 * nothing about speed. `--help` lists the flags; docs/benchmarks.md says what the parts measure.
 */
import { DEFAULT_BLOCK_GAS_LIMIT } from '../src/chain/genesis/genesisConstants.ts'
import { deployContract } from './contracts/deploy.ts'
import { deployToken, endow, NATIVE_TOKEN } from './contracts/token.ts'
import { readFlags } from './flags.ts'
import type { Account } from './load/sign.ts'
import { residentMegabytes } from './measure/processUsage.ts'
import { benchAccounts, fund, giveTokens } from './parts/accounts.ts'
import { measureBlockBytes } from './parts/blockBytes.ts'
import { measureEmptyBlocks } from './parts/emptyBlockCost.ts'
import { CALL_GAS_LIMIT, measureEvm } from './parts/evm.ts'
import { measureIsolation } from './parts/isolation.ts'
import { measureJoin } from './parts/join.ts'
import { measureMemory } from './parts/memory.ts'
import { measureNativeSends } from './parts/nativeSends.ts'
import { measureNetwork } from './parts/network.ts'
import { measureRanges } from './parts/ranges.ts'
import { measureReads } from './parts/reads.ts'
import { measureStart } from './parts/start.ts'
import { type Load, measureThroughput } from './parts/throughput.ts'
import { measureTraces } from './parts/traces.ts'
import { coinTransfers, newSlots, swaps, type TransactionMaker, tokenTransfers } from './parts/transactions.ts'
import { measureWorstBlocks } from './parts/worstBlocks.ts'
import { measureWorstNetwork } from './parts/worstNetwork.ts'
import { Report } from './report.ts'
import { startAnvil } from './targets/anvil.ts'
import { startCoind } from './targets/coind.ts'
import { hasGeth, startGeth } from './targets/geth.ts'
import type { Target } from './targets/target.ts'

/** They share one chain of each target. */
const SHARED_PARTS = ['transfers', 'sends', 'erc20', 'swaps', 'batches', 'native', 'reads', 'idle']
/** In these geth is measured too, where there is one. */
const PARTS_WITH_GETH = ['start', 'memory', 'reads', 'ranges', 'traces']
const PARTS = [
  'start',
  'evm',
  ...SHARED_PARTS,
  'slots',
  'ranges',
  'memory',
  'empty',
  'traces',
  'isolation',
  'worst',
  'worst-network',
  'bytes',
  'network',
  'join',
]

/** Of bench/worstCase.ts: the slowest of each kind. */
const WORST_PROGRAMS = [
  'EXP, exponent of 32 bytes',
  'MULMOD by 192 bits',
  'KECCAK256 of 32 bytes',
  'CALL of the identity precompile',
  'CALL with 512 KB of input, without gas, of the native token',
  'SSTORE of new slots',
  'LOG4 of 0 bytes',
  'LOG4 of 0 bytes, new topics',
  'p256Verify: signature',
  'bls12Pairing: 1 pairs',
]

const HELP = `npm run bench -- [flags]
  --parts a,b          of ${PARTS.join(',')} (all)
  --targets a,b        of coind,anvil,automine,geth (coind,anvil; in the parts ${PARTS_WITH_GETH.join(', ')}
                       geth too, where GETH names one or it is on the PATH); automine is anvil with a block for every
                       arrival
  --repeat 1           runs of the chosen parts; the tables show medians
  --json FILE          writes all values there
  --compare FILE       prints them next to those of an older file
  --loads a,b          transactions/accounts of the throughput parts (20000/200,100000/20000)
  --in-flight 200      requests under way
  --pipeline 10        of them on one connection
  --reads 20000        requests of each kind in the parts reads and ranges
  --slot-transactions 10000
                       of 20 new slots each in the part slots, from 200 accounts
  --idle-seconds 60    wait before memory is measured in the parts idle and memory
  --memory-transfers 100000
                       transfers of the part memory, from 20,000 accounts
  --memory-read-seconds 60
                       reads after them
  --memory-mixed-minutes 0
                       200 transactions per second of several kinds after those
  --empty-validators 1,4
                       sizes of the networks in the part empty
  --empty-seconds 60   of empty blocks that are measured, after as long a warm-up
  --evm-gas 30000000   gas of one call in the part evm
  --evm-rounds 5       measured calls of each loop
  --evm-only text      only loops whose names contain it
  --worst-gas 100000000
                       gas of a block in the parts worst, worst-network and bytes
  --worst "a;b"        programs of bench/worstCase.ts that fill their blocks
  --worst-transactions 60
                       of each program that are sent from outside in the part worst-network
  --worst-validators 4
  --bytes-only text    only contents whose names contain it, in the part bytes
  --validators 1,4,16  sizes of the networks in the part network
  --network-blocks 150 measured blocks of each
  --join-blocks 4000/1000
                       empty and full blocks that a node catches up with in the part join
  --join-transfers 200000
                       transfers in the full ones
  --node-flags="…"     for coind's Node.js, for example --cpu-prof
`

const flags = readFlags(HELP, {
  parts: { type: 'string', default: PARTS.join(',') },
  targets: { type: 'string' },
  loads: { type: 'string', default: '20000/200,100000/20000' },
  'in-flight': { type: 'string', default: '200' },
  pipeline: { type: 'string', default: '10' },
  reads: { type: 'string', default: '20000' },
  'slot-transactions': { type: 'string', default: '10000' },
  'idle-seconds': { type: 'string', default: '60' },
  'memory-transfers': { type: 'string', default: '100000' },
  'memory-read-seconds': { type: 'string', default: '60' },
  'memory-mixed-minutes': { type: 'string', default: '0' },
  'empty-validators': { type: 'string', default: '1,4' },
  'empty-seconds': { type: 'string', default: '60' },
  repeat: { type: 'string', default: '1' },
  json: { type: 'string' },
  compare: { type: 'string' },
  'evm-gas': { type: 'string', default: '30000000' },
  'evm-rounds': { type: 'string', default: '5' },
  'evm-only': { type: 'string', default: '' },
  'worst-gas': { type: 'string', default: '100000000' },
  worst: { type: 'string', default: WORST_PROGRAMS.join(';') },
  'worst-transactions': { type: 'string', default: '60' },
  'bytes-only': { type: 'string', default: '' },
  'worst-validators': { type: 'string', default: '4' },
  validators: { type: 'string', default: '1,4,16' },
  'network-blocks': { type: 'string', default: '150' },
  'join-blocks': { type: 'string', default: '4000/1000' },
  'join-transfers': { type: 'string', default: '200000' },
  'node-flags': { type: 'string', default: '' },
})
const nodeFlags = flags['node-flags'].split(' ').filter(Boolean)
const targetNames = (flags.targets ?? 'coind,anvil').split(',')
const parts = new Set(flags.parts.split(','))
const inFlight = Number(flags['in-flight'])
const sizes = flags.loads.split(',').map((text) => {
  const [count = 0, accounts = 0] = text.split('/').map(Number)
  return { count, accounts }
})
/** Accounts that send the load of the part `memory`, and whose blocks the part `ranges` reads. */
const MEMORY_ACCOUNTS = 20_000
const RANGE_ACCOUNTS = 200
/** Accounts that send the load of the part `slots`. */
const SLOT_ACCOUNTS = 200
const accounts = benchAccounts(Math.max(MEMORY_ACCOUNTS, ...sizes.map((size) => size.accounts)))

/** Gas of a block in throughput measurements: more swaps than a node executes between two blocks. */
const GAS_LIMIT = 300_000_000
/** The same in the part `slots`, whose transactions have more gas than work: the machine is the limit there too. */
const SLOTS_GAS_LIMIT = 600_000_000
const PRODUCTION_GAS_LIMIT = Number(DEFAULT_BLOCK_GAS_LIMIT)
const BLOCK_SECONDS = 0.4
/** Transactions of one request, and requests under way, where batches are sent. */
const BATCH = 100
const BATCHES_IN_FLIGHT = 20
/** Accounts that send what the part `traces` reads. */
const TRACE_ACCOUNTS = 200
/** coind's limits of a call, raised to what the part `evm` needs. */
const LONG_CALLS = { RPC_GAS_CAP: String(CALL_GAS_LIMIT), RPC_EVM_TIMEOUT_MS: '29000' }

/** Milliseconds between blocks in the part `ranges`. */
const RANGE_INTERVAL_MS = 40

/** Milliseconds between blocks in the part `bytes`: one holds all transactions. */
const BYTES_INTERVAL_MS = 3_000

/** All that coind answers of traces, with its index of calls. */
const ALL_TRACES = { RPC_NAMESPACES: 'eth,net,web3,txpool,debug,trace', INDEX_TRACES: 'true', PRUNING: 'archive' }

const STARTS: Readonly<Record<string, () => Promise<Target>>> = {
  coind: () => startCoind({ gasLimit: GAS_LIMIT, nodeFlags }),
  anvil: () => startAnvil({ gasLimit: GAS_LIMIT, blockSeconds: BLOCK_SECONDS }),
  automine: () => startAnvil({ gasLimit: GAS_LIMIT, blockSeconds: undefined }),
  geth: () => startGeth({ gasLimit: GAS_LIMIT }),
}
const CALL_STARTS: typeof STARTS = {
  coind: () => startCoind({ gasLimit: GAS_LIMIT, nodeFlags, environment: LONG_CALLS }),
  anvil: () => startAnvil({ gasLimit: CALL_GAS_LIMIT, blockSeconds: BLOCK_SECONDS }),
  automine: () => startAnvil({ gasLimit: CALL_GAS_LIMIT, blockSeconds: undefined }),
  geth: () => startGeth({ gasLimit: CALL_GAS_LIMIT }),
}
const TRACE_STARTS: typeof STARTS = {
  ...STARTS,
  coind: () => startCoind({ gasLimit: GAS_LIMIT, nodeFlags, environment: ALL_TRACES }),
}
const SLOT_STARTS: typeof STARTS = {
  coind: () => startCoind({ gasLimit: SLOTS_GAS_LIMIT, nodeFlags }),
  anvil: () => startAnvil({ gasLimit: SLOTS_GAS_LIMIT, blockSeconds: BLOCK_SECONDS }),
  automine: () => startAnvil({ gasLimit: SLOTS_GAS_LIMIT, blockSeconds: undefined }),
  geth: () => startGeth({ gasLimit: SLOTS_GAS_LIMIT }),
}
/** Blocks as fast as they go: a thousand of them are waited for. */
const RANGE_STARTS: typeof STARTS = {
  ...STARTS,
  coind: () => startCoind({ gasLimit: GAS_LIMIT, blockIntervalMs: RANGE_INTERVAL_MS, nodeFlags }),
  geth: () => startGeth({ gasLimit: GAS_LIMIT, period: 0 }),
}

function start(starts: typeof STARTS, name: string): Promise<Target> {
  const starter = starts[name]
  if (starter === undefined) throw new Error(`unknown target ${name}: ${Object.keys(STARTS).join(', ')}`)
  return starter()
}

async function measure(target: Target, report: Report): Promise<void> {
  const { name, pid } = target
  const memory = (label: string): void =>
    report.add(name, [{ name: `memory ${label}`, unit: 'MB', value: residentMegabytes(pid) }])
  if (parts.has('idle')) {
    await new Promise((resolve) => setTimeout(resolve, Number(flags['idle-seconds']) * 1_000))
    memory('idle')
  }
  const distributor = await deployContract(target, 'Distributor')
  await fund(target, distributor, accounts)
  const load = async (label: string, transaction: TransactionMaker, fields: Partial<Load> = {}): Promise<void> => {
    for (const size of fields.batch === undefined ? sizes : sizes.slice(0, 1)) {
      const full = { inFlight, batch: 1, pipeline: Number(flags.pipeline), transaction, ...fields }
      const labelled = { ...full, label: `${label} ${size.count}/${size.accounts}`, count: size.count }
      report.add(name, await measureThroughput(target, { ...labelled, accounts: accounts.slice(0, size.accounts) }))
      memory(`after ${labelled.label}`)
    }
  }
  if (parts.has('transfers')) await load('transfers', coinTransfers())
  if (parts.has('sends') && name === 'coind') {
    for (const { count, accounts: senders } of sizes) {
      const size = { label: `native sends ${count}/${senders}`, count, accounts: accounts.slice(0, senders) }
      report.add(name, await measureNativeSends(target, { ...size, inFlight, pipeline: Number(flags.pipeline) }))
    }
  }
  if (parts.has('batches')) {
    await load('batches', coinTransfers(), { batch: BATCH, inFlight: BATCHES_IN_FLIGHT, pipeline: 1 })
  }
  if (parts.has('native') && name === 'coind') await load('COIN as ERC-20', tokenTransfers(NATIVE_TOKEN))
  if (parts.has('erc20') || parts.has('reads')) {
    const token = await deployToken(target)
    await endow(target, token, distributor)
    await giveTokens(target, distributor, token, accounts)
    if (parts.has('erc20')) await load('ERC-20', tokenTransfers(token))
    if (parts.has('reads')) {
      report.add(name, await measureReads(target, accounts, { token, count: Number(flags.reads), inFlight }))
      memory('after reads')
    }
  }
  if (parts.has('swaps')) await load('swaps', await swaps(target, distributor, accounts))
}

async function withTargets(starts: typeof STARTS, names: readonly string[], run: (targets: Target[]) => Promise<void>) {
  const targets: Target[] = []
  try {
    for (const name of names) targets.push(await start(starts, name))
    await run(targets)
  } finally {
    await Promise.all(targets.map((target) => target.stop()))
  }
}

/** Runs a part that needs only coind and a few accounts, on its own chain. */
async function measureAlone(
  gasLimit: number,
  run: (target: Target, senders: readonly Account[]) => Promise<void>,
): Promise<void> {
  const starts = { coind: () => startCoind({ gasLimit, nodeFlags }) }
  await withTargets(starts, ['coind'], async ([target]) => {
    const senders = accounts.slice(0, 10)
    await fund(target!, await deployContract(target!, 'Distributor'), senders)
    await run(target!, senders)
  })
}

/** Returns the targets of a part. */
function targetsOf(part: string): readonly string[] {
  return flags.targets === undefined && PARTS_WITH_GETH.includes(part) && hasGeth()
    ? [...targetNames, 'geth']
    : targetNames
}

/** Measures the memory of a node that does nothing else. */
async function measureMemoryOf(target: Target): Promise<void> {
  const distributor = await deployContract(target, 'Distributor')
  const senders = accounts.slice(0, MEMORY_ACCOUNTS)
  await fund(target, distributor, senders)
  const token = await deployToken(target)
  await endow(target, token, distributor)
  await giveTokens(target, distributor, token, senders)
  const [transfer, tokens] = [coinTransfers(), tokenTransfers(token)]
  const rows = measureMemory(target, senders, {
    idleSeconds: Number(flags['idle-seconds']),
    transfers: Number(flags['memory-transfers']),
    readSeconds: Number(flags['memory-read-seconds']),
    mixedSeconds: Number(flags['memory-mixed-minutes']) * 60,
    inFlight,
    pipeline: Number(flags.pipeline),
    transfer,
    mixed: (index, sender) => (index % 2 === 0 ? transfer : tokens)(index, sender),
  })
  for await (const measured of rows) report.add(target.name, measured)
}

/** Measures each target alone, one after the other. */
async function measureEach(part: string, starts: typeof STARTS, run: (target: Target) => Promise<void>): Promise<void> {
  for (const name of targetsOf(part)) await withTargets(starts, [name], ([target]) => run(target!))
}

async function measureParts(): Promise<void> {
  if (parts.has('start')) for (const name of targetsOf('start')) report.add(name, await measureStart(name))
  if (parts.has('evm')) {
    const options = { gas: Number(flags['evm-gas']), rounds: Number(flags['evm-rounds']), only: flags['evm-only'] }
    await withTargets(CALL_STARTS, targetNames, (targets) => measureEvm(targets, options, report))
  }
  if (SHARED_PARTS.some((part) => parts.has(part))) {
    const others = SHARED_PARTS.some((part) => part !== 'reads' && parts.has(part))
    await measureEach(others ? 'transfers' : 'reads', STARTS, (target) => measure(target, report))
  }
  if (parts.has('slots')) {
    await measureEach('slots', SLOT_STARTS, async (target) => {
      const senders = accounts.slice(0, SLOT_ACCOUNTS)
      await fund(target, await deployContract(target, 'Distributor'), senders)
      const count = Number(flags['slot-transactions'])
      const size = { label: `new slots ${count}/${senders.length}`, count, accounts: senders, inFlight, batch: 1 }
      const transaction = await newSlots(target)
      report.add(
        target.name,
        await measureThroughput(target, { ...size, pipeline: Number(flags.pipeline), transaction }),
      )
    })
  }
  if (parts.has('ranges')) {
    await measureEach('ranges', RANGE_STARTS, async (target) => {
      const senders = accounts.slice(0, RANGE_ACCOUNTS)
      await fund(target, await deployContract(target, 'Distributor'), senders)
      report.add(target.name, await measureRanges(target, senders, { count: Number(flags.reads), inFlight }))
    })
  }
  if (parts.has('memory')) await measureEach('memory', STARTS, measureMemoryOf)
  if (parts.has('empty') && targetNames.includes('coind')) {
    const seconds = Number(flags['empty-seconds'])
    for (const validators of flags['empty-validators'].split(',').map(Number)) {
      report.add('coind', await measureEmptyBlocks({ validators, warmUpSeconds: seconds, seconds }))
    }
  }
  if (parts.has('traces')) {
    await measureEach('traces', TRACE_STARTS, async (target) =>
      report.add(target.name, await measureTraces(target, accounts.slice(0, TRACE_ACCOUNTS))),
    )
  }
  if (parts.has('isolation') && targetNames.includes('coind')) {
    await measureAlone(PRODUCTION_GAS_LIMIT, async (target, senders) =>
      report.add(target.name, await measureIsolation(target, senders)),
    )
  }
  if (parts.has('worst') && targetNames.includes('coind')) {
    const options = { blockGas: Number(flags['worst-gas']), programs: flags.worst.split(';') }
    await measureAlone(options.blockGas, (target, senders) => measureWorstBlocks(target, senders, options, report))
  }
  if (parts.has('worst-network') && targetNames.includes('coind')) {
    const options = {
      validators: Number(flags['worst-validators']),
      blockGas: Number(flags['worst-gas']),
      transactions: Number(flags['worst-transactions']),
      programs: flags.worst.split(';'),
    }
    await measureWorstNetwork(options, report)
  }
  if (parts.has('bytes') && targetNames.includes('coind')) {
    const gasLimit = Number(flags['worst-gas'])
    const starts = { coind: () => startCoind({ gasLimit, blockIntervalMs: BYTES_INTERVAL_MS, nodeFlags }) }
    await withTargets(starts, ['coind'], async ([target]) => {
      const senders = accounts.slice(0, 15)
      await fund(target!, await deployContract(target!, 'Distributor'), senders)
      await measureBlockBytes(target!, senders, { blockGas: gasLimit, only: flags['bytes-only'] }, report)
    })
  }
  if (parts.has('network')) {
    for (const validators of flags.validators.split(',')) {
      report.add('coind', await measureNetwork(Number(validators), Number(flags['network-blocks'])))
    }
  }
  if (parts.has('join')) {
    const [emptyBlocks = 0, fullBlocks = 0] = flags['join-blocks'].split('/').map(Number)
    report.add('coind', await measureJoin(emptyBlocks, fullBlocks, Number(flags['join-transfers'])))
  }
}

const report = new Report()
for (let run = 0; run < Number(flags.repeat); run++) await measureParts()
report.print('coind', ['anvil', 'geth'])
if (flags.compare !== undefined) report.compare('coind', flags.compare)
if (flags.json !== undefined) report.write(flags.json)
