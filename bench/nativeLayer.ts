/**
 * The native layer on a chain of many validators and delegators, in one process without network: what an empty block costs, blocks of
 * delegations, and queries. Prints and asserts nothing.
 *
 *   node bench/nativeLayer.ts [validators] [delegators] [empty blocks] [delegations in a block]
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Genesis } from '../src/chain/genesis/genesisSchema.ts'
import { advanceState } from '../src/consensus/consensusState.ts'
import { BASE_DENOM } from '../src/modules/coin.ts'
import { MsgDelegate } from '../src/modules/staking/messages.ts'
import { type Address, moduleAddress, toBech32 } from '../src/primitives/address.ts'
import { answerNativeCall } from '../src/rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../src/rpc/cosmos/queries.ts'
import type { RpcContext } from '../src/rpc/jsonrpc/method.ts'
import { createViewCaches, openView } from '../src/state/view.ts'
import { prefixEnd } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'
import { networkGenesis, openNetworkNode, proposeBlock, testValidator } from '../test/support/execution/testNetwork.ts'
import { accountOf } from './load/sign.ts'
import { signNative } from './load/signNative.ts'
import { percentile } from './measure/percentile.ts'

const [validators = 50, delegators = 10_000, emptyBlocks = 1_000, perBlock = 1_000] = process.argv.slice(2).map(Number)
const COIN = 10n ** 18n
const DELEGATED = 10n * COIN
/** Blocks of delegations. */
const FULL_BLOCKS = 5
const QUERIES_OF_A_KIND = 500
const GAS = 100_000n
const FEE = GAS * 10n ** 10n

const operators = Array.from({ length: validators }, (_, index) =>
  toBech32(testValidator(index).operator, 'coinvaloper'),
)
const accounts = Array.from({ length: perBlock }, (_, index) => accountOf(`delegator ${index}`))

/** Delegators from the genesis on, each with one validator, and accounts that have coins to delegate. */
function genesisOf(): Genesis {
  const genesis = structuredClone(
    networkGenesis(validators, {
      blockGasLimit: 10n ** 9n,
      fundedAccounts: accounts.map(({ address }) => ({ address, balanceAcoin: 1000n * COIN })),
    }),
  )
  const { staking, bank } = genesis.app_state
  const added = Array.from({ length: validators }, () => 0n)
  for (let index = 0; index < delegators; index++) {
    added[index % validators]! += DELEGATED
    staking.delegations.push({
      delegator_address: toBech32(moduleAddress(`delegator ${index}`)),
      validator_address: operators[index % validators]!,
      shares: `${DELEGATED}.${'0'.repeat(18)}`,
    })
  }
  for (const [index, validator] of staking.validators.entries()) {
    const tokens = BigInt(validator.tokens) + added[index]!
    validator.tokens = tokens.toString()
    validator.delegator_shares = `${tokens}.${'0'.repeat(18)}`
    genesis.consensus.validators[index]!.power = (tokens / COIN).toString()
  }
  const total = added.reduce((sum, amount) => sum + amount, 0n)
  const pool = bank.balances.find(({ address }) => address === toBech32(moduleAddress('bonded_tokens_pool')))!
  for (const coin of [pool.coins[0]!, bank.supply[0]!]) coin.amount = (BigInt(coin.amount) + total).toString()
  return genesis
}

const genesis = genesisOf()
/** builds the blocks of delegations */
const proposer = await openNetworkNode(genesis)
/** executes them as a node does that did not build them */
const node = await openNetworkNode(genesis)
const database = await Database.open(node.location, { readOnly: true })

async function diskBytes(): Promise<number> {
  await database.compact(Uint8Array.of(0), prefixEnd(Uint8Array.of(0xfe))!)
  return readdirSync(node.location)
    .filter((name) => name.endsWith('.ldb'))
    .reduce((sum, name) => sum + statSync(join(node.location, name)).size, 0)
}

let state = await node.state()
/** Makes a block; returns the CPU milliseconds that the second node took for it. */
async function produce(raws: readonly Uint8Array[] = []): Promise<number> {
  const decided = await proposeBlock(proposer, state, { raws })
  if (decided.block.txs.length !== raws.length)
    throw new Error(`only ${decided.block.txs.length} of ${raws.length} fit`)
  await proposer.executor.application.finalizeBlock(decided)
  const begin = process.threadCpuUsage()
  state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
  const { user, system } = process.threadCpuUsage(begin)
  return (user + system) / 1000
}

