import { concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { heightBytes } from '../../storage/columns.ts'
import { moduleStoreKey } from '../storeKey.ts'

/** Evidence that a block reports. */
export interface CommittedEvidence {
  /** sha256 of `bytes` */
  readonly hash: Uint8Array
  /** protobuf of tendermint.types.DuplicateVoteEvidence */
  readonly bytes: Uint8Array
  /** consensus address of the validator, 20 bytes */
  readonly address: Uint8Array
  /** at which it misbehaved */
  readonly height: number
}

/** KeyPrefixEvidence of the SDK (x/evidence/types/keys.go): hash -> evidence. */
const EVIDENCE_PREFIX = 0x00
/** The same as a prefix of the native store. */
export const EVIDENCE_STORE_PREFIX: Uint8Array = moduleStoreKey('evidence', Uint8Array.of(EVIDENCE_PREFIX))
/** consensus address, height -> hash */
const MISBEHAVIOUR_PREFIX = 0x01

/**
 * Records evidence under the state root, for good: which evidence a block may still report is then the same for every node.
 * Two votes of a validator for one height count once, whichever of its votes they are: there would be no end of pairs.
 */
export function recordEvidence(
  native: Pick<NativeStore, 'get' | 'set'>,
  { hash, bytes, address, height }: CommittedEvidence,
): void {
  if (isCommitted(native, address, height)) throw new Error('this misbehaviour is recorded already')
  native.set(moduleStoreKey('evidence', Uint8Array.of(EVIDENCE_PREFIX), hash), bytes)
  native.set(misbehaviourKey(address, height), hash)
}

/** Whether a block has reported that this validator misbehaved at this height. */
export function isCommitted(native: Pick<NativeStore, 'get'>, address: Uint8Array, height: number): boolean {
  return native.get(misbehaviourKey(address, height)) !== undefined
}

/** The recorded evidence with this hash. */
export function getEvidence(native: Pick<NativeStore, 'get'>, hash: Uint8Array): Uint8Array | undefined {
  return native.get(moduleStoreKey('evidence', Uint8Array.of(EVIDENCE_PREFIX), hash))
}

function misbehaviourKey(address: Uint8Array, height: number): Uint8Array {
  return moduleStoreKey('evidence', concatBytes(Uint8Array.of(MISBEHAVIOUR_PREFIX), address, heightBytes(height)))
}
