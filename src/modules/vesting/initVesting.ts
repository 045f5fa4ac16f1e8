import type { GenesisVestingAccount } from '../../chain/genesis/genesisSchema.ts'
import { parseAddress } from '../../primitives/address.ts'
import { putDelegated, putSchedule, VESTING_KINDS, type VestingSchedule } from '../../state/vesting.ts'
import type { NativeStore } from '../../state/world.ts'

const KINDS: Readonly<Record<GenesisVestingAccount['@type'], VestingSchedule['kind']>> = {
  '/cosmos.vesting.v1beta1.ContinuousVestingAccount': VESTING_KINDS.CONTINUOUS,
  '/cosmos.vesting.v1beta1.DelayedVestingAccount': VESTING_KINDS.DELAYED,
  '/cosmos.vesting.v1beta1.PeriodicVestingAccount': VESTING_KINDS.PERIODIC,
  '/cosmos.vesting.v1beta1.PermanentLockedAccount': VESTING_KINDS.PERMANENT,
}

/** Writes the vesting accounts of a checked genesis; their coins are balances. */
export function initVesting(
  native: Pick<NativeStore, 'get' | 'set' | 'delete'>,
  accounts: readonly GenesisVestingAccount[],
): void {
  for (const entry of accounts) {
    const { base_account, delegated_free, delegated_vesting } = entry.base_vesting_account
    const address = parseAddress(base_account.address)
    putSchedule(native, address, genesisSchedule(entry))
    putDelegated(native, address, { vesting: amountOf(delegated_vesting), free: amountOf(delegated_free) })
  }
}

/** Returns the schedule of an entry of `app_state.auth.accounts`. */
export function genesisSchedule(entry: GenesisVestingAccount): VestingSchedule {
  const { original_vesting, end_time } = entry.base_vesting_account
  const periods = 'vesting_periods' in entry ? entry.vesting_periods : []
  return {
    kind: KINDS[entry['@type']],
    originalVesting: amountOf(original_vesting),
    startTime: 'start_time' in entry ? BigInt(entry.start_time) : 0n,
    endTime: BigInt(end_time),
    periods: periods.map(({ length, amount }) => ({ length: BigInt(length), amount: amountOf(amount) })),
  }
}

function amountOf(coins: readonly { readonly amount: string }[]): bigint {
  return coins.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
}
