import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import {
  type AnyValue,
  any,
  defineMessage,
  embedded,
  int64,
  integer,
  message,
  optionalDecimal,
  optionalInteger,
  string,
  timestamp,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { areValidCoins, BASE_DENOM, Coin } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { Ed25519PubKey } from '../tx/publicKey.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { sharesToGiveBack } from './changeDelegation.ts'
import { beginRedelegate, cancelUnbonding, delegate, type StakeAmount, undelegate } from './delegatorActions.ts'
import { stakingError } from './errors.ts'
import { rotateConsensusKey } from './keyRotation.ts'
import {
  checkCreation,
  checkKeyForm,
  checkNewValidator,
  checkValidatorEdit,
  createValidator,
  editValidator,
} from './operatorActions.ts'
import { setStakingParams, validateStakingParams } from './params.ts'
import { CommissionRates, Description, Params } from './types.ts'
import { getValidator } from './validators.ts'

// Messages of cosmos/staking/v1beta1/tx.proto and their answers

export const MsgCreateValidator = defineMessage('cosmos.staking.v1beta1.MsgCreateValidator', {
  description: embedded(1, Description),
  /** absent is refused: it is not a commission of 0 */
  commission: message(2, CommissionRates),
  minSelfDelegation: integer(3),
  /** without effect: the operator is the delegator */
  delegatorAddress: string(4),
  validatorAddress: string(5),
  pubkey: any(6),
  value: embedded(7, Coin),
})
export type MsgCreateValidator = ValueOf<typeof MsgCreateValidator>
export const MsgCreateValidatorResponse = defineMessage('cosmos.staking.v1beta1.MsgCreateValidatorResponse', {})

export const MsgEditValidator = defineMessage('cosmos.staking.v1beta1.MsgEditValidator', {
  description: embedded(1, Description),
  validatorAddress: string(2),
  commissionRate: optionalDecimal(3),
  minSelfDelegation: optionalInteger(4),
})
export type MsgEditValidator = ValueOf<typeof MsgEditValidator>
export const MsgEditValidatorResponse = defineMessage('cosmos.staking.v1beta1.MsgEditValidatorResponse', {})

export const MsgRotateConsPubKey = defineMessage('cosmos.staking.v1beta1.MsgRotateConsPubKey', {
  validatorAddress: string(1),
  newPubkey: any(2),
})
export type MsgRotateConsPubKey = ValueOf<typeof MsgRotateConsPubKey>
export const MsgRotateConsPubKeyResponse = defineMessage('cosmos.staking.v1beta1.MsgRotateConsPubKeyResponse', {})

export const MsgDelegate = defineMessage('cosmos.staking.v1beta1.MsgDelegate', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  amount: embedded(3, Coin),
})
export type MsgDelegate = ValueOf<typeof MsgDelegate>
export const MsgDelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgDelegateResponse', {})

export const MsgBeginRedelegate = defineMessage('cosmos.staking.v1beta1.MsgBeginRedelegate', {
  delegatorAddress: string(1),
  validatorSrcAddress: string(2),
  validatorDstAddress: string(3),
  amount: embedded(4, Coin),
})
export type MsgBeginRedelegate = ValueOf<typeof MsgBeginRedelegate>
export const MsgBeginRedelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgBeginRedelegateResponse', {
  completionTime: timestamp(1),
})

export const MsgUndelegate = defineMessage('cosmos.staking.v1beta1.MsgUndelegate', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  amount: embedded(3, Coin),
})
export type MsgUndelegate = ValueOf<typeof MsgUndelegate>
export const MsgUndelegateResponse = defineMessage('cosmos.staking.v1beta1.MsgUndelegateResponse', {
  completionTime: timestamp(1),
  amount: embedded(2, Coin),
})

export const MsgCancelUnbondingDelegation = defineMessage('cosmos.staking.v1beta1.MsgCancelUnbondingDelegation', {
  delegatorAddress: string(1),
  validatorAddress: string(2),
  /** at most the entry's remaining coins */
  amount: embedded(3, Coin),
  creationHeight: int64(4),
})
export type MsgCancelUnbondingDelegation = ValueOf<typeof MsgCancelUnbondingDelegation>
export const MsgCancelUnbondingDelegationResponse = defineMessage(
  'cosmos.staking.v1beta1.MsgCancelUnbondingDelegationResponse',
  {},
)

export const MsgUpdateParams = defineMessage('cosmos.staking.v1beta1.MsgUpdateParams', {
  authority: string(1),
  params: embedded(2, Params),
})
export type MsgUpdateParams = ValueOf<typeof MsgUpdateParams>
export const MsgUpdateParamsResponse = defineMessage('cosmos.staking.v1beta1.MsgUpdateParamsResponse', {})

