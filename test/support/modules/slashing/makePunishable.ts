import { putSigningRecord } from '../../../../src/modules/slashing/signingInfo.ts'
import { Description } from '../../../../src/modules/staking/types.ts'
import { type BondStatus, putValidator, setOperator } from '../../../../src/modules/staking/validators.ts'
import { toAddress } from '../../../../src/primitives/address.ts'
import type { NativeStore } from '../../../../src/state/world.ts'

/** Writes the records of a validator with this key, which can be punished for two votes unless the options say otherwise. */
export function makePunishable(
  native: NativeStore,
  { address, publicKey }: { readonly address: Uint8Array; readonly publicKey: Uint8Array },
  { tombstoned = false, status = 'bonded' }: { tombstoned?: boolean; status?: BondStatus } = {},
): void {
  const operator = toAddress(address)
  putValidator(native, {
    operator,
    publicKey,
    jailed: false,
    status,
    tokens: 10n ** 18n,
    delegatorShares: 10n ** 36n,
    description: Description.create({}),
    unbondingHeight: 0,
    unbondingTimeMs: 0,
    commission: { rate: 0n, maxRate: 0n, maxChangeRate: 0n, updateTimeMs: 0 },
    minSelfDelegation: 1n,
    unbondingIds: [],
  })
  setOperator(native, address, operator)
  putSigningRecord(native, address, { startHeight: 0n, jailedUntil: 0n, tombstoned })
}
