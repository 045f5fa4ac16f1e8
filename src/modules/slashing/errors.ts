import { SdkError } from '../sdkError.ts'

/** Errors of the codespace `slashing` (x/slashing/types/errors.go): code and text. */
export const SLASHING_ERRORS = {
  noValidatorForAddress: [2, 'address is not associated with any known validator'],
  badValidatorAddress: [3, 'validator does not exist for that address'],
  validatorJailed: [4, 'validator still jailed; cannot be unjailed'],
  validatorNotJailed: [5, 'validator not jailed; cannot be unjailed'],
  missingSelfDelegation: [6, 'validator has no self-delegation; cannot be unjailed'],
  selfDelegationTooLow: [7, "validator's self delegation less than minimum; cannot be unjailed"],
  noSigningInfo: [8, 'no validator signing info found'],
  validatorTombstoned: [9, 'validator already tombstoned'],
} as const

/** An error of the slashing module, `reason: text` as the SDK wraps it. */
export function slashingError(name: keyof typeof SLASHING_ERRORS, reason?: string): SdkError {
  const [code, text] = SLASHING_ERRORS[name]
  return new SdkError('slashing', code, reason === undefined ? text : `${reason}: ${text}`)
}
