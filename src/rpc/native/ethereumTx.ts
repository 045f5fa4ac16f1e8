import { isNativeEntry } from '../../chain/entries.ts'
import { decodeTransaction } from '../../chain/transaction.ts'
import { BASE_DENOM } from '../../modules/coin.ts'
import { Tx } from '../../modules/tx/types.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../primitives/bytes.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { bytesCodec, type ValueCodec, wrongForm } from '../../primitives/protoScalars.ts'
import { bytes, defineMessage, type ValueOf } from '../../primitives/protoSchema.ts'

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

type TxValue = ValueOf<typeof Tx>

/** What all wrapped transactions contain. */
const TYPE_URL = Buffer.from(MsgEthereumTx.typeUrl)

/**
 * An EVM transaction as Cosmos clients decode it: a MsgEthereumTx in a native transaction, as on chains where all transactions are native; its
 * fee there is what it offers for all of its gas limit.
 */
export function wrapEthereumTx(raw: Uint8Array, sender: Address): TxValue {
  const { gasLimit, maxFeePerGas } = decodeTransaction(raw)
  const message = { typeUrl: MsgEthereumTx.typeUrl, value: MsgEthereumTx.encode({ from: sender, raw }) }
  const option = { typeUrl: ExtensionOptionsEthereumTx.typeUrl, value: EMPTY_BYTES }
  return {
    body: {
      messages: [message],
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

/**
 * The bytes of the transaction that a client means: of one that {@link wrapEthereumTx} would give, the EVM transaction in it, whose
 * signature is all that counts; anything else as it is.
 */
export function unwrapEthereumTx(raw: Uint8Array): Uint8Array {
  if (!isNativeEntry(raw) || !Buffer.from(raw.buffer, raw.byteOffset, raw.length).includes(TYPE_URL)) return raw
  try {
    const { messages = [], extensionOptions = [] } = Tx.decode(raw).body ?? {}
    const isMarked = extensionOptions.some(({ typeUrl }) => typeUrl === ExtensionOptionsEthereumTx.typeUrl)
    if (messages.length !== 1 || messages[0]!.typeUrl !== MsgEthereumTx.typeUrl || !isMarked) return raw
    const envelope = MsgEthereumTx.decode(messages[0]!.value).raw
    return envelope.length === 0 ? raw : envelope
  } catch (error) {
    // The checks of native transactions say what is wrong with it.
    if (error instanceof ProtobufError) return raw
    throw error
  }
}
