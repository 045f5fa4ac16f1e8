import type { ModuleContext } from '../context.ts'
import { getValidatorByConsensus, putValidator } from './validators.ts'

/** Takes a validator's power away, from the end of the block on; nothing for one that is jailed or does not exist. */
export function jail(context: ModuleContext, consensusAddress: Uint8Array): void {
  setJailed(context, consensusAddress, true)
}

/** Lets a validator have power again; whether it may is slashing's to say. */
export function unjail(context: ModuleContext, consensusAddress: Uint8Array): void {
  setJailed(context, consensusAddress, false)
}

function setJailed({ world: { native } }: ModuleContext, consensusAddress: Uint8Array, jailed: boolean): void {
  const validator = getValidatorByConsensus(native, consensusAddress)
  if (validator !== undefined && validator.jailed !== jailed) putValidator(native, { ...validator, jailed })
}
