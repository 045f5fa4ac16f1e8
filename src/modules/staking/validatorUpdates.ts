import type { Address } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { afterValidatorBonded } from '../slashing/signingInfo.ts'
import { POWER_INDEX } from './keys.ts'
import { STAKING_PARAMS, unbondingTimeMs } from './params.ts'
import { moveBetweenPools } from './pools.ts'
import { dequeue, enqueue } from './queue.ts'
import { nextUnbondingId } from './unbondingIds.ts'
import {
  consensusAddressOf,
  getValidator,
  lastPowers,
  potentialPower,
  putValidator,
  setLastPower,
  setLastTotalPower,
  takeSetChanged,
  type Validator,
} from './validators.ts'

/** A voting power that consensus is told of. */
export interface PowerUpdate {
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** 0 removes the validator */
  readonly power: bigint
}

/** CometBFT types/validator_set.go, MaxTotalVotingPower. */
const MAX_TOTAL_POWER = (2n ** 63n - 1n) / 8n

/**
 * What changed in the powers that consensus counts, at a block's end (x/staking/keeper/val_state_change.go,
 * ApplyAndReturnValidatorSetUpdates). The strongest validators that are not jailed are bonded, at most max_validators of them (equal
 * ones in order of their operators' addresses); who falls out starts to unbond, and the coins change pools.
 *
 * Beyond the SDK, consensus can always follow: the total stays in CometBFT's bound by cutting the weakest, and a set never
 * gets empty: without anybody who has a right to power, the present validators keep theirs. Nothing is read where nothing
 * that counts was written since the last call.
 */
export function takeValidatorUpdates(context: ModuleContext): readonly PowerUpdate[] {
  const { native } = context.world
  if (!takeSetChanged(native)) return []
  const chosen = chooseBonded(native)
  if (chosen.length === 0) return []

  const last = [...lastPowers(native)]
  const lastPower = new Map(last.map(({ operator, power }) => [bytesKey(operator), power]))
  const updates: PowerUpdate[] = []
  let toBonded = 0n
  let totalPower = 0n
  for (const { validator, power } of chosen) {
    if (validator.status !== 'bonded') {
      bond(context, validator)
      toBonded += validator.tokens
    }
    totalPower += power
    const name = bytesKey(validator.operator)
    if (lastPower.get(name) !== power) {
      setLastPower(native, validator.operator, power)
      updates.push({ publicKey: validator.publicKey, power })
    }
    lastPower.delete(name)
  }
  for (const { operator } of last) {
    if (!lastPower.has(bytesKey(operator))) continue
    const validator = beginUnbonding(context, operator)
    toBonded -= validator.tokens
    setLastPower(native, operator, 0n)
    updates.push({ publicKey: validator.publicKey, power: 0n })
  }
  if (toBonded > 0n) moveBetweenPools(context, NOT_BONDED_POOL, BONDED_POOL, toBonded)
  else moveBetweenPools(context, BONDED_POOL, NOT_BONDED_POOL, -toBonded)
  if (updates.length > 0) setLastTotalPower(native, totalPower)
  return updates
}

/** The strongest and the powers that count, which are less than their tokens are worth where the total would exceed the bound. */
function chooseBonded(
  native: Pick<NativeStore, 'get' | 'range'>,
): readonly { readonly validator: Validator; readonly power: bigint }[] {
  const { maxValidators } = STAKING_PARAMS.get(native)
  const chosen: { validator: Validator; power: bigint }[] = []
  let room = MAX_TOTAL_POWER
  for (const [, operator] of native.range(POWER_INDEX, { reverse: true })) {
    if (chosen.length === maxValidators || room === 0n) break
    const validator = getValidator(native, operator)
    if (validator === undefined) throw new Error('the order of powers names a validator that is not there')
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
  // Of the time that it was unbonding; the SDK keeps them, so that its record grows with every change of sides.
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
