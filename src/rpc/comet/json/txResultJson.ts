import type { NativeEvent } from '../../../chain/entries.ts'
import type { JsonObject } from '../../format/json.ts'
import type { CheckedTransaction } from '../../submitTransaction.ts'
import { base64 } from './text.ts'

/** abci.ExecTxResult as CometBFT writes it in JSON; ResponseCheckTx has the same fields. */
export interface TxResult {
  readonly code: number
  readonly data: Uint8Array
  readonly log: string
  readonly gasWanted: bigint
  readonly gasUsed: bigint
  readonly events: readonly NativeEvent[]
  readonly codespace: string
}

const NOTHING = new Uint8Array(0)

export const NO_TX_RESULT: TxResult = {
  code: 0,
  data: NOTHING,
  log: '',
  gasWanted: 0n,
  gasUsed: 0n,
  events: [],
  codespace: '',
}

/** Every attribute is indexed. */
export function eventJson({ type, attributes }: NativeEvent): JsonObject {
  return { type, attributes: attributes.map(({ key, value }) => ({ key, value, index: true })) }
}

export function txResultJson({ code, data, log, gasWanted, gasUsed, events, codespace }: TxResult): JsonObject {
  return {
    code,
    data: base64(data),
    log,
    info: '',
    gas_wanted: String(gasWanted),
    gas_used: String(gasUsed),
    events: events.map(eventJson),
    codespace,
  }
}

/** abci.ResponseCheckTx */
export function checkTxJson(checked: CheckedTransaction): JsonObject {
  return txResultJson({ ...checked, data: NOTHING, events: [] })
}
