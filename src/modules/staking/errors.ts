import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `staking` (x/staking/types/errors.go). */
export const stakingError = defineErrors('staking', {
  noValidatorFound: [3, 'validator does not exist'],
  validatorOwnerExists: [
    4,
    'validator already exist for this operator address; must use new validator operator address',
  ],
  validatorPubKeyExists: [5, 'validator already exist for this pubkey; must use new validator pubkey'],
  validatorPubKeyTypeNotSupported: [6, 'validator pubkey type is not supported'],
  validatorJailed: [7, 'validator for this address is currently jailed'],
  commissionNegative: [9, 'commission must be positive'],
  commissionHuge: [10, 'commission cannot be more than 100%'],
  commissionGTMaxRate: [11, 'commission cannot be more than the max rate'],
  commissionUpdateTime: [12, 'commission cannot be changed more than once in 24h'],
  commissionChangeRateNegative: [13, 'commission change rate must be positive'],
  commissionChangeRateGTMaxRate: [14, 'commission change rate cannot be more than the max rate'],
  commissionGTMaxChangeRate: [15, 'commission cannot be changed more than max change rate'],
  selfDelegationBelowMinimum: [16, "validator's self delegation must be greater than their minimum self delegation"],
  minSelfDelegationDecreased: [17, 'minimum self delegation cannot be decrease'],
  noDelegation: [19, 'no delegation for (address, validator) tuple'],
  insufficientShares: [22, 'insufficient delegation shares'],
  notEnoughDelegationShares: [24, 'not enough delegation shares'],
  maxUnbondingDelegationEntries: [27, 'too many unbonding delegation entries for (delegator, validator) tuple'],
  selfRedelegation: [29, 'cannot redelegate to the same validator'],
  tinyRedelegationAmount: [30, 'too few tokens to redelegate (truncates to zero tokens)'],
  badRedelegationDst: [31, 'redelegation destination validator not found'],
  transitiveRedelegation: [
    32,
    'redelegation to this validator already in progress; first redelegation to this validator must complete before next redelegation',
  ],
  maxRedelegationEntries: [33, 'too many redelegation entries for (delegator, src-validator, dst-validator) tuple'],
  delegatorShareExRateInvalid: [34, 'cannot delegate to validators with invalid (zero) ex-rate'],
  emptyValidatorPubKey: [39, 'empty validator public key'],
  commissionLTMinRate: [40, 'commission cannot be less than min rate'],
  consensusPubKeyAlreadyUsed: [46, 'consensus pubkey is already in use by another validator'],
  consensusPubKeyInRotationHistory: [
    47,
    'consensus pubkey was previously rotated away from and is still within the unbonding window',
  ],
  exceedingMaxConsPubKeyRotations: [
    48,
    'validator has reached the max consensus pubkey rotations within the unbonding period',
  ],
})
