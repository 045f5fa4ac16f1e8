import { formatDecimal } from '../../primitives/decimal.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import {
  any,
  bool,
  decimal,
  defineMessage,
  duration,
  embedded,
  enumeration,
  int64,
  integer,
  message,
  repeated,
  string,
  timestamp,
  uint32,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { formatTimestamp } from '../../primitives/timeText.ts'
import { Coin } from '../coin.ts'

/** Types of cosmos/staking/v1beta1/staking.proto as clients see them; addresses are bech32. */

export const BOND_STATUSES = {
  BOND_STATUS_UNSPECIFIED: 0,
  BOND_STATUS_UNBONDED: 1,
  BOND_STATUS_UNBONDING: 2,
  BOND_STATUS_BONDED: 3,
} as const

export const Description = defineMessage('cosmos.staking.v1beta1.Description', {
  moniker: string(1),
  identity: string(2),
  website: string(3),
  securityContact: string(4),
  details: string(5),
})
export type Description = ValueOf<typeof Description>

export const CommissionRates = defineMessage('cosmos.staking.v1beta1.CommissionRates', {
  rate: decimal(1),
  maxRate: decimal(2),
  maxChangeRate: decimal(3),
})
export type CommissionRates = ValueOf<typeof CommissionRates>

export const Commission = defineMessage('cosmos.staking.v1beta1.Commission', {
  commissionRates: embedded(1, CommissionRates),
  updateTime: timestamp(2),
})

export const SdkValidator = defineMessage('cosmos.staking.v1beta1.Validator', {
  operatorAddress: string(1),
  consensusPubkey: any(2),
  jailed: bool(3),
  status: enumeration(4, BOND_STATUSES),
  tokens: integer(5),
  delegatorShares: decimal(6),
  description: embedded(7, Description),
  unbondingHeight: int64(8),
  unbondingTime: timestamp(9),
  commission: embedded(10, Commission),
  minSelfDelegation: integer(11),
  unbondingOnHoldRefCount: int64(12),
  unbondingIds: repeated(uint64(13)),
})
export type SdkValidator = ValueOf<typeof SdkValidator>

export const SdkDelegation = defineMessage('cosmos.staking.v1beta1.Delegation', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  shares: decimal(3),
})

export const DelegationResponse = defineMessage('cosmos.staking.v1beta1.DelegationResponse', {
  delegation: embedded(1, SdkDelegation),
  balance: embedded(2, Coin),
})
export type DelegationResponse = ValueOf<typeof DelegationResponse>

export const UnbondingDelegationEntry = defineMessage('cosmos.staking.v1beta1.UnbondingDelegationEntry', {
  creationHeight: int64(1),
  completionTime: timestamp(2),
  initialBalance: integer(3),
  balance: integer(4),
  unbondingId: uint64(5),
  unbondingOnHoldRefCount: int64(6),
})

export const SdkUnbondingDelegation = defineMessage('cosmos.staking.v1beta1.UnbondingDelegation', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  entries: repeated(embedded(3, UnbondingDelegationEntry)),
})
export type SdkUnbondingDelegation = ValueOf<typeof SdkUnbondingDelegation>

export const RedelegationEntry = defineMessage('cosmos.staking.v1beta1.RedelegationEntry', {
  creationHeight: int64(1),
  completionTime: timestamp(2),
  initialBalance: integer(3),
  sharesDst: decimal(4),
  unbondingId: uint64(5),
  unbondingOnHoldRefCount: int64(6),
})

export const SdkRedelegation = defineMessage('cosmos.staking.v1beta1.Redelegation', {
  delegatorAddress: string(1),
  validatorSrcAddress: string(2),
  validatorDstAddress: string(3),
  entries: repeated(embedded(4, RedelegationEntry)),
})

export const RedelegationEntryResponse = defineMessage('cosmos.staking.v1beta1.RedelegationEntryResponse', {
  redelegationEntry: embedded(1, RedelegationEntry),
  balance: integer(4),
})

const redelegationResponse = defineMessage('cosmos.staking.v1beta1.RedelegationResponse', {
  redelegation: embedded(1, SdkRedelegation),
  entries: repeated(embedded(2, RedelegationEntryResponse)),
})
export type RedelegationResponse = ValueOf<typeof redelegationResponse>

/**
 * The one message whose JSON is not that of protobuf: the SDK marshals it as a struct of Go (x/staking/types/delegation.go), with
 * numbers as they are, without those that are zero, and null for no entries. Its clients read nothing else.
 */
export const RedelegationResponse: typeof redelegationResponse = {
  ...redelegationResponse,
  toJson: ({ redelegation, entries }) => {
    const { delegatorAddress, validatorSrcAddress, validatorDstAddress } = redelegation
    return {
      redelegation: {
        delegator_address: delegatorAddress,
        validator_src_address: validatorSrcAddress,
        validator_dst_address: validatorDstAddress,
        entries: redelegation.entries.length === 0 ? null : redelegation.entries.map(entryToGoJson),
      },
      entries: entries.map(({ redelegationEntry, balance }) => ({
        redelegation_entry: entryToGoJson(redelegationEntry),
        balance: balance.toString(),
      })),
    }
  },
}

function entryToGoJson(entry: ValueOf<typeof RedelegationEntry>): Json {
  const { creationHeight, unbondingId, unbondingOnHoldRefCount } = entry
  return {
    ...(creationHeight !== 0n && { creation_height: Number(creationHeight) }),
    completion_time: formatTimestamp(entry.completionTime),
    initial_balance: entry.initialBalance.toString(),
    shares_dst: formatDecimal(entry.sharesDst),
    ...(unbondingId !== 0n && { unbonding_id: Number(unbondingId) }),
    ...(unbondingOnHoldRefCount !== 0n && { unbonding_on_hold_ref_count: Number(unbondingOnHoldRefCount) }),
  }
}

export const Pool = defineMessage('cosmos.staking.v1beta1.Pool', {
  notBondedTokens: integer(1),
  bondedTokens: integer(2),
})

export const Params = defineMessage('cosmos.staking.v1beta1.Params', {
  unbondingTime: duration(1),
  maxValidators: uint32(2),
  maxEntries: uint32(3),
  historicalEntries: uint32(4),
  bondDenom: string(5),
  minCommissionRate: decimal(6),
  /** of a rotation of a consensus key; absent where a chain's parameters are older than it */
  keyRotationFee: message(7, Coin),
})
export type Params = ValueOf<typeof Params>
