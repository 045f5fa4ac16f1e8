import { bytes, defineTable, int, nullable, text } from '../database/defineTable.ts'

/* What the EVM did: logs, calls between contracts, contracts. */

export const CONTRACT_TABLES = {
  log: defineTable({
    since: '0007_evm',
    columns: {
      position: int,
      /** order within the position */
      ordinal: int,
      /** of the contract that emitted it */
      address: bytes,
      topic0: nullable(bytes),
      topic1: nullable(bytes),
      topic2: nullable(bytes),
      topic3: nullable(bytes),
      data: bytes,
      /** order within the Ethereum block, as `eth_getLogs` counts */
      log_index: int,
    },
    key: ['position', 'ordinal'],
    indexes: {
      log_address: { columns: ['address', 'position', 'ordinal'] },
      log_topic: { columns: ['topic0', 'position', 'ordinal'] },
      log_address_topic: { columns: ['address', 'topic0', 'position', 'ordinal'] },
    },
  }),
  /** An EVM transaction that ran code or emitted logs; others have no row. */
  tx_run: defineTable({
    since: '0007_evm',
    columns: {
      position: int,
      logs: int,
      /** see {@link TRACE_STATES}; null: no code ran */
      trace: nullable(int),
      /** calls in its tree, its own included; 0 without a tree */
      calls: int,
    },
    key: ['position'],
    indexes: {
      // For the few transactions whose calls are not known (FIRST_UNTRACED).
      tx_run_untraced: { columns: ['position'], where: 'trace >= 2', since: '0012_untraced' },
    },
  }),
  /** All calls of a transaction. They are only ever read together. */
  call_tree: defineTable({
    since: '0007_evm',
    columns: {
      position: int,
      /** see callTree.ts */
      calls: bytes,
    },
    key: ['position'],
  }),
  /**
   * Calls between contracts that moved coins, created a contract or destroyed one. The transaction's own call is not among them. Each costs
   * thousands of gas, so the block's gas limit bounds how many there are.
   */
  internal_call: defineTable({
    since: '0007_evm',
    columns: {
      position: int,
      /** place in the transaction's tree, each caller before its callees; 0 is the transaction's own call */
      ordinal: int,
      depth: int,
      /** see {@link CALL_KINDS} */
      kind: int,
      sender: bytes,
      /** null: a creation that failed */
      recipient: nullable(bytes),
      value: bytes,
      gas: int,
      gas_used: int,
      /** 1: its effects stayed; 0: it or one of its callers failed */
      is_ok: int,
      /** its own error */
      error: nullable(text),
    },
    key: ['position', 'ordinal'],
  }),
  /** An internal call is in the lists of both sides. */
  account_call: defineTable({
    since: '0007_evm',
    columns: {
      address: bytes,
      position: int,
      ordinal: int,
    },
    key: ['address', 'position', 'ordinal'],
  }),
  /** A contract, by its newest creation: one that was destroyed may be created again at the same address. */
  contract: defineTable({
    since: '0007_evm',
    columns: {
      address: bytes,
      /** of its creation; 0: it is in the genesis */
      position: int,
      /** its place in the tree of the transaction, or in the genesis */
      ordinal: int,
      /** null: it is in the genesis */
      creator: nullable(bytes),
      /** see {@link CREATION_KINDS} */
      kind: int,
      /** the newest position in which it ran SELFDESTRUCT; null: never */
      destroyed: nullable(int),
      /** 1: deleted. EIP-6780: SELFDESTRUCT deletes a contract only in the transaction that created it, and otherwise only moves its coins */
      is_deleted: int,
      /** its name in the genesis */
      label: nullable(text),
    },
    key: ['address'],
    indexes: {
      contract_position: { columns: ['position', 'ordinal'] },
      contract_creator: { columns: ['creator', 'position', 'ordinal'] },
    },
  }),
} as const

/**
 * What is known of the calls of a transaction. `cut`: some of its calls are left out; `notKept`: the node no longer had the state;
 * `refused`: the node did not trace it, because the trace is too large or takes too long; `unsupported`: the node has no `debug` methods.
 */
export const TRACE_STATES = { kept: 0, cut: 1, notKept: 2, refused: 3, unsupported: 4 } as const

/** From this state on the internal calls of a transaction are not known. `cut` leaves out only calls that are in no list. */
export const FIRST_UNTRACED = TRACE_STATES.notKept

export const CALL_KINDS = {
  call: 0,
  staticcall: 1,
  delegatecall: 2,
  callcode: 3,
  create: 4,
  create2: 5,
  selfdestruct: 6,
} as const

/** How a contract was created: by a transaction without a recipient, by an instruction of another contract, or in the genesis. */
export const CREATION_KINDS = { transaction: 0, create: 1, create2: 2, genesis: 3, precompile: 4 } as const
