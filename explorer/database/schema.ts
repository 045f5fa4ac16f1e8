import type { EvmTables } from '../contracts/tables.ts'
import type { StakingTables } from '../stake/tables.ts'

/*
 * The tables of the index, in SQLite and in PostgreSQL alike. Bytes are bytes in both (addresses 20, hashes 32); amounts are the bytes of
 * amount.ts, which sort as the numbers do; times are milliseconds since 1970; flags are 0 and 1; JSON is text.
 *
 * A `position` is a place in the chain: see position.ts.
 */

/** One row: which chain this is an index of, and how far it has come. */
interface IngestTable {
  /** always 1 */
  id: number
  chain_id: string
  evm_chain_id: number
  /** the first block in the index */
  first_height: number
  /** the newest block in the index; one less than `first_height` when there is none */
  height: number
  /** the balances that movements are added to are those after this block: see ingest/openingBalances.ts */
  opening_height: number
}

interface BlockTable {
  height: number
  /** of the Ethereum header */
  hash: Uint8Array
  /** of the consensus header */
  consensus_hash: Uint8Array
  time: number
  /** 20 bytes: the address of the proposer's consensus key */
  proposer: Uint8Array
  /** who gets the fees of EVM transactions, as `eth_getBlockByNumber` says */
  miner: Uint8Array
  gas_used: number
  gas_limit: number
  /** acoin a gas */
  base_fee: Uint8Array
  evm_count: number
  native_count: number
  /** bytes of the block with its transactions */
  size: number
}

interface TxTable {
  position: number
  /** keccak of an EVM transaction, sha256 of a native one */
  hash: Uint8Array
  /** see {@link TX_KINDS} */
  kind: number
  /** 1: it did what it should; 0: it failed and paid its fee */
  is_ok: number
  /** who signed it; of a native one the first signer */
  sender: Uint8Array
  /** of an EVM transaction: whom it went to, null when it created a contract */
  recipient: Uint8Array | null
  /** acoin that it moved from sender to recipient */
  value: Uint8Array
  fee: Uint8Array
  gas_used: number
  gas_limit: number
  nonce: number
  /** selector of a call (0x…), or the type of a native transaction's first message */
  method: string | null
  /** the rest of it: ./ingest/readTransactions.ts */
  detail: string
}

/** Which accounts a transaction concerns: signers, recipients, and whoever its events name. */
interface AccountTxTable {
  address: Uint8Array
  position: number
}

/** Coins that moved from one account to another. Null is where coins come from (minted) or go to (burnt). */
interface CoinMovementTable {
  position: number
  /** order within the position */
  ordinal: number
  sender: Uint8Array | null
  recipient: Uint8Array | null
  amount: Uint8Array
  /** see {@link MOVEMENT_KINDS} */
  kind: number
}

interface CoinBalanceTable {
  address: Uint8Array
  amount: Uint8Array
  /** the newest position that changed it */
  position: number
}

/** Proposals of governance. Times are null where there is none (yet). */
interface ProposalTable {
  id: number
  /** where it was submitted; 0: before the index begins */
  position: number
  proposer: Uint8Array | null
  /** deposit, voting, passed, rejected, failed; expired without its deposit, cancelled by its proposer; unknown */
  status: string
  is_expedited: number
  submit_time: number | null
  deposit_end_time: number | null
  voting_start_time: number | null
  voting_end_time: number | null
  total_deposit: Uint8Array
  /** JSON: title, summary, metadata, messages, failedReason, tally (that of the end) */
  content: string
}

/** Every vote, also those that a later one of the same voter replaced. */
interface ProposalVoteTable {
  /** 1, 2, 3 … in the order of the chain */
  number: number
  proposal_id: number
  voter: Uint8Array
  /** JSON: options with their weights */
  options: string
  position: number
  /** 1: it is the voter's last one on this proposal */
  is_newest: number
}

interface ProposalDepositTable {
  /** 1, 2, 3 … in the order of the chain */
  number: number
  proposal_id: number
  depositor: Uint8Array
  amount: Uint8Array
  position: number
}

/** A contract whose logs tell of tokens. What it is called is in {@link TokenNameTable}. */
interface TokenTable {
  address: Uint8Array
  /** see {@link TOKEN_KINDS}: by its first transfer */
  kind: number
  /** 0: its transfers do not add up, or the index lacks the oldest ones; balances may differ from what the contract says */
  is_exact: number
  /** accounts that have some of it */
  holders: number
  transfers: number
  /** minted less burnt, of all ids */
  supply: Uint8Array
  /** of its newest transfer */
  position: number
}

interface TokenTransferTable {
  position: number
  /** order within the position */
  ordinal: number
  token: Uint8Array
  /** null: minted */
  sender: Uint8Array | null
  /** null: burnt */
  recipient: Uint8Array | null
  /** 1 of an ERC-721 token */
  amount: Uint8Array
  /** 32 bytes; empty of an ERC-20 token */
  token_id: Uint8Array
}

/** What an account has of a token, more than nothing. */
interface TokenBalanceTable {
  /** token, holder and id, one after the other: one column is quicker to ask for than three */
  key: Uint8Array
  token: Uint8Array
  /** 32 bytes; empty: of all ids together, which every holder has a row of */
  token_id: Uint8Array
  holder: Uint8Array
  amount: Uint8Array
}

/** What a token says that it is called, made fit to be shown: ingest/tokenNames.ts. Null is what it does not say. */
interface TokenNameTable {
  address: Uint8Array
  /** 0: the contract was not asked yet; the row is made with the token */
  is_asked: number
  name: string | null
  symbol: string | null
  decimals: number | null
  /** in lower case, as bytes: they sort in the same way in every database */
  name_key: Uint8Array
  symbol_key: Uint8Array
}

/** Numbers of the blocks of one hour of UTC. */
interface StatisticsHourTable {
  /** hours since 1970 */
  hour: number
  blocks: number
  evm_count: number
  native_count: number
  /** of both kinds */
  failed_count: number
  gas_used: number
  fees: Uint8Array
  /** by transactions from account to account, fees not counted */
  moved: Uint8Array
  /** that got their first coins */
  new_accounts: number
}

/** EVM transactions 0, native ones 1. */
export const TX_KINDS = { evm: 0, native: 1 } as const

/** Why coins moved. */
export const MOVEMENT_KINDS = { transfer: 0, fee: 1, mint: 2, burn: 3 } as const

export const TOKEN_KINDS = { erc20: 0, erc721: 1, erc1155: 2 } as const

export interface Tables extends EvmTables, StakingTables {
  ingest: IngestTable
  block: BlockTable
  tx: TxTable
  account_tx: AccountTxTable
  coin_movement: CoinMovementTable
  coin_balance: CoinBalanceTable
  token: TokenTable
  token_transfer: TokenTransferTable
  token_balance: TokenBalanceTable
  token_name: TokenNameTable
  statistics_hour: StatisticsHourTable
  proposal: ProposalTable
  proposal_vote: ProposalVoteTable
  proposal_deposit: ProposalDepositTable
}
export type TableName = keyof Tables
