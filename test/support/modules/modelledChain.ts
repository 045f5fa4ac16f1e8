import { getSupply, mint } from '../../../src/modules/bank/ledger.ts'
import type { ModuleContext } from '../../../src/modules/context.ts'
import { delegationRewards } from '../../../src/modules/distribution/delegationRewards.ts'
import { communityPool } from '../../../src/modules/distribution/feePool.ts'
import { commissionOf, outstandingRewards } from '../../../src/modules/distribution/readRewards.ts'
import { slashEvents } from '../../../src/modules/distribution/slashEvents.ts'
import { MESSAGES } from '../../../src/modules/messageTable.ts'
import { getInflation } from '../../../src/modules/mint/minter.ts'
import {
  BONDED_POOL,
  DISTRIBUTION,
  FEE_COLLECTOR,
  GOVERNANCE,
  MINT,
  NOT_BONDED_POOL,
} from '../../../src/modules/moduleAccounts.ts'
import { isSdkError } from '../../../src/modules/sdkError.ts'
import { SLASHING_PARAMS } from '../../../src/modules/slashing/params.ts'
import { signingInfos } from '../../../src/modules/slashing/signingInfo.ts'
import { allDelegations } from '../../../src/modules/staking/delegations.ts'
import { STAKING_PARAMS } from '../../../src/modules/staking/params.ts'
import { allRedelegations } from '../../../src/modules/staking/redelegations.ts'
import { allUnbondings } from '../../../src/modules/staking/unbonding.ts'
import { consensusAddressOf, validators } from '../../../src/modules/staking/validators.ts'
import { type Address, toBech32 } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import type { ModelParams, ModuleNames } from '../../independent/modelState.ts'
import { accrue, endAndEarn } from '../../independent/rewardsModel.ts'
import { StakingModel } from '../../independent/stakingModel.ts'
import { account, BLOCK_MS, ok, PAYER, StakingChain } from './stakingChain.ts'

const MODULES: ModuleNames = {
  feeCollector: bytesToHex(FEE_COLLECTOR),
  bonded: bytesToHex(BONDED_POOL),
  notBonded: bytesToHex(NOT_BONDED_POOL),
  distribution: bytesToHex(DISTRIBUTION),
}

export interface ModelledSetup {
  readonly stakes: readonly { readonly stake: bigint; readonly rate: bigint }[]
  readonly params: ModelParams
  /** nanoseconds; the model knows whole milliseconds */
  readonly unbondingNs: bigint
}

interface ModelledBlock {
  readonly fees: bigint
  readonly absent: readonly Address[]
  readonly evidence: readonly { readonly key: string; readonly height: number }[]
  readonly waitMs: number
}

const OPERATORS = 9
const HOLDERS = [21, 22, 23, 24].map(account)
export const PEOPLE: readonly Address[] = [
  ...HOLDERS,
  ...Array.from({ length: OPERATORS }, (_, index) => account(index + 1)),
]
const ACCOUNTS = [PAYER, ...PEOPLE, FEE_COLLECTOR, BONDED_POOL, NOT_BONDED_POOL, DISTRIBUTION, MINT]
/** beyond what the chain of the staking modules gives */
const WEALTH = 10n ** 28n
const WEALTH_OF_PAYER = 10n ** 31n

/** The staking modules and their model side by side: every operation is done to both. */
export class ModelledChain {
  readonly chain: StakingChain
  readonly model: StakingModel
  #timeMs: number

