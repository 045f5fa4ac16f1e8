import { bytesKey, compareBytes, equalBytes } from '../../primitives/bytes.ts'
import { ED25519_KEY_LENGTH, ed25519Address } from '../../primitives/ed25519.ts'
import type { Hash } from '../../primitives/hash.ts'
import { ProtobufWriter } from '../../primitives/protobuf.ts'
import { merkleRoot } from './merkle.ts'
import type { RankedValidatorSet, Validator, ValidatorSet } from './types.ts'

/** CometBFT types/validator_set.go: MaxInt64 / 8, so that priorities cannot overflow. */
export const MAX_TOTAL_POWER = 2n ** 60n - 1n

/**
 * Returns the set of these validators, sorted by power (descending), then address (ascending).
 * @throws TypeError when it is empty, names a key twice, or a key or power is out of range
 */
export function createValidatorSet(entries: readonly Pick<Validator, 'publicKey' | 'power'>[]): ValidatorSet {
  if (entries.length === 0) throw new TypeError('a validator set has at least one validator')
  const seen = new Set<string>()
  let totalPower = 0n
  const validators = entries.map(({ publicKey, power }): Validator => {
    if (publicKey.length !== ED25519_KEY_LENGTH)
      throw new TypeError(`a public key has ${publicKey.length} bytes, not 32`)
    if (power <= 0n) throw new TypeError(`a validator's power is ${power}, not positive`)
    if (seen.size === seen.add(bytesKey(publicKey)).size) throw new TypeError('a validator is named twice')
    totalPower += power
    return { address: ed25519Address(publicKey), publicKey, power }
  })
  if (totalPower > MAX_TOTAL_POWER) throw new TypeError(`total power ${totalPower} is over ${MAX_TOTAL_POWER}`)
  return { validators: validators.sort(compareValidators), totalPower }
}

/** Compares validators in the order of a set: power (descending), then address (ascending). */
function compareValidators(a: Validator, b: Validator): number {
  if (a.power !== b.power) return a.power > b.power ? -1 : 1
  return compareBytes(a.address, b.address)
}

/** Cached by the array of validators, which stays the same object from height to height while only priorities change. */
const hashes = new WeakMap<readonly Validator[], Hash>()

/** header.validators_hash: Merkle root over the encoded tendermint.types.SimpleValidator in the set's order. */
export function validatorSetHash({ validators }: Pick<ValidatorSet, 'validators'>): Hash {
  let hash = hashes.get(validators)
  if (hash === undefined) {
    hash = merkleRoot(
      validators.map(({ publicKey, power }) =>
        new ProtobufWriter().message(1, writePublicKey, publicKey).varint(2, power).finish(),
      ),
    )
    hashes.set(validators, hash)
  }
  return hash
}

/** Writes tendermint.crypto.PublicKey. */
export function writePublicKey(writer: ProtobufWriter, publicKey: Uint8Array): void {
  writer.bytes(1, publicKey)
}

/**
 * Returns the position of the validator with this address; −1 when the set has no such validator.
 */
export function validatorIndexOf(
  { validators }: { readonly validators: readonly Validator[] },
  address: Uint8Array,
): number {
  return validators.findIndex((validator) => equalBytes(validator.address, address))
}

/*
 * The choice of the proposer: CometBFT's weighted round robin (types/validator_set.go). Every node must compute exactly the same
 * integers. In each turn every validator's priority grows by its power. The validator with the highest priority proposes, and the total
 * power is subtracted from its priority.
 */

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n

/** The largest difference of priorities, as a multiple of the total power (PriorityWindowSizeFactor). */
const WINDOW_FACTOR = 2n

/** A change of one validator: a new one, another power, or with power 0 its removal. */
export type ValidatorChange = Pick<Validator, 'publicKey' | 'power'>

interface RankedValidator extends Validator {
  readonly priority: bigint
}

/**
 * Returns the set of a chain's first block (NewValidatorSet): sorted, after one turn.
 * @throws TypeError when it is empty, names a key twice, or a key or power is out of range
 */
export function createRankedSet(entries: readonly ValidatorChange[]): RankedValidatorSet {
  if (entries.length === 0) throw new TypeError('a validator set has at least one validator')
  if (entries.some(({ power }) => power === 0n)) throw new TypeError("a validator's power is 0")
  return incrementPriorities(changeSet([], entries), 1)
}

/**
 * Takes `times` turns; the winner of the last is the proposer (IncrementProposerPriority). Priorities are rescaled and
 * centred once, before the first turn.
 * @throws RangeError when `times` is not positive
 */
export function incrementPriorities(set: RankedValidatorSet, times: number): RankedValidatorSet {
  if (!Number.isSafeInteger(times) || times < 1) throw new RangeError(`priorities cannot be incremented ${times} times`)
  const priorities = prepareTurns(set)
  let proposer = set.proposer
  for (let turn = 0; turn < times; turn++) proposer = takeTurn(set, priorities)
  return { ...set, priorities, proposer }
}

/**
 * Returns the set with these changes (UpdateWithChangeSet). No turn is taken: until
 * {@link incrementPriorities} its proposer is only the validator with the highest priority. Without
 * changes it is the same set.
 * @throws TypeError for a key that is named twice or malformed, a power that is negative or too large, the removal of an
 * unknown validator, and an empty result
 */
export function updateValidators(set: RankedValidatorSet, changes: readonly ValidatorChange[]): RankedValidatorSet {
  if (changes.length === 0) return set
  const ranked = set.validators.map((validator, index) => ({ ...validator, priority: set.priorities[index]! }))
  return changeSet(ranked, changes)
}

