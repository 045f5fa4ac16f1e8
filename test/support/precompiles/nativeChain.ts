import {
  type Abi,
  decodeErrorResult,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  parseEventLogs,
} from 'viem'
import { compileContract } from '../../../contracts/compile.ts'
import type { NativeEvent } from '../../../src/chain/block/entries.ts'
import { createGenesis } from '../../../src/chain/genesis/createGenesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { totalBurnt } from '../../../src/evm/coinMovements.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../src/evm/transition.ts'
import { applyGenesis, genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import { getSupply, mint, recordBurn } from '../../../src/modules/bank/ledger.ts'
import { beginBlock, endBlock } from '../../../src/modules/block.ts'
import type { CommitVote, Misbehaviour, ModuleContext } from '../../../src/modules/context.ts'
import { distributionInvariants } from '../../../src/modules/distribution/invariants.ts'
import { govInvariants } from '../../../src/modules/gov/state.ts'
import { FEE_COLLECTOR } from '../../../src/modules/moduleAccounts.ts'
import { slashingInvariants } from '../../../src/modules/slashing/invariants.ts'
import { stakingInvariants } from '../../../src/modules/staking/invariants.ts'
import { consensusAddressOf, validators } from '../../../src/modules/staking/validators.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { type Address, BECH32_OPERATOR, toBech32 } from '../../../src/primitives/address.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { Journal } from '../../../src/state/journal.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'
import { hexLogs } from './memoryChain.ts'

export const COIN = 10n ** 18n
const GENESIS_MS = 1_767_225_600_000
export const BLOCK_MS = 400
/** Operators of the validators, with 100, 200 and 300 COIN of their own. */
export const OPERATORS: readonly Hex[] = [1, 2, 3].map((number) => bytesToHex(new Uint8Array(20).fill(number)))
export const ALICE: Hex = '0xa11ce00000000000000000000000000000000001'
export const BOB: Hex = '0xb0b0000000000000000000000000000000000002'
/** what Alice and Bob have */
export const FUNDS = 1_000_000n * COIN

export const ADDRESSES = {
  bech32: '0x0000000000000000000000000000000000000400',
  staking: '0x0000000000000000000000000000000000000800',
  distribution: '0x0000000000000000000000000000000000000801',
  bank: '0x0000000000000000000000000000000000000804',
  gov: '0x0000000000000000000000000000000000000805',
  slashing: '0x0000000000000000000000000000000000000806',
} as const satisfies Record<string, Hex>

/** The interfaces as the Solidity compiler has them. */
export const ABIS = {
  bech32: abiOf('IBech32'),
  staking: abiOf('IStaking'),
  distribution: abiOf('IDistribution'),
  bank: abiOf('IBank'),
  gov: abiOf('IGov'),
  slashing: abiOf('ISlashing'),
} as const

export type PrecompileName = keyof typeof ADDRESSES

interface NativeChainOptions {
  readonly engine?: Engine
  /** changes of the genesis */
  readonly modules?: (modules: Genesis['app_state']) => Genesis['app_state']
}

interface Call {
  readonly from: Hex
  readonly to?: Hex | undefined
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
  readonly authorizationList?: CallMessage['authorizationList']
}

/** What a call did. */
interface Outcome {
  readonly status: AppliedTransaction['status']
  /** decoded outputs; one value or an array of them */
  readonly result: unknown
  /** text of `Error(string)`, `''` for a revert without data, the name of a custom error */
  readonly reason: string | undefined
  readonly events: readonly { readonly eventName: string; readonly args: object }[]
  /** what modules emitted */
  readonly native: readonly NativeEvent[]
  readonly applied: AppliedTransaction
}

/** `coinvaloper1…` of an address. */
export function operatorOf(account: Hex): string {
  return toBech32(hexToBytes(account), BECH32_OPERATOR)
}

export function accountOf(account: Hex): string {
  return toBech32(hexToBytes(account))
}

/** A chain of the whole native layer in memory, from a production genesis; transactions are free. */
export class NativeChain {
  readonly state = new MemoryStateReader()
  readonly #engine: Engine
  readonly #precompiles: ReturnType<typeof precompileTable>
  height = 1
  timeMs = GENESIS_MS + BLOCK_MS

  constructor({ engine = productionEngine, modules = (same) => same }: NativeChainOptions = {}) {
    const [first, ...others] = OPERATORS.map((operator, index) => ({
      operator: hexToBytes(operator),
      selfDelegationAcoin: BigInt(index + 1) * 100n * COIN,
      consensusPublicKey: consensusKeyOf(operator),
      moniker: `validator ${index}`,
    }))
    const genesis = createGenesis({
      ...first!,
      genesisTimeMs: GENESIS_MS,
      chainId: 'coin_76287-1',
      wallet: first!.operator,
      otherValidators: others,
      fundedAccounts: [ALICE, BOB].map((account) => ({ address: hexToBytes(account), balanceAcoin: FUNDS })),
      hasStaticPrecompiles: true,
    })
    const world = new Journal(this.state)
    applyGenesis(world, genesisStateOf({ ...genesis, app_state: modules(genesis.app_state) }))
    this.state.apply(world.changes())
    this.#engine = engine
    this.#precompiles = precompileTable(Object.values(ADDRESSES).map(hexToBytes))
    this.#begin({})
  }

  get block() {
    return { height: this.height, timeMs: this.timeMs }
  }

  /** Modules on the current state; writes through it are lost. */
  get context(): ModuleContext {
    return { world: new Journal(this.state), block: this.block }
  }

  /** Does something natively, as a message would. */
  native<T>(run: (context: ModuleContext) => T): T {
    const world = new Journal(this.state)
    const result = run({ world, block: this.block })
    this.state.apply(world.changes())
    return result
  }

  /** Ends the block and begins the next one. `fees` were paid in it. */
  nextBlock({
    waitMs = BLOCK_MS,
    fees = 0n,
    absent = [],
    misbehaviour = [],
  }: {
    readonly waitMs?: number
    readonly fees?: bigint
    readonly absent?: readonly Hex[]
    readonly misbehaviour?: readonly Misbehaviour[]
  } = {}): void {
    this.native((context) => {
      endBlock(context)
      mint(context.world, FEE_COLLECTOR, fees)
    })
    this.height++
    this.timeMs += waitMs
    this.#begin({ absent, misbehaviour })
  }

  #begin({
    absent = [],
    misbehaviour = [],
  }: {
    absent?: readonly Hex[]
    misbehaviour?: readonly Misbehaviour[]
  }): void {
    const missing = new Set(absent.map((operator) => bytesKey(hexToBytes(operator))))
    this.native((context) => {
      const votes: CommitVote[] = []
      for (const validator of validators(context.world.native)) {
        if (validator.status !== 'bonded') continue
        votes.push({
          address: consensusAddressOf(validator),
          power: validator.tokens / COIN,
          vote: missing.has(bytesKey(validator.operator)) ? 'absent' : 'signed',
        })
      }
      beginBlock(context, { lastCommit: { round: 0, votes: this.height === 1 ? [] : votes }, misbehaviour })
    })
  }

  /** Runs a transaction; `isKept` false leaves no trace, as `eth_call`. */
  async run(call: Call, isKept = true): Promise<AppliedTransaction & { readonly native: readonly NativeEvent[] }> {
    const { from, to, data = '0x', value = 0n, gas = 16_000_000n, authorizationList } = call
    const world = new Journal(this.state)
    const outcome = await applyCall({
      world,
      block: {
        number: this.height,
        timestamp: Math.floor(this.timeMs / 1000),
        timeMs: this.timeMs,
        gasLimit: 30_000_000n,
        coinbase: FEE_COLLECTOR,
        baseFeePerGas: 0n,
        prevRandao: new Uint8Array(32),
        difficulty: 0n,
        blobBaseFee: 1n,
        blockHash: () => undefined,
      },
      engine: this.#engine,
      precompiles: this.#precompiles,
      rules: { fork: 'osaka', chainId: 76287n },
      call: {
        sender: hexToBytes(from),
        to: to === undefined ? undefined : hexToBytes(to),
        data: hexToBytes(data),
        value,
        gasLimit: gas,
        type: 2,
        maxFeePerGas: 0n,
        maxPriorityFeePerGas: 0n,
        ...(authorizationList === undefined ? {} : { authorizationList, type: 4 as const }),
      },
    })
    if (outcome.kind === 'skipped') throw new Error(outcome.reason)
    const native = [...world.events()]
    if (isKept) {
      recordBurn(world, totalBurnt(outcome.burns))
      this.state.apply(world.changes())
    }
    return { ...outcome, native }
  }

  /** Calls a function of a precompile as a transaction. */
  async send(
    from: Hex,
    name: PrecompileName,
    functionName: string,
    args: readonly unknown[] = [],
    more: Partial<Call> = {},
  ) {
    return this.sendTo(from, ADDRESSES[name], ABIS[name], functionName, args, more)
  }

  /** Calls a function of a precompile without keeping what it does. */
  async read(name: PrecompileName, functionName: string, args: readonly unknown[] = [], from: Hex = BOB) {
    const data = encodeFunctionData({ abi: ABIS[name], functionName, args })
    return this.#outcome(ABIS[name], functionName, await this.run({ from, to: ADDRESSES[name], data }, false))
  }

  async sendTo(
    from: Hex,
    to: Hex,
    abi: Abi,
    functionName: string,
    args: readonly unknown[] = [],
    more: Partial<Call> = {},
  ): Promise<Outcome> {
    const data = encodeFunctionData({ abi, functionName, args })
    return this.#outcome(abi, functionName, await this.run({ from, to, data, ...more }))
  }

  async readFrom(to: Hex, abi: Abi, functionName: string, args: readonly unknown[] = []): Promise<Outcome> {
    const data = encodeFunctionData({ abi, functionName, args })
    return this.#outcome(abi, functionName, await this.run({ from: BOB, to, data }, false))
  }

  /** @returns the address of the contract */
  async deploy(from: Hex, file: string, name: string, args: readonly unknown[] = [], value = 0n): Promise<Hex> {
    const { abi, bytecode } = compileContract(file, name)
    const data = encodeDeployData({ abi: abi as unknown as Abi, bytecode, args })
    const { status, createdAddress, output } = await this.run({ from, data, value })
    if (status !== 'success') throw new Error(`${name} was not created: ${bytesToHex(output)}`)
    return bytesToHex(createdAddress!)
  }

  balance(account: Hex | Address): bigint {
    const address = typeof account === 'string' ? hexToBytes(account) : account
    return this.state.getAccount(address)?.balance ?? 0n
  }

  /** Broken invariants of the modules, and of the supply, which is the sum of all balances. */
  problems(): readonly string[] {
    const { context } = this
    let sum = 0n
    for (const { account } of this.state.accounts()) sum += account.balance
    const supply = getSupply(context.world)
    return [
      ...(sum === supply ? [] : [`the supply is ${supply}, balances sum to ${sum}`]),
      ...stakingInvariants(context),
      ...distributionInvariants(context),
      ...slashingInvariants(context),
      ...govInvariants(context),
    ]
  }

  /** Every account and every native entry, for comparisons. */
  snapshot(): ReadonlyMap<string, string> {
    const entries = new Map<string, string>()
    for (const { address, account } of this.state.accounts()) {
      entries.set(bytesToHex(address), `${account.nonce} ${account.balance}`)
    }
    for (const [key, value] of this.context.world.native.range(new Uint8Array(0))) {
      entries.set(`native ${bytesToHex(key)}`, bytesToHex(value))
    }
    return entries
  }

  #outcome(
    abi: Abi,
    functionName: string,
    applied: AppliedTransaction & { readonly native: readonly NativeEvent[] },
  ): Outcome {
    const { status, output, logs, native } = applied
    const data = bytesToHex(output)
    const known = [...abi, ...Object.values(ABIS).flat()].filter((item) => item.type === 'event')
    return {
      status,
      result: status === 'success' ? decodeFunctionResult({ abi, functionName, data }) : undefined,
      reason: status === 'revert' ? reasonOf(abi, data) : undefined,
      events: parseEventLogs({ abi: known as Abi, logs: hexLogs(logs) as never }) as unknown as Outcome['events'],
      native,
      applied,
    }
  }
}

/** The ed25519 key of a validator of the genesis; nobody signs with it. */
export function consensusKeyOf(operator: Hex): Uint8Array {
  return sha256(hexToBytes(operator))
}

function reasonOf(abi: Abi, data: Hex): string {
  if (data === '0x') return ''
  const { errorName, args } = decodeErrorResult({ abi, data })
  return errorName === 'Error' ? (args![0] as string) : errorName
}

function abiOf(name: string): Abi {
  return compileContract(`${name}.sol`, name).abi as unknown as Abi
}
