import { type Address, BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { bytes, defineMessage, enumeration, safeUint64, uint64, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { burnCoins, sendCoins } from '../bank/send.ts'
import { doItem } from '../blockItem.ts'
import { coinText } from '../coin.ts'
import { CONSENSUS_PARAMS } from '../consensus/params.ts'
import { event, type ModuleContext } from '../context.ts'
import { moveRewardShare } from '../distribution/rewardShares.ts'
import { KEY_ROTATION_FEE_POOL } from '../moduleAccounts.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { isTombstoned, moveSigningRecord } from '../slashing/signingInfo.ts'
import { addressEntries, addressesKey } from '../storeKey.ts'
import { stakingError } from './errors.ts'
import { LOCKED_KEYS, PENDING_ROTATIONS, PRESENT, ROTATED_OPERATORS } from './keys.ts'
import { keyRotationFee, unbondingTimeMs } from './params.ts'
import { enqueue } from './queue.ts'
import { operatorText, timeText } from './sdkForms.ts'
import {
  consensusAddressOf,
  getLastPower,
  getValidator,
  getValidatorByConsensus,
  markSetChanged,
  putValidator,
  setOperator,
  type Validator,
} from './validators.ts'

/*
 * A validator's change to another consensus key (x/staking/keeper/rotation.go of SDK 0.55). A
 * message of block H requests it ({@link rotateConsensusKey}). At the end of H the application
 * tells consensus to replace the old key by the new one, from H + 2 on. The last commit with votes
 * of the old key is that of H + 1, which block H + 2 has; so the record gets the new key at the end
 * of H + 2 ({@link applyRotations}), and at any time the votes and evidence of a block are found by
 * the key that made them. No validator can take the old key while there may be evidence against it,
 * since this evidence finds the validator by the old key ({@link formerHolderOf}).
 */

/** Blocks between a change of the validators and the first block that they decide. */
const CONSENSUS_UPDATE_DELAY = 2

/**
 * With this many rotations under way, a validator without voting power may not request another.
 * Those with power, at most max_validators, always may: so the end of a block applies some 70, each
 * about 35,000 gas of work.
 */
export const MAX_WAITING_ROTATIONS = 20

const NANOS_PER_MS = 1_000_000n
/** Times in the queue have 48 bits. */
const MAX_WAIT_MS = 365 * 86_400_000

/** Why a key is locked; the numbers are the SDK's (ConsAddrLockType). */
const LOCKS = { rotatedFrom: 1, pendingTo: 2, pendingFrom: 3 } as const

const StoredLock = defineMessage('coind.staking.KeyLock', {
  kind: enumeration(1, LOCKS),
  /** of the validator that has, had or will have the key */
  operator: bytes(2),
  /**
   * an old key is locked until the block whose time and height both are above these; 0 for a future
   * key
   */
  expiryTimeMs: uint64(3),
  expiryHeight: uint64(4),
})
type KeyLock = ValueOf<typeof StoredLock>

const StoredRotation = defineMessage('coind.staking.PendingRotation', {
  publicKey: bytes(1),
  applyHeight: safeUint64(2),
})

/**
 * A rotation that is not applied yet: consensus knows it, or learns it at the end of this block.
 */
export interface PendingRotation {
  readonly operator: Address
  /** the new key: ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** at the end of this block the validator's record gets the key */
  readonly applyHeight: number
}

/** Returns why no validator may take this consensus key now. @returns undefined when one may */
function checkNewKey(native: Pick<NativeStore, 'get'>, publicKey: Uint8Array): SdkError | undefined {
  const address = consensusAddressOf({ publicKey })
  if (getLock(native, address) !== undefined) return stakingError('consensusPubKeyInRotationHistory')
  if (getValidatorByConsensus(native, address) !== undefined) return stakingError('consensusPubKeyAlreadyUsed')
  // Beyond the SDK, as for new validators: evidence against a tombstoned key has no effect.
  if (isTombstoned(native, address)) return stakingError('consensusPubKeyAlreadyUsed', 'tombstoned')
  return undefined
}

/** Whether a rotation forbids a new validator to have this key. */
export function isLockedKey(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): boolean {
  return getLock(native, consensusAddress) !== undefined
}

/**
 * Executes MsgRotateConsPubKey (x/staking/keeper/msg_server.go, RotateConsPubKey): a validator that
 * is not jailed changes its key, once within the unbonding time. The fee is burnt.
 * @param publicKey ed25519, 32 bytes
 */
export function rotateConsensusKey(
  context: ModuleContext,
  { operator, publicKey }: Pick<PendingRotation, 'operator' | 'publicKey'>,
): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  const wrongKey = checkNewKey(native, publicKey)
  if (wrongKey !== undefined) return wrongKey
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  if (validator.jailed) return sdkError('invalidRequest', 'validator is jailed')
  if (native.get(addressesKey(ROTATED_OPERATORS, operator)) !== undefined) {
    return stakingError('exceedingMaxConsPubKeyRotations')
  }
  // Beyond the SDK. A validator that consensus knows never has to wait for others.
  if (getLastPower(native, operator) === 0n && pendingRotations(native).length >= MAX_WAITING_ROTATIONS) {
    return sdkError('invalidRequest', 'too many rotations are under way: try again in a few blocks')
  }
  const fee = keyRotationFee(native)
  const unpaid =
    sendCoins(context, operator, KEY_ROTATION_FEE_POOL, fee) ?? burnCoins(context, KEY_ROTATION_FEE_POOL, fee)
  if (unpaid !== undefined) return unpaid

  const from = consensusAddressOf(validator)
  const to = consensusAddressOf({ publicKey })
  const applyHeight = block.height + CONSENSUS_UPDATE_DELAY
  const maturityMs = block.timeMs + unbondingTimeMs(native)
  const { expiryTimeMs, expiryHeight } = evidenceExpiry(context)

  native.set(addressesKey(ROTATED_OPERATORS, operator), PRESENT)
  enqueue(native, { kind: 'rotation', timeMs: maturityMs, addresses: [operator] })
  putLock(native, from, { kind: LOCKS.pendingFrom, operator, expiryTimeMs, expiryHeight })
  // The first time at which it is over.
  enqueue(native, { kind: 'formerKey', timeMs: Number(expiryTimeMs) + 1, addresses: [from] })
  putLock(native, to, { kind: LOCKS.pendingTo, operator, expiryTimeMs: 0n, expiryHeight: 0n })
  const pending = StoredRotation.encode({ publicKey, applyHeight })
  native.set(addressesKey(PENDING_ROTATIONS, operator), pending)
  // The new key proposes the block at whose end the validator gets it.
  setOperator(native, to, operator)
  markSetChanged(native)
  world.emitEvent(
    event('rotate_cons_pubkey', {
      ...keyAttributes(operator, from, to),
      apply_height: `${applyHeight}`,
      maturity_time: timeText(maturityMs),
      evidence_expiry_time: timeText(Number(expiryTimeMs)),
      evidence_expiry_height: `${expiryHeight}`,
      fee_burned: coinText(fee),
    }),
  )
  return undefined
}

/** Rotations that are not applied yet, in order of operators. */
export function pendingRotations(native: Pick<NativeStore, 'range'>): readonly PendingRotation[] {
  return [...addressEntries(native, PENDING_ROTATIONS)].map(([[operator], value]) => ({
    operator: operator!,
    ...StoredRotation.decode(value),
  }))
}

/** Whether the rotation is announced to consensus at the end of this block. */
export function isAnnouncedAt({ applyHeight }: PendingRotation, height: number): boolean {
  return applyHeight === height + CONSENSUS_UPDATE_DELAY
}

/**
 * Applies due rotations: validators get their new keys, and other modules move their entries to the
 * new consensus addresses. Votes and evidence of the next blocks have the new keys, so that this
 * cannot wait; {@link MAX_WAITING_ROTATIONS} bounds it.
 */
export function applyRotations(context: ModuleContext): void {
  const { native } = context.world
  for (const rotation of pendingRotations(native)) {
    if (rotation.applyHeight > context.block.height) continue
    const { operator } = rotation
    native.delete(addressesKey(PENDING_ROTATIONS, operator))
    doItem(context, { module: 'staking', rotation_of: operatorText(operator) }, () => applyRotation(context, rotation))
  }
}

function applyRotation({ world }: ModuleContext, { operator, publicKey }: PendingRotation): void {
  const { native } = world
  const validator = getValidator(native, operator)
  if (validator === undefined) throw new Error('a validator that rotates its key does not exist')
  const from = consensusAddressOf(validator)
  const to = consensusAddressOf({ publicKey })
  putValidator(native, { ...validator, publicKey })
  putLock(native, from, { ...requireLock(native, from), kind: LOCKS.rotatedFrom })
  native.delete(addressesKey(LOCKED_KEYS, to))
  moveSigningRecord(native, from, to)
  moveRewardShare(native, from, to)
  world.emitEvent(event('apply_cons_pubkey_rotation', keyAttributes(operator, from, to)))
}

/** Drops a rotation of a validator that is removed before it is applied; consensus never knew its new key. */
export function cancelRotation(native: Pick<NativeStore, 'get' | 'delete'>, operator: Address): void {
  const value = native.get(addressesKey(PENDING_ROTATIONS, operator))
  if (value === undefined) return
  native.delete(addressesKey(PENDING_ROTATIONS, operator))
  native.delete(addressesKey(LOCKED_KEYS, consensusAddressOf(StoredRotation.decode(value))))
}

/** Ends a rotation when the unbonding time since is over: the operator may rotate its key again. */
export function endRotation(native: Pick<NativeStore, 'delete'>, operator: Address): void {
  native.delete(addressesKey(ROTATED_OPERATORS, operator))
}

/**
 * Shortest time between blocks, for the next check of a key that still has to wait for a number of
 * blocks.
 */
const SHORT_INTERVAL_MS = 100

/**
 * Releases an old key when the time for evidence against it is over, and the number of blocks too.
 * If too few blocks have passed, the key is checked again when enough blocks could have passed: a
 * few times in all, however slow blocks are.
 */
export function releaseFormerKey({ world: { native }, block }: ModuleContext, consensusAddress: Uint8Array): void {
  const lock = getLock(native, consensusAddress)
  if (lock === undefined) return
  const { expiryHeight } = lock
  const blocksLeft = expiryHeight - BigInt(block.height) + 1n
  if (blocksLeft <= 0n) {
    native.delete(addressesKey(LOCKED_KEYS, consensusAddress))
    return
  }
  const waitMs = Math.min(Number(blocksLeft) * SHORT_INTERVAL_MS, MAX_WAIT_MS)
  enqueue(native, { kind: 'formerKey', timeMs: block.timeMs + waitMs, addresses: [consensusAddress] })
}

/**
 * Returns the validator that had this consensus key before its current one, while there may be
 * evidence against it (ValidatorByHistoricalConsAddr).
 */
export function formerHolderOf(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): Validator | undefined {
  const lock = getLock(native, consensusAddress)
  return lock?.kind === LOCKS.rotatedFrom ? getValidator(native, lock.operator) : undefined
}

/** A locked key, as checks see it. */
interface LockedKey {
  readonly consensusAddress: Uint8Array
  readonly operator: Address
  readonly isToCome: boolean
}

/** Returns all locked keys in order of their addresses, for checks. */
export function lockedKeys(native: Pick<NativeStore, 'range'>): readonly LockedKey[] {
  return [...addressEntries(native, LOCKED_KEYS)].map(([[consensusAddress], value]) => {
    const { kind, operator } = StoredLock.decode(value)
    return { consensusAddress: consensusAddress!, operator, isToCome: kind === LOCKS.pendingTo }
  })
}

/**
 * Returns when evidence against a key that is replaced now is too old: by both its ages, and not
 * before the unbonding time is over (RotationEvidenceExpiry).
 */
function evidenceExpiry({ world: { native }, block }: ModuleContext): Pick<KeyLock, 'expiryTimeMs' | 'expiryHeight'> {
  const { evidence } = CONSENSUS_PARAMS.get(native)
  if (evidence === undefined) throw new Error('the consensus parameters have no evidence section')
  const windowMs = Math.max(unbondingTimeMs(native), Number(evidence.maxAgeDuration / NANOS_PER_MS))
  return {
    expiryTimeMs: BigInt(block.timeMs + windowMs),
    expiryHeight: BigInt(block.height + CONSENSUS_UPDATE_DELAY) + evidence.maxAgeNumBlocks,
  }
}

function getLock(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): KeyLock | undefined {
  const value = native.get(addressesKey(LOCKED_KEYS, consensusAddress))
  return value && StoredLock.decode(value)
}

function requireLock(native: Pick<NativeStore, 'get'>, consensusAddress: Uint8Array): KeyLock {
  const lock = getLock(native, consensusAddress)
  if (lock === undefined) throw new Error('a key that a validator rotated away from is not locked')
  return lock
}

function putLock(native: Pick<NativeStore, 'set'>, consensusAddress: Uint8Array, lock: KeyLock): void {
  native.set(addressesKey(LOCKED_KEYS, consensusAddress), StoredLock.encode(lock))
}

function keyAttributes(operator: Address, from: Uint8Array, to: Uint8Array): Readonly<Record<string, string>> {
  return {
    validator: operatorText(operator),
    old_cons_addr: toBech32(from, BECH32_CONSENSUS),
    new_cons_addr: toBech32(to, BECH32_CONSENSUS),
  }
}
