import { toChecksumAddress } from '../../../primitives/address.ts'
import {
  type AbiValue,
  array,
  bool,
  int64,
  string,
  tuple,
  uint8,
  uint64,
  uint256,
} from '../../precompileFunctions/abi/types.ts'
import { BOND_STATUSES } from '../types.ts'
import type { Validator } from '../validators.ts'

/** Structs of contracts/IStaking.sol. Shares and rates are decimals in units of 10^-18, times seconds. */

export const Description = tuple({
  moniker: string,
  identity: string,
  website: string,
  securityContact: string,
  details: string,
})

export const CommissionRates = tuple({ rate: uint256, maxRate: uint256, maxChangeRate: uint256 })

export const ValidatorInfo = tuple({
  operatorAddress: string,
  consensusPubkey: string,
  jailed: bool,
  status: uint8,
  tokens: uint256,
  delegatorShares: uint256,
  description: Description,
  unbondingHeight: int64,
  unbondingTime: int64,
  commission: uint256,
  minSelfDelegation: uint256,
})

export const UnbondingDelegationOutput = tuple({
  delegatorAddress: string,
  validatorAddress: string,
  entries: array(
    tuple({
      creationHeight: int64,
      completionTime: int64,
      initialBalance: uint256,
      balance: uint256,
      unbondingId: uint64,
      unbondingOnHoldRefCount: int64,
    }),
  ),
})

export const RedelegationEntry = tuple({
  creationHeight: int64,
  completionTime: int64,
  initialBalance: uint256,
  sharesDst: uint256,
})

export const RedelegationOutput = tuple({
  delegatorAddress: string,
  validatorSrcAddress: string,
  validatorDstAddress: string,
  entries: array(RedelegationEntry),
})

export const RedelegationResponse = tuple({
  redelegation: RedelegationOutput,
  entries: array(tuple({ redelegationEntry: RedelegationEntry, balance: uint256 })),
})

/** Numbers of the enum BondStatus. */
export const BOND_STATUS = {
  unbonded: BigInt(BOND_STATUSES.BOND_STATUS_UNBONDED),
  unbonding: BigInt(BOND_STATUSES.BOND_STATUS_UNBONDING),
  bonded: BigInt(BOND_STATUSES.BOND_STATUS_BONDED),
} as const

/** The answer of `validator` for an address without a validator. */
export const NO_VALIDATOR: AbiValue<typeof ValidatorInfo> = {
  operatorAddress: '',
  consensusPubkey: '',
  jailed: false,
  status: 0n,
  tokens: 0n,
  delegatorShares: 0n,
  description: { moniker: '', identity: '', website: '', securityContact: '', details: '' },
  unbondingHeight: 0n,
  unbondingTime: 0n,
  commission: 0n,
  minSelfDelegation: 0n,
}

/**
 * Returns a validator as cosmos/evm shows it: the operator in hex, the consensus key in base64,
 * only the current rate.
 */
export function validatorTuple(validator: Validator): AbiValue<typeof ValidatorInfo> {
  const { operator, publicKey, jailed, status, tokens, delegatorShares, description, minSelfDelegation } = validator
  return {
    operatorAddress: toChecksumAddress(operator),
    consensusPubkey: Buffer.from(publicKey).toString('base64'),
    jailed,
    status: BOND_STATUS[status],
    tokens,
    delegatorShares,
    description,
    unbondingHeight: BigInt(validator.unbondingHeight),
    unbondingTime: wholeSeconds(validator.unbondingTimeMs),
    commission: validator.commission.rate,
    minSelfDelegation,
  }
}

/** Times of the native layer are milliseconds, those of the interfaces seconds. */
export function wholeSeconds(timeMs: number): bigint {
  return BigInt(Math.floor(timeMs / 1000))
}
