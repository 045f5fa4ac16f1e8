import { entryHash, isNativeEntry, type NativeEvent } from '../../chain/entries.ts'
import type { ChainReader } from '../../chain/store.ts'
import { decodeTransaction } from '../../chain/transaction.ts'
import { BASE_DENOM } from '../../modules/coin.ts'
import { Tx } from '../../modules/tx/types.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex, EMPTY_BYTES, hexToBytes, toBuffer } from '../../primitives/bytes.ts'
import { bytesCodec, type ValueCodec, wrongForm } from '../../primitives/protoScalars.ts'
import {
  type AnyValue,
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
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { entryTxResult } from '../comet/json/results.ts'
import { upperHex } from '../comet/json/values.ts'

/* Transactions as cosmos.base.abci.v1beta1 and tendermint.abci show them. */

const EventAttribute = defineMessage('tendermint.abci.EventAttribute', {
  key: string(1),
  value: string(2),
  index: bool(3),
})

const AbciEvent = defineMessage('tendermint.abci.Event', {
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

export interface ShownTransaction {
  readonly tx: TxValue
  readonly response: ValueOf<typeof TxResponse>
}

/** A transaction of a block as the SDK shows it (x/auth/tx/query.go); undefined where the block is not kept. */
export function showTransaction(
  chain: Pick<ChainReader, 'consensusBlock' | 'entryResults'>,
  { height, position }: { readonly height: number; readonly position: number },
): ShownTransaction | undefined {
  const block = chain.consensusBlock(height)
  const raw = block?.txs[position]
  const entry = chain.entryResults(height)?.[position]
  if (block === undefined || raw === undefined || entry === undefined) return undefined
  const tx = toTx(raw, entry.kind === 'evm' ? entry.signed.sender : EMPTY_BYTES)
  const { code, codespace, data, log, gasWanted, gasUsed, events } = entryTxResult(entry)
  return {
    tx,
    response: {
      height: BigInt(height),
      txhash: hashText(raw),
      codespace,
      code,
      data: upperHex(data),
      rawLog: log,
      logs: [],
      info: '',
      gasWanted,
      gasUsed,
      tx: toAny(tx),
      timestamp: wholeSeconds(block.header.timeMs),
      events: events.map(toAbciEvent),
    },
  }
}

/**
 * An entry of data.txs as a transaction. An EVM transaction becomes a MsgEthereumTx in an envelope, as on chains where all
 * transactions are native; its fee there is what it offers for all of its gas limit.
 */
function toTx(raw: Uint8Array, sender: Address): TxValue {
  if (isNativeEntry(raw)) return Tx.decode(raw)
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

function hashText(raw: Uint8Array): string {
  return upperHex(entryHash(raw))
}

export function toAbciEvent({ type, attributes }: NativeEvent): ValueOf<typeof AbciEvent> {
  return { type, attributes: attributes.map(({ key, value }) => ({ key, value, index: true })) }
}

function toAny(tx: TxValue): AnyValue {
  return { typeUrl: Tx.typeUrl, value: toBuffer(Tx.encode(tx)) }
}

/** RFC 3339 without a fraction. */
function wholeSeconds(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`
}
