import { bytesToHex, hexToBytes } from '../../../primitives/bytes.ts'
import { bytesCodec, type ValueCodec, wrongForm } from '../../../primitives/protoScalars.ts'
import {
  any,
  bool,
  bytes,
  defineMessage,
  embedded,
  int64,
  repeated,
  string,
  uint32,
  uint64,
} from '../../../primitives/protoSchema.ts'

/** Transactions as cosmos.base.abci.v1beta1 and tendermint.abci show them. */

const EventAttribute = defineMessage('tendermint.abci.EventAttribute', {
  key: string(1),
  value: string(2),
  index: bool(3),
})

export const AbciEvent = defineMessage('tendermint.abci.Event', {
  type: string(1),
  attributes: repeated(embedded(2, EventAttribute)),
})

const Attribute = defineMessage('cosmos.base.abci.v1beta1.Attribute', { key: string(1), value: string(2) })
const StringEvent = defineMessage('cosmos.base.abci.v1beta1.StringEvent', {
  type: string(1),
  attributes: repeated(embedded(2, Attribute)),
})
const ABCIMessageLog = defineMessage('cosmos.base.abci.v1beta1.ABCIMessageLog', {
  msgIndex: uint32(1),
  log: string(2),
  events: repeated(embedded(3, StringEvent)),
})

export const TxResponse = defineMessage('cosmos.base.abci.v1beta1.TxResponse', {
  height: int64(1),
  txhash: string(2),
  codespace: string(3),
  code: uint32(4),
  data: string(5),
  rawLog: string(6),
  logs: repeated(embedded(7, ABCIMessageLog)),
  info: string(8),
  gasWanted: int64(9),
  gasUsed: int64(10),
  tx: any(11),
  timestamp: string(12),
  events: repeated(embedded(13, AbciEvent)),
})

export const GasInfo = defineMessage('cosmos.base.abci.v1beta1.GasInfo', { gasWanted: uint64(1), gasUsed: uint64(2) })

export const Result = defineMessage('cosmos.base.abci.v1beta1.Result', {
  data: bytes(1),
  log: string(2),
  events: repeated(embedded(3, AbciEvent)),
  msgResponses: repeated(any(4)),
})

/** Bytes that JSON has as `0x…`. */
const hexCodec: ValueCodec<Uint8Array> = {
  ...bytesCodec,
  toJson: bytesToHex,
  fromJson: (json, _, place) => {
    if (typeof json !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(json)) throw wrongForm(place, 'hex digits after 0x')
    return hexToBytes(json)
  },
}

/**
 * cosmos.evm.vm.v1.MsgEthereumTx: what an EVM transaction shows as where all transactions are native ones. Its bytes are hex,
 * the sender is base64, as cosmos/evm has them.
 */
export const MsgEthereumTx = defineMessage('cosmos.evm.vm.v1.MsgEthereumTx', {
  from: bytes(5),
  raw: { ...bytes(6), codec: hexCodec as ValueCodec<unknown> },
})
export const ExtensionOptionsEthereumTx = defineMessage('cosmos.evm.vm.v1.ExtensionOptionsEthereumTx', {})
