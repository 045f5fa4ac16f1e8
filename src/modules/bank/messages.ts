import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, repeated, string, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { acoinOf, areValidCoins, BASE_DENOM, Coin, coinsText, isValidDenom } from '../coin.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { updateParamsHandler } from '../updateParams.ts'
import { bankError } from './errors.ts'
import { BANK_PARAMS, BankParams, clearSendEnabled, isSendEnabled, SendEnabled, setSendEnabled } from './params.ts'
import { multiSend, sendToAccount } from './send.ts'

const NAME = 'cosmos.bank.v1beta1'

export const MsgSend = defineMessage(`${NAME}.MsgSend`, {
  fromAddress: string(1),
  toAddress: string(2),
  amount: repeated(embedded(3, Coin)),
})
export const MsgSendResponse = defineMessage(`${NAME}.MsgSendResponse`, {})

/** Input and Output have one form. */
const Input = defineMessage(`${NAME}.Input`, { address: string(1), coins: repeated(embedded(2, Coin)) })
const Output = defineMessage(`${NAME}.Output`, { address: string(1), coins: repeated(embedded(2, Coin)) })

export const MsgMultiSend = defineMessage(`${NAME}.MsgMultiSend`, {
  inputs: repeated(embedded(1, Input)),
  outputs: repeated(embedded(2, Output)),
})
export const MsgMultiSendResponse = defineMessage(`${NAME}.MsgMultiSendResponse`, {})

export const BankMsgUpdateParams = defineMessage(`${NAME}.MsgUpdateParams`, {
  authority: string(1),
  params: embedded(2, BankParams),
})
export const BankMsgUpdateParamsResponse = defineMessage(`${NAME}.MsgUpdateParamsResponse`, {})

export const MsgSetSendEnabled = defineMessage(`${NAME}.MsgSetSendEnabled`, {
  authority: string(1),
  sendEnabled: repeated(embedded(2, SendEnabled)),
  useDefaultFor: repeated(string(3)),
})
export const MsgSetSendEnabledResponse = defineMessage(`${NAME}.MsgSetSendEnabledResponse`, {})

/**
 * Gas of the module's messages: two accounts for a send, about the price of EVM transfers with the
 * same work.
 */
export const BANK_GAS = {
  send: 12_000n,
  /** without its outputs */
  multiSend: 6000n,
  /** each output of a multi-send: an account, and three events */
  output: 8000n,
  /** one entry of parameters */
  parameter: 10_000n,
} as const

/** The bank module's messages (x/bank/keeper/msg_server.go). */
export const BANK_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgSend,
    response: MsgSendResponse,
    aminoName: 'cosmos-sdk/MsgSend',
    module: 'bank',
    signers: ({ fromAddress }) => [parseAddress(fromAddress)],
    validate: ({ toAddress, amount }) => {
      parseAddress(toAddress)
      return checkPositive(amount)
    },
    gas: () => BANK_GAS.send,
    run: (context, { fromAddress, toAddress, amount }) => {
      const disabled = checkSendEnabled(context.world.native, amount)
      if (disabled !== undefined) return disabled
      const acoin = payable(amount)
      if (isSdkError(acoin)) return acoin
      return sendToAccount(context, parseAddress(fromAddress), parseAddress(toAddress), acoin) ?? EMPTY_RESPONSE
    },
  }),
  defineHandler({
    type: MsgMultiSend,
    response: MsgMultiSendResponse,
    aminoName: 'cosmos-sdk/MsgMultiSend',
    module: 'bank',
    signers: ({ inputs }) => inputs.slice(0, 1).map(({ address }) => parseAddress(address)),
    validate: ({ inputs, outputs }) => validateMultiSend(inputs, outputs),
    gas: ({ outputs }) => BANK_GAS.multiSend + BigInt(outputs.length) * BANK_GAS.output,
    run: (context, { inputs, outputs }) => {
      const [input] = inputs
      const disabled = checkSendEnabled(context.world.native, input!.coins)
      if (disabled !== undefined) return disabled
      const total = payable(input!.coins)
      if (isSdkError(total)) return total
      const payments = outputs.map(({ address, coins }) => ({
        to: parseAddress(address),
        // Of one denomination, or the sums would differ.
        amount: coins.reduce((sum, { amount }) => sum + amount, 0n),
      }))
      return multiSend(context, parseAddress(input!.address), total, payments) ?? EMPTY_RESPONSE
    },
  }),
  updateParamsHandler<BankParams>({
    type: BankMsgUpdateParams,
    response: BankMsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/bank/MsgUpdateParams',
    module: 'bank',
    gas: BANK_GAS.parameter,
    validate: ({ sendEnabled }) =>
      sendEnabled.length === 0
        ? undefined
        : sdkError('invalidRequest', 'use of send_enabled in params is no longer supported'),
    set: BANK_PARAMS.set,
  }),
  defineHandler({
    type: MsgSetSendEnabled,
    response: MsgSetSendEnabledResponse,
    aminoName: 'cosmos-sdk/MsgSetSendEnabled',
    module: 'bank',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ sendEnabled, useDefaultFor }) => validateSendEnabled(sendEnabled, useDefaultFor),
    gas: ({ sendEnabled, useDefaultFor }) => BANK_GAS.parameter * BigInt(1 + sendEnabled.length + useDefaultFor.length),
    run: ({ world }, { authority, sendEnabled, useDefaultFor }) => {
      const error = requireAuthority(authority)
      if (error !== undefined) return error
      for (const entry of sendEnabled) setSendEnabled(world.native, entry)
      for (const denom of useDefaultFor) clearSendEnabled(world.native, denom)
      return EMPTY_RESPONSE
    },
  }),
]

