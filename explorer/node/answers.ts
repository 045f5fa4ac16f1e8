/*
 * The shapes of the node's answers, as far as the index reads them: Ethereum's execution API, CometBFT 0.38's RPC and the Cosmos SDK's
 * REST.
 */

export type Hex = `0x${string}`

export interface EthereumTransaction {
  readonly hash: Hex
  readonly from: Hex
  readonly to: Hex | null
  readonly value: Hex
  readonly gas: Hex
  readonly gasPrice: Hex
  readonly maxFeePerGas?: Hex
  readonly maxPriorityFeePerGas?: Hex
  readonly nonce: Hex
  readonly input: Hex
  readonly type: Hex
  readonly accessList?: readonly unknown[]
  readonly authorizationList?: readonly unknown[]
}

export interface EthereumBlock {
  readonly number: Hex
  readonly hash: Hex
  readonly parentHash: Hex
  readonly miner: Hex
  readonly gasUsed: Hex
  readonly gasLimit: Hex
  readonly baseFeePerGas: Hex
  readonly size: Hex
  readonly transactions: readonly EthereumTransaction[]
}

interface EthereumLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly logIndex: Hex
}

export interface Receipt {
  readonly transactionHash: Hex
  readonly transactionIndex: Hex
  readonly status: Hex
  readonly gasUsed: Hex
  /** of this transaction and those before it in the block */
  readonly cumulativeGasUsed: Hex
  readonly effectiveGasPrice: Hex
  readonly contractAddress: Hex | null
  readonly logs: readonly EthereumLog[]
}

/** An attribute is text; CometBFT writes it as it is. */
export interface Event {
  readonly type: string
  readonly attributes: readonly { readonly key: string; readonly value: string }[]
}

export interface ConsensusBlock {
  readonly block_id: { readonly hash: string }
  readonly block: {
    readonly header: {
      readonly chain_id: string
      readonly height: string
      /** RFC 3339, up to nanoseconds */
      readonly time: string
      /** 40 hex digits */
      readonly proposer_address: string
      readonly last_block_id: { readonly hash: string }
      readonly validators_hash: string
    }
    /** base64 */
    readonly data: { readonly txs: readonly string[] | null }
    readonly last_commit: {
      readonly height: string
      readonly round: number
      /** of the validators of the block before, in their order */
      readonly signatures: readonly CommitSignature[]
    } | null
  }
}

interface CommitSignature {
  /** 1: absent, without an address; 2: for the block; 3: nil */
  readonly block_id_flag: number
  /** 40 hex digits */
  readonly validator_address: string
}

export interface TransactionResult {
  readonly code: number
  readonly log: string
  readonly codespace: string
  readonly gas_wanted: string
  readonly gas_used: string
  readonly events: readonly Event[]
}

export interface BlockResults {
  readonly height: string
  readonly txs_results: readonly TransactionResult[] | null
  readonly finalize_block_events: readonly Event[] | null
  readonly validator_updates: readonly ValidatorUpdate[] | null
}

/** The power that a validator has from the second block after this one on; 0 may be left out. */
interface ValidatorUpdate {
  /** base64 */
  readonly pub_key: { readonly Sum: { readonly value: { readonly ed25519: string } } }
  readonly power?: string
}

/** A page of `/rpc/validators`. */
export interface ValidatorSet {
  readonly validators: readonly { readonly address: string; readonly voting_power: string }[]
  readonly total: string
}

/** A native transaction as `/cosmos/tx/v1beta1/txs/block/{height}` shows it. */
export interface NativeTransaction {
  readonly body: {
    readonly messages: readonly ({ readonly '@type': string } & Readonly<Record<string, unknown>>)[]
    readonly memo: string
  }
  readonly auth_info: {
    readonly signer_infos: readonly { readonly sequence: string }[]
    readonly fee: {
      readonly amount: readonly { readonly denom: string; readonly amount: string }[]
      readonly gas_limit: string
      readonly payer: string
      readonly granter: string
    }
  }
}

/** A proposal as `/cosmos/gov/v1/proposals/{id}` shows it. */
export interface NodeProposal {
  readonly id: string
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly status: string
  readonly final_tally_result: Readonly<Record<string, string>> | null
  readonly submit_time: string | null
  readonly deposit_end_time: string | null
  readonly voting_start_time: string | null
  readonly voting_end_time: string | null
  readonly total_deposit: readonly { readonly denom: string; readonly amount: string }[]
  readonly metadata: string
  readonly title: string
  readonly summary: string
  readonly proposer: string
  readonly expedited: boolean
  readonly failed_reason: string
}

/** A validator as `/cosmos/staking/v1beta1/validators` shows it. */
export interface NodeValidator {
  readonly operator_address: string
  readonly consensus_pubkey: { readonly '@type': string; readonly key: string }
  readonly jailed: boolean
  readonly status: string
  readonly tokens: string
  readonly delegator_shares: string
  readonly description: Readonly<Record<'moniker' | 'identity' | 'website' | 'security_contact' | 'details', string>>
  readonly unbonding_time: string
  readonly commission: {
    readonly commission_rates: Readonly<Record<'rate' | 'max_rate' | 'max_change_rate', string>>
    readonly update_time: string
  }
  readonly min_self_delegation: string
}

export interface Status {
  readonly node_info: { readonly id: string; readonly network: string }
  readonly sync_info: {
    readonly latest_block_height: string
    readonly earliest_block_height: string
    readonly catching_up: boolean
  }
}

export interface GenesisAnswer {
  readonly genesis: {
    readonly chain_id: string
    readonly app_state: {
      readonly bank: {
        readonly balances: readonly {
          readonly address: string
          readonly coins: readonly { readonly denom: string; readonly amount: string }[]
        }[]
      }
      readonly evm?: {
        readonly params: { readonly active_static_precompiles: readonly string[] }
        readonly preinstalls: readonly { readonly name: string; readonly address: string }[]
      }
      readonly erc20?: { readonly native_precompiles: readonly string[] }
    }
  }
}
