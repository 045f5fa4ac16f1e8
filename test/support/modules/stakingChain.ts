import { expect } from 'vitest'
import type { NativeEvent } from '../../../src/chain/block/entries.ts'
import { mint } from '../../../src/modules/bank/ledger.ts'
import { sendCoins } from '../../../src/modules/bank/send.ts'
import { beginBlock } from '../../../src/modules/block.ts'
import { ITEM_LEFT_ALONE } from '../../../src/modules/blockItem.ts'
import { CONSENSUS_PARAMS, ConsensusParams } from '../../../src/modules/consensus/params.ts'
import type { CommitVote, Misbehaviour, ModuleContext } from '../../../src/modules/context.ts'
import { distributionInvariants } from '../../../src/modules/distribution/invariants.ts'
import { DISTRIBUTION_PARAMS, DistributionParams } from '../../../src/modules/distribution/params.ts'
import { initMint } from '../../../src/modules/mint/minter.ts'
import { MintParams } from '../../../src/modules/mint/params.ts'
import { BONDED_POOL, FEE_COLLECTOR } from '../../../src/modules/moduleAccounts.ts'
import { isSdkError, type Outcome } from '../../../src/modules/sdkError.ts'
import { slashingInvariants } from '../../../src/modules/slashing/invariants.ts'
import { SLASHING_PARAMS, type SlashingParams } from '../../../src/modules/slashing/params.ts'
import { endStaking } from '../../../src/modules/staking/endStaking.ts'
import { initStaking } from '../../../src/modules/staking/initStaking.ts'
import { poolSurplus, stakingInvariants } from '../../../src/modules/staking/invariants.ts'
import { Description, Params as StakingParams } from '../../../src/modules/staking/types.ts'
import { consensusAddressOf, getValidator, type Validator } from '../../../src/modules/staking/validators.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import { type Decimal, decimalOf, ONE } from '../../../src/primitives/decimal.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import type { StateChanges } from '../../../src/state/changes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'

export const COIN = 10n ** 18n
export const BLOCK_MS = 400
/** pays the fees of blocks */
export const PAYER: Address = new Uint8Array(20).fill(0xfe)
const GENESIS_MS = 1_767_225_600_000

/** The address with all bytes `number`. */
export function account(number: number): Address {
  return new Uint8Array(20).fill(number)
}

interface GenesisValidator {
  readonly operator: Address
  /** acoin that it delegates to itself */
  readonly stake: bigint
  readonly rate?: Decimal
}

interface ChainOptions {
  readonly validators: readonly GenesisValidator[]
  /** who has a million coins */
  readonly holders?: readonly Address[]
  readonly distribution?: Partial<DistributionParams>
  readonly slashing?: Partial<SlashingParams>
  readonly staking?: Partial<StakingParams>
  readonly mint?: Partial<MintParams>
  /** work that slashes may do at a block's beginning, in gas; by default as in production */
  readonly slashBudget?: number
}

/** How a block begins. */
interface BlockBeginning {
  /** operators that did not sign the block before */
  readonly absent?: readonly Address[]
  /** acoin that transactions of the block before paid */
  readonly fees?: bigint
  readonly misbehaviour?: readonly Misbehaviour[]
}

/**
 * A chain of staking modules alone, without transactions and consensus: blocks begin and end through the production
 * functions, voting powers act two blocks after they changed, and each block stands on the state that the one before
 * wrote.
 */
export class StakingChain {
  readonly #reader = new MemoryStateReader()
  #world = new Journal(this.#reader)
  #height = 0
  readonly #slashBudget: number | undefined
  #timeMs = GENESIS_MS
  /** powers by consensus address, as of the block at the height */
  readonly #sets: Map<string, { readonly address: Uint8Array; readonly power: bigint }>[] = []

  #events: readonly NativeEvent[] = []

