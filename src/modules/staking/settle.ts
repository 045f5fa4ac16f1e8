import type { Address } from '../../primitives/address.ts'
import { bytesKey, bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, multiply, truncate } from '../../primitives/decimal.ts'
import {
  bytes,
  decimal,
  defineMessage,
  embedded,
  repeated,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { doItem } from '../blockItem.ts'
import { type Budget, isSpent } from '../budget.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { isSdkError } from '../sdkError.ts'
import { removeDelegation } from './changeDelegation.ts'
import { type Delegation, getDelegation } from './delegations.ts'
import { placesFrom } from './heightIndex.ts'
import { PENDING_SLASHES, REDELEGATIONS_BY_HEIGHT, UNBONDING_BY_HEIGHT } from './keys.ts'
import { burnFromPool } from './pools.ts'
import { nextUnbondingId } from './queue.ts'
import { getRedelegation, putRedelegation, type Redelegation } from './redelegations.ts'
import { getUnbonding, putUnbonding, type UnbondingDelegation, type UnbondingEntry } from './unbonding.ts'
import { getValidator } from './validators.ts'

/*
 * Slashes of stake that left its validator. There may be any number of unbondings and redelegations
 * since a fault, so a slash is a record in a short list, which is applied to each of these entries
 * once:
 * - Blocks walk over the entries in order of heights within a budget, and store how far they came
 *   ({@link settleSlashes}). A slash with few entries is complete in its own block, as in the SDK.
 * - Stake that is delegated, undelegated, cancelled, redelegated, paid or ends before that is
 *   settled first ({@link settleStake}), and queries show it so ({@link settledUnbonding},
 *   {@link settledDelegation}). So coins that owe a slash can never leave.
 *
 * IDs show which entries existed at the slash, since slashes get theirs from the same counter.
 */

const StoredSlash = defineMessage('coind.staking.PendingSlash', {
  id: uint64(1),
  /** of the validator whose fault it is */
  operator: bytes(2),
  /** stake that left at this height or later is slashed */
  sinceHeight: uint64(3),
  /** of the block that slashed */
  height: uint64(4),
  timeMs: uint64(5),
  fraction: decimal(6),
  /** 0: the walk is over unbondings; 1: over redelegations */
  phase: uint64(7),
  /** where the walk is, see heightIndex.ts; empty at its start */
  position: bytes(8),
})
const StoredSlashes = defineMessage('coind.staking.PendingSlashes', { slashes: repeated(embedded(1, StoredSlash)) })

/** A slash that not all stake has got that left its validator since the fault. */
export type PendingSlash = ValueOf<typeof StoredSlash>

/** In the order in which they were made. Without any it costs one look-up. */
export function pendingSlashes(native: Pick<NativeStore, 'get'>): readonly PendingSlash[] {
  const value = native.get(PENDING_SLASHES)
  return value === undefined ? [] : StoredSlashes.decode(value).slashes
}

function putPending(native: Pick<NativeStore, 'set' | 'delete'>, slashes: readonly PendingSlash[]): void {
  if (slashes.length === 0) native.delete(PENDING_SLASHES)
  else native.set(PENDING_SLASHES, StoredSlashes.encode({ slashes }))
}

/**
 * Records a slash of the stake that left a validator since `sinceHeight`; {@link settleSlashes} and
 * {@link settleStake} apply it.
 */
export function addPendingSlash(
  { world: { native }, block }: ModuleContext,
  operator: Address,
  sinceHeight: number,
  fraction: Decimal,
): void {
  const slash: PendingSlash = {
    id: nextUnbondingId(native),
    operator,
    sinceHeight: BigInt(Math.max(sinceHeight, 0)),
    height: BigInt(block.height),
    timeMs: BigInt(block.timeMs),
    fraction,
    phase: 0n,
    position: new Uint8Array(0),
  }
  putPending(native, [...pendingSlashes(native), slash])
}

/** Whether the stake of an entry was with the validator at the fault, and was not free at the slash. */
function isSlashable(
  entry: Pick<UnbondingEntry, 'id' | 'creationHeight' | 'completionTimeMs'>,
  slash: PendingSlash,
): boolean {
  return (
    entry.id < slash.id &&
    BigInt(entry.creationHeight) >= slash.sinceHeight &&
    BigInt(entry.completionTimeMs) > slash.timeMs
  )
}

/** Stake of a delegator at a validator that pending slashes will take. */
interface Settlement {
  /** as it is then; undefined: nothing unbonds */
  readonly unbonding: UnbondingDelegation | undefined
  /** acoin that it loses */
  readonly burnt: bigint
  /** shares that the delegation loses, one redelegation entry after another */
  readonly shares: readonly Decimal[]
  /** redelegations to the validator, with the slashes applied */
  readonly redelegations: readonly Redelegation[]
}

/**
 * 1. A slash of the validator itself takes its fraction of the initial balance from each unbonding entry (SlashUnbondingDelegation).
 * 2. A slash of another validator takes its fraction of each redelegation entry that came from
 *    there (SlashRedelegation, with its fix for stake that was undelegated): first from unbonding
 *    coins, then from the delegation. Where unbonding coins paid a part, the SDK still takes the
 *    delegation's whole share and so burns more than the fraction; here the delegation pays only
 *    the remaining part.
 */
function settlementOf(
  native: Pick<NativeStore, 'get'>,
  delegator: Address,
  operator: Address,
  pending: readonly PendingSlash[],
): Settlement {
  let unbonding = getUnbonding(native, delegator, operator)
  let burnt = 0n
  const shares: Decimal[] = []
  const redelegations = new Map<string, Redelegation | undefined>()
  let left: Decimal | undefined

  const takeFromUnbonding = (slash: PendingSlash, wanted: (entry: UnbondingEntry) => bigint): bigint => {
    if (unbonding === undefined) return 0n
    let sum = 0n
    const entries = unbonding.entries.map((entry) => {
      if (!isSlashable(entry, slash)) return entry
      const amount = wanted(entry)
      const taken = amount < entry.balance ? amount : entry.balance
      sum += taken
      return { ...entry, balance: entry.balance - taken }
    })
    unbonding = { ...unbonding, entries }
    burnt += sum
    return sum
  }

  for (const slash of pending) {
    const { id, fraction } = slash
    // 1
    if (equalBytes(slash.operator, operator)) {
      if (unbonding === undefined || unbonding.settledTo >= id) continue
      takeFromUnbonding(slash, ({ initialBalance }) => truncate(fraction * initialBalance))
      unbonding = { ...unbonding, settledTo: id }
      continue
    }
    // 2
    const source = bytesKey(slash.operator)
    if (!redelegations.has(source)) {
      redelegations.set(source, getRedelegation(native, delegator, slash.operator, operator))
    }
    const redelegation = redelegations.get(source)
    if (redelegation === undefined || redelegation.settledTo >= id) continue
    redelegations.set(source, { ...redelegation, settledTo: id })
    for (const entry of redelegation.entries) {
      if (!isSlashable(entry, slash)) continue
      const amount = truncate(fraction * entry.initialBalance)
      let unpaid = amount
      takeFromUnbonding(slash, ({ balance }) => {
        const taken = unpaid < balance ? unpaid : balance
        unpaid -= taken
        return taken
      })
      if (unpaid === 0n) continue
      left ??= getDelegation(native, delegator, operator)?.shares ?? 0n
      const wanted = (multiply(fraction, entry.sharesDestination) * unpaid) / amount
      const given = wanted < left ? wanted : left
      if (given === 0n) continue
      left -= given
      shares.push(given)
    }
  }
  const settled = [...redelegations.values()].filter((each) => each !== undefined)
  return { unbonding, burnt, shares, redelegations: settled }
}

/**
 * Applies pending slashes to a delegator's stake at a validator. Must be called before any part of
 * the stake changes. Costs one look-up while no slash is pending.
 */
export function settleStake(context: ModuleContext, delegator: Address, operator: Address): void {
  const { native } = context.world
  const pending = pendingSlashes(native)
  if (pending.length > 0) settle(context, delegator, operator, pending)
}

function settle(context: ModuleContext, delegator: Address, operator: Address, pending: readonly PendingSlash[]): void {
  const { native } = context.world
  const before = getUnbonding(native, delegator, operator)
  const { unbonding, burnt, shares, redelegations } = settlementOf(native, delegator, operator, pending)
  if (unbonding !== undefined && (burnt > 0n || unbonding.settledTo !== before?.settledTo)) {
    putUnbonding(native, unbonding)
    burnFromPool(context, NOT_BONDED_POOL, burnt)
  }
  for (const redelegation of redelegations) putRedelegation(native, redelegation)
  for (const given of shares) {
    // Read before the shares are removed: with its last shares an unbonded validator is removed, too.
    const { status } = getValidator(native, operator)!
    const paid = removeDelegation(context, delegator, operator, given)
    if (isSdkError(paid)) throw new Error(`a redelegation cannot be slashed: ${paid.message}`)
    burnFromPool(context, status === 'bonded' ? BONDED_POOL : NOT_BONDED_POOL, paid)
  }
}

/** Returns an unbonding after all slashes, for queries. */
export function settledUnbonding(
  native: Pick<NativeStore, 'get'>,
  unbonding: UnbondingDelegation,
): UnbondingDelegation {
  const pending = pendingSlashes(native)
  if (pending.length === 0) return unbonding
  return settlementOf(native, unbonding.delegator, unbonding.operator, pending).unbonding ?? unbonding
}

/** Returns a delegation as it is with all slashes, for queries; it may have no shares then. */
export function settledDelegation(native: Pick<NativeStore, 'get'>, delegation: Delegation): Delegation {
  const pending = pendingSlashes(native)
  if (pending.length === 0) return delegation
  const { shares } = settlementOf(native, delegation.delegator, delegation.operator, pending)
  return { ...delegation, shares: shares.reduce((left, given) => left - given, delegation.shares) }
}

/** Work that slashes of one block may do, in gas: about 30 ms. Those that need more continue in the next blocks. */
export const SLASH_BUDGET_GAS = 2_000_000
/** Places of an index that are read at once: entries cannot be written during a walk. */
const BATCH = 16
const PHASES = [UNBONDING_BY_HEIGHT, REDELEGATIONS_BY_HEIGHT] as const

/**
 * Makes pending slashes act on stake that left, in the order in which they were made: unbondings by height, then redelegations by
 * height, until the budget is spent or nothing is left. Costs one look-up while no slash is pending.
 */
export function settleSlashes(context: ModuleContext, budget: Budget): void {
  const { native } = context.world
  for (;;) {
    const [slash, ...others] = pendingSlashes(native)
    if (slash === undefined || isSpent(native, budget)) return
    const next = advance(context, slash, budget)
    putPending(native, next === undefined ? others : [next, ...others])
  }
}

/**
 * Does a part of a slash's walk.
 * @returns the slash as it continues; undefined when it is complete
 */
function advance(context: ModuleContext, slash: PendingSlash, budget: Budget): PendingSlash | undefined {
  const { native } = context.world
  const { operator } = slash
  const prefix = PHASES[Number(slash.phase)]
  if (prefix === undefined) return undefined
  const batch = []
  const from = { height: Number(slash.sinceHeight), position: slash.position }
  for (const place of placesFrom(native, { prefix, operator }, from)) {
    // Stake that left later owes nothing.
    if (BigInt(place.height) > slash.height || batch.length === BATCH) break
    batch.push(place)
  }
  let { position } = slash
  for (const [index, place] of batch.entries()) {
    if (index > 0 && isSpent(native, budget)) return { ...slash, position }
    const [delegator, destination] = place.others
    doItem(context, { module: 'staking', slash: `${slash.id}`, stake: bytesToHex(place.position) }, () =>
      settleStake(context, delegator!, destination ?? operator),
    )
    position = place.position.slice()
  }
  if (batch.length === BATCH) return { ...slash, position }
  return { ...slash, phase: slash.phase + 1n, position: new Uint8Array(0) }
}
