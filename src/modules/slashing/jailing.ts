import type { NativeEvent } from '../../chain/entries.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { event, type ModuleContext } from '../context.ts'
import { jail } from '../staking/jail.ts'
import { type Infraction, slash } from '../staking/slash.ts'

/** Slashes for double signing (SlashWithInfractionReason of x/slashing/keeper/keeper.go). */
export function slashForDoubleSign(context: ModuleContext, fault: Infraction): void {
  const burnt = slash(context, fault)
  const address = toBech32(fault.consensusAddress, BECH32_CONSENSUS)
  context.world.emitEvent(
    slashEvent({ address, power: `${fault.power}`, reason: 'double_sign', burned_coins: `${burnt}` }),
  )
}

/** Jails a validator that is not jailed (Jail of the same file). */
export function jailWithEvent(context: ModuleContext, consensusAddress: Uint8Array): void {
  context.world.emitEvent(slashEvent({ jailed: toBech32(consensusAddress, BECH32_CONSENSUS) }))
  jail(context, consensusAddress)
}

/** Slashes and jails for downtime (x/slashing/keeper/infractions.go). */
export function punishDowntime(context: ModuleContext, fault: Infraction): void {
  const burnt = slash(context, fault)
  const address = toBech32(fault.consensusAddress, BECH32_CONSENSUS)
  context.world.emitEvent(
    slashEvent({
      address,
      power: `${fault.power}`,
      reason: 'missing_signature',
      jailed: address,
      burned_coins: `${burnt}`,
    }),
  )
  jail(context, fault.consensusAddress)
}

function slashEvent(attributes: Readonly<Record<string, string>>): NativeEvent {
  return event('slash', attributes)
}
