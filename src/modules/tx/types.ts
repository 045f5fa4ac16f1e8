import {
  any,
  bytes,
  decimal,
  defineMessage,
  embedded,
  enumeration,
  type Field,
  type MessageType,
  message,
  oneOf,
  repeated,
  string,
  uint32,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { Coin } from '../coin.ts'

/** The messages of cosmos.tx.v1beta1 and what belongs to them (proto/cosmos/tx of the Cosmos SDK). */

/** cosmos.tx.signing.v1beta1.SignMode */
export const SIGN_MODES = {
  SIGN_MODE_UNSPECIFIED: 0,
  SIGN_MODE_DIRECT: 1,
  SIGN_MODE_TEXTUAL: 2,
  SIGN_MODE_DIRECT_AUX: 3,
  SIGN_MODE_LEGACY_AMINO_JSON: 127,
  SIGN_MODE_EIP_191: 191,
} as const

/** cosmos.tx.v1beta1.TxRaw: what is signed, gossiped, hashed and stored. */
export const TxRaw = defineMessage('cosmos.tx.v1beta1.TxRaw', {
  bodyBytes: bytes(1),
  authInfoBytes: bytes(2),
  signatures: repeated(bytes(3)),
})
export type TxRaw = ValueOf<typeof TxRaw>

/** cosmos.tx.v1beta1.TxBody */
export const TxBody = defineMessage('cosmos.tx.v1beta1.TxBody', {
  messages: repeated(any(1)),
  memo: string(2),
  timeoutHeight: uint64(3),
  extensionOptions: repeated(any(1023)),
  nonCriticalExtensionOptions: repeated(any(2047)),
})
export type TxBody = ValueOf<typeof TxBody>

/** cosmos.crypto.multisig.v1beta1.CompactBitArray */
export const CompactBitArray = defineMessage('cosmos.crypto.multisig.v1beta1.CompactBitArray', {
  extraBitsStored: uint32(1),
  elems: bytes(2),
})
export type CompactBitArray = ValueOf<typeof CompactBitArray>

/** cosmos.tx.v1beta1.ModeInfo.Single */
const ModeInfoSingle = defineMessage('cosmos.tx.v1beta1.ModeInfo.Single', { mode: enumeration(1, SIGN_MODES) })

/** cosmos.tx.v1beta1.ModeInfo: how one key signed, or each key of a multisig that did. */
export interface ModeInfo {
  readonly single: ValueOf<typeof ModeInfoSingle> | undefined
  readonly multi: ModeInfoMulti | undefined
}

/** cosmos.tx.v1beta1.ModeInfo.Multi */
export interface ModeInfoMulti {
  readonly bitarray: CompactBitArray | undefined
  readonly modeInfos: readonly ModeInfo[]
}

/** Declared apart, since ModeInfo and ModeInfo.Multi contain each other. */
const innerModeInfo = oneOf(2, (): MessageType<ModeInfo> => ModeInfo) as Field<ModeInfo>

const ModeInfoMulti: MessageType<ModeInfoMulti> = defineMessage('cosmos.tx.v1beta1.ModeInfo.Multi', {
  bitarray: message(1, CompactBitArray),
  modeInfos: repeated(innerModeInfo),
})

export const ModeInfo: MessageType<ModeInfo> = defineMessage('cosmos.tx.v1beta1.ModeInfo', {
  single: oneOf(1, () => ModeInfoSingle),
  multi: oneOf(2, () => ModeInfoMulti),
})

/** cosmos.tx.v1beta1.SignerInfo */
export const SignerInfo = defineMessage('cosmos.tx.v1beta1.SignerInfo', {
  publicKey: any(1),
  modeInfo: message(2, ModeInfo),
  sequence: uint64(3),
})
export type SignerInfo = ValueOf<typeof SignerInfo>

/** cosmos.tx.v1beta1.Fee */
export const Fee = defineMessage('cosmos.tx.v1beta1.Fee', {
  amount: repeated(embedded(1, Coin)),
  gasLimit: uint64(2),
  payer: string(3),
  granter: string(4),
})
export type Fee = ValueOf<typeof Fee>

/** cosmos.tx.v1beta1.Tip, which is no longer supported */
export const Tip = defineMessage('cosmos.tx.v1beta1.Tip', { amount: repeated(embedded(1, Coin)), tipper: string(2) })

/** cosmos.tx.v1beta1.AuthInfo */
export const AuthInfo = defineMessage('cosmos.tx.v1beta1.AuthInfo', {
  signerInfos: repeated(embedded(1, SignerInfo)),
  fee: message(2, Fee),
  tip: message(3, Tip),
})
export type AuthInfo = ValueOf<typeof AuthInfo>

/** cosmos.tx.v1beta1.Tx: the wire form is that of {@link TxRaw}. */
export const Tx = defineMessage('cosmos.tx.v1beta1.Tx', {
  body: message(1, TxBody),
  authInfo: message(2, AuthInfo),
  signatures: repeated(bytes(3)),
})
export type Tx = ValueOf<typeof Tx>

/** cosmos.tx.v1beta1.SignDoc: what SIGN_MODE_DIRECT signs. */
export const SignDoc = defineMessage('cosmos.tx.v1beta1.SignDoc', {
  bodyBytes: bytes(1),
  authInfoBytes: bytes(2),
  chainId: string(3),
  accountNumber: uint64(4),
})

/** cosmos.crypto.multisig.v1beta1.MultiSignature: a multisig's signature within a transaction. */
export const MultiSignature = defineMessage('cosmos.crypto.multisig.v1beta1.MultiSignature', {
  signatures: repeated(bytes(1)),
})

/** cosmos.tx.signing.v1beta1.SignatureDescriptor.Data.Single */
const SignatureDataSingle = defineMessage('cosmos.tx.signing.v1beta1.SignatureDescriptor.Data.Single', {
  mode: enumeration(1, SIGN_MODES),
  signature: bytes(2),
})

/** cosmos.tx.signing.v1beta1.SignatureDescriptor.Data: a key's signature, or those of a multisig's members. */
export interface SignatureData {
  readonly single: ValueOf<typeof SignatureDataSingle> | undefined
  readonly multi: SignatureDataMulti | undefined
}

/** cosmos.tx.signing.v1beta1.SignatureDescriptor.Data.Multi */
export interface SignatureDataMulti {
  readonly bitarray: CompactBitArray | undefined
  readonly signatures: readonly SignatureData[]
}

/** Declared apart, since Data and Data.Multi contain each other. */
const innerSignature = oneOf(2, (): MessageType<SignatureData> => SignatureData) as Field<SignatureData>

const SignatureDataMulti: MessageType<SignatureDataMulti> = defineMessage(
  'cosmos.tx.signing.v1beta1.SignatureDescriptor.Data.Multi',
  { bitarray: message(1, CompactBitArray), signatures: repeated(innerSignature) },
)

export const SignatureData: MessageType<SignatureData> = defineMessage(
  'cosmos.tx.signing.v1beta1.SignatureDescriptor.Data',
  { single: oneOf(1, () => SignatureDataSingle), multi: oneOf(2, () => SignatureDataMulti) },
)

/** cosmos.tx.signing.v1beta1.SignatureDescriptor: a signature apart from its transaction, with its key. */
export const SignatureDescriptor = defineMessage('cosmos.tx.signing.v1beta1.SignatureDescriptor', {
  publicKey: any(1),
  data: message(2, SignatureData),
  sequence: uint64(3),
})
export type SignatureDescriptor = ValueOf<typeof SignatureDescriptor>

/** cosmos.tx.signing.v1beta1.SignatureDescriptors: what the SDK's programs write to a file of signatures. */
export const SignatureDescriptors = defineMessage('cosmos.tx.signing.v1beta1.SignatureDescriptors', {
  signatures: repeated(embedded(1, SignatureDescriptor)),
})

/** cosmos.base.abci.v1beta1.MsgData */
export const MsgData = defineMessage('cosmos.base.abci.v1beta1.MsgData', { msgType: string(1), data: bytes(2) })

/** cosmos.base.abci.v1beta1.TxMsgData: the `data` of a transaction's result. */
export const TxMsgData = defineMessage('cosmos.base.abci.v1beta1.TxMsgData', {
  data: repeated(embedded(1, MsgData)),
  msgResponses: repeated(any(2)),
})

/** cosmos.evm.ante.v1.ExtensionOptionDynamicFeeTx: an EIP-1559 fee for a native transaction. */
export const ExtensionOptionDynamicFeeTx = defineMessage('cosmos.evm.ante.v1.ExtensionOptionDynamicFeeTx', {
  maxPriorityPrice: decimal(1),
})
