import type { NativeEvent, NativeResult } from '../../chain/block/entries.ts'
import { codeDelegationTarget } from '../../evm/authorization.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import { toBech32 } from '../../primitives/address.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { AUTH_PARAMS, type AuthParams } from '../auth/params.ts'
import { storePublicKey } from '../auth/publicKeys.ts'
import { insufficientFunds, sendCoins } from '../bank/send.ts'
import { BASE_DENOM, coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext, type NativeBlock, type ReadContext } from '../context.ts'
import { useFeeAllowance } from '../feegrant/grants.ts'
import { FEE_COLLECTOR } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import {
  baseGas,
  FEE_ALLOWANCE_GAS,
  laneGas,
  type NativeMessage,
  type NativeTransaction,
  requiredGas,
} from './nativeTransaction.ts'
import { TxMsgData } from './types.ts'

/** A transaction and what it is checked against. */
interface NativeStateCheck {
  readonly transaction: NativeTransaction
  readonly world: ReadContext['world']
  readonly block: NativeBlock
  /** acoin */
  readonly baseFeePerGas: bigint
  /**
   * `next`: sequences must equal the nonces of all signers, as in a block; `notUsed`: they may be higher, as in a pool;
   * `any`: not checked
   */
  readonly sequences?: 'next' | 'notUsed' | 'any'
}

/**
 * Returns why the transaction cannot start in this state, with the SDK's errors in the order of its ante handlers (x/auth/ante);
 * undefined when it can. Only `chargeFee` finds out whether a fee allowance covers the fee.
 */
export function findNativeInvalidity(check: NativeStateCheck): SdkError | undefined {
  const params = AUTH_PARAMS.get(check.world.native)
  return (
    checkTimeout(check) ??
    checkMemo(check, params) ??
    checkBaseGas(check, params) ??
    checkFee(check) ??
    checkSignatureCount(check, params) ??
    checkSequences(check) ??
    checkCode(check)
  )
}

function checkTimeout({ transaction, block }: NativeStateCheck): SdkError | undefined {
  const { timeoutHeight } = transaction
  if (timeoutHeight === 0 || block.height <= timeoutHeight) return undefined
  return sdkError('txTimeoutHeight', `block height: ${block.height}, timeout height: ${timeoutHeight}`)
}

function checkMemo({ transaction }: NativeStateCheck, { maxMemoCharacters }: AuthParams): SdkError | undefined {
  const length = Buffer.byteLength(transaction.memo)
  if (BigInt(length) <= maxMemoCharacters) return undefined
  return sdkError(
    'memoTooLarge',
    `maximum number of characters is ${maxMemoCharacters} but received ${length} characters`,
  )
}

/** The gas limit must cover at least the bytes and signatures. */
function checkBaseGas({ transaction }: NativeStateCheck, params: AuthParams): SdkError | undefined {
  return outOfGas('txSize', transaction.gasLimit, baseGas(transaction, params))
}

/** The error when not all of the transaction's gas is within its limit. */
export function checkGasLimit({ transaction, world }: NativeStateCheck): SdkError | undefined {
  return outOfGas('messages', transaction.gasLimit, requiredGas(transaction, AUTH_PARAMS.get(world.native)))
}

export function outOfGas(location: string, gasLimit: bigint, gasUsed: bigint): SdkError | undefined {
  if (gasUsed <= gasLimit) return undefined
  return sdkError('outOfGas', `out of gas in location: ${location}; gasWanted: ${gasLimit}, gasUsed: ${gasUsed}`)
}

function checkFee({ transaction, world, baseFeePerGas }: NativeStateCheck): SdkError | undefined {
  const { feeAcoin, gasLimit, feePayer, feeGranter } = transaction
  const required = baseFeePerGas * gasLimit
  if (feeAcoin < required) {
    return sdkError(
      'insufficientFee',
      `insufficient fees; got: ${feeAcoin}${BASE_DENOM} required: ${required}${BASE_DENOM}`,
    )
  }
  const fee = chargedFee(transaction, baseFeePerGas)
  const balance = world.getSpendable(feeGranter ?? feePayer)
  return balance < fee ? insufficientFunds(balance, fee) : undefined
}

