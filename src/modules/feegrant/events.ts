import { type Address, toBech32 } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'

/** Events of x/feegrant/events.go. */
export function emitFeeGrantEvent(
  world: Pick<WorldState, 'emitEvent'>,
  type: 'set_feegrant' | 'use_feegrant' | 'update_feegrant' | 'revoke_feegrant',
  { granter, grantee }: { readonly granter: Address; readonly grantee: Address },
): void {
  world.emitEvent({
    type,
    attributes: [
      { key: 'granter', value: toBech32(granter) },
      { key: 'grantee', value: toBech32(grantee) },
    ],
  })
}
