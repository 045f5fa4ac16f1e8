import type { Address } from '../../primitives/address.ts'
import { type Decimal, formatDecimal, ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { coinText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { afterValidatorCreated, beforeCommissionChanged } from '../distribution/hooks.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { isTombstoned } from '../slashing/signingInfo.ts'
import { addDelegation } from './changeDelegation.ts'
import { stakingError } from './errors.ts'
import { isLockedKey } from './keyRotation.ts'
import { STAKING_PARAMS } from './params.ts'
import { operatorText } from './sdkForms.ts'
import { settleStake } from './settle.ts'
import type { CommissionRates, Description } from './types.ts'
import {
  consensusAddressOf,
  getValidator,
  getValidatorByConsensus,
  putValidator,
  setOperator,
  type ValidatorCommission,
} from './validators.ts'

// Actions of an operator: create its validator and edit it. Then the rules of commissions and
// descriptions.

/** Returns why a consensus key has no valid form. */
export function checkKeyForm(publicKey: Uint8Array): SdkError | undefined {
  if (publicKey.length === 0) return stakingError('emptyValidatorPubKey')
  return publicKey.length === ED25519_BYTES ? undefined : sdkError('invalidPubKey', 'an ed25519 key has 32 bytes')
}

const ED25519_BYTES = 32

export interface NewValidator {
  readonly operator: Address
  /** ed25519 */
  readonly publicKey: Uint8Array
  readonly description: Description
  readonly commission: CommissionRates
  /** acoin */
  readonly minSelfDelegation: bigint
  /** acoin that the operator delegates to it at once */
  readonly amount: bigint
}

/** A new validator as a message has it. */
type ProposedValidator = Omit<NewValidator, 'commission'> & { readonly commission: CommissionRates | undefined }

/**
 * Checks of a new validator that need no state (x/staking/types/msg.go, MsgCreateValidator.Validate).
 * @returns the validator when nothing is wrong
 */
export function checkNewValidator(proposed: ProposedValidator): Outcome<NewValidator> {
  const { publicKey, description, commission, minSelfDelegation, amount } = proposed
  const wrongKey = checkKeyForm(publicKey)
  if (wrongKey !== undefined) return wrongKey
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid delegation amount')
  if (isEmptyDescription(description)) return sdkError('invalidRequest', 'empty description')
  if (commission === undefined) return sdkError('invalidRequest', 'empty commission')
  const wrongCommission = checkCommissionRates(commission)
  if (wrongCommission !== undefined) return wrongCommission
  if (minSelfDelegation <= 0n) {
    return sdkError('invalidRequest', 'minimum self delegation must be a positive integer')
  }
  if (amount < minSelfDelegation) return stakingError('selfDelegationBelowMinimum')
  return checkDescription(description) ?? { ...proposed, commission }
}

/** Returns why this state does not let the operator become a validator. */
export function checkCreation(
  native: Pick<NativeStore, 'get'>,
  { operator, publicKey, commission }: Pick<NewValidator, 'operator' | 'publicKey' | 'commission'>,
): SdkError | undefined {
  const wrong = checkMinimumRate(commission.rate, STAKING_PARAMS.get(native).minCommissionRate)
  if (wrong !== undefined) return wrong
  if (getValidator(native, operator) !== undefined) return stakingError('validatorOwnerExists')
  const consensusAddress = consensusAddressOf({ publicKey })
  if (isLockedKey(native, consensusAddress)) return stakingError('consensusPubKeyInRotationHistory')
  if (getValidatorByConsensus(native, consensusAddress) !== undefined) return stakingError('validatorPubKeyExists')
  if (isTombstoned(native, consensusAddress)) return stakingError('validatorPubKeyExists', 'tombstoned')
  return undefined
}

/**
 * Executes MsgCreateValidator (x/staking/keeper/msg_server.go): the operator becomes a validator
 * with a delegation of its own. Unlike in the SDK, a key that signed twice can never be used again:
 * a new validator could sign twice with it, and evidence against a tombstoned key has no effect.
 */
export function createValidator(context: ModuleContext, created: NewValidator): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  const { operator, publicKey, description, commission, minSelfDelegation, amount } = created
  const checked = checkNewValidator(created)
  if (isSdkError(checked)) return checked
  const wrong = checkCreation(native, created)
  if (wrong !== undefined) return wrong

  setOperator(native, consensusAddressOf(created), operator)
  putValidator(native, {
    operator,
    publicKey,
    jailed: false,
    status: 'unbonded',
    tokens: 0n,
    delegatorShares: 0n,
    description,
    unbondingHeight: 0,
    unbondingTimeMs: 0,
    commission: { ...commission, updateTimeMs: block.timeMs },
    minSelfDelegation,
    unbondingIds: [],
  })
  afterValidatorCreated(context, operator)
  // Stake that the operator redelegated to its previous validator no longer exists.
  settleStake(context, operator, operator)
  const added = addDelegation(context, { delegator: operator, operator, amount, from: 'delegator' })
  if (isSdkError(added)) return added
  world.emitEvent(event('create_validator', { validator: operatorText(operator), amount: coinText(amount) }))
  return undefined
}

export interface ValidatorEdit {
  readonly operator: Address
  /** parts with {@link DO_NOT_MODIFY} stay */
  readonly description: Description
  /** undefined: stays */
  readonly commissionRate: Decimal | undefined
  /** acoin; undefined: stays */
  readonly minSelfDelegation: bigint | undefined
}

/** Checks that need no state (x/staking/keeper/msg_server.go, EditValidator, before it reads any). */
export function checkValidatorEdit({
  description,
  commissionRate,
  minSelfDelegation,
}: Omit<ValidatorEdit, 'operator'>): SdkError | undefined {
  if (isEmptyDescription(description)) return sdkError('invalidRequest', 'empty description')
  if (minSelfDelegation !== undefined && minSelfDelegation <= 0n) {
    return sdkError('invalidRequest', 'minimum self delegation must be a positive integer')
  }
  if (commissionRate !== undefined && (commissionRate < 0n || commissionRate > ONE)) {
    return sdkError('invalidRequest', 'commission rate must be between 0 and 1 (inclusive)')
  }
  return checkDescription(description)
}

/**
 * Executes MsgEditValidator. The minimum self-delegation can only rise; the rate changes at most
 * once per day, within its bounds.
 */
export function editValidator(context: ModuleContext, edit: ValidatorEdit): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  const { operator, commissionRate, minSelfDelegation } = edit
  const wrong = checkValidatorEdit(edit)
  if (wrong !== undefined) return wrong
  const { minCommissionRate } = STAKING_PARAMS.get(native)
  if (commissionRate !== undefined && commissionRate < minCommissionRate) {
    const minimum = `cannot be less than the min commission rate ${formatDecimal(minCommissionRate)}`
    return sdkError('invalidRequest', `commission rate ${minimum}`)
  }
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  const description = updateDescription(validator.description, edit.description)
  const tooLong = checkDescription(description)
  if (tooLong !== undefined) return tooLong

  let { commission } = validator
  if (commissionRate !== undefined) {
    const refused = checkNewRate(commission, commissionRate, block.timeMs)
    if (refused !== undefined) return refused
    beforeCommissionChanged(context, operator)
    commission = { ...commission, rate: commissionRate, updateTimeMs: block.timeMs }
  }
  if (minSelfDelegation !== undefined) {
    if (minSelfDelegation <= validator.minSelfDelegation) return stakingError('minSelfDelegationDecreased')
    if (minSelfDelegation > validator.tokens) return stakingError('selfDelegationBelowMinimum')
  }
  const edited = {
    ...validator,
    description,
    commission,
    minSelfDelegation: minSelfDelegation ?? validator.minSelfDelegation,
  }
  putValidator(native, edited)
  world.emitEvent(
    event('edit_validator', {
      commission_rate: commissionText(commission),
      min_self_delegation: edited.minSelfDelegation.toString(),
    }),
  )
  return undefined
}