/** The fee that is charged, acoin: all that is offered, or less by EIP-1559's rule when there is a priority price. */
function chargedFee(
  { feeAcoin, gasLimit, maxPriorityPrice }: Pick<NativeTransaction, 'feeAcoin' | 'gasLimit' | 'maxPriorityPrice'>,
  baseFeePerGas: bigint,
): bigint {
  if (maxPriorityPrice === undefined) return feeAcoin
  const priced = (baseFeePerGas + maxPriorityPrice) * gasLimit
  return priced < feeAcoin ? priced : feeAcoin
}

function checkSignatureCount({ transaction }: NativeStateCheck, { txSigLimit }: AuthParams): SdkError | undefined {
  const { keyCount } = transaction
  if (BigInt(keyCount) <= txSigLimit) return undefined
  return sdkError('tooManySignatures', `signatures: ${keyCount}, limit: ${txSigLimit}`)
}

function checkSequences({ transaction, world, sequences = 'next' }: NativeStateCheck): SdkError | undefined {
  if (sequences === 'any') return undefined
  for (const { address, sequence } of transaction.signers) {
    const next = world.getNonce(address)
    if (sequence === next || (sequences === 'notUsed' && sequence > next)) continue
    return sdkError('wrongSequence', `account sequence mismatch, expected ${next}, got ${sequence}`)
  }
  return undefined
}

/** EIP-3607, here for native transactions: an account with contract code cannot sign. */
function checkCode({ transaction, world }: NativeStateCheck): SdkError | undefined {
  const contract = transaction.signers.find(({ address }) => {
    const code = world.getCode(address)
    return code.length > 0 && codeDelegationTarget(code) === undefined
  })
  return contract && sdkError('unauthorized', `${toBech32(contract.address)} is a contract and cannot sign`)
}

/** The input of a native transaction's execution. */
interface NativeTransition {
  readonly transaction: NativeTransaction
  readonly world: TransactionWorld
  readonly block: NativeBlock
  /** acoin */
  readonly baseFeePerGas: bigint
  /** gas that is left for native transactions in the block; undefined: no limit */
  readonly gasAvailable?: bigint
}

type NativeOutcome =
  /** it could not start and has no effect */
  { readonly kind: 'skipped'; readonly error: SdkError } | { readonly kind: 'native'; readonly result: NativeResult }

/** Why a transaction is skipped that may run in another block. */
export const LANE_FULL: SdkError = sdkError('outOfGas', 'no block gas left to run tx')

/**
 * Applies a native transaction, in the order of the SDK's ante handlers and message loop:
 *
 * 1. The gas that the block has left, and the checks against the state. A transaction that fails here has no effect.
 * 2. The fee, before all work that it pays for. When it cannot be taken, the transaction has no effect either.
 * 3. Public keys and sequences, apart from the messages: a transaction whose messages fail cannot be sent again.
 * 4. The messages, in a checkpoint of their own: the effects of all of them stay, or none.
 * 5. The result. Of a failed transaction the fee, keys and sequences stay, and the events of steps 2 and 3.
 *
 * A message that fails returns an `SdkError`. An exception is not an outcome (`src/evm/engines/errorKinds.ts`): the transaction is left
 * half done, and the caller undoes it or drops the world.
 */
export function applyNativeTransaction(input: NativeTransition): NativeOutcome {
  const { transaction, world, gasAvailable } = input
  const params = AUTH_PARAMS.get(world.native)
  // 1
  if (gasAvailable !== undefined && laneGas(transaction, params) > gasAvailable) {
    return { kind: 'skipped', error: LANE_FULL }
  }
  const reason = findNativeInvalidity(input)
  if (reason !== undefined) return { kind: 'skipped', error: reason }
  return runTransaction(input, baseGas(transaction, params))
}

/**
 * Steps 2 to 5 of {@link applyNativeTransaction}, for a transaction that was checked.
 * @param gasBefore used before the first message
 */