  constructor({ stakes, params, unbondingNs }: ModelledSetup) {
    const genesis = stakes.map(({ stake, rate }, index) => ({ operator: account(index + 1), stake, rate }))
    this.chain = new StakingChain({
      validators: genesis,
      holders: PEOPLE,
      distribution: { communityTax: params.communityTax },
      slashing: {
        signedBlocksWindow: BigInt(params.window),
        minSignedPerWindow: params.minSigned,
        downtimeJailDuration: params.jailNs,
        slashFractionDoubleSign: params.doubleSign,
        slashFractionDowntime: params.downtime,
      },
      staking: { unbondingTime: unbondingNs, maxValidators: params.maxValidators, maxEntries: params.maxEntries },
      mint: {
        inflationRateChange: params.rateChange,
        inflationMax: params.inflationMax,
        inflationMin: params.inflationMin,
        goalBonded: params.goalBonded,
        blocksPerYear: params.blocksPerYear,
      },
    })
    const { world, block } = this.chain.context
    this.#timeMs = block.timeMs
    for (const person of PEOPLE) mint(world, person, WEALTH)
    mint(world, PAYER, WEALTH_OF_PAYER)
    this.model = new StakingModel({
      modules: MODULES,
      params,
      timeMs: block.timeMs,
      balances: [PAYER, ...PEOPLE].map((person) => [bytesToHex(person), world.getBalance(person)]),
      validators: genesis.map(({ operator, stake, rate }) => ({
        operator: bytesToHex(operator),
        key: keyOf(operator),
        stake,
        rate,
      })),
    })
  }

  /** The same message to both. @returns what became of it: done, or refused and why */
  message(
    real: (context: ModuleContext) => unknown,
    modelled: (model: StakingModel) => void,
  ): { readonly chain: string; readonly model: string } {
    const { context } = this.chain
    context.world.checkpoint()
    const outcome = real(context)
    const isRefused = isSdkError(outcome)
    if (isRefused) context.world.revert()
    else context.world.commit()
    const refusal = this.model.attempt(modelled)
    return {
      chain: isRefused ? `refused: ${outcome.message}` : 'done',
      model: refusal === undefined ? 'done' : `refused: ${refusal}`,
    }
  }

