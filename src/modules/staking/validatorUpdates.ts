import type { Address } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { doItem } from '../blockItem.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { afterValidatorBonded } from '../slashing/signingInfo.ts'
import { applyRotations, isAnnouncedAt, type PendingRotation, pendingRotations } from './keyRotation.ts'
import { POWER_INDEX } from './keys.ts'
import { STAKING_PARAMS, unbondingTimeMs } from './params.ts'
import { moveBetweenPools } from './pools.ts'
import { dequeue, enqueue, nextUnbondingId } from './queue.ts'
import { operatorText } from './sdkForms.ts'
import {
  consensusAddressOf,
  getValidator,
  lastPowers,
  markSetChanged,
  potentialPower,
  putValidator,
  setLastPower,
  setLastTotalPower,
  takeSetChanged,
  type Validator,
} from './validators.ts'

/** A voting power that consensus must know. */
export interface PowerUpdate {
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** 0 removes the validator */
  readonly power: bigint
}

/** CometBFT types/validator_set.go, MaxTotalVotingPower. */
const MAX_TOTAL_POWER = (2n ** 63n - 1n) / 8n

/**
 * Returns the voting powers that change at a block's end (x/staking/keeper/val_state_change.go,
 * ApplyAndReturnValidatorSetUpdates), by the keys that consensus knows. Nothing is read unless
 * something that counts was written since the last call, or a rotation of a key is under way.
 */
export function takeValidatorUpdates(context: ModuleContext): readonly PowerUpdate[] {
  const { native } = context.world
  if (!takeSetChanged(native)) return []
  applyRotations(context)
  const last = [...lastPowers(native)]
  const changes = changePowers(context, last)
  const rotations = pendingRotations(native)
  if (rotations.length === 0) return changes
  // They continue in the next block.
  markSetChanged(native)
  return (
    doItem(context, { module: 'staking', item: 'rotations' }, () =>
      rotateUpdates(context, changes, { last, rotations }),
    ) ?? changes
  )
}

/** A power that changes, by the key in the validator's record. */
interface PowerChange extends PowerUpdate {
  readonly operator: Address
}

/** A validator that consensus knows. */
type LastPower = Pick<PowerChange, 'operator' | 'power'>

/**
 * Returns the changes of powers with rotations of keys that are under way
 * (ProcessValidatorUpdatesForConsKeyRotations).
 * - At the end of the block that has the rotation's message, consensus, if it knows the validator, removes the old key and gets the new
 *   one with its power. Of a validator that is leaving the set then, it only removes the old one.
 * - At the end of the next block it knows the new key, and gets the validator's power under that.
 */
function rotateUpdates(
  { world: { native }, block }: ModuleContext,
  changes: readonly PowerChange[],
  { last, rotations }: { readonly last: readonly LastPower[]; readonly rotations: readonly PendingRotation[] },
): readonly PowerUpdate[] {
  const lastPower = new Map(last.map(({ operator, power }) => [bytesKey(operator), power]))
  const rotating = new Map(rotations.map((rotation) => [bytesKey(rotation.operator), rotation]))
  const isSwapped = (rotation: PendingRotation) =>
    isAnnouncedAt(rotation, block.height) && lastPower.has(bytesKey(rotation.operator))
  const updates = changes.flatMap(({ operator, publicKey, power }): readonly PowerUpdate[] => {
    const rotation = rotating.get(bytesKey(operator))
    if (rotation === undefined) return [{ publicKey, power }]
    if (!isSwapped(rotation)) return [{ publicKey: rotation.publicKey, power }]
    return power === 0n ? [{ publicKey, power }] : swap(publicKey, rotation, power)
  })
  const changed = new Set(changes.map(({ operator }) => bytesKey(operator)))
  for (const rotation of rotations) {
    if (changed.has(bytesKey(rotation.operator)) || !isSwapped(rotation)) continue
    const { publicKey } = getValidator(native, rotation.operator)!
    updates.push(...swap(publicKey, rotation, lastPower.get(bytesKey(rotation.operator))!))
  }
  return updates
}

function swap(publicKey: Uint8Array, rotation: PendingRotation, power: bigint): readonly PowerUpdate[] {
  return [
    { publicKey, power: 0n },
    { publicKey: rotation.publicKey, power },
  ]
}

