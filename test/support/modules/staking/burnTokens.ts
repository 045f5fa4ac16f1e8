import { burn } from '../../../../src/modules/bank/ledger.ts'
import type { ModuleContext } from '../../../../src/modules/context.ts'
import { beforeValidatorSlashed } from '../../../../src/modules/distribution/hooks.ts'
import { poolOf } from '../../../../src/modules/staking/pools.ts'
import { getValidator, putValidator } from '../../../../src/modules/staking/validators.ts'
import type { Address } from '../../../../src/primitives/address.ts'
import { decimalOf, divideRoundedUp } from '../../../../src/primitives/decimal.ts'

/** Takes an exact amount of a validator's tokens, as a slash does: its shares are worth less. */
export function burnTokens(context: ModuleContext, operator: Address, amount: bigint): void {
  const { world } = context
  const validator = getValidator(world.native, operator)!
  beforeValidatorSlashed(context, operator, divideRoundedUp(decimalOf(amount), decimalOf(validator.tokens)))
  putValidator(world.native, { ...validator, tokens: validator.tokens - amount })
  burn(world, poolOf(validator.status), amount)
}
