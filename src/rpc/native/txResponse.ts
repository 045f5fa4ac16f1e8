import { entryHash, isNativeEntry } from '../../chain/entryKind.ts'
import type { NativeEvent } from '../../chain/nativeEvent.ts'
import type { ChainReader } from '../../chain/reader.ts'
import { decodeTransaction } from '../../chain/transactionCodec.ts'
import { BASE_DENOM } from '../../modules/bank/supply.ts'
import { Tx } from '../../modules/tx/txTypes.ts'
import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES, toBuffer } from '../../primitives/bytes.ts'
import type { AnyValue, ValueOf } from '../../primitives/protoSchema.ts'
import { entryTxResult } from '../comet/json/entryTxResult.ts'
import { upperHex } from '../comet/json/text.ts'
import { type AbciEvent, ExtensionOptionsEthereumTx, MsgEthereumTx, type TxResponse } from './messages/txMessages.ts'

export type TxValue = ValueOf<typeof Tx>

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
 * The bytes of data.txs as a transaction. An EVM one shows as its message in an envelope, as on chains where all transactions
 * are native; it pays what it offers for all of its gas limit there.
 */
export function toTx(raw: Uint8Array, sender: Address): TxValue {
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

export function hashText(raw: Uint8Array): string {
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
