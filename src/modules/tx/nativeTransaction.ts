import type { Address } from '../../primitives/address.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { MessageHandler } from '../message.ts'

/** A message of a transaction, decoded. */
export interface NativeMessage {
  readonly handler: MessageHandler
  readonly value: unknown
}

/** A signer in the order in which the messages name them; the first is the sender. */
export interface NativeSigner {
  readonly address: Address
  /** equals the account's nonce when the transaction can start */
  readonly sequence: bigint
  /** as it was given, or recovered from the signature; undefined in a simulation that gives none */
  readonly publicKey: AnyValue | undefined
  /** one, or those of a multisig's members, 64 or 65 bytes each */
  readonly signatures: readonly Uint8Array[]
}

/**
 * A native transaction that some state could start: decoded, its messages pass `validate`, its signatures are those of its
 * signers on this chain. The mempool orders it by `sender` and `sequence` beside that account's EVM transactions.
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
  /** keys that signed, by what verifying them costs */
  readonly signatureCounts: SignatureCounts
  /** keys that have a say, members of a multisig that did not sign too (the SDK's CountSubKeys) */
  readonly keyCount: number
  /** gas of each message */
  readonly messageGas: readonly bigint[]
  /**
   * Gas that it uses, known before it runs: bytes, signatures, messages; with the default parameters of the auth module,
   * see `requiredGas` for those of a state.
   */
  readonly intrinsicGas: bigint
}

export interface SignatureCounts {
  readonly ethSecp256k1: number
  readonly secp256k1: number
}