export function runTransaction(
  { transaction, world, block, baseFeePerGas }: NativeTransition,
  gasBefore: bigint,
): NativeOutcome {
  const context = { world, block }
  world.beginTransaction()
  // 2
  world.checkpoint()
  const allowanceGas = chargeFee(
    context,
    transaction,
    chargedFee(transaction, baseFeePerGas),
    transaction.gasLimit - gasBefore,
  )
  if (isSdkError(allowanceGas)) {
    world.revert()
    world.endTransaction({ clearEmpty: true })
    return { kind: 'skipped', error: allowanceGas }
  }
  world.commit()
  useSequences(world, transaction) // 3
  const feeEvents = [...world.events()]

  // 4
  world.checkpoint()
  const outcome = runMessages(context, transaction, gasBefore + allowanceGas)
  if (outcome.kind === 'succeeded') world.commit()
  else world.revert()
  world.endTransaction({ clearEmpty: true })

  // 5
  const gas = { gasWanted: transaction.gasLimit, gasUsed: outcome.gasUsed }
  if (outcome.kind === 'failed') {
    const { code, codespace, message } = outcome.error
    const result = { code, codespace, log: message, data: new Uint8Array(0), ...gas, events: feeEvents }
    return { kind: 'native', result }
  }
  const { data, events } = outcome
  return {
    kind: 'native',
    result: { code: 0, codespace: '', log: '', data, ...gas, events: [...feeEvents, ...events] },
  }
}

/**
 * Moves the fee to the fee collector, from the fee payer or from the granter of an allowance, which it reduces
 * (x/auth/ante/fee.go). An error leaves effects that the caller undoes.
 * @param room gas that the transaction has beyond its base gas
 * @returns what the allowance costs beyond the base gas
 */
function chargeFee(
  context: ModuleContext,
  transaction: Pick<NativeTransaction, 'feePayer' | 'feeGranter' | 'messages'>,
  feeAcoin: bigint,
  room: bigint,
): Outcome<bigint> {
  const { feePayer, feeGranter } = transaction
  const allowanceGas = feeGranter === undefined ? 0n : chargeAllowance(context, transaction, feeAcoin, room)
  if (isSdkError(allowanceGas)) return allowanceGas
  const payer = feeGranter ?? feePayer
  if (feeAcoin > 0n) {
    const error = sendCoins(context, payer, FEE_COLLECTOR, feeAcoin)
    if (error !== undefined) return error
  }
  context.world.emitEvent(event('tx', { fee: coinsText(coinsOf(feeAcoin)), fee_payer: toBech32(payer) }))
  return allowanceGas
}

/** Reduces the granter's allowance, within the gas that the transaction has for it. @returns the gas beyond {@link FEE_ALLOWANCE_GAS} */
function chargeAllowance(
  context: ModuleContext,
  { feePayer, feeGranter, messages }: Pick<NativeTransaction, 'feePayer' | 'feeGranter' | 'messages'>,
  feeAcoin: bigint,
  room: bigint,
): Outcome<bigint> {
  const typeUrls = [...new Set(messages.map(({ handler }) => handler.type.typeUrl))]
  const use = { granter: feeGranter!, grantee: feePayer, feeAcoin, typeUrls }
  const limit = room + FEE_ALLOWANCE_GAS
  const ran = context.world.native.work.limited(limit, () => useFeeAllowance(context, use))
  if (ran.kind === 'exceeded') return outOfGas('feeAllowance', limit, limit + 1n)!
  if (ran.value !== undefined) return ran.value
  return ran.gas > FEE_ALLOWANCE_GAS ? ran.gas - FEE_ALLOWANCE_GAS : 0n
}

/** Stores the signers' public keys and increments their sequences (x/auth/ante/sigverify.go). */
function useSequences(world: TransactionWorld, { signers }: NativeTransaction): void {
  for (const { address, sequence, publicKey, signatures } of signers) {
    if (publicKey !== undefined) storePublicKey(world.native, address, publicKey)
    world.setNonce(address, world.getNonce(address) + 1n)
    world.emitEvent(event('tx', { acc_seq: `${toBech32(address)}/${sequence}` }))
    for (const signature of signatures) {
      world.emitEvent(event('tx', { signature: Buffer.from(signature).toString('base64') }))
    }
  }
}

type MessagesOutcome =
  | {
      readonly kind: 'succeeded'
      readonly gasUsed: bigint
      /** encoded TxMsgData */
      readonly data: Uint8Array
      readonly events: readonly NativeEvent[]
    }
  /** the caller undoes the effects of all messages */
  | { readonly kind: 'failed'; readonly gasUsed: bigint; readonly error: SdkError }

/** Most gas that a transaction uses beyond what its messages have to pay in any case, as EIP-7825 limits an EVM transaction. */
export const MAX_METERED_GAS = 16_777_216n