/**
 * Gas of the module's messages: half of the price of the most records that they write, in EVM
 * storage. A delegation pays rewards (see distribution's gas) and writes the validator, its key in
 * the order of powers, the delegation with its index and two balances; undelegating adds an entry,
 * its index and its entry in the queue; redelegating is both, at two validators. A rotation writes
 * five records of its own and two entries of the queue, later the validator and its signing
 * records.
 */
export const STAKING_GAS = {
  createValidator: 100_000n,
  editValidator: 25_000n,
  rotateConsPubKey: 90_000n,
  delegate: 60_000n,
  undelegate: 70_000n,
  beginRedelegate: 120_000n,
  cancelUnbonding: 60_000n,
  updateParams: 12_000n,
} as const

const NANOS_PER_MS = 1_000_000n

const operatorOf = (text: string) => parseAddress(text, BECH32_OPERATOR)

/** All of x/staking/keeper/msg_server.go. */
export const STAKING_MESSAGES: readonly MessageHandler[] = [
  defineHandler<MsgCreateValidator>({
    type: MsgCreateValidator,
    response: MsgCreateValidatorResponse,
    aminoName: 'cosmos-sdk/MsgCreateValidator',
    module: 'staking',
    signers: ({ validatorAddress }) => [operatorOf(validatorAddress)],
    validate: (message) => {
      operatorOf(message.validatorAddress)
      const publicKey = consensusKeyOf(message.pubkey)
      if (isSdkError(publicKey)) return publicKey
      const wrong = checkCoin(message.value, 'invalid delegation amount')
      if (wrong !== undefined) return wrong
      const created = checkNewValidator(newValidatorOf(message, publicKey))
      return isSdkError(created) ? created : undefined
    },
    gas: () => STAKING_GAS.createValidator,
    run: (context, message) => {
      const publicKey = consensusKeyOf(message.pubkey)
      if (isSdkError(publicKey)) return publicKey
      const created = checkNewValidator(newValidatorOf(message, publicKey))
      if (isSdkError(created)) return created
      const wrong = checkDenom(message.value, () => checkCreation(context.world.native, created))
      return wrong ?? createValidator(context, created) ?? EMPTY_RESPONSE
    },
  }),
  defineHandler<MsgEditValidator>({
    type: MsgEditValidator,
    response: MsgEditValidatorResponse,
    aminoName: 'cosmos-sdk/MsgEditValidator',
    module: 'staking',
    signers: ({ validatorAddress }) => [operatorOf(validatorAddress)],
    validate: (message) => {
      operatorOf(message.validatorAddress)
      return checkValidatorEdit(message)
    },
    gas: () => STAKING_GAS.editValidator,
    run: (context, message) =>
      editValidator(context, { ...message, operator: operatorOf(message.validatorAddress) }) ?? EMPTY_RESPONSE,
  }),
  defineHandler<MsgRotateConsPubKey>({
    type: MsgRotateConsPubKey,
    response: MsgRotateConsPubKeyResponse,
    aminoName: 'cosmos-sdk/MsgRotateConsPubKey',
    module: 'staking',
    signers: ({ validatorAddress }) => [operatorOf(validatorAddress)],
    validate: ({ validatorAddress, newPubkey }) => {
      operatorOf(validatorAddress)
      const publicKey = consensusKeyOf(newPubkey)
      return isSdkError(publicKey) ? publicKey : checkKeyForm(publicKey)
    },
    gas: () => STAKING_GAS.rotateConsPubKey,
    run: (context, { validatorAddress, newPubkey }) => {
      const publicKey = consensusKeyOf(newPubkey)
      if (isSdkError(publicKey)) return publicKey
      const wrong = checkKeyForm(publicKey)
      return (
        wrong ?? rotateConsensusKey(context, { operator: operatorOf(validatorAddress), publicKey }) ?? EMPTY_RESPONSE
      )
    },
  }),
  defineHandler<MsgDelegate>({
    type: MsgDelegate,
    response: MsgDelegateResponse,
    aminoName: 'cosmos-sdk/MsgDelegate',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => checkStake(message, 'invalid delegation amount'),
    gas: () => STAKING_GAS.delegate,
    run: (context, message) => {
      const stake = stakeOf(message)
      const isKnown = () => getValidator(context.world.native, stake.operator) !== undefined
      const wrong = checkDenom(message.amount, () => (isKnown() ? undefined : stakingError('noValidatorFound')))
      return answer(wrong ?? delegate(context, stake), () => EMPTY_RESPONSE)
    },
  }),
  defineHandler<MsgBeginRedelegate>({
    type: MsgBeginRedelegate,
    response: MsgBeginRedelegateResponse,
    aminoName: 'cosmos-sdk/MsgBeginRedelegate',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => {
      operatorOf(message.validatorDstAddress)
      return checkStake({ ...message, validatorAddress: message.validatorSrcAddress }, 'invalid shares amount')
    },
    gas: () => STAKING_GAS.beginRedelegate,
    run: (context, { delegatorAddress, validatorSrcAddress, validatorDstAddress, amount }) => {
      const source = stakeOf({ delegatorAddress, validatorAddress: validatorSrcAddress, amount })
      const wrong = checkDenom(amount, () => checkGivingBack(context, source))
      if (wrong !== undefined) return wrong
      const begun = beginRedelegate(context, {
        delegator: source.delegator,
        source: source.operator,
        destination: operatorOf(validatorDstAddress),
        amount: amount.amount,
      })
      return answer(begun, ({ completionTimeMs }) =>
        MsgBeginRedelegateResponse.encode({ completionTime: BigInt(completionTimeMs) * NANOS_PER_MS }),
      )
    },
  }),
  defineHandler<MsgUndelegate>({
    type: MsgUndelegate,
    response: MsgUndelegateResponse,
    aminoName: 'cosmos-sdk/MsgUndelegate',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => checkStake(message, 'invalid shares amount'),
    gas: () => STAKING_GAS.undelegate,
    run: (context, message) => {
      const stake = stakeOf(message)
      const wrong = checkDenom(message.amount, () => checkGivingBack(context, stake))
      return answer(wrong ?? undelegate(context, stake), ({ completionTimeMs, amount }) =>
        MsgUndelegateResponse.encode({
          completionTime: BigInt(completionTimeMs) * NANOS_PER_MS,
          amount: { denom: BASE_DENOM, amount },
        }),
      )
    },
  }),
  defineHandler<MsgCancelUnbondingDelegation>({
    type: MsgCancelUnbondingDelegation,
    response: MsgCancelUnbondingDelegationResponse,
    aminoName: 'cosmos-sdk/MsgCancelUnbondingDelegation',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => {
      const wrong = checkStake(message, 'invalid amount')
      return wrong ?? (message.creationHeight > 0n ? undefined : sdkError('invalidRequest', 'invalid height'))
    },
    gas: () => STAKING_GAS.cancelUnbonding,
    run: (context, message) => {
      const input = { ...stakeOf(message), creationHeight: Number(message.creationHeight) }
      return checkDenom(message.amount) ?? cancelUnbonding(context, input) ?? EMPTY_RESPONSE
    },
  }),
  updateParamsHandler<Params>({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/staking/MsgUpdateParams',
    module: 'staking',
    gas: STAKING_GAS.updateParams,
    check: validateStakingParams,
    set: setStakingParams,
  }),
]

