import type { Kysely, Transaction } from 'kysely'
import { STAKING_COLUMNS } from '../stake/tables.ts'
import type { TableName, Tables } from './schema.ts'

/** A cell as it is bound, in the order of a table's columns. */
export type Cell = string | number | Uint8Array | null
export type Row = readonly Cell[]

/** Inserts of many rows, and any query, within one transaction. */
export interface IndexWriter {
  readonly queries: Transaction<Tables>
  /**
   * Adds rows, whose cells are in the order of {@link COLUMNS}.
   * @throws when a row with the same key exists
   */
  insert(table: TableName, rows: readonly Row[]): Promise<void>
  /** Adds rows, or replaces those with the same key. Two of `rows` with the same key are not allowed. */
  replace(table: TableName, rows: readonly Row[]): Promise<void>
}

/** The index belongs to another process that writes it. The message is one line for the operator. */
export class IndexInUse extends Error {
  override readonly name = 'IndexInUse'
}

/** The database of the index: SQLite or PostgreSQL. */
export interface IndexDatabase {
  readonly dialect: 'sqlite' | 'postgres'
  /** for reading, and for small writes that need no bulk load */
  readonly queries: Kysely<Tables>
  /** Runs `work` in one transaction: all of it is stored durably, or nothing. */
  write<T>(work: (writer: IndexWriter) => Promise<T>): Promise<T>
  /**
   * Makes this process the one that writes the blocks, until the lock is closed or lost.
   * @returns undefined while another process is
   */
  lock(): Promise<IndexLock | undefined>
  close(): Promise<void>
}

/**
 * The index in the hands of the one process that writes its blocks. With PostgreSQL, all of this goes over the connection that holds the
 * lock: whoever has lost it can no longer store anything, however late it notices.
 */
export interface IndexLock extends Pick<IndexDatabase, 'queries' | 'write' | 'close'> {
  /** Whether the connection that holds the lock has ended. */
  isLost(): boolean
}

/** Columns of a row for {@link IndexWriter.insert}, by table, and how many of the first are its key. */
export const COLUMNS: {
  readonly [T in TableName]: { readonly key: number; readonly columns: readonly (keyof Tables[T] & string)[] }
} = {
  ingest: { key: 1, columns: ['id', 'chain_id', 'evm_chain_id', 'first_height', 'height', 'opening_height'] },
  block: {
    key: 1,
    columns: [
      'height',
      'hash',
      'consensus_hash',
      'time',
      'proposer',
      'miner',
      'gas_used',
      'gas_limit',
      'base_fee',
      'evm_count',
      'native_count',
      'size',
    ],
  },
  tx: {
    key: 1,
    columns: [
      'position',
      'hash',
      'kind',
      'is_ok',
      'sender',
      'recipient',
      'value',
      'fee',
      'gas_used',
      'gas_limit',
      'nonce',
      'method',
      'detail',
    ],
  },
  account_tx: { key: 2, columns: ['address', 'position'] },
  coin_movement: { key: 2, columns: ['position', 'ordinal', 'sender', 'recipient', 'amount', 'kind'] },
  coin_balance: { key: 1, columns: ['address', 'amount', 'position'] },
  proposal: {
    key: 1,
    columns: [
      'id',
      'position',
      'proposer',
      'status',
      'is_expedited',
      'submit_time',
      'deposit_end_time',
      'voting_start_time',
      'voting_end_time',
      'total_deposit',
      'content',
    ],
  },
  proposal_vote: { key: 1, columns: ['number', 'proposal_id', 'voter', 'options', 'position', 'is_newest'] },
  proposal_deposit: { key: 1, columns: ['number', 'proposal_id', 'depositor', 'amount', 'position'] },
  token: { key: 1, columns: ['address', 'kind', 'is_exact', 'holders', 'transfers', 'supply', 'position'] },
  token_transfer: {
    key: 2,
    columns: ['position', 'ordinal', 'token', 'sender', 'recipient', 'amount', 'token_id'],
  },
  token_balance: { key: 1, columns: ['key', 'token', 'token_id', 'holder', 'amount'] },
  token_name: { key: 1, columns: ['address', 'is_asked', 'name', 'symbol', 'decimals', 'name_key', 'symbol_key'] },
  log: {
    key: 2,
    columns: ['position', 'ordinal', 'address', 'topic0', 'topic1', 'topic2', 'topic3', 'data', 'log_index'],
  },
  tx_run: { key: 1, columns: ['position', 'logs', 'trace', 'calls'] },
  call_tree: { key: 1, columns: ['position', 'calls'] },
  internal_call: {
    key: 2,
    columns: [
      'position',
      'ordinal',
      'depth',
      'kind',
      'sender',
      'recipient',
      'value',
      'gas',
      'gas_used',
      'is_ok',
      'error',
    ],
  },
  account_call: { key: 3, columns: ['address', 'position', 'ordinal'] },
  contract: {
    key: 1,
    columns: ['address', 'position', 'ordinal', 'creator', 'kind', 'destroyed', 'is_deleted', 'label'],
  },
  ...STAKING_COLUMNS,
  statistics_hour: {
    key: 1,
    columns: [
      'hour',
      'blocks',
      'evm_count',
      'native_count',
      'failed_count',
      'gas_used',
      'fees',
      'moved',
      'new_accounts',
    ],
  },
}