const DAY_MS = 86_400_000

/**
 * Returns why a new validator cannot have these rates (x/staking/types/commission.go,
 * CommissionRates.Validate).
 */
function checkCommissionRates({ rate, maxRate, maxChangeRate }: CommissionRates): SdkError | undefined {
  if (maxRate < 0n) return stakingError('commissionNegative')
  if (maxRate > ONE) return stakingError('commissionHuge')
  if (rate < 0n) return stakingError('commissionNegative')
  if (rate > maxRate) return stakingError('commissionGTMaxRate')
  if (maxChangeRate < 0n) return stakingError('commissionChangeRateNegative')
  if (maxChangeRate > maxRate) return stakingError('commissionChangeRateGTMaxRate')
  return undefined
}

/**
 * Returns why a rate may not replace the one of `commission` now (Commission.ValidateNewRate):
 * changes are limited per day and in step.
 */
function checkNewRate(commission: ValidatorCommission, rate: Decimal, nowMs: number): SdkError | undefined {
  if (nowMs - commission.updateTimeMs < DAY_MS) return stakingError('commissionUpdateTime')
  if (rate < 0n) return stakingError('commissionNegative')
  if (rate > commission.maxRate) return stakingError('commissionGTMaxRate')
  if (rate - commission.rate > commission.maxChangeRate) return stakingError('commissionGTMaxChangeRate')
  return undefined
}

