import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { heightBytes } from '../../storage/columns.ts'
import { doItem } from '../blockItem.ts'
import type { Budget } from '../budget.ts'
import type { Misbehaviour, ModuleContext } from '../context.ts'
import { punishDoubleSign } from '../slashing/jail.ts'
import { moduleStoreKey } from '../storeKey.ts'

/*
 * Proven misbehaviour that blocks report. It is recorded under the state root permanently, so that
 * all nodes agree which evidence a block may still report, and it is punished once.
 */

/** KeyPrefixEvidence of the SDK (x/evidence/types/keys.go): hash -> evidence */
export const EVIDENCE_STORE_PREFIX: Uint8Array = moduleStoreKey('evidence', Uint8Array.of(0x00))
/** consensus address, height -> hash */
const MISBEHAVIOUR_PREFIX = moduleStoreKey('evidence', Uint8Array.of(0x01))

/**
 * Records proven misbehaviour and punishes it (x/evidence/keeper/infraction.go). How old evidence may be is consensus' rule: a
 * block with older evidence is invalid.
 * @param slashBudget see `slash`
 */
export function handleEvidence(context: ModuleContext, misbehaviour: Misbehaviour, slashBudget?: Budget): void {
  const { address: consensusAddress, power, height } = misbehaviour
  // Such a block is invalid, so no block has it; it would not be punished twice.
  if (isCommitted(context.world.native, consensusAddress, height)) return
  recordEvidence(context.world.native, misbehaviour)
  doItem(context, { module: 'evidence', validator: toBech32(consensusAddress, BECH32_CONSENSUS) }, () =>
    punishDoubleSign(context, { consensusAddress, power, height }, slashBudget),
  )
}

/**
 * Records evidence. All pairs of votes of a validator for one height count as one misbehaviour: otherwise its votes could be paired
 * again and again.
 * @param misbehaviour `bytes`: protobuf of tendermint.types.DuplicateVoteEvidence
 * @throws Error when this validator's misbehaviour at this height is recorded already
 */
export function recordEvidence(
  native: Pick<NativeStore, 'get' | 'set'>,
  { hash, bytes, address, height }: Pick<Misbehaviour, 'hash' | 'bytes' | 'address' | 'height'>,
): void {
  if (isCommitted(native, address, height)) throw new Error('this misbehaviour is recorded already')
  native.set(concatBytes(EVIDENCE_STORE_PREFIX, hash), bytes)
  native.set(misbehaviourKey(address, height), hash)
}

/** Whether a block has reported that this validator misbehaved at this height. */
export function isCommitted(native: Pick<NativeStore, 'get'>, address: Uint8Array, height: number): boolean {
  return native.get(misbehaviourKey(address, height)) !== undefined
}

/** Returns the recorded evidence with this hash. */
export function getEvidence(native: Pick<NativeStore, 'get'>, hash: Uint8Array): Uint8Array | undefined {
  return native.get(concatBytes(EVIDENCE_STORE_PREFIX, hash))
}

function misbehaviourKey(address: Uint8Array, height: number): Uint8Array {
  return concatBytes(MISBEHAVIOUR_PREFIX, address, heightBytes(height))
}
