import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import type { JsonContext } from '../../primitives/protoScalars.ts'
import type { ModuleContext } from '../context.ts'
import { afterDelegationModified, afterValidatorCreated, beforeDelegationCreated } from '../distribution/hooks.ts'
import { afterValidatorBonded } from '../slashing/signingInfo.ts'
import { Ed25519PubKey } from '../tx/publicKey.ts'
import { type Delegation, putDelegation } from './delegations.ts'
import { STAKING_PARAMS } from './params.ts'
import { validatorFromSdk } from './sdkForms.ts'
import { Params, SdkDelegation, SdkValidator } from './types.ts'
import {
  consensusAddressOf,
  getOperator,
  getValidator,
  potentialPower,
  putValidator,
  setLastPower,
  setLastTotalPower,
  setOperator,
  takeSetChanged,
  type Validator,
} from './validators.ts'

/** Initial state of staking: bonded validators, with all of their delegations. */
interface StakingGenesis {
  readonly params: Params
  readonly validators: readonly Validator[]
  readonly delegations: readonly Delegation[]
}

const PUBLIC_KEYS: JsonContext = {
  typeOf: (typeUrl) => (typeUrl === Ed25519PubKey.typeUrl ? Ed25519PubKey : undefined),
}

/** Reads `app_state.staking` of a genesis that `parseGenesis` has checked. */
export function stakingGenesisOf(section: Genesis['app_state']['staking']): StakingGenesis {
  const delegations = section.delegations.map((json) => SdkDelegation.fromJson(json, PUBLIC_KEYS))
  return {
    params: Params.fromJson(section.params, PUBLIC_KEYS),
    validators: section.validators.map((json) => validatorFromSdk(SdkValidator.fromJson(json, PUBLIC_KEYS))),
    delegations: delegations.map(({ delegatorAddress, validatorAddress, shares }) => ({
      delegator: parseAddress(delegatorAddress),
      operator: parseAddress(validatorAddress, BECH32_OPERATOR),
      shares,
    })),
  }
}

/**
 * Writes staking's part of block 0, after the parameters of distribution and slashing. The coins are in the bonded pool already, and
 * consensus has the validators from the genesis too.
 * @throws Error when two validators have the same operator or key
 */
export function initStaking(context: ModuleContext, { params, validators, delegations }: StakingGenesis): void {
  const { native } = context.world
  STAKING_PARAMS.set(native, params)
  let totalPower = 0n
  for (const validator of validators) {
    const { operator } = validator
    const consensusAddress = consensusAddressOf(validator)
    if (getValidator(native, operator) !== undefined) throw new Error('two validators have the same operator')
    if (getOperator(native, consensusAddress) !== undefined) throw new Error('two validators have the same key')
    setOperator(native, consensusAddress, operator)
    putValidator(native, validator)
    const power = potentialPower(validator)
    setLastPower(native, operator, power)
    totalPower += power
    afterValidatorCreated(context, operator)
  }
  setLastTotalPower(native, totalPower)
  for (const delegation of delegations) {
    const { delegator, operator } = delegation
    beforeDelegationCreated(context, delegator, operator)
    putDelegation(native, delegation)
    afterDelegationModified(context, delegator, operator)
  }
  for (const validator of validators) {
    afterValidatorBonded(context, consensusAddressOf(validator), validator.operator)
  }
  // Consensus knows of these.
  takeSetChanged(native)
}
