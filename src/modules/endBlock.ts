import type { ModuleContext } from './context.ts'
import { endFeegrant } from './feegrant/grants.ts'
import { endGov } from './gov/endGov.ts'
import { MESSAGES } from './messages.ts'
import { endStaking } from './staking/endStaking.ts'
import type { PowerUpdate } from './staking/validatorUpdates.ts'

/**
 * What modules do after a block's entries, in the SDK's order: what governance decides acts on the stakes of the same block.
 * @returns voting powers that change, from the block after the next on
 */
export function endBlock(context: ModuleContext): readonly PowerUpdate[] {
  endGov(context, MESSAGES)
  const updates = endStaking(context)
  endFeegrant(context)
  return updates
}
