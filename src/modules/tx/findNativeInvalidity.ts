import { delegationTarget } from '../../evm/authorization.ts'
import { toBech32 } from '../../primitives/address.ts'
import { AUTH_PARAMS, type AuthParams } from '../auth/params.ts'
import { insufficientFunds } from '../bank/send.ts'
import { BASE_DENOM } from '../coin.ts'
import type { NativeBlock, ReadContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { baseGas, type NativeTransaction, requiredGas } from './nativeTransaction.ts'

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
 * Why the transaction cannot start in this state, with the codes of the SDK's ante handlers in their order (x/auth/ante);
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
export function chargedFee(
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
    return code.length > 0 && delegationTarget(code) === undefined
  })
  return contract && sdkError('unauthorized', `${toBech32(contract.address)} is a contract and cannot sign`)
}
