import { bytes, defineTable, int, nullable, text } from '../database/defineTable.ts'

export const TRANSACTION_TABLES = {
  tx: defineTable({
    since: '0001_blocks',
    columns: {
      position: int,
      /** keccak of an EVM transaction, sha256 of a native one */
      hash: bytes,
      /** see {@link TX_KINDS} */
      kind: int,
      /** 1: successful; 0: failed, only its fee was charged */
      is_ok: int,
      /** the signer; the first one of a native transaction */
      sender: bytes,
      /** recipient of an EVM transaction; null: it created a contract */
      recipient: nullable(bytes),
      /** acoin that it moved from sender to recipient */
      value: bytes,
      fee: bytes,
      gas_used: int,
      gas_limit: int,
      nonce: int,
      /** selector of a call (0x…), or the type of a native transaction's first message */
      method: nullable(text),
      /** JSON: the other fields of the transaction (ingest/readBlock.ts) */
      detail: text,
    },
    key: ['position'],
    indexes: {
      tx_hash: { columns: ['hash'] },
    },
  }),
  /** The accounts of a transaction: signers, recipients, and those that its events name. */
  account_tx: defineTable({
    since: '0001_blocks',
    columns: {
      address: bytes,
      position: int,
    },
    key: ['address', 'position'],
  }),
} as const

/** EVM transactions 0, native ones 1. */
export const TX_KINDS = { evm: 0, native: 1 } as const