/**
 * 1. The strongest validators that are not jailed are chosen, at most max_validators (equal ones in
 *    order of their operators' addresses).
 * 2. Each of them that is not bonded yet is bonded, and powers that differ from the last ones are recorded.
 * 3. Validators that are no longer chosen begin to unbond. Their power of 0 comes after the other
 *    updates, as in the SDK.
 * 4. The coins change pools, in one transfer for all of them.
 *
 * Two rules go beyond the SDK, so that consensus can always take the updates. The total power stays
 * in CometBFT's bound by cutting the weakest validators. The set never gets empty: when no
 * validator can be chosen, the current ones retain their power.
 */
function changePowers(context: ModuleContext, last: readonly LastPower[]): readonly PowerChange[] {
  const { native } = context.world
  const chosen = chooseBonded(context) // 1
  if (chosen.length === 0) return []

  const lastPower = new Map(last.map(({ operator, power }) => [bytesKey(operator), power]))
  const updates: PowerChange[] = []
  let toBonded = 0n
  let totalPower = 0n
  // 2
  for (const { validator, power } of chosen) {
    const name = bytesKey(validator.operator)
    if (validator.status !== 'bonded') {
      const isBonded = leavable(context, validator.operator, () => bond(context, validator))
      if (!isBonded) continue
      toBonded += validator.tokens
    }
    totalPower += power
    if (lastPower.get(name) !== power) {
      setLastPower(native, validator.operator, power)
      updates.push({ operator: validator.operator, publicKey: validator.publicKey, power })
    }
    lastPower.delete(name)
  }
  // 3
  for (const { operator } of last) {
    if (!lastPower.has(bytesKey(operator))) continue
    leavable(context, operator, () => {
      const validator = beginUnbonding(context, operator)
      setLastPower(native, operator, 0n)
      toBonded -= validator.tokens
      updates.push({ operator, publicKey: validator.publicKey, power: 0n })
    })
  }
  // 4
  doItem(context, { module: 'staking', pools: `${toBonded}` }, () => {
    if (toBonded > 0n) moveBetweenPools(context, NOT_BONDED_POOL, BONDED_POOL, toBonded)
    else moveBetweenPools(context, BONDED_POOL, NOT_BONDED_POOL, -toBonded)
  })
  if (updates.length > 0) setLastTotalPower(native, totalPower)
  return updates
}

/** Changes one validator's status. @returns false when it is left alone, with the power that consensus knows */
function leavable(context: ModuleContext, operator: Address, run: () => void): boolean {
  const isDone = doItem(context, { module: 'staking', validator: operatorText(operator) }, () => {
    run()
    return true
  })
  return isDone === true
}

/**
 * Returns the strongest validators and their powers, which are less than their tokens are worth
 * where the total would exceed the bound.
 */
function chooseBonded(context: ModuleContext): readonly { readonly validator: Validator; readonly power: bigint }[] {
  const { native } = context.world
  const { maxValidators } = STAKING_PARAMS.get(native)
  const chosen: { validator: Validator; power: bigint }[] = []
  let room = MAX_TOTAL_POWER
  for (const [, operator] of native.range(POWER_INDEX, { reverse: true })) {
    if (chosen.length === maxValidators || room === 0n) break
    const validator = getValidator(native, operator)
    if (validator === undefined) {
      leavable(context, operator, () => {
        throw new Error('the order of powers names a validator that is not there')
      })
      continue
    }
    const worth = potentialPower(validator)
    const power = worth < room ? worth : room
    chosen.push({ validator, power })
    room -= power
  }
  return chosen
}

function bond(context: ModuleContext, validator: Validator): void {
  const { native } = context.world
  const { operator, unbondingTimeMs: timeMs } = validator
  if (validator.status === 'unbonding') dequeue(native, { kind: 'validator', timeMs, addresses: [operator] })
  // The IDs are from its unbonding. The SDK retains them, so that its record grows each time a
  // validator is bonded again.
  putValidator(native, { ...validator, status: 'bonded', unbondingIds: [] })
  afterValidatorBonded(context, consensusAddressOf(validator), operator)
}

function beginUnbonding({ world: { native }, block }: ModuleContext, operator: Address): Validator {
  const validator = getValidator(native, operator)
  if (validator?.status !== 'bonded') throw new Error('a validator with power is not bonded')
  const timeMs = block.timeMs + unbondingTimeMs(native)
  const unbonding: Validator = {
    ...validator,
    status: 'unbonding',
    unbondingHeight: block.height,
    unbondingTimeMs: timeMs,
    unbondingIds: [...validator.unbondingIds, nextUnbondingId(native)],
  }
  putValidator(native, unbonding)
  enqueue(native, { kind: 'validator', timeMs, addresses: [operator] })
  return unbonding
}
