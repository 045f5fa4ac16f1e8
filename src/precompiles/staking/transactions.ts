import { delegationTarget } from '../../evm/authorization.ts'
import { BASE_DENOM } from '../../modules/coin.ts'
import { sdkError } from '../../modules/sdkError.ts'
import { getDelegation } from '../../modules/staking/delegations.ts'
import * as messages from '../../modules/staking/messages.ts'
import { Ed25519PubKey } from '../../modules/staking/types.ts'
import { type Address, BECH32_OPERATOR, toBech32 } from '../../primitives/address.ts'
import type { AbiValues } from '../abi/type.ts'
import { address, bool, int64, int256, string, uint256 } from '../abi/types.ts'
import { STAKING_ADDRESS } from '../addresses.ts'
import {
  defineFunction,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  type PrecompileFunction,
  type Revert,
  revertWith,
} from '../dispatch.ts'
import { readMessageOperator, refuseZero, requireCaller, runMessage, WRITE_GAS } from '../nativeCall.ts'
import * as events from './events.ts'
import { CommissionRates, Description } from './types.ts'

const SUCCESS = { success: true } as const
/** `editValidator`: leave the value as it is. */
const DO_NOT_MODIFY = -1n
const ED25519_BYTES = 32
const MAX_KEY_TEXT = 256
const NANOS = 1_000_000_000n
/** Heights are int64 in messages. */
const MAX_HEIGHT = 2n ** 63n - 1n
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const STAKE_INPUTS = { delegatorAddress: address, validatorAddress: string, amount: uint256 } as const

/** The functions of IStaking that change something. */
export const STAKING_TRANSACTIONS: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'createValidator',
    inputs: {
      description: Description,
      commissionRates: CommissionRates,
      minSelfDelegation: uint256,
      validatorAddress: address,
      pubkey: string,
      value: uint256,
    },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { description, commissionRates, minSelfDelegation, validatorAddress, pubkey, value }) => {
      const zero = refuseZero(validatorAddress, 'invalid validator address:')
      if (zero !== undefined) return zero
      const key = readKey(pubkey)
      if (isFailure(key)) return key
      const refusal = requireOperator(context, validatorAddress)
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgCreateValidator, messages.MsgCreateValidatorResponse, {
        description,
        commission: commissionRates,
        minSelfDelegation,
        delegatorAddress: toBech32(validatorAddress),
        validatorAddress: toBech32(validatorAddress, BECH32_OPERATOR),
        pubkey: { typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key }) },
        value: coin(value),
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(events.CREATE_VALIDATOR.log(STAKING_ADDRESS, { validatorAddress, value }))
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'editValidator',
    inputs: {
      description: Description,
      validatorAddress: address,
      commissionRate: int256,
      minSelfDelegation: int256,
    },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { description, validatorAddress, commissionRate, minSelfDelegation }) => {
      const refusal =
        refuseZero(validatorAddress, 'invalid validator address:') ?? requireOperator(context, validatorAddress)
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgEditValidator, messages.MsgEditValidatorResponse, {
        description,
        validatorAddress: toBech32(validatorAddress, BECH32_OPERATOR),
        commissionRate: commissionRate === DO_NOT_MODIFY ? undefined : commissionRate,
        minSelfDelegation: minSelfDelegation === DO_NOT_MODIFY ? undefined : minSelfDelegation,
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(
        events.EDIT_VALIDATOR.log(STAKING_ADDRESS, { validatorAddress, commissionRate, minSelfDelegation }),
      )
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'delegate',
    inputs: STAKE_INPUTS,
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, stake) => {
      const { delegatorAddress, amount } = stake
      const operator = readStake(context, stake)
      if (isFailure(operator)) return operator
      const { native } = context.world
      const sharesBefore = getDelegation(native, delegatorAddress, operator)?.shares ?? 0n
      const outcome = runMessage(context, messages.MsgDelegate, messages.MsgDelegateResponse, stakeMessage(stake))
      if (isFailure(outcome)) return outcome
      const newShares = getDelegation(native, delegatorAddress, operator)!.shares - sharesBefore
      context.world.emitLog(
        events.DELEGATE.log(STAKING_ADDRESS, { delegatorAddress, validatorAddress: operator, amount, newShares }),
      )
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'undelegate',
    inputs: STAKE_INPUTS,
    outputs: { completionTime: int64 },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, stake) => {
      const { delegatorAddress, amount } = stake
      const operator = readStake(context, stake)
      if (isFailure(operator)) return operator
      const outcome = runMessage(context, messages.MsgUndelegate, messages.MsgUndelegateResponse, stakeMessage(stake))
      if (isFailure(outcome)) return outcome
      const completionTime = outcome.completionTime / NANOS
      context.world.emitLog(
        events.UNBOND.log(STAKING_ADDRESS, { delegatorAddress, validatorAddress: operator, amount, completionTime }),
      )
      return { completionTime }
    },
  }),
  defineFunction({
    name: 'redelegate',
    inputs: {
      delegatorAddress: address,
      validatorSrcAddress: string,
      validatorDstAddress: string,
      amount: uint256,
    },
    outputs: { completionTime: int64 },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { delegatorAddress, validatorSrcAddress, validatorDstAddress, amount }) => {
      const source = readStake(context, { delegatorAddress, validatorAddress: validatorSrcAddress })
      if (isFailure(source)) return source
      const destination = readStake(context, { delegatorAddress, validatorAddress: validatorDstAddress })
      if (isFailure(destination)) return destination
      const outcome = runMessage(context, messages.MsgBeginRedelegate, messages.MsgBeginRedelegateResponse, {
        delegatorAddress: toBech32(delegatorAddress),
        validatorSrcAddress,
        validatorDstAddress,
        amount: coin(amount),
      })
      if (isFailure(outcome)) return outcome
      const completionTime = outcome.completionTime / NANOS
      context.world.emitLog(
        events.REDELEGATE.log(STAKING_ADDRESS, {
          delegatorAddress,
          validatorSrcAddress: source,
          validatorDstAddress: destination,
          amount,
          // an int64 in a uint256: from an unbonded validator it is over since the year 1, below 0
          completionTime: BigInt.asUintN(256, completionTime),
        }),
      )
      return { completionTime }
    },
  }),
  defineFunction({
    name: 'cancelUnbondingDelegation',
    inputs: { ...STAKE_INPUTS, creationHeight: uint256 },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, stake) => {
      const { delegatorAddress, amount, creationHeight } = stake
      const operator = readStake(context, stake)
      if (isFailure(operator)) return operator
      if (creationHeight > MAX_HEIGHT) return sdkError('invalidRequest', 'invalid height')
      const outcome = runMessage(
        context,
        messages.MsgCancelUnbondingDelegation,
        messages.MsgCancelUnbondingDelegationResponse,
        { ...stakeMessage(stake), creationHeight },
      )
      if (isFailure(outcome)) return outcome
      context.world.emitLog(
        events.CANCEL_UNBONDING_DELEGATION.log(STAKING_ADDRESS, {
          delegatorAddress,
          validatorAddress: operator,
          amount,
          creationHeight,
        }),
      )
      return SUCCESS
    },
  }),
]