const show = (name: string, value: number, unit: string): void => {
  console.log(`${name.padEnd(52)}${value.toFixed(2).padStart(12)} ${unit}`)
}

console.log(`${validators} validators, ${delegators} delegators`)
for (let i = 0; i < 50; i++) await produce()
const diskBefore = await diskBytes()
const empty: number[] = []
for (let i = 0; i < emptyBlocks; i++) empty.push(await produce())
show(
  'empty block: executed, stored',
  percentile(
    empty.sort((a, b) => a - b),
    50,
  ),
  'ms CPU',
)
show('empty block: on disk, compacted', ((await diskBytes()) - diskBefore) / emptyBlocks, 'bytes')

const sequences = new Map<Address, bigint>()
const delegations = (): Uint8Array[] =>
  accounts.map((account, index) => {
    const sequence = sequences.get(account.address) ?? 0n
    sequences.set(account.address, sequence + 1n)
    const value = MsgDelegate.encode({
      delegatorAddress: toBech32(account.address),
      validatorAddress: operators[index % validators]!,
      amount: { denom: BASE_DENOM, amount: COIN },
    })
    const message = { typeUrl: MsgDelegate.typeUrl, value }
    return signNative(account, { sequence, messages: [message], gasLimit: GAS, feeAcoin: FEE })
  })
const fullBefore = await diskBytes()
const times: number[] = []
for (let i = 0; i < FULL_BLOCKS; i++) times.push(await produce(delegations()))
show(
  `block of ${perBlock} delegations: verified, executed, stored`,
  percentile(
    times.sort((a, b) => a - b),
    50,
  ),
  'ms CPU',
)
show(`block of ${perBlock} delegations: on disk, compacted`, ((await diskBytes()) - fullBefore) / FULL_BLOCKS, 'bytes')
const after: number[] = []
for (let i = 0; i < 20; i++) after.push(await produce())
show(
  'empty block afterwards: finalized',
  percentile(
    after.sort((a, b) => a - b),
    50,
  ),
  'ms CPU',
)

const fresh = await Database.open(node.location, { readOnly: true })
const snapshot = fresh.snapshot()
const context = {
  view: openView(snapshot, createViewCaches()),
  chain: node.chain,
  limits: { responseBytes: 10_000_000, callTimeoutMs: 5_000 },
  now: () => Date.now(),
  execution: { yieldUntil: () => async () => undefined },
} as unknown as RpcContext
const call = async (path: string, request: object): Promise<number> => {
  const begin = performance.now()
  const answer = await answerNativeCall(
    { queries: QUERIES, node: {} as never, log: { error: (fields) => console.error(fields) } },
    context,
    { path, request: { json: JSON.stringify(request) }, height: 0 },
  )
  if (answer.kind === 'error') throw new Error(`${path}: ${answer.message}`)
  return performance.now() - begin
}
const delegator = toBech32(moduleAddress('delegator 5'))
for (const [path, request] of [
  ['/cosmos.bank.v1beta1.Query/Balance', { address: delegator, denom: BASE_DENOM }],
  ['/cosmos.staking.v1beta1.Query/DelegatorDelegations', { delegator_addr: delegator }],
  ['/cosmos.staking.v1beta1.Query/ValidatorDelegations', { validator_addr: operators[0] }],
  ['/cosmos.staking.v1beta1.Query/Validators', {}],
  ['/cosmos.distribution.v1beta1.Query/DelegationTotalRewards', { delegator_address: delegator }],
] as const) {
  const latencies: number[] = []
  for (let i = 0; i < QUERIES_OF_A_KIND; i++) latencies.push(await call(path, request))
  latencies.sort((a, b) => a - b)
  show(`query ${path.split('.').slice(1, 2)}${path.slice(path.lastIndexOf('/'))}: p50`, percentile(latencies, 50), 'ms')
}
await snapshot.close()
await fresh.close()
await database.close()
await node.close()
await proposer.close()