  constructor(options: ChainOptions) {
    this.#slashBudget = options.slashBudget
    const { context } = this
    const { native } = context.world
    initMint(native, {
      params: MintParams.create({ mintDenom: 'acoin', goalBonded: ONE / 2n, blocksPerYear: 1000n, ...options.mint }),
      inflation: 0n,
    })
    const distribution = { communityTax: ONE / 50n, withdrawAddrEnabled: true, ...options.distribution }
    DISTRIBUTION_PARAMS.set(native, DistributionParams.create(distribution))
    SLASHING_PARAMS.set(native, {
      signedBlocksWindow: 10n,
      minSignedPerWindow: ONE / 2n,
      downtimeJailDuration: 60_000_000_000n,
      slashFractionDoubleSign: ONE / 20n,
      slashFractionDowntime: ONE / 100n,
      ...options.slashing,
    })
    CONSENSUS_PARAMS.set(
      native,
      ConsensusParams.create({ evidence: { maxAgeNumBlocks: 15n, maxAgeDuration: 2_000_000_000n, maxBytes: 1_000n } }),
    )
    const staking = StakingParams.create({
      unbondingTime: 4_000_000_000n,
      maxValidators: 50,
      maxEntries: 7,
      bondDenom: 'acoin',
      ...options.staking,
    })
    for (const { stake } of options.validators) mint(this.#world, BONDED_POOL, stake)
    for (const holder of [PAYER, ...(options.holders ?? [])]) mint(this.#world, holder, 1_000_000n * COIN)
    const validators = options.validators.map(genesisValidator)
    const delegations = options.validators.map(({ operator, stake }) => ({
      delegator: operator,
      operator,
      shares: decimalOf(stake),
    }))
    initStaking(context, { params: staking, validators, delegations })
    const first = new Map(
      validators.map((validator) => {
        const address = consensusAddressOf(validator)
        return [bytesKey(address), { address, power: validator.tokens / COIN }]
      }),
    )
    this.#sets[0] = this.#sets[1] = this.#sets[2] = first
    this.#store()
  }

  /** Of the block that runs, or of the next one between blocks. */
  get context(): ModuleContext {
    return { world: this.#world, block: { height: this.#height, timeMs: this.#timeMs } }
  }

  /** What the last begin or end of a block left alone, with the reason. */
  get leftAlone(): readonly string[] {
    const named = this.#events.filter(({ type }) => type === ITEM_LEFT_ALONE)
    return named.map(({ attributes }) => attributes.map(({ key, value }) => `${key}: ${value}`).join(', '))
  }

  get height(): number {
    return this.#height
  }

  validator(operator: Address): Validator {
    return getValidator(this.#world.native, operator)!
  }

  /** Powers of the block at `height`, in consensus' order. */
  powers(height: number): readonly { readonly address: Uint8Array; readonly power: bigint }[] {
    return [...this.#sets[height]!.values()].sort((a, b) =>
      a.power === b.power ? Buffer.compare(a.address, b.address) : a.power > b.power ? -1 : 1,
    )
  }

  begin({ absent = [], fees = 0n, misbehaviour = [] }: BlockBeginning = {}): void {
    this.#height++
    this.#timeMs += BLOCK_MS
    const { native } = this.#world
    const missing = new Set(
      absent.flatMap((operator) => {
        const validator = getValidator(native, operator)
        return validator === undefined ? [] : [bytesKey(consensusAddressOf(validator))]
      }),
    )
    const votes = this.powers(this.#height - 1).map(
      ({ address, power }): CommitVote => ({
        address,
        power,
        vote: missing.has(bytesKey(address)) ? 'absent' : 'signed',
      }),
    )
    // Before the scope of the block, as transactions of the block before would have.
    ok(sendCoins(this.context, PAYER, FEE_COLLECTOR, fees))
    this.#world.beginTransaction()
    const lastCommit = { round: 0, votes: this.#height === 1 ? [] : votes }
    beginBlock(this.context, { lastCommit, misbehaviour }, undefined, this.#slashBudget)
    this.#events = this.#world.events()
    this.#world.endTransaction({ clearEmpty: true })
  }

  /** Ends the block and keeps its state. @returns keys of the native records that it wrote */
  end(): readonly Uint8Array[] {
    const next = new Map(this.#sets[this.#height + 1])
    this.#world.beginTransaction()
    const updates = endStaking(this.context)
    this.#events = this.#world.events()
    this.#world.endTransaction({ clearEmpty: true })
    for (const { publicKey, power } of updates) {
      const address = sha256(publicKey).slice(0, 20)
      if (power === 0n) next.delete(bytesKey(address))
      else next.set(bytesKey(address), { address, power })
    }
    this.#sets[this.#height + 2] = next
    return this.#store()
  }

  /** A whole block without operations. */
  block(beginning: BlockBeginning = {}): readonly Uint8Array[] {
    this.begin(beginning)
    return this.end()
  }

  /** What the block that runs has changed so far. */
  changes(): StateChanges {
    return this.#world.changes()
  }

  /** Moves consensus time on without blocks. */
  wait(ms: number): void {
    this.#timeMs += ms
  }

  /** Checks the invariants of the modules of this directory; to be called after every operation. */
  check(): void {
    expect(stakingInvariants(this.context)).toEqual([])
    expect(poolSurplus(this.context)).toEqual({ bonded: 0n, notBonded: 0n })
    expect(distributionInvariants(this.context)).toEqual([])
    expect(slashingInvariants(this.context)).toEqual([])
    expect(this.leftAlone).toEqual([])
  }

  /** The evidence that `operator` signed twice at `height`. @param address of its key there; by default that which it has now */
  doubleSign(
    operator: Address,
    height: number,
    address: Uint8Array = consensusAddressOf(this.validator(operator)),
  ): Misbehaviour {
    const powers = this.powers(height)
    const power = powers.find((one) => bytesKey(one.address) === bytesKey(address))!.power
    return {
      kind: 'duplicateVote',
      address,
      power,
      totalPower: powers.reduce((sum, one) => sum + one.power, 0n),
      height,
      timeMs: this.#timeMs,
      hash: sha256(Uint8Array.of(...address, height % 256, height >> 8)),
      bytes: Uint8Array.of(1),
    }
  }

  #store(): readonly Uint8Array[] {
    const changes = this.#world.changes()
    this.#reader.apply(changes)
    this.#world = new Journal(this.#reader)
    return changes.native.map(({ key }) => key)
  }
}

/** The value of an outcome that must not be an error. */
export function ok<T>(outcome: Outcome<T>): T {
  if (isSdkError(outcome)) throw new Error(outcome.message)
  return outcome
}

function genesisValidator({ operator, stake, rate = 0n }: GenesisValidator): Validator {
  return {
    operator,
    publicKey: sha256(operator),
    jailed: false,
    status: 'bonded',
    tokens: stake,
    delegatorShares: decimalOf(stake),
    description: Description.create({ moniker: 'validator' }),
    unbondingHeight: 0,
    unbondingTimeMs: 0,
    commission: { rate, maxRate: ONE, maxChangeRate: ONE, updateTimeMs: 0 },
    minSelfDelegation: 1n,
    unbondingIds: [],
  }
}
