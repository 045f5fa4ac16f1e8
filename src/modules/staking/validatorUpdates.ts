import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesKey, bytesToBigInt, compareBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { type StakedValidator, takeChanged, validators } from './validators.ts'

/** A voting power that consensus is told of. */
export interface PowerUpdate {
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** 0 removes the validator */
  readonly power: bigint
}

/** CometBFT types/validator_set.go, MaxTotalVotingPower. */
const MAX_TOTAL_POWER = (2n ** 63n - 1n) / 8n
/** ParamsKey of the SDK (x/staking/types/keys.go); the value is max_validators alone, 4 bytes. */
const MAX_VALIDATORS_KEY = moduleStoreKey('staking', Uint8Array.of(0x51))

/**
 * What changed in the powers that consensus counts, at a block's end. The strongest validators have power, at most
 * max_validators of them (equal ones in order of their operators' addresses). Whatever modules set, consensus can follow:
 * nobody is removed who is not there, the total stays in CometBFT's bound by cutting the weakest, and a set never gets
 * empty: without anybody who has a right to power, the present validators keep theirs.
 */
export function takeValidatorUpdates(native: NativeStore): readonly PowerUpdate[] {
  if (!takeChanged(native)) return []
  const all = [...validators(native)]
  const powers = consensusPowers(all, getMaxValidators(native))
  if (powers.size === 0) return []
  const updates: PowerUpdate[] = []
  for (const { operator, publicKey } of all) {
    const power = powers.get(bytesKey(operator)) ?? 0n
    if (power === getLastPower(native, operator)) continue
    setLastPower(native, operator, power)
    updates.push({ publicKey, power })
  }
  return updates
}

export function getMaxValidators(native: Pick<NativeStore, 'get'>): number {
  const value = native.get(MAX_VALIDATORS_KEY)
  if (value === undefined) throw new Error('the staking module has no parameters')
  return Number(bytesToBigInt(value))
}

export function setMaxValidators(native: Pick<NativeStore, 'set'>, maxValidators: number): void {
  native.set(MAX_VALIDATORS_KEY, bigIntToBytes(BigInt(maxValidators), 4))
}

/** Power that consensus was last told of; 0 for a validator that it does not know. */
export function getLastPower(native: Pick<NativeStore, 'get'>, operator: Address): bigint {
  const value = native.get(lastPowerKey(operator))
  return value === undefined ? 0n : bytesToBigInt(value)
}

function setLastPower(native: Pick<NativeStore, 'set' | 'delete'>, operator: Address, power: bigint): void {
  if (power === 0n) native.delete(lastPowerKey(operator))
  else native.set(lastPowerKey(operator), bigIntToBytes(power, 8))
}

/** By operator; who has none is left out. */
function consensusPowers(all: readonly StakedValidator[], maxValidators: number): ReadonlyMap<string, bigint> {
  const strongest = all
    .filter(({ power }) => power > 0n)
    .sort((a, b) => (a.power === b.power ? compareBytes(a.operator, b.operator) : a.power > b.power ? -1 : 1))
    .slice(0, maxValidators)
  const powers = new Map<string, bigint>()
  let room = MAX_TOTAL_POWER
  for (const { operator, power } of strongest) {
    const counted = power < room ? power : room
    if (counted > 0n) powers.set(bytesKey(operator), counted)
    room -= counted
  }
  return powers
}

/** LastValidatorPowerKey of the SDK (x/staking/types/keys.go). */
function lastPowerKey(operator: Address): Uint8Array {
  return moduleStoreKey('staking', Uint8Array.of(0x11, operator.length), operator)
}