  begin({ fees, absent, evidence, waitMs }: ModelledBlock): void {
    this.chain.wait(waitMs)
    this.#timeMs += waitMs + BLOCK_MS
    this.chain.begin({
      fees,
      absent,
      misbehaviour: evidence.map(({ key, height }) => {
        const powers = this.chain.powers(height)
        const address = hexToBytes(key)
        return {
          kind: 'duplicateVote',
          address,
          power: powers.find((one) => bytesToHex(one.address) === key)!.power,
          totalPower: powers.reduce((sum, { power }) => sum + power, 0n),
          height,
          timeMs: this.#timeMs,
          hash: sha256(Uint8Array.of(...address, height % 256, height >> 8)),
          bytes: Uint8Array.of(1),
        }
      }),
    })
    const missing = [...this.model.state.validators.values()].filter(({ operator }) =>
      absent.some((one) => bytesToHex(one) === operator),
    )
    this.model.send(bytesToHex(PAYER), MODULES.feeCollector, fees)
    this.model.begin({ timeMs: this.#timeMs, absent: new Set(missing.map(({ key }) => key)), evidence })
  }

  end(): void {
    this.chain.end()
    this.model.end()
  }

  /** Governance lets so many validators vote. */
  setMaxValidators(maxValidators: number): void {
    this.#updateParams('staking', { ...STAKING_PARAMS.get(this.chain.context.world.native), maxValidators })
    this.model.setMaxValidators(maxValidators)
  }

  setWindow(window: number): void {
    const signedBlocksWindow = BigInt(window)
    this.#updateParams('slashing', { ...SLASHING_PARAMS.get(this.chain.context.world.native), signedBlocksWindow })
    this.model.setWindow(window)
  }

  #updateParams(module: string, params: unknown): void {
    const handler = MESSAGES.get(`/cosmos.${module}.v1beta1.MsgUpdateParams`)!
    ok(handler.run(this.chain.context, { authority: toBech32(GOVERNANCE), params }))
  }

  /** All that can be seen of the chain. */
  describeChain(): Record<string, unknown> {
    const { chain } = this
    const { context } = chain
    const { world } = context
    const { native } = world
    const seen: Record<string, unknown> = {
      supply: getSupply(world),
      communityPool: communityPool(native),
      inflation: getInflation(native),
    }
    for (const one of ACCOUNTS) seen[`balance ${bytesToHex(one)}`] = world.getBalance(one)
    for (const one of validators(native)) {
      const name = bytesToHex(one.operator)
      seen[`validator ${name}`] = [
        bytesToHex(consensusAddressOf(one)),
        one.status,
        one.jailed,
        one.tokens,
        one.delegatorShares,
        one.commission.rate,
        one.minSelfDelegation,
        one.status === 'unbonding' ? [one.unbondingHeight, one.unbondingTimeMs] : [],
      ]
      seen[`rewards ${name}`] = [outstandingRewards(context, one.operator), commissionOf(context, one.operator)]
      seen[`slashes ${name}`] = slashEvents(context, one.operator, 0, chain.height).map((slash) => [
        slash.period,
        slash.fraction,
      ])
    }
    for (const { delegator, operator, shares } of allDelegations(native)) {
      seen[`delegation ${bytesToHex(delegator)}/${bytesToHex(operator)}`] = [
        shares,
        delegationRewards(context, delegator, operator),
      ]
    }
    for (const { delegator, operator, entries } of allUnbondings(native)) {
      seen[`unbonding ${bytesToHex(delegator)}/${bytesToHex(operator)}`] = entries.map((entry) => [
        entry.creationHeight,
        entry.completionTimeMs,
        entry.initialBalance,
        entry.balance,
      ])
    }
    for (const { delegator, source, destination, entries } of allRedelegations(native)) {
      seen[`redelegation ${bytesToHex(delegator)}/${bytesToHex(source)}/${bytesToHex(destination)}`] = entries.map(
        (entry) => [entry.creationHeight, entry.completionTimeMs, entry.initialBalance, entry.sharesDestination],
      )
    }
    for (const [key, info] of signingInfos(context)) {
      seen[`signing ${bytesToHex(key)}`] = [Number(info.startHeight), Number(info.missedBlocksCounter), info.tombstoned]
    }
    return seen
  }

  describeModel(): Record<string, unknown> {
    const { state } = this.model
    const seen: Record<string, unknown> = {
      supply: state.supply,
      communityPool: state.communityPool,
      inflation: state.inflation,
    }
    for (const one of ACCOUNTS) seen[`balance ${bytesToHex(one)}`] = state.balances.get(bytesToHex(one)) ?? 0n
    const later = this.model.copy()
    for (const one of state.validators.values()) {
      seen[`validator ${one.operator}`] = [
        one.key,
        one.status,
        one.jailed,
        one.tokens,
        one.shares,
        one.rate,
        one.minSelfDelegation,
        one.status === 'unbonding' ? [one.unbondingHeight, one.unbondingTimeMs] : [],
      ]
      const accrued = later.validators.get(one.operator)!
      accrue(later, accrued)
      seen[`rewards ${one.operator}`] = [accrued.outstanding, accrued.commission]
      seen[`slashes ${one.operator}`] = one.slashes.map(({ period, fraction }) => [BigInt(period), fraction])
    }
    for (const [key, one] of state.delegations) {
      seen[`delegation ${key}`] = [one.shares, endAndEarn(later, later.validators.get(one.operator)!, one)]
    }
    const push = (key: string, entry: readonly unknown[]) => {
      const list = (seen[key] ?? []) as unknown[]
      seen[key] = [...list, entry]
    }
    for (const one of state.unbondings) {
      push(`unbonding ${one.delegator}/${one.operator}`, [one.height, one.timeMs, one.initial, one.balance])
    }
    for (const one of state.redelegations) {
      const key = `redelegation ${one.delegator}/${one.source}/${one.destination}`
      push(key, [one.height, one.timeMs, one.initial, one.shares])
    }
    for (const [key, one] of state.signing) {
      seen[`signing ${key}`] = [one.startHeight, one.missed.size, one.tombstoned]
    }
    return seen
  }

  /** Powers that both give consensus for the block after the next, in its order. */
  powers(): { readonly chain: readonly string[]; readonly model: readonly string[] } {
    const height = this.chain.height + 2
    return {
      chain: this.chain.powers(height).map(({ address, power }) => `${bytesToHex(address)} ${power}`),
      model: [...this.model.state.sets.get(height)!].map(([key, power]) => `${key} ${power}`),
    }
  }
}

/** Consensus address of the key that the genesis gives an operator; others use it too. */
export function keyOf(operator: Address): string {
  return bytesToHex(sha256(sha256(operator)).slice(0, 20))
}
