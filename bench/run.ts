/**
 * Measures a node through its public RPC beside anvil in the same run: `npm run bench -- [flags]`. It prints and asserts
 * nothing. Flags: --parts a,b of transfers,batches,erc20,native,reads,idle,isolation · --targets coind,anvil (or automine, a block for every arrival) · --count 20000 ·
 * --accounts 200 · --in-flight 200 · --reads 20000 · --idle-seconds 60 · --node-flags "--cpu-prof …"
 */
import { parseArgs } from 'node:util'
import { residentMegabytes } from './measure/processUsage.ts'
import { benchAccounts, fund } from './parts/accounts.ts'
import { measureIsolation } from './parts/isolation.ts'
import { measureReads } from './parts/reads.ts'
import { deployToken, NATIVE_TOKEN } from './parts/token.ts'
import { measureTransfers } from './parts/transfers.ts'
import { Report } from './report.ts'
import { startAnvil } from './targets/anvil.ts'
import { startCoind } from './targets/coind.ts'
import type { Target } from './targets/target.ts'

const { values: flags } = parseArgs({
  options: {
    parts: { type: 'string', default: 'transfers,batches,erc20,native,reads,idle,isolation' },
    targets: { type: 'string', default: 'coind,anvil' },
    count: { type: 'string', default: '20000' },
    accounts: { type: 'string', default: '200' },
    'in-flight': { type: 'string', default: '200' },
    reads: { type: 'string', default: '20000' },
    'idle-seconds': { type: 'string', default: '60' },
    'node-flags': { type: 'string', default: '' },
  },
})
const nodeFlags = flags['node-flags'].split(' ').filter(Boolean)
const parts = new Set(flags.parts.split(','))
const count = Number(flags.count)
const inFlight = Number(flags['in-flight'])
const accounts = benchAccounts(Number(flags.accounts))

/** Gas of a block in throughput measurements. */
const GAS_LIMIT = 150_000_000
const PRODUCTION_GAS_LIMIT = 30_000_000
const BLOCK_SECONDS = 0.4
/** Transactions of one request, and requests under way, where batches are sent. */
const BATCH = 100
const BATCHES_IN_FLIGHT = 20

const STARTS: Readonly<Record<string, () => Promise<Target>>> = {
  coind: () => startCoind({ gasLimit: GAS_LIMIT, nodeFlags }),
  anvil: () => startAnvil({ gasLimit: GAS_LIMIT, blockSeconds: BLOCK_SECONDS }),
  automine: () => startAnvil({ gasLimit: GAS_LIMIT, blockSeconds: undefined }),
}

async function measure(target: Target, report: Report): Promise<void> {
  const { name, pid } = target
  const memory = (label: string): void =>
    report.add(name, [{ name: `memory ${label}`, unit: 'MB', value: residentMegabytes(pid) }])
  if (parts.has('idle')) {
    await new Promise((resolve) => setTimeout(resolve, Number(flags['idle-seconds']) * 1_000))
    memory('idle')
  }
  await fund(target, accounts)
  const load = { count, batch: 1, inFlight, token: undefined }
  if (parts.has('transfers')) {
    report.add(name, await measureTransfers(target, accounts, { ...load, label: 'transfers' }))
    memory('after transfers')
  }
  if (parts.has('batches')) {
    const batches = { ...load, batch: BATCH, inFlight: BATCHES_IN_FLIGHT }
    report.add(
      name,
      await measureTransfers(target, accounts, { ...batches, label: `transfers in batches of ${BATCH}` }),
    )
    memory('after batches')
  }
  if (parts.has('native') && name === 'coind') {
    report.add(
      name,
      await measureTransfers(target, accounts, { ...load, token: NATIVE_TOKEN, label: 'COIN as ERC-20' }),
    )
  }
  if (!parts.has('erc20') && !parts.has('reads')) return
  const token = await deployToken(target, accounts)
  if (parts.has('erc20')) {
    report.add(name, await measureTransfers(target, accounts, { ...load, token, label: 'ERC-20 (OpenZeppelin)' }))
    memory('after ERC-20')
  }
  if (parts.has('reads')) {
    report.add(name, await measureReads(target, accounts, { token, count: Number(flags.reads), inFlight }))
    memory('after reads')
  }
}

/** On a chain with the gas limit of production. */
async function measureIsolated(report: Report): Promise<void> {
  const target = await startCoind({ gasLimit: PRODUCTION_GAS_LIMIT, nodeFlags })
  try {
    const few = accounts.slice(0, 10)
    await fund(target, few)
    report.add(target.name, await measureIsolation(target, few))
  } finally {
    await target.stop()
  }
}

const report = new Report()
for (const name of flags.targets.split(',')) {
  const start = STARTS[name]
  if (start === undefined) throw new Error(`unknown target ${name}: ${Object.keys(STARTS).join(', ')}`)
  const target = await start()
  try {
    await measure(target, report)
  } finally {
    await target.stop()
  }
}
if (parts.has('isolation') && flags.targets.split(',').includes('coind')) await measureIsolated(report)
report.print('coind', 'anvil')
