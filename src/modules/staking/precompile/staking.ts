import { codeDelegationTarget } from '../../../evm/authorization.ts'
import { type Address, BECH32_OPERATOR, toBech32 } from '../../../primitives/address.ts'
import { BASE_DENOM } from '../../coin.ts'
import { defineEvents } from '../../precompileFunctions/abi/codec.ts'
import { type AbiValues, address, bool, int64, int256, string, uint256 } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  lowAddress,
  type PrecompileFunction,
  type Revert,
  revertWith,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import {
  defineTransaction,
  readMessageOperator,
  refuseZero,
  requireActor,
  requireCaller,
  SUCCESS,
} from '../../precompileFunctions/nativeCall.ts'
import { sdkError } from '../../sdkError.ts'
import { Ed25519PubKey } from '../../tx/publicKey.ts'
import { getDelegation } from '../delegations.ts'
import * as messages from '../messages.ts'
import { settledDelegation } from '../settle.ts'
import { STAKING_QUERIES } from './queries.ts'
import { CommissionRates, Description } from './types.ts'

const EVENTS = defineEvents({
  CreateValidator: { indexed: { validatorAddress: address }, data: { value: uint256 } },
  EditValidator: {
    indexed: { validatorAddress: address },
    data: { commissionRate: int256, minSelfDelegation: int256 },
  },
  Delegate: {
    indexed: { delegatorAddress: address, validatorAddress: address },
    data: { amount: uint256, newShares: uint256 },
  },
  Unbond: {
    indexed: { delegatorAddress: address, validatorAddress: address },
    data: { amount: uint256, completionTime: uint256 },
  },
  Redelegate: {
    indexed: { delegatorAddress: address, validatorSrcAddress: address, validatorDstAddress: address },
    data: { amount: uint256, completionTime: uint256 },
  },
  CancelUnbondingDelegation: {
    indexed: { delegatorAddress: address, validatorAddress: address },
    data: { amount: uint256, creationHeight: uint256 },
  },
})

/** `editValidator`: leave the value as it is. */
const DO_NOT_MODIFY = -1n
const NANOS = 1_000_000_000n
/** Heights are int64 in messages. */
const MAX_HEIGHT = 2n ** 63n - 1n

const STAKE_INPUTS = { delegatorAddress: address, validatorAddress: string, amount: uint256 } as const

