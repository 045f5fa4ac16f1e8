import { BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { areValidCoins, BASE_DENOM, type Coin } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { sharesToGiveBack } from './changeDelegation.ts'
import { beginRedelegate, cancelUnbonding, delegate, type StakeAmount, undelegate } from './delegatorActions.ts'
import { stakingError } from './errors.ts'
import { STAKING_GAS } from './gas.ts'
import * as types from './messageTypes.ts'
import {
  checkCreation,
  checkNewValidator,
  checkValidatorEdit,
  createValidator,
  editValidator,
} from './operatorActions.ts'
import { setStakingParams, validateStakingParams } from './params.ts'
import { Ed25519PubKey } from './types.ts'
import { getValidator } from './validators.ts'

const EMPTY_ANSWER = new Uint8Array(0)
const NANOS_PER_MS = 1_000_000n

const operatorOf = (text: string) => parseAddress(text, BECH32_OPERATOR)

/** All of x/staking/keeper/msg_server.go. */
export const STAKING_MESSAGES: readonly MessageHandler[] = [
  defineHandler<types.MsgCreateValidator>({
    type: types.MsgCreateValidator,
    response: types.MsgCreateValidatorResponse,
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
      return wrong ?? createValidator(context, created) ?? EMPTY_ANSWER
    },
  }),
  defineHandler<types.MsgEditValidator>({
    type: types.MsgEditValidator,
    response: types.MsgEditValidatorResponse,
    aminoName: 'cosmos-sdk/MsgEditValidator',
    module: 'staking',
    signers: ({ validatorAddress }) => [operatorOf(validatorAddress)],
    validate: (message) => {
      operatorOf(message.validatorAddress)
      return checkValidatorEdit(message)
    },
    gas: () => STAKING_GAS.editValidator,
    run: (context, message) =>
      editValidator(context, { ...message, operator: operatorOf(message.validatorAddress) }) ?? EMPTY_ANSWER,
  }),
  defineHandler<types.MsgDelegate>({
    type: types.MsgDelegate,
    response: types.MsgDelegateResponse,
    aminoName: 'cosmos-sdk/MsgDelegate',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => checkStake(message, 'invalid delegation amount'),
    gas: () => STAKING_GAS.delegate,
    run: (context, message) => {
      const stake = stakeOf(message)
      const isKnown = () => getValidator(context.world.native, stake.operator) !== undefined
      const wrong = checkDenom(message.amount, () => (isKnown() ? undefined : stakingError('noValidatorFound')))
      return answer(wrong ?? delegate(context, stake), () => EMPTY_ANSWER)
    },
  }),
  defineHandler<types.MsgBeginRedelegate>({
    type: types.MsgBeginRedelegate,
    response: types.MsgBeginRedelegateResponse,
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
        types.MsgBeginRedelegateResponse.encode({ completionTime: BigInt(completionTimeMs) * NANOS_PER_MS }),
      )
    },
  }),
  defineHandler<types.MsgUndelegate>({
    type: types.MsgUndelegate,
    response: types.MsgUndelegateResponse,
    aminoName: 'cosmos-sdk/MsgUndelegate',
    module: 'staking',
    signers: ({ delegatorAddress }) => [parseAddress(delegatorAddress)],
    validate: (message) => checkStake(message, 'invalid shares amount'),
    gas: () => STAKING_GAS.undelegate,
    run: (context, message) => {
      const stake = stakeOf(message)
      const wrong = checkDenom(message.amount, () => checkGivingBack(context, stake))
      return answer(wrong ?? undelegate(context, stake), ({ completionTimeMs, amount }) =>
        types.MsgUndelegateResponse.encode({
          completionTime: BigInt(completionTimeMs) * NANOS_PER_MS,
          amount: { denom: BASE_DENOM, amount },
        }),
      )
    },
  }),
  defineHandler<types.MsgCancelUnbondingDelegation>({
    type: types.MsgCancelUnbondingDelegation,
    response: types.MsgCancelUnbondingDelegationResponse,
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
      return checkDenom(message.amount) ?? cancelUnbonding(context, input) ?? EMPTY_ANSWER
    },
  }),
  defineHandler<types.MsgUpdateParams>({
    type: types.MsgUpdateParams,
    response: types.MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/staking/MsgUpdateParams',
    module: 'staking',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ authority }) => {
      parseAddress(authority)
      return undefined
    },
    gas: () => STAKING_GAS.updateParams,
    run: ({ world }, { authority, params }) => {
      const refused = requireAuthority(authority) ?? validateStakingParams(params)
      if (refused !== undefined) return refused
      setStakingParams(world.native, params)
      return EMPTY_ANSWER
    },
  }),
]

/** A delegator, a validator and coins, as most messages have them. */
type StakeMessage = Pick<types.MsgDelegate, 'delegatorAddress' | 'validatorAddress' | 'amount'>

/** @throws AddressError, which whoever validates a message turns into sdk/7 */
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

/** @param before what the SDK looks at first, so that its error comes first */
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

function newValidatorOf(message: types.MsgCreateValidator, publicKey: Uint8Array) {
  const { description, commission, minSelfDelegation } = message
  const operator = operatorOf(message.validatorAddress)
  return { operator, publicKey, description, commission, minSelfDelegation, amount: message.value.amount }
}

/** The ed25519 key in an Any: consensus knows no other kind. */
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
