import type { ModuleContext } from '../context.ts'
import { afterValidatorRemoved } from '../distribution/hooks.ts'
import { consensusAddressOf, deleteValidator, type Validator } from './validators.ts'

/**
 * Forgets a validator that nobody delegates to (x/staking/keeper/validator.go, RemoveValidator). Its operator may create another
 * one, and its consensus key may be used again.
 * @throws Error (a bug) when it is not unbonded or holds anything
 */
export function removeValidator(context: ModuleContext, validator: Validator): void {
  const { operator, status, tokens, delegatorShares } = validator
  if (status !== 'unbonded' || tokens > 0n || delegatorShares > 0n) {
    throw new Error('a validator that is bonded or holds stake cannot be removed')
  }
  deleteValidator(context.world.native, validator)
  afterValidatorRemoved(context, operator, consensusAddressOf(validator))
}
