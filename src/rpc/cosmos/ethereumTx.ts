import { isNativeEntry } from '../../chain/block/entries.ts'
import { decodeTransaction, type Transaction } from '../../chain/block/transaction.ts'
import { DEFAULT_POOL_LIMITS } from '../../mempool/types.ts'
import { acoinOf, BASE_DENOM } from '../../modules/coin.ts'
import { type Outcome, sdkError } from '../../modules/sdkError.ts'
import { mostFields } from '../../modules/tx/transactionDecoder.ts'
import { Tx, TxRaw } from '../../modules/tx/types.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex, EMPTY_BYTES, equalBytes, hexToBytes } from '../../primitives/bytes.ts'
import { ProtobufError, withFieldLimit } from '../../primitives/protobuf.ts'
import { bytesCodec, type ValueCodec, wrongForm } from '../../primitives/protoScalars.ts'
import {
  bool,
  bytes,
  defineMessage,
  message,
  repeated,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { DecodingError } from '../../primitives/rlp.ts'

/** Bytes that JSON has as `0x…`. */
const hexCodec: ValueCodec<Uint8Array> = {
  ...bytesCodec,
  toJson: bytesToHex,
  fromJson: (json, _, path) => {
    if (typeof json !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(json)) throw wrongForm(path, 'hex digits after 0x')
    return hexToBytes(json)
  },
}

/**
 * cosmos.evm.vm.v1.MsgEthereumTx: how an EVM transaction looks on chains where all transactions are native ones. Its bytes are hex,
 * the sender is base64, as cosmos/evm has them.
 */
export const MsgEthereumTx = defineMessage('cosmos.evm.vm.v1.MsgEthereumTx', {
  from: bytes(5),
  raw: { ...bytes(6), codec: hexCodec as ValueCodec<unknown> },
})
export const ExtensionOptionsEthereumTx = defineMessage('cosmos.evm.vm.v1.ExtensionOptionsEthereumTx', {})

/** cosmos.evm.vm.v1.Log */
const Log = defineMessage('cosmos.evm.vm.v1.Log', {
  address: string(1),
  topics: repeated(string(2)),
  data: bytes(3),
  blockNumber: uint64(4),
  txHash: string(5),
  txIndex: uint64(6),
  blockHash: string(7),
  index: uint64(8),
  removed: bool(9),
  blockTimestamp: uint64(10),
})

/** The result of an EVM transaction; `vmError` is empty where it succeeded. */
export const ETHEREUM_TX_RESPONSE = {
  hash: string(1),
  logs: repeated(message(2, Log)),
  ret: bytes(3),
  vmError: string(4),
  gasUsed: uint64(5),
  maxUsedGas: uint64(6),
  blockHash: bytes(7),
  blockTimestamp: uint64(8),
} as const
export const MsgEthereumTxResponse = defineMessage('cosmos.evm.vm.v1.MsgEthereumTxResponse', ETHEREUM_TX_RESPONSE)

type TxValue = ValueOf<typeof Tx>

/** Bytes that all wrapped transactions contain. */
const TYPE_URL = Buffer.from(MsgEthereumTx.typeUrl)

/**
 * An EVM transaction as Cosmos clients decode it: a MsgEthereumTx in a native transaction, as on chains where all transactions are native; its
 * fee there is what it offers for all of its gas limit.
 */
export function wrapEthereumTx(raw: Uint8Array, sender: Address): TxValue {
  const { gasLimit, maxFeePerGas } = decodeTransaction(raw)
  const envelope = { typeUrl: MsgEthereumTx.typeUrl, value: MsgEthereumTx.encode({ from: sender, raw }) }
  const option = { typeUrl: ExtensionOptionsEthereumTx.typeUrl, value: EMPTY_BYTES }
  return {
    body: {
      messages: [envelope],
      memo: '',
      timeoutHeight: 0n,
      extensionOptions: [option],
      nonCriticalExtensionOptions: [],
    },
    authInfo: {
      signerInfos: [],
      fee: { amount: [{ denom: BASE_DENOM, amount: gasLimit * maxFeePerGas }], gasLimit, payer: '', granter: '' },
      tip: undefined,
    },
    signatures: [],
  }
}

/** An EVM transaction in a native one. */
export interface WrappedTransaction {
  /** the EVM transaction, whose signature is all that is signed */
  readonly transaction: Transaction
  /** the sender that the wrapper names; the check of the signature compares both */
  readonly from: Uint8Array
}

/** Upper bound of the wrapper's own bytes. Larger transactions are not decoded: as native ones they are too large. */
export const MAX_WRAPPER_BYTES = 1_024

/**
 * Returns the EVM transaction in a wrapper of {@link wrapEthereumTx}; undefined for anything without a MsgEthereumTx. The wrapper is not
 * signed, so its fields must agree with the transaction: a memo or another fee would be lost without an error. Refusals are those of
 * cosmos/evm (ante/evm/04_validate.go, ante/evm/mono_decorator.go, x/vm/types/msg.go).
 */
export function unwrapEthereumTx(raw: Uint8Array): Outcome<WrappedTransaction> | undefined {
  if (raw.length > DEFAULT_POOL_LIMITS.transactionBytes + MAX_WRAPPER_BYTES || !isNativeEntry(raw)) return undefined
  if (!Buffer.from(raw.buffer, raw.byteOffset, raw.length).includes(TYPE_URL)) return undefined
  try {
    const tx = withFieldLimit(mostFields(raw), () => Tx.decode(raw))
    const { messages = [], extensionOptions = [] } = tx.body ?? {}
    if (extensionOptions[0]?.typeUrl === ExtensionOptionsEthereumTx.typeUrl) {
      const isCanonical = equalBytes(TxRaw.encode(TxRaw.decode(raw)), raw)
      return isCanonical ? checkWrapper(tx) : sdkError('txDecode', 'not the canonical encoding (ADR-027)')
    }
    if (!messages.some(({ typeUrl }) => typeUrl === MsgEthereumTx.typeUrl)) return undefined
    const reason = "MsgEthereumTx needs to be contained within a tx with 'ExtensionOptionsEthereumTx' option"
    return sdkError('invalidType', reason)
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof DecodingError) return sdkError('txDecode', error.message)
    throw error
  }
}

