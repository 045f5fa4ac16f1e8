import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { event, type ModuleContext } from '../context.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import { addDelegation } from './addDelegation.ts'
import { stakingError } from './errors.ts'
import { STAKING_PARAMS, unbondingTimeMs } from './params.ts'
import { addRedelegationEntry, getRedelegation, hasReceivingRedelegation } from './redelegations.ts'
import { removeDelegation, sharesToGiveBack } from './removeDelegation.ts'
import { coinText, operatorText, timeText } from './stakingEvents.ts'
import { getValidator, type Validator } from './validators.ts'

export interface RedelegateAmount {
  readonly delegator: Address
  readonly source: Address
  readonly destination: Address
  /** acoin */
  readonly amount: bigint
}

/** What Go's time.Time is before it is set, 0001-01-01T00:00:00Z: when stake was not slashable any more to begin with. */
export const NO_TIME_MS = -62_135_596_800_000

/**
 * MsgBeginRedelegate (x/staking/keeper/msg_server.go and delegation.go, BeginRedelegation). Stake moves at once.
 * @returns until when it can be slashed for faults of the source; {@link NO_TIME_MS} when the source was unbonded
 */
export function beginRedelegate(
  context: ModuleContext,
  { delegator, source, destination, amount }: RedelegateAmount,
): Outcome<{ readonly completionTimeMs: number }> {
  const { native } = context.world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid shares amount')
  const shares = sharesToGiveBack(native, delegator, source, amount)
  if (isSdkError(shares)) return shares
  if (equalBytes(source, destination)) return stakingError('selfRedelegation')
  if (getValidator(native, destination) === undefined) return stakingError('badRedelegationDst')
  if (hasReceivingRedelegation(native, delegator, source)) return stakingError('transitiveRedelegation')
  const entries = getRedelegation(native, delegator, source, destination)?.entries.length ?? 0
  if (entries >= STAKING_PARAMS.get(native).maxEntries) return stakingError('maxRedelegationEntries')

  const from = getValidator(native, source)!
  const paid = removeDelegation(context, delegator, source, shares)
  if (isSdkError(paid)) return paid
  if (paid === 0n) return stakingError('tinyRedelegationAmount')
  const sharesDestination = addDelegation(context, {
    delegator,
    operator: destination,
    amount: paid,
    from: from.status,
  })
  if (isSdkError(sharesDestination)) return sharesDestination

  const end = slashableUntil(context, from)
  if (end !== undefined) {
    const entry = { ...end, initialBalance: paid, sharesDestination }
    addRedelegationEntry(native, { delegator, source, destination }, entry)
  }
  const completionTimeMs = end?.completionTimeMs ?? NO_TIME_MS
  context.world.emitEvent(
    event('redelegate', {
      source_validator: operatorText(source),
      destination_validator: operatorText(destination),
      amount: coinText(amount),
      completion_time: timeText(completionTimeMs),
    }),
  )
  return { completionTimeMs }
}

/** Since and until when stake is slashable for faults of the validator that it left; undefined if it is not. */
function slashableUntil(
  { world: { native }, block }: ModuleContext,
  { status, unbondingHeight, unbondingTimeMs: unbondedAtMs }: Validator,
): { readonly creationHeight: number; readonly completionTimeMs: number } | undefined {
  if (status === 'unbonded') return undefined
  if (status === 'unbonding') return { creationHeight: unbondingHeight, completionTimeMs: unbondedAtMs }
  return { creationHeight: block.height, completionTimeMs: block.timeMs + unbondingTimeMs(native) }
}
