import { bytesKey, compareBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { ProtobufWriter } from '../../primitives/protobuf.ts'
import { ED25519_KEY_LENGTH, ed25519Address } from './ed25519.ts'
import { merkleRoot } from './merkle.ts'
import type { Validator, ValidatorSet } from './types.ts'

/** CometBFT types/validator_set.go: MaxInt64 / 8, so that priorities cannot overflow. */
export const MAX_TOTAL_POWER = 2n ** 60n - 1n

/**
 * The set of these validators, sorted by power (descending), then address (ascending).
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
  validators.sort((a, b) => {
    if (a.power !== b.power) return a.power > b.power ? -1 : 1
    return compareBytes(a.address, b.address)
  })
  return { validators, totalPower }
}

/** Priorities change with every height, the validators themselves seldom: their array stays the same object. */
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

/** tendermint.crypto.PublicKey */
function writePublicKey(writer: ProtobufWriter, publicKey: Uint8Array): void {
  writer.bytes(1, publicKey)
}
