import type { NativeStore } from '../../state/world.ts'
import { registerValidator, type StakedValidator } from './validators.ts'
import { setMaxValidators, takeValidatorUpdates } from './validatorUpdates.ts'

/**
 * Writes the validators of the first block, which consensus has from the genesis too.
 * @throws Error when two of them have the same operator or key
 */
export function initStaking(
  native: NativeStore,
  { validators, maxValidators }: { readonly validators: readonly StakedValidator[]; readonly maxValidators: number },
): void {
  setMaxValidators(native, maxValidators)
  for (const validator of validators) {
    const result = registerValidator(native, validator)
    if (!result.ok) throw new Error(`two validators of the genesis are the same: ${result.reason}`)
  }
  takeValidatorUpdates(native)
}
