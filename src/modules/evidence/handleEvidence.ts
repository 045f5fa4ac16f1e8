import type { Misbehaviour, ModuleContext } from '../context.ts'
import { jailWithEvent, slashForDoubleSign } from '../slashing/jailing.ts'
import { SLASHING_PARAMS } from '../slashing/params.ts'
import { getSigningRecord, putSigningRecord } from '../slashing/signingInfo.ts'
import { getValidatorByConsensus } from '../staking/validators.ts'
import { recordEvidence } from './committedEvidence.ts'

/** How long a tombstoned validator is jailed: to the end of the year 9999 (x/evidence/types/params.go), nanoseconds. */
const DOUBLE_SIGN_JAIL_END = 253_402_300_799n * 1_000_000_000n
/** Blocks between the stakes that made a validator's power and the vote that it signed with it. */
const POWER_DELAY = 1

/**
 * Records proven misbehaviour and punishes it: the validator is slashed, jailed and tombstoned, so that it never signs again
 * (x/evidence/keeper/infraction.go). A tombstoned validator is not punished twice, nor one whose stake is free.
 * How old evidence may be is consensus' rule: a block with older evidence is invalid.
 */
export function handleEvidence(context: ModuleContext, misbehaviour: Misbehaviour): void {
  const { native } = context.world
  const { address, power, height } = misbehaviour
  recordEvidence(native, misbehaviour)
  const validator = getValidatorByConsensus(native, address)
  if (validator === undefined || validator.status === 'unbonded') return
  const record = getSigningRecord(native, address)
  if (record === undefined) throw new Error('a validator that signed has no signing info')
  if (record.tombstoned) return
  slashForDoubleSign(context, {
    consensusAddress: address,
    power,
    height: height - POWER_DELAY,
    fraction: SLASHING_PARAMS.get(native).slashFractionDoubleSign,
  })
  if (!validator.jailed) jailWithEvent(context, address)
  putSigningRecord(native, address, { ...record, jailedUntil: DOUBLE_SIGN_JAIL_END, tombstoned: true })
}