/** Checks who acts. @returns the validator */
function readStake(
  context: FunctionContext,
  { delegatorAddress, validatorAddress }: Pick<AbiValues<typeof STAKE_INPUTS>, 'delegatorAddress' | 'validatorAddress'>,
): Address | FunctionFailure {
  const refusal = refuseZero(delegatorAddress, 'invalid delegator address:') ?? requireCaller(context, delegatorAddress)
  if (refusal !== undefined) return refusal
  return readMessageOperator(validatorAddress)
}

function stakeMessage({ delegatorAddress, validatorAddress, amount }: AbiValues<typeof STAKE_INPUTS>) {
  return { delegatorAddress: toBech32(delegatorAddress), validatorAddress, amount: coin(amount) }
}

function coin(amount: bigint): { denom: string; amount: bigint } {
  return { denom: BASE_DENOM, amount }
}

/**
 * Validators are run by people: contracts may not be one, also while they are being created. An account with a key may, whatever it
 * delegates to (EIP-7702).
 */
function requireOperator(context: FunctionContext, operator: Address): Revert | undefined {
  const { world, caller } = context
  const code = world.getCode(caller)
  if (world.isCreated(caller) || (code.length > 0 && delegationTarget(code) === undefined)) {
    return revertWith('this method can only be called directly to the precompile, not from a smart contract')
  }
  return requireCaller(context, operator)
}

/** The ed25519 key of a validator, in base64. */
function readKey(base64: string): Uint8Array | Revert {
  if (base64.length > MAX_KEY_TEXT || !BASE64.test(base64)) return revertWith('invalid consensus pubkey: not base64')
  const key = new Uint8Array(Buffer.from(base64, 'base64'))
  if (key.length === ED25519_BYTES) return key
  return revertWith(`consensus pubkey len is invalid, got: ${key.length}, expected: ${ED25519_BYTES}`)
}