/** Returns bank/5 for the first coin that may not be sent. */
export function checkSendEnabled(native: Pick<NativeStore, 'get'>, coins: readonly Coin[]): SdkError | undefined {
  const disabled = coins.find(({ denom }) => !isSendEnabled(native, denom))
  return disabled && bankError('sendDisabled', `${disabled.denom} transfers are currently disabled`)
}

function checkPositive(coins: readonly Coin[]): SdkError | undefined {
  return coins.length > 0 && areValidCoins(coins) ? undefined : sdkError('invalidCoins', coinsText(coins))
}

/** Returns the amount of the base denomination; there are no coins of other denominations. */
export function payable(coins: readonly Coin[]): Outcome<bigint> {
  const acoin = acoinOf(coins)
  if (acoin !== undefined) return acoin
  const { denom, amount } = coins.find((coin) => coin.denom !== BASE_DENOM)!
  return sdkError('insufficientFunds', `spendable balance 0${denom} is smaller than ${amount}${denom}`)
}

type Party = ValueOf<typeof Input>

/** ValidateInputOutputs (x/bank/types/msgs.go). */
function validateMultiSend(inputs: readonly Party[], outputs: readonly Party[]): SdkError | undefined {
  if (inputs.length === 0) return bankError('noInputs')
  if (inputs.length > 1) return bankError('multipleSenders')
  if (outputs.length === 0) return bankError('noOutputs')
  const [input] = inputs
  for (const { address, coins } of [input!, ...outputs]) {
    parseAddress(address)
    const error = checkPositive(coins)
    if (error !== undefined) return error
  }
  const left = new Map(input!.coins.map(({ denom, amount }) => [denom, amount]))
  for (const { denom, amount } of outputs.flatMap(({ coins }) => coins)) {
    left.set(denom, (left.get(denom) ?? 0n) - amount)
  }
  return [...left.values()].every((amount) => amount === 0n) ? undefined : bankError('inputOutputMismatch')
}

/** MsgSetSendEnabled.ValidateBasic */
function validateSendEnabled(entries: readonly SendEnabled[], useDefaultFor: readonly string[]): SdkError | undefined {
  const denoms = entries.map(({ denom }) => denom)
  const seen = new Set<string>()
  const repeatedDenom = denoms.find((denom) => seen.size === seen.add(denom).size)
  if (repeatedDenom !== undefined) {
    return sdkError('invalidRequest', `duplicate denom entries found for "${repeatedDenom}"`)
  }
  const invalid = [...denoms, ...useDefaultFor].find((denom) => !isValidDenom(denom))
  return invalid === undefined ? undefined : sdkError('invalidRequest', `invalid denom: ${invalid}`)
}
