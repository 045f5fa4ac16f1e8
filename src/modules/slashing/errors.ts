import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `slashing` (x/slashing/types/errors.go). */
export const slashingError = defineErrors('slashing', {
  noValidatorForAddress: [2, 'address is not associated with any known validator'],
  badValidatorAddress: [3, 'validator does not exist for that address'],
  validatorJailed: [4, 'validator still jailed; cannot be unjailed'],
  validatorNotJailed: [5, 'validator not jailed; cannot be unjailed'],
  missingSelfDelegation: [6, 'validator has no self-delegation; cannot be unjailed'],
  selfDelegationTooLow: [7, "validator's self delegation less than minimum; cannot be unjailed"],
  noSigningInfo: [8, 'no validator signing info found'],
  validatorTombstoned: [9, 'validator already tombstoned'],
})