/** Returns the proposer of a round: that of round 0, or the one after `round` more turns. */
export function proposerAt(set: RankedValidatorSet, round: number): Validator {
  return createProposerLookup(set)(round)
}

/** Like {@link proposerAt}, for many rounds: each turn is computed once. */
export function createProposerLookup(set: RankedValidatorSet): (round: number) => Validator {
  const proposers = [set.proposer]
  let priorities: bigint[] | undefined
  return (round) => {
    while (proposers.length <= round) {
      priorities ??= prepareTurns(set)
      proposers.push(takeTurn(set, priorities))
    }
    return set.validators[proposers[round]!]!
  }
}

function prepareTurns({ priorities, totalPower }: RankedValidatorSet): bigint[] {
  return centre(rescale(priorities, totalPower))
}

/** Changes `priorities`. @returns the position of the turn's winner */
function takeTurn({ validators, totalPower }: RankedValidatorSet, priorities: bigint[]): number {
  for (const [index, { power }] of validators.entries()) priorities[index] = clip(priorities[index]! + power)
  const winner = highest(validators, priorities)
  priorities[winner] = clip(priorities[winner]! - totalPower)
  return winner
}

/** Of equal priorities the lower address wins. */
function highest(validators: readonly Validator[], priorities: readonly bigint[]): number {
  let best = 0
  for (let index = 1; index < validators.length; index++) {
    const [mine, other] = [priorities[index]!, priorities[best]!]
    if (mine < other) continue
    if (mine > other || compareBytes(validators[index]!.address, validators[best]!.address) < 0) best = index
  }
  return best
}

/** Divides priorities, rounding towards zero, so that they differ by at most the window (RescalePriorities). */
function rescale(priorities: readonly bigint[], totalPower: bigint): readonly bigint[] {
  const window = WINDOW_FACTOR * totalPower
  let [low, high] = [priorities[0]!, priorities[0]!]
  for (const priority of priorities) {
    if (priority < low) low = priority
    if (priority > high) high = priority
  }
  const distance = high - low
  if (distance <= window) return priorities
  const ratio = (distance + window - 1n) / window
  return priorities.map((priority) => priority / ratio)
}

/** Shifts priorities so that their average, rounded down, is 0. */
function centre(priorities: readonly bigint[]): bigint[] {
  const average = floorDiv(
    priorities.reduce((sum, priority) => sum + priority, 0n),
    BigInt(priorities.length),
  )
  return priorities.map((priority) => clip(priority - average))
}

/** Go's big.Int.Div is Euclidean; a bigint's `/` would round a negative sum up. */
function floorDiv(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}

function clip(value: bigint): bigint {
  if (value > MAX_INT64) return MAX_INT64
  return value < MIN_INT64 ? MIN_INT64 : value
}

function changeSet(current: readonly RankedValidator[], changes: readonly ValidatorChange[]): RankedValidatorSet {
  const byAddress = new Map(current.map((validator) => [bytesKey(validator.address), validator]))
  const changed = checkChanges(changes)
  const totalPower = sumPower(current)
  let removedPower = 0n
  let totalAfterUpdates = totalPower
  for (const [key, { power }] of changed) {
    const before = byAddress.get(key)
    if (power > 0n) totalAfterUpdates += power - (before?.power ?? 0n)
    else if (before === undefined) throw new TypeError('the validator to be removed is not in the set')
    else removedPower += before.power
  }
  if (totalAfterUpdates - removedPower > MAX_TOTAL_POWER) {
    throw new TypeError(`total power ${totalAfterUpdates - removedPower} is over ${MAX_TOTAL_POWER}`)
  }

  // −1.125 × total, so that a validator gains nothing by leaving and rejoining. The total still includes removed validators.
  const newPriority = -(totalAfterUpdates + (totalAfterUpdates >> 3n))
  for (const [key, validator] of changed) {
    if (validator.power === 0n) byAddress.delete(key)
    else byAddress.set(key, { ...validator, priority: byAddress.get(key)?.priority ?? newPriority })
  }
  if (byAddress.size === 0) throw new TypeError('the changes leave no validator')
  return createSorted([...byAddress.values()])
}

/** Returns the changes by address. Refuses malformed changes. */
function checkChanges(changes: readonly ValidatorChange[]): Map<string, Validator> {
  const byAddress = new Map<string, Validator>()
  for (const { publicKey, power } of changes) {
    if (publicKey.length !== ED25519_KEY_LENGTH)
      throw new TypeError(`a public key has ${publicKey.length} bytes, not ${ED25519_KEY_LENGTH}`)
    if (power < 0n) throw new TypeError(`a validator's power is ${power}, below 0`)
    if (power > MAX_TOTAL_POWER) throw new TypeError(`a validator's power is ${power}, over ${MAX_TOTAL_POWER}`)
    const address = ed25519Address(publicKey)
    const key = bytesKey(address)
    if (byAddress.has(key)) throw new TypeError('a validator is named twice')
    byAddress.set(key, { address, publicKey, power })
  }
  return byAddress
}

function createSorted(ranked: RankedValidator[]): RankedValidatorSet {
  const totalPower = sumPower(ranked)
  ranked.sort(compareValidators)
  const validators = ranked.map(({ address, publicKey, power }): Validator => ({ address, publicKey, power }))
  const priorities = centre(
    rescale(
      ranked.map(({ priority }) => priority),
      totalPower,
    ),
  )
  return { validators, totalPower, priorities, proposer: highest(validators, priorities) }
}

function sumPower(validators: readonly Validator[]): bigint {
  return validators.reduce((sum, { power }) => sum + power, 0n)
}
