import { entryHash, isNativeEntry, type NativeEvent } from '../../chain/block/entries.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { Tx } from '../../modules/tx/types.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToUpperHex, EMPTY_BYTES, toBuffer } from '../../primitives/bytes.ts'
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
import { wrapEthereumTx } from './ethereumTx.ts'

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

type TxValue = ValueOf<typeof Tx>

export interface ShownTransaction {
  readonly tx: TxValue
  readonly response: ValueOf<typeof TxResponse>
}

/** A transaction of a block as the SDK shows it (x/auth/tx/query.go); undefined where the block is not retained. */
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
      data: bytesToUpperHex(data),
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

/** An entry of data.txs as a native transaction. */
function toTx(raw: Uint8Array, sender: Address): TxValue {
  return isNativeEntry(raw) ? Tx.decode(raw) : wrapEthereumTx(raw, sender)
}

function hashText(raw: Uint8Array): string {
  return bytesToUpperHex(entryHash(raw))
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