function meteredGasLimit(
  { messageGas, gasLimit }: Pick<NativeTransaction, 'messageGas' | 'gasLimit'>,
  gasBefore: bigint,
): bigint {
  const required = messageGas.reduce((sum, gas) => sum + gas, gasBefore)
  const most = required > MAX_METERED_GAS ? required : MAX_METERED_GAS
  return gasLimit < most ? gasLimit : most
}

/**
 * Runs messages one after the other until one fails (baseapp's runMsgs). A message uses the larger of its fixed gas and of the work that it
 * did on native entries (`WorkMeter`).
 * @param gasBefore used by the transaction before its first message
 */
function runMessages(
  context: ModuleContext,
  { messages, messageGas, gasLimit }: Pick<NativeTransaction, 'messages' | 'messageGas' | 'gasLimit'>,
  gasBefore: bigint,
): MessagesOutcome {
  const { world } = context
  const responses: AnyValue[] = []
  const events: NativeEvent[] = []
  let gasUsed = gasBefore
  const limit = meteredGasLimit({ messageGas, gasLimit }, gasBefore)
  for (const [index, message] of messages.entries()) {
    const { handler, value } = message
    const exhausted = outOfGas(handler.type.name, gasLimit, gasUsed + messageGas[index]!)
    if (exhausted !== undefined) return { kind: 'failed', gasUsed: gasLimit, error: exhausted }
    const before = world.events().length
    const ran = world.native.work.limited(limit - gasUsed, () => handler.run(context, value))
    if (ran.kind === 'exceeded') {
      return { kind: 'failed', gasUsed: limit, error: outOfGas(handler.type.name, limit, limit + 1n)! }
    }
    gasUsed += ran.gas > messageGas[index]! ? ran.gas : messageGas[index]!
    const response = ran.value
    if (isSdkError(response)) {
      const { codespace, code } = response
      const message = failureText(index, response.message)
      return { kind: 'failed', gasUsed, error: { codespace, code, message } }
    }
    responses.push({ typeUrl: handler.response.typeUrl, value: response })
    const own = world.events().slice(before)
    for (const event of [messageEvent(message, own), ...own]) events.push(withIndex(event, index))
  }
  return { kind: 'succeeded', gasUsed, data: TxMsgData.encode({ data: [], msgResponses: responses }), events }
}

/** The event that baseapp emits before a message's own ones; it names the module unless one of those does. */
function messageEvent({ handler, value }: NativeMessage, own: readonly NativeEvent[]): NativeEvent {
  const attributes = [
    { key: 'action', value: handler.type.typeUrl },
    { key: 'sender', value: toBech32(handler.signers(value)[0]!) },
  ]
  const namesModule = own.some((event) => event.attributes.some(({ key }) => key === 'module'))
  return {
    type: 'message',
    attributes: namesModule ? attributes : [...attributes, { key: 'module', value: handler.module }],
  }
}

function withIndex({ type, attributes }: NativeEvent, index: number): NativeEvent {
  return { type, attributes: [...attributes, { key: 'msg_index', value: index.toString() }] }
}

function failureText(index: number, reason: string): string {
  return `failed to execute message; message index: ${index}: ${reason}`
}

interface NativeStateContext extends ModuleContext {
  /** acoin */
  readonly baseFeePerGas: bigint
}

/**
 * Why a native transaction could not run in the next block on this state. Its sequences may be later than the signers' next ones:
 * its turn may still come. The gas limit is checked too, because a block would take the fee of a transaction that then runs out of gas.
 * @param context.world is left as it was
 */
export function checkNativeState(
  transaction: NativeTransaction,
  { world, block, baseFeePerGas }: NativeStateContext,
): SdkError | undefined {
  world.setTime(Math.floor(block.timeMs / 1000))
  const check = { transaction, world, block, baseFeePerGas, sequences: 'notUsed' } as const
  return (
    findNativeInvalidity(check) ?? checkGasLimit(check) ?? checkAllowance(transaction, { world, block, baseFeePerGas })
  )
}

function checkAllowance(
  transaction: NativeTransaction,
  { world, block, baseFeePerGas }: NativeStateContext,
): SdkError | undefined {
  if (transaction.feeGranter === undefined) return undefined
  world.checkpoint()
  try {
    const room = transaction.gasLimit - requiredGas(transaction, AUTH_PARAMS.get(world.native))
    const charged = chargeFee({ world, block }, transaction, chargedFee(transaction, baseFeePerGas), room)
    return isSdkError(charged) ? charged : undefined
  } finally {
    world.revert()
  }
}