/** Returns why a new validator's rate is too low: governance sets a minimum. */
export function checkMinimumRate(rate: Decimal, minimum: Decimal): SdkError | undefined {
  if (rate >= minimum) return undefined
  const reason = `cannot set validator commission to less than minimum rate of ${formatDecimal(minimum)}`
  return stakingError('commissionLTMinRate', reason)
}

/**
 * Formats the commission as the event of MsgEditValidator shows it: gogoproto's text form of the
 * SDK's Commission.
 */
function commissionText({ rate, maxRate, maxChangeRate, updateTimeMs }: ValidatorCommission): string {
  const rates = `rate:"${rate}" max_rate:"${maxRate}" max_change_rate:"${maxChangeRate}" `
  const seconds = Math.floor(updateTimeMs / 1000)
  const nanos = (updateTimeMs - seconds * 1000) * 1_000_000
  const time = `${seconds === 0 ? '' : `seconds:${seconds} `}${nanos === 0 ? '' : `nanos:${nanos} `}`
  return `commission_rates:<${rates}> update_time:<${time}> `
}

/** The most bytes that the parts of a description may have (x/staking/types/validator.go). */
const MAX_BYTES: Readonly<Record<keyof Description, number>> = {
  moniker: 70,
  identity: 3000,
  website: 140,
  securityContact: 140,
  details: 280,
}
const NAMES: Readonly<Record<keyof Description, string>> = {
  moniker: 'moniker',
  identity: 'identity',
  website: 'website',
  securityContact: 'security contact',
  details: 'details',
}
const PARTS = Object.keys(MAX_BYTES) as (keyof Description)[]
/** A part with this text stays as it is when a validator is edited. */
export const DO_NOT_MODIFY = '[do-not-modify]'

function checkDescription(description: Description): SdkError | undefined {
  for (const part of PARTS) {
    const length = Buffer.byteLength(description[part], 'utf8')
    if (length > MAX_BYTES[part]) {
      return sdkError('invalidRequest', `invalid ${NAMES[part]} length; got: ${length}, max: ${MAX_BYTES[part]}`)
    }
  }
  return undefined
}

function isEmptyDescription(description: Description): boolean {
  return PARTS.every((part) => description[part] === '')
}

/** Returns `wanted`, with the parts of `present` where it asks for no change. */
function updateDescription(present: Description, wanted: Description): Description {
  const updated = { ...wanted }
  for (const part of PARTS) if (wanted[part] === DO_NOT_MODIFY) updated[part] = present[part]
  return updated
}
