import { mint } from '../../../../src/modules/bank/ledger.ts'
import type { ModuleContext } from '../../../../src/modules/context.ts'
import { delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { createValidator } from '../../../../src/modules/staking/operatorActions.ts'
import { Description } from '../../../../src/modules/staking/types.ts'
import { consensusAddressOf, getValidator, unjail } from '../../../../src/modules/staking/validators.ts'
import type { Address } from '../../../../src/primitives/address.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { ok } from '../stakingChain.ts'

/**
 * Makes an operator stake coins made for it, or undelegate a part of its stake, until its validator is worth `power`. Without stake it is
 * jailed; with stake again it is unjailed.
 */
export function setPower(
  context: ModuleContext,
  { operator, publicKey, power }: { operator: Address; publicKey: Uint8Array; power: bigint },
): void {
  const { world } = context
  const validator = getValidator(world.native, operator)
  const change = power * 10n ** 18n - (validator?.tokens ?? 0n)
  if (change > 0n) mint(world, operator, change)
  if (validator === undefined) {
    const refused = createValidator(context, {
      operator,
      publicKey,
      description: Description.create({ moniker: 'newcomer' }),
      commission: { rate: 0n, maxRate: ONE, maxChangeRate: ONE },
      minSelfDelegation: 1n,
      amount: change,
    })
    if (refused !== undefined) throw new Error(refused.message)
    return
  }
  const stake = { delegator: operator, operator, amount: change < 0n ? -change : change }
  if (change < 0n) ok(undelegate(context, stake))
  if (change > 0n) ok(delegate(context, stake))
  if (change > 0n && validator.jailed) unjail(context, consensusAddressOf(validator))
}