/** The functions of IStaking that change something. */
const TRANSACTIONS: readonly PrecompileFunction[] = [
  defineTransaction({
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
    type: messages.MsgCreateValidator,
    response: messages.MsgCreateValidatorResponse,
    prepare: (context, { description, commissionRates, minSelfDelegation, validatorAddress, pubkey, value }) => {
      const zero = refuseZero(validatorAddress, 'invalid validator address:')
      if (zero !== undefined) return zero
      const key = readKey(pubkey)
      if (isFailure(key)) return key
      const refusal = requireOperator(context, validatorAddress)
      if (refusal !== undefined) return refusal
      return {
        message: {
          description,
          commission: commissionRates,
          minSelfDelegation,
          delegatorAddress: toBech32(validatorAddress),
          validatorAddress: toBech32(validatorAddress, BECH32_OPERATOR),
          pubkey: { typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key }) },
          value: coin(value),
        },
      }
    },
    finish: ({ emit }, { validatorAddress, value }) => {
      emit(EVENTS.CreateValidator, { validatorAddress, value })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'editValidator',
    inputs: {
      description: Description,
      validatorAddress: address,
      commissionRate: int256,
      minSelfDelegation: int256,
    },
    outputs: { success: bool },
    type: messages.MsgEditValidator,
    response: messages.MsgEditValidatorResponse,
    prepare: (context, { description, validatorAddress, commissionRate, minSelfDelegation }) =>
      refuseZero(validatorAddress, 'invalid validator address:') ??
      requireOperator(context, validatorAddress) ?? {
        message: {
          description,
          validatorAddress: toBech32(validatorAddress, BECH32_OPERATOR),
          commissionRate: commissionRate === DO_NOT_MODIFY ? undefined : commissionRate,
          minSelfDelegation: minSelfDelegation === DO_NOT_MODIFY ? undefined : minSelfDelegation,
        },
      },
    finish: ({ emit }, { validatorAddress, commissionRate, minSelfDelegation }) => {
      emit(EVENTS.EditValidator, { validatorAddress, commissionRate, minSelfDelegation })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'delegate',
    inputs: STAKE_INPUTS,
    outputs: { success: bool },
    type: messages.MsgDelegate,
    response: messages.MsgDelegateResponse,
    prepare: (context, stake) => {
      const operator = readStake(context, stake)
      if (isFailure(operator)) return operator
      const present = getDelegation(context.world.native, stake.delegatorAddress, operator)
      // The message lets pending slashes act on the delegation before it adds to it.
      const sharesBefore = present === undefined ? 0n : settledDelegation(context.world.native, present).shares
      return { message: stakeMessage(stake), operator, sharesBefore }
    },
    finish: ({ world, emit }, { delegatorAddress, amount }, _response, { operator, sharesBefore }) => {
      const newShares = getDelegation(world.native, delegatorAddress, operator)!.shares - sharesBefore
      emit(EVENTS.Delegate, { delegatorAddress, validatorAddress: operator, amount, newShares })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'undelegate',
    inputs: STAKE_INPUTS,
    outputs: { completionTime: int64 },
    type: messages.MsgUndelegate,
    response: messages.MsgUndelegateResponse,
    prepare: (context, stake) => {
      const operator = readStake(context, stake)
      return isFailure(operator) ? operator : { message: stakeMessage(stake), operator }
    },
    finish: ({ emit }, { delegatorAddress, amount }, response, { operator }) => {
      const completionTime = response.completionTime / NANOS
      emit(EVENTS.Unbond, { delegatorAddress, validatorAddress: operator, amount, completionTime })
      return { completionTime }
    },
  }),
  defineTransaction({
    name: 'redelegate',
    inputs: {
      delegatorAddress: address,
      validatorSrcAddress: string,
      validatorDstAddress: string,
      amount: uint256,
    },
    outputs: { completionTime: int64 },
    type: messages.MsgBeginRedelegate,
    response: messages.MsgBeginRedelegateResponse,
    prepare: (context, { delegatorAddress, validatorSrcAddress, validatorDstAddress, amount }) => {
      const source = readStake(context, { delegatorAddress, validatorAddress: validatorSrcAddress })
      if (isFailure(source)) return source
      const destination = readStake(context, { delegatorAddress, validatorAddress: validatorDstAddress })
      if (isFailure(destination)) return destination
      return {
        message: {
          delegatorAddress: toBech32(delegatorAddress),
          validatorSrcAddress,
          validatorDstAddress,
          amount: coin(amount),
        },
        source,
        destination,
      }
    },
    finish: ({ emit }, { delegatorAddress, amount }, response, { source, destination }) => {
      const completionTime = response.completionTime / NANOS
      emit(EVENTS.Redelegate, {
        delegatorAddress,
        validatorSrcAddress: source,
        validatorDstAddress: destination,
        amount,
        // An int64 in a uint256: a redelegation from an unbonded validator is complete since the year 1, which is below 0.
        completionTime: BigInt.asUintN(256, completionTime),
      })
      return { completionTime }
    },
  }),
  defineTransaction({
    name: 'cancelUnbondingDelegation',
    inputs: { ...STAKE_INPUTS, creationHeight: uint256 },
    outputs: { success: bool },
    type: messages.MsgCancelUnbondingDelegation,
    response: messages.MsgCancelUnbondingDelegationResponse,
    prepare: (context, stake) => {
      const operator = readStake(context, stake)
      if (isFailure(operator)) return operator
      const { creationHeight } = stake
      if (creationHeight > MAX_HEIGHT) return sdkError('invalidRequest', 'invalid height')
      return { message: { ...stakeMessage(stake), creationHeight }, operator }
    },
    finish: ({ emit }, { delegatorAddress, amount, creationHeight }, _response, { operator }) => {
      emit(EVENTS.CancelUnbondingDelegation, { delegatorAddress, validatorAddress: operator, amount, creationHeight })
      return SUCCESS
    },
  }),
]

/** Validators and delegations: contracts/IStaking.sol. */
export const staking: TabledPrecompile = createPrecompile(lowAddress(0x800), {
  events: EVENTS,
  functions: [...TRANSACTIONS, ...STAKING_QUERIES],
})

/** Checks that the caller acts for itself. @returns the validator */
function readStake(
  context: FunctionContext,
  { delegatorAddress, validatorAddress }: Pick<AbiValues<typeof STAKE_INPUTS>, 'delegatorAddress' | 'validatorAddress'>,
): Address | FunctionFailure {
  return requireActor(context, delegatorAddress, 'invalid delegator address:') ?? readMessageOperator(validatorAddress)
}

function stakeMessage({ delegatorAddress, validatorAddress, amount }: AbiValues<typeof STAKE_INPUTS>) {
  return { delegatorAddress: toBech32(delegatorAddress), validatorAddress, amount: coin(amount) }
}

function coin(amount: bigint): { denom: string; amount: bigint } {
  return { denom: BASE_DENOM, amount }
}

/**
 * A contract cannot be a validator, not even while it is being created. An account with a key can, also one that delegates to
 * code (EIP-7702).
 */
function requireOperator(context: FunctionContext, operator: Address): Revert | undefined {
  const { world, caller } = context
  const code = world.getCode(caller)
  if (world.isCreated(caller) || (code.length > 0 && codeDelegationTarget(code) === undefined)) {
    return revertWith('this method can only be called directly to the precompile, not from a smart contract')
  }
  return requireCaller(context, operator)
}

const ED25519_BYTES = 32
const MAX_KEY_TEXT = 256
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Reads the ed25519 key of a validator, which is in base64. */
function readKey(base64: string): Uint8Array | Revert {
  if (base64.length > MAX_KEY_TEXT || !BASE64.test(base64)) return revertWith('invalid consensus pubkey: not base64')
  const key = new Uint8Array(Buffer.from(base64, 'base64'))
  if (key.length === ED25519_BYTES) return key
  return revertWith(`consensus pubkey len is invalid, got: ${key.length}, expected: ${ED25519_BYTES}`)
}
