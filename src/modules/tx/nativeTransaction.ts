import type { Address } from '../../primitives/address.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { AuthParams } from '../auth/params.ts'
import type { MessageHandler } from '../message.ts'
import type { AuthInfo, Fee, TxBody, TxRaw } from './types.ts'

/** A message of a transaction, decoded. */
export interface NativeMessage {
  readonly handler: MessageHandler
  readonly value: unknown
}

/** A decoded transaction: its messages are valid, its signatures are not checked yet. */
export interface DecodedTransaction {
  readonly txRaw: TxRaw
  readonly body: TxBody
  readonly authInfo: AuthInfo
  readonly fee: Fee
  readonly messages: readonly NativeMessage[]
  /** the accounts that must sign, one for each SignerInfo */
  readonly signers: readonly Address[]
  readonly feeAcoin: bigint
  readonly feePayer: Address
  readonly feeGranter: Address | undefined
  readonly maxPriorityPrice: bigint | undefined
}

/** A signer. They are in the order in which the messages name them; the first is the sender. */
export interface NativeSigner {
  readonly address: Address
  /** equals the account's nonce when the transaction can start */
  readonly sequence: bigint
  /** from the transaction, or recovered from the signature; undefined in a simulation without one */
  readonly publicKey: AnyValue | undefined
  /** one, or those of a multisig's members, 64 or 65 bytes each */
  readonly signatures: readonly Uint8Array[]
}

/**
 * A native transaction that can start in some state: it is decoded, its messages pass `validate`, and its signatures are those
 * of its signers on this chain. The mempool orders it by `sender` and `sequence` among that account's EVM transactions.
 */
export interface NativeTransaction {
  readonly raw: Uint8Array
  /** sha256 of `raw` */
  readonly hash: Hash
  readonly messages: readonly NativeMessage[]
  readonly signers: readonly NativeSigner[]
  /** the first signer and its sequence */
  readonly sender: Address
  readonly sequence: bigint
  readonly memo: string
  /** 0: none */
  readonly timeoutHeight: number
  readonly gasLimit: bigint
  /** acoin that it offers for all of `gasLimit` */
  readonly feeAcoin: bigint
  /** acoin per gas beyond the base fee at most (ExtensionOptionDynamicFeeTx); undefined: all of the fee is paid */
  readonly maxPriorityPrice: bigint | undefined
  /** who pays: the first signer unless another one is named */
  readonly feePayer: Address
  /** whose fee allowance pays, if any */
  readonly feeGranter: Address | undefined
  /** how many keys of each kind signed, since verifying them costs differently */
  readonly signatureCounts: SignatureCounts
  /** all keys of the signers, also members of a multisig that did not sign (the SDK's CountSubKeys) */
  readonly keyCount: number
  /** gas of each message, in order */
  readonly messageGas: readonly bigint[]
  /**
   * Gas that it uses for bytes, signatures and messages, known before it runs, under the default parameters of the auth
   * module; `requiredGas` returns it under those of a state.
   */
  readonly intrinsicGas: bigint
}

export interface SignatureCounts {
  readonly ethSecp256k1: number
  readonly secp256k1: number
}

/**
 * Verifying a signature: what ecrecover costs in the EVM. It is the least for keys of the Cosmos SDK's kind, whose parameter has the
 * SDK's default of 1,000: both kinds are checked by the same code.
 */
const SIGNATURE_GAS = 3000n

/** The parameters of the state that gas depends on. */
export type GasParams = Pick<AuthParams, 'txSizeCostPerByte' | 'sigVerifyCostSecp256k1'>

/** Using a fee allowance: the entries that it reads and writes, unless these are large. */
export const FEE_ALLOWANCE_GAS = 5000n

type Priced = Pick<NativeTransaction, 'raw' | 'signatureCounts' | 'feeGranter'>

/** Gas of a transaction before its first message: its bytes and signatures (x/auth/ante), and a fee allowance. */
export function baseGas({ raw, signatureCounts, feeGranter }: Priced, params: GasParams): bigint {
  const { txSizeCostPerByte, sigVerifyCostSecp256k1 } = params
  return (
    BigInt(raw.length) * txSizeCostPerByte +
    BigInt(signatureCounts.ethSecp256k1) * SIGNATURE_GAS +
    BigInt(signatureCounts.secp256k1) *
      (sigVerifyCostSecp256k1 > SIGNATURE_GAS ? sigVerifyCostSecp256k1 : SIGNATURE_GAS) +
    (feeGranter === undefined ? 0n : FEE_ALLOWANCE_GAS)
  )
}

/** All gas that a transaction uses under a state's parameters; equals `intrinsicGas` where these are the defaults. */
export function requiredGas(transaction: Priced & Pick<NativeTransaction, 'messageGas'>, params: GasParams): bigint {
  return transaction.messageGas.reduce((sum, gas) => sum + gas, baseGas(transaction, params))
}

/**
 * Returns the block's gas for native transactions that a transaction takes before it has run: the gas that it has to pay even if it fails
 * before its end. Work that depends on the state can make it use more.
 */
export function laneGas(
  transaction: Parameters<typeof requiredGas>[0] & Pick<NativeTransaction, 'gasLimit'>,
  params: GasParams,
): bigint {
  const required = requiredGas(transaction, params)
  return required < transaction.gasLimit ? required : transaction.gasLimit
}
