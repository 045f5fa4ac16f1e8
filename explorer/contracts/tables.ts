/*
 * Tables of what the EVM did: logs, calls between contracts, contracts. They are part of schema.ts, whose rules hold here too.
 */

interface LogTable {
  position: number
  /** order within the position */
  ordinal: number
  /** of the contract that emitted it */
  address: Uint8Array
  topic0: Uint8Array | null
  topic1: Uint8Array | null
  topic2: Uint8Array | null
  topic3: Uint8Array | null
  data: Uint8Array
  /** order within the Ethereum block, as `eth_getLogs` counts */
  log_index: number
}

/** An EVM transaction that ran code or emitted logs; others have no row. */
interface TxRunTable {
  position: number
  logs: number
  /** see {@link TRACE_STATES}; null: no code ran */
  trace: number | null
  /** calls in its tree, its own included; 0 without a tree */
  calls: number
}

/** All calls of a transaction. They are only ever read together. */
interface CallTreeTable {
  position: number
  /** ingest/callTree.ts */
  calls: Uint8Array
}

/**
 * Calls between contracts that moved coins, created a contract or destroyed one. The transaction's own call is none of them. Each costs
 * thousands of gas, so the block's gas limit bounds how many there are.
 */
interface InternalCallTable {
  position: number
  /** place in the transaction's tree, callers before those that they call; 0 is the transaction's own call */
  ordinal: number
  depth: number
  /** see {@link CALL_KINDS} */
  kind: number
  sender: Uint8Array
  /** null: a creation that failed */
  recipient: Uint8Array | null
  value: Uint8Array
  gas: number
  gas_used: number
  /** 1: what it did stayed; 0: it failed, or a call around it did */
  is_ok: number
  /** why it failed itself */
  error: string | null
}

/** Whose list an internal call is in: both sides. */
interface AccountCallTable {
  address: Uint8Array
  position: number
  ordinal: number
}

/** A contract, by its newest creation: one that was destroyed may be created again at the same address. */
interface ContractTable {
  address: Uint8Array
  /** of its creation; 0: it is in the genesis */
  position: number
  /** its place in the tree of the transaction, or in the genesis */
  ordinal: number
  /** null: it is in the genesis */
  creator: Uint8Array | null
  /** see {@link CREATION_KINDS} */
  kind: number
  /** the newest position in which it ran SELFDESTRUCT; null: never */
  destroyed: number | null
  /** 1: it is gone. EIP-6780: SELFDESTRUCT deletes a contract in the transaction that created it alone, and else only gives its coins away */
  is_deleted: number
  /** what the genesis calls it */
  label: string | null
}

/**
 * What is known of the calls of a transaction. `cut`: some of its calls are left out; `notKept`: the node had no state that old;
 * `refused`: the node did not give the trace, it was too long or took too long; `unsupported`: the node has no `debug` methods.
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

/** How a contract came to be: by a transaction to nobody, by an instruction of another contract, with the chain. */
export const CREATION_KINDS = { transaction: 0, create: 1, create2: 2, genesis: 3, precompile: 4 } as const

export interface EvmTables {
  log: LogTable
  tx_run: TxRunTable
  call_tree: CallTreeTable
  internal_call: InternalCallTable
  account_call: AccountCallTable
  contract: ContractTable
}
