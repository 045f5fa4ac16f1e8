import type { NativeEvent } from '../../chain/block/entries.ts'
import { type Address, BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { truncate } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { doItem } from '../blockItem.ts'
import { type Budget, budgetOf, isSpent } from '../budget.ts'
import { type CommitVote, event, type LastCommitInfo, type ModuleContext } from '../context.ts'
import type { SdkError } from '../sdkError.ts'
import { getDelegation } from '../staking/delegations.ts'
import { stakingError } from '../staking/errors.ts'
import { formerHolderOf } from '../staking/keyRotation.ts'
import { tokensFromShares } from '../staking/shares.ts'
import { type Infraction, slash } from '../staking/slash.ts'
import {
  consensusAddressOf,
  getValidator,
  getValidatorByConsensus,
  jail,
  unjail,
  type Validator,
} from '../staking/validators.ts'
import { slashingError } from './errors.ts'
import { maxMissed, SLASHING_PARAMS } from './params.ts'
import {
  clearMissed,
  flipMissed,
  getSigningRecord,
  isMissed,
  missedCount,
  missingValidators,
  putSigningRecord,
  type SigningRecord,
  windowIndex,
} from './signingInfo.ts'

/*
 * Jails validators, and lets them out. There are three reasons: downtime ({@link beginSlashing}),
 * double signing ({@link punishDoubleSign}), and an operator that retains less stake than it
 * promised (staking's `removeDelegation`, which does not slash). The flag itself is the validator's
 * (`jail` in staking/validators.ts); jailed validators lose their power at the end of the block.
 */

/** Blocks between the stakes that made a validator's power and the last commit that it signed with it. */
const COMMIT_POWER_DELAY = 2
/** Blocks between the stakes that made a validator's power and the vote that it signed with it. */
const VOTE_POWER_DELAY = 1
/** Work that punishments for downtime may do in a block, in gas: about 30 ms. A validator that is still absent is punished later. */
const DOWNTIME_BUDGET_GAS = 2_000_000
/** How long a tombstoned validator is jailed: to the end of the year 9999 (x/evidence/types/params.go), nanoseconds. */
const DOUBLE_SIGN_JAIL_END = 253_402_300_799n * 1_000_000_000n

/**
 * Counts the validators that missed the previous block, and slashes and jails those that missed too many blocks of their window
 * (x/slashing/keeper/infractions.go). A vote for nil is a signature. A validator that signs and has missed nothing costs no look-up.
 * @param slashBudget see `slash`
 */
export function beginSlashing(context: ModuleContext, { votes }: LastCommitInfo, slashBudget?: Budget): void {
  const { native } = context.world
  const missing = missingValidators(native)
  const downtimeBudget = budgetOf(native, DOWNTIME_BUDGET_GAS)
  for (const vote of votes) {
    if (vote.vote !== 'absent' && !missing.has(bytesKey(vote.address))) continue
    doItem(context, { module: 'slashing', validator: toBech32(vote.address, BECH32_CONSENSUS) }, () =>
      countVote(context, vote, { downtimeBudget, slashBudget }),
    )
  }
}

interface Budgets {
  /** when it is spent, validators that missed too many blocks are punished by the next block */
  readonly downtimeBudget: Budget
  readonly slashBudget: Budget | undefined
}

function countVote(
  context: ModuleContext,
  { address, power, vote }: CommitVote,
  { downtimeBudget, slashBudget }: Budgets,
): void {
  const { world, block } = context
  const { native } = world
  const validator = getValidatorByConsensus(native, address)
  // Its last votes count while it unbonds; its missed blocks are deleted when it is unbonded.
  if (validator === undefined || validator.jailed || validator.status === 'unbonded') return
  const record = getSigningRecord(native, address)
  if (record === undefined) throw new Error('a bonded validator has no signing info')
  const params = SLASHING_PARAMS.get(native)
  const { operator } = validator

  const missed = vote === 'absent'
  const index = windowIndex(record, block.height, params.signedBlocksWindow)
  let count = missedCount(native, address)
  if (isMissed(native, operator, index) !== missed) count = flipMissed(native, { address, operator }, index)
  const bech32 = toBech32(address, BECH32_CONSENSUS)
  if (missed) {
    world.emitEvent(event('liveness', { address: bech32, missed_blocks: `${count}`, height: `${block.height}` }))
  }
  const isWindowOver = BigInt(block.height) > record.startHeight + params.signedBlocksWindow
  if (!isWindowOver || BigInt(count) <= maxMissed(params) || isSpent(native, downtimeBudget)) return

  const height = block.height - COMMIT_POWER_DELAY
  const fault = { consensusAddress: address, power, height, fraction: params.slashFractionDowntime }
  const burnt = slashOrLeave(context, fault, slashBudget)
  world.emitEvent(
    slashEvent({
      address: bech32,
      power: `${power}`,
      reason: 'missing_signature',
      jailed: bech32,
      burned_coins: `${burnt}`,
    }),
  )
  jail(context, address)
  // Its window starts again when it is bonded again, without the old missed blocks.
  clearMissed(native, { address, operator })
  const jailedUntil = BigInt(block.timeMs) * 1_000_000n + params.downtimeJailDuration
  putSigningRecord(native, address, { ...record, jailedUntil })
}

/**
 * Slashes, jails and tombstones a validator that signed twice at `height`, so that it never signs
 * again (x/evidence/keeper/infraction.go). A tombstoned validator is not punished again, nor is an
 * unbonded one. A validator that has another key now is punished for its old key too, and both keys
 * are tombstoned. The SDK tombstones only the current key, so that a validator could take the other
 * one later.
 * @param slashBudget see `slash`
 * @param infraction `consensusAddress`: of the key that signed; `power`: the validator's at that
 * height
 */
export function punishDoubleSign(
  context: ModuleContext,
  { consensusAddress: signer, power, height }: Omit<Infraction, 'fraction'>,
  slashBudget?: Budget,
): void {
  const { world } = context
  const { native } = world
  const found = punishable(native, signer)
  if (found === undefined) return
  const { validator, consensusAddress, record } = found
  const { slashFractionDoubleSign: fraction } = SLASHING_PARAMS.get(native)
  const fault = { consensusAddress, power, height: height - VOTE_POWER_DELAY, fraction }
  const burnt = slashOrLeave(context, fault, slashBudget)
  const address = toBech32(consensusAddress, BECH32_CONSENSUS)
  world.emitEvent(slashEvent({ address, power: `${power}`, reason: 'double_sign', burned_coins: `${burnt}` }))
  if (!validator.jailed) {
    world.emitEvent(slashEvent({ jailed: address }))
    jail(context, consensusAddress)
  }
  const tombstone = { ...record, jailedUntil: DOUBLE_SIGN_JAIL_END, tombstoned: true }
  putSigningRecord(native, consensusAddress, tombstone)
  if (!equalBytes(signer, consensusAddress)) putSigningRecord(native, signer, tombstone)
}

/**
 * Slashes, or leaves all stake unchanged where a slash is impossible: the validator is jailed in
 * any case.
 * @returns acoin burnt from its own tokens
 */
function slashOrLeave(context: ModuleContext, fault: Infraction, budget: Budget | undefined): bigint {
  const validator = toBech32(fault.consensusAddress, BECH32_CONSENSUS)
  return doItem(context, { module: 'slashing', slash_of: validator }, () => slash(context, fault, budget)) ?? 0n
}

/** A validator that can be punished for two votes. */
interface Punishable {
  readonly validator: Validator
  /** of its current key */
  readonly consensusAddress: Uint8Array
  readonly record: SigningRecord
}

/**
 * Returns the validator that {@link punishDoubleSign} would punish for votes of this key; undefined
 * when it would do nothing.
 */
export function punishable(native: Pick<NativeStore, 'get'>, signer: Uint8Array): Punishable | undefined {
  const validator = getValidatorByConsensus(native, signer) ?? formerHolderOf(native, signer)
  if (validator === undefined || validator.status === 'unbonded') return undefined
  const consensusAddress = consensusAddressOf(validator)
  const record = getSigningRecord(native, consensusAddress)
  return record === undefined || record.tombstoned ? undefined : { validator, consensusAddress, record }
}

/**
 * Executes MsgUnjail (x/slashing/keeper/unjail.go): a jailed validator may be bonded again once its
 * time is over, unless it signed twice. One that was never bonded was jailed for too small a
 * self-delegation alone.
 */
export function unjailValidator(context: ModuleContext, operator: Address): SdkError | undefined {
  const { native } = context.world
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const own = getDelegation(native, operator, operator)
  if (own === undefined) return stakingError('noDelegation')
  const tokens = truncate(tokensFromShares(validator, own.shares))
  if (tokens < validator.minSelfDelegation) {
    return slashingError('selfDelegationTooLow', `${tokens} less than ${validator.minSelfDelegation}`)
  }
  if (!validator.jailed) return slashingError('validatorNotJailed')
  const consensusAddress = consensusAddressOf(validator)
  const record = getSigningRecord(native, consensusAddress)
  if (record?.tombstoned === true) return slashingError('validatorJailed')
  if (record !== undefined && BigInt(context.block.timeMs) * 1_000_000n < record.jailedUntil) {
    return slashingError('validatorJailed')
  }
  unjail(context, consensusAddress)
  return undefined
}

function slashEvent(attributes: Readonly<Record<string, string>>): NativeEvent {
  return event('slash', attributes)
}
