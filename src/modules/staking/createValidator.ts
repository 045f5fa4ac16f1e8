import type { Address } from '../../primitives/address.ts'
import type { NativeStore } from '../../state/world.ts'
import { event, type ModuleContext } from '../context.ts'
import { afterValidatorCreated } from '../distribution/hooks.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { getSigningRecord } from '../slashing/signingInfo.ts'
import { addDelegation } from './addDelegation.ts'
import { checkCommissionRates, checkMinimumRate } from './commission.ts'
import { checkDescription, isEmptyDescription } from './description.ts'
import { stakingError } from './errors.ts'
import { STAKING_PARAMS } from './params.ts'
import { coinText, operatorText } from './stakingEvents.ts'
import type { CommissionRates, Description } from './types.ts'
import { consensusAddressOf, getValidator, getValidatorByConsensus, putValidator, setOperator } from './validators.ts'

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

const ED25519_BYTES = 32

/** A new validator as a message has it. */
export type ProposedValidator = Omit<NewValidator, 'commission'> & { readonly commission: CommissionRates | undefined }

/**
 * What can be said of a new validator without state (x/staking/types/msg.go, MsgCreateValidator.Validate).
 * @returns it when nothing is wrong
 */
export function checkNewValidator(proposed: ProposedValidator): Outcome<NewValidator> {
  const { publicKey, description, commission, minSelfDelegation, amount } = proposed
  if (publicKey.length === 0) return stakingError('emptyValidatorPubKey')
  if (publicKey.length !== ED25519_BYTES) return sdkError('invalidPubKey', 'an ed25519 key has 32 bytes')
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

/** Whether this state lets the operator become a validator. */
export function checkCreation(
  native: Pick<NativeStore, 'get'>,
  { operator, publicKey, commission }: Pick<NewValidator, 'operator' | 'publicKey' | 'commission'>,
): SdkError | undefined {
  const wrong = checkMinimumRate(commission.rate, STAKING_PARAMS.get(native).minCommissionRate)
  if (wrong !== undefined) return wrong
  if (getValidator(native, operator) !== undefined) return stakingError('validatorOwnerExists')
  const consensusAddress = consensusAddressOf({ publicKey })
  if (getValidatorByConsensus(native, consensusAddress) !== undefined) return stakingError('validatorPubKeyExists')
  if (getSigningRecord(native, consensusAddress)?.tombstoned) return stakingError('validatorPubKeyExists', 'tombstoned')
  return undefined
}

/**
 * MsgCreateValidator (x/staking/keeper/msg_server.go): the operator becomes a validator with a delegation of its own. Other than
 * in the SDK, a key that signed twice stays out for good: with a new validator it could do so again, and evidence of
 * a tombstoned key has no effect.
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
  const added = addDelegation(context, { delegator: operator, operator, amount, from: 'delegator' })
  if (isSdkError(added)) return added
  world.emitEvent(event('create_validator', { validator: operatorText(operator), amount: coinText(amount) }))
  return undefined
}