/** A delegator, a validator and coins, as most messages have them. */
type StakeMessage = Pick<MsgDelegate, 'delegatorAddress' | 'validatorAddress' | 'amount'>

/** @throws AddressError, which the caller of `validate` turns into sdk/7 */
function checkStake(
  { delegatorAddress, validatorAddress, amount }: StakeMessage,
  reason: string,
): SdkError | undefined {
  operatorOf(validatorAddress)
  parseAddress(delegatorAddress)
  return checkCoin(amount, reason)
}

function checkCoin(coin: Coin, reason: string): SdkError | undefined {
  return areValidCoins([coin]) ? undefined : sdkError('invalidRequest', reason)
}

/** @param before a check that the SDK does first, so that its error comes first */
function checkDenom({ denom }: Coin, before: () => SdkError | undefined = () => undefined): SdkError | undefined {
  if (denom === BASE_DENOM) return undefined
  return before() ?? sdkError('invalidRequest', `invalid coin denomination: got ${denom}, expected ${BASE_DENOM}`)
}

function checkGivingBack({ world }: ModuleContext, { delegator, operator, amount }: StakeAmount): SdkError | undefined {
  const shares = sharesToGiveBack(world.native, delegator, operator, amount)
  return isSdkError(shares) ? shares : undefined
}

function stakeOf({ delegatorAddress, validatorAddress, amount }: StakeMessage): StakeAmount {
  return {
    delegator: parseAddress(delegatorAddress),
    operator: operatorOf(validatorAddress),
    amount: amount.amount,
  }
}

function newValidatorOf(message: MsgCreateValidator, publicKey: Uint8Array) {
  const { description, commission, minSelfDelegation } = message
  const operator = operatorOf(message.validatorAddress)
  return { operator, publicKey, description, commission, minSelfDelegation, amount: message.value.amount }
}

/** Returns the ed25519 key in an Any: consensus knows no other kind. */
function consensusKeyOf(key: AnyValue | undefined): Outcome<Uint8Array> {
  if (key === undefined) return stakingError('emptyValidatorPubKey')
  if (key.typeUrl !== Ed25519PubKey.typeUrl) {
    return stakingError('validatorPubKeyTypeNotSupported', `got: ${key.typeUrl}, expected: [ed25519]`)
  }
  try {
    return Ed25519PubKey.decode(key.value).key
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('invalidPubKey', error.message)
  }
}

function answer<T>(outcome: Outcome<T>, encode: (value: T) => Uint8Array): Outcome<Uint8Array> {
  return isSdkError(outcome) ? outcome : encode(outcome as T)
}