/** @throws ProtobufError, DecodingError */
function checkWrapper({ body, authInfo, signatures }: TxValue): Outcome<WrappedTransaction> {
  const { messages = [], memo, timeoutHeight, extensionOptions, nonCriticalExtensionOptions } = body ?? {}
  const [only] = messages
  if (only === undefined) return sdkError('invalidRequest', 'must contain at least one message')
  if (messages.length > 1) return sdkError('invalidRequest', `expected 1 message, got ${messages.length}`)
  if (only.typeUrl !== MsgEthereumTx.typeUrl) {
    return sdkError('unknownRequest', `invalid message type ${only.typeUrl}, expected ${MsgEthereumTx.typeUrl}`)
  }
  const { from, raw } = MsgEthereumTx.decode(only.value)
  if (raw.length === 0) return sdkError('invalidRequest', 'raw transaction is required')
  if (from.length === 0) return sdkError('invalidRequest', 'sender address is missing')
  if (memo !== '' || timeoutHeight !== 0n || nonCriticalExtensionOptions?.length !== 0) {
    const names = 'Memo TimeoutHeight NonCriticalExtensionOptions'
    return sdkError('invalidRequest', `for eth tx body ${names} should be empty`)
  }
  if (extensionOptions?.length !== 1) {
    return sdkError('invalidRequest', 'for eth tx length of ExtensionOptions should be 1')
  }
  const { signerInfos = [], fee, tip } = authInfo ?? {}
  if (signerInfos.length > 0) return sdkError('invalidRequest', 'for eth tx AuthInfo SignerInfos should be empty')
  if (fee === undefined) return sdkError('invalidRequest', 'authInfo.Fee should not be nil')
  if (fee.payer !== '' || fee.granter !== '') {
    return sdkError('invalidRequest', 'for eth tx AuthInfo Fee payer and granter should be empty')
  }
  if (tip !== undefined) return sdkError('invalidRequest', 'authInfo.Tip must be nil')
  if (signatures.length > 0) return sdkError('invalidRequest', 'for eth tx Signatures should be empty')
  const transaction = decodeTransaction(raw)
  const { gasLimit, maxFeePerGas } = transaction
  const feeAcoin = gasLimit * maxFeePerGas
  if (acoinOf(fee.amount) !== feeAcoin) {
    const given = fee.amount.map(({ denom, amount }) => `${amount}${denom}`).join(',')
    return sdkError('invalidRequest', `invalid AuthInfo Fee Amount (${given} != ${feeAcoin})`)
  }
  if (fee.gasLimit !== gasLimit) {
    return sdkError('invalidRequest', `invalid AuthInfo Fee GasLimit (${fee.gasLimit} != ${gasLimit})`)
  }
  return { transaction, from }
}
