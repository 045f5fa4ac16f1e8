import { type Address, toBech32 } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'
import { event } from '../context.ts'

/** Events of x/feegrant/events.go: of an allowance, and of somebody who removed those that expired. */
export function emitFeeGrantEvent(
  world: Pick<WorldState, 'emitEvent'>,
  type: 'set_feegrant' | 'use_feegrant' | 'update_feegrant' | 'revoke_feegrant',
  { granter, grantee }: { readonly granter: Address; readonly grantee: Address },
): void {
  world.emitEvent(event(type, { granter: toBech32(granter), grantee: toBech32(grantee) }))
}

export function emitPruned(world: Pick<WorldState, 'emitEvent'>, pruner: Address): void {
  world.emitEvent(event('prune_feegrant', { pruner: toBech32(pruner) }))
}
