import { STAKING_MIGRATION } from '../stake/tables.ts'

/**
 * The tables of schema.ts in SQL, by the names of the migrations that make them; a release adds to them and changes none. BYTES, INT and
 * KEYED are replaced by what they are called in the database (migrate.ts).
 */
export const MIGRATIONS: Readonly<Record<string, string>> = {
  '0001_blocks': `
    create table ingest (
      id INT primary key,
      chain_id text not null,
      evm_chain_id INT not null,
      first_height INT not null,
      height INT not null,
      opening_height INT not null
    );
    create table block (
      height INT primary key,
      hash BYTES not null,
      consensus_hash BYTES not null,
      time INT not null,
      proposer BYTES not null,
      miner BYTES not null,
      gas_used INT not null,
      gas_limit INT not null,
      base_fee BYTES not null,
      evm_count INT not null,
      native_count INT not null,
      size INT not null
    );
    create index block_hash on block (hash);
    create index block_consensus_hash on block (consensus_hash);
    create index block_proposer on block (proposer, height);
    create table tx (
      position INT primary key,
      hash BYTES not null,
      kind INT not null,
      is_ok INT not null,
      sender BYTES not null,
      recipient BYTES,
      value BYTES not null,
      fee BYTES not null,
      gas_used INT not null,
      gas_limit INT not null,
      nonce INT not null,
      method text,
      detail text not null
    );
    create index tx_hash on tx (hash);
    create table account_tx (
      address BYTES not null,
      position INT not null,
      primary key (address, position)
    ) KEYED;
    create table coin_movement (
      position INT not null,
      ordinal INT not null,
      sender BYTES,
      recipient BYTES,
      amount BYTES not null,
      kind INT not null,
      primary key (position, ordinal)
    ) KEYED;
    create index coin_movement_sender on coin_movement (sender, position);
    create index coin_movement_recipient on coin_movement (recipient, position);
    create table coin_balance (
      address BYTES primary key,
      amount BYTES not null,
      position INT not null
    ) KEYED;
    create index coin_balance_amount on coin_balance (amount);
  `,
  '0003_tokens': `
    create table token (
      address BYTES primary key,
      kind INT not null,
      is_exact INT not null,
      holders INT not null,
      transfers INT not null,
      supply BYTES not null,
      position INT not null
    ) KEYED;
    create index token_holders on token (holders, address);
    create table token_transfer (
      position INT not null,
      ordinal INT not null,
      token BYTES not null,
      sender BYTES,
      recipient BYTES,
      amount BYTES not null,
      token_id BYTES not null,
      primary key (position, ordinal)
    ) KEYED;
    create index token_transfer_token on token_transfer (token, position, ordinal);
    create index token_transfer_sender on token_transfer (sender, position, ordinal);
    create index token_transfer_recipient on token_transfer (recipient, position, ordinal);
    create table token_balance (
      key BYTES primary key,
      token BYTES not null,
      token_id BYTES not null,
      holder BYTES not null,
      amount BYTES not null
    ) KEYED;
    create index token_balance_amount on token_balance (token, token_id, amount, holder);
    create index token_balance_holder on token_balance (holder, token_id, token);
    create table token_name (
      address BYTES primary key,
      is_asked INT not null,
      name text,
      symbol text,
      decimals INT,
      name_key BYTES not null,
      symbol_key BYTES not null
    ) KEYED;
    create index token_name_is_asked on token_name (is_asked, address);
    create index token_name_name on token_name (name_key);
    create index token_name_symbol on token_name (symbol_key);
  `,
  '0005_governance': `
    create table proposal (
      id INT primary key,
      position INT not null,
      proposer BYTES,
      status text not null,
      is_expedited INT not null,
      submit_time INT,
      deposit_end_time INT,
      voting_start_time INT,
      voting_end_time INT,
      total_deposit BYTES not null,
      content text not null
    );
    create table proposal_vote (
      number INT primary key,
      proposal_id INT not null,
      voter BYTES not null,
      options text not null,
      position INT not null,
      is_newest INT not null
    );
    create index proposal_vote_proposal on proposal_vote (proposal_id, number);
    create index proposal_vote_voter on proposal_vote (voter, number);
    create index proposal_vote_newest on proposal_vote (proposal_id, voter, is_newest);
    create table proposal_deposit (
      number INT primary key,
      proposal_id INT not null,
      depositor BYTES not null,
      amount BYTES not null,
      position INT not null
    );
    create index proposal_deposit_proposal on proposal_deposit (proposal_id, number);
  `,
  '0006_statistics': `
    create table statistics_hour (
      hour INT primary key,
      blocks INT not null,
      evm_count INT not null,
      native_count INT not null,
      failed_count INT not null,
      gas_used INT not null,
      fees BYTES not null,
      moved BYTES not null,
      new_accounts INT not null
    );
  `,
  '0007_evm': `
    create table log (
      position INT not null,
      ordinal INT not null,
      address BYTES not null,
      topic0 BYTES,
      topic1 BYTES,
      topic2 BYTES,
      topic3 BYTES,
      data BYTES not null,
      log_index INT not null,
      primary key (position, ordinal)
    ) KEYED;
    create index log_address on log (address, position, ordinal);
    create index log_topic on log (topic0, position, ordinal);
    create index log_address_topic on log (address, topic0, position, ordinal);
    create table tx_run (
      position INT primary key,
      logs INT not null,
      trace INT,
      calls INT not null
    );
    create table call_tree (
      position INT primary key,
      calls BYTES not null
    );
    create table internal_call (
      position INT not null,
      ordinal INT not null,
      depth INT not null,
      kind INT not null,
      sender BYTES not null,
      recipient BYTES,
      value BYTES not null,
      gas INT not null,
      gas_used INT not null,
      is_ok INT not null,
      error text,
      primary key (position, ordinal)
    ) KEYED;
    create table account_call (
      address BYTES not null,
      position INT not null,
      ordinal INT not null,
      primary key (address, position, ordinal)
    ) KEYED;
    create table contract (
      address BYTES primary key,
      position INT not null,
      ordinal INT not null,
      creator BYTES,
      kind INT not null,
      destroyed INT,
      is_deleted INT not null,
      label text
    ) KEYED;
    create index contract_position on contract (position, ordinal);
    create index contract_creator on contract (creator, position, ordinal);
  `,
  '0008_staking': STAKING_MIGRATION,
  // For the blocks of one proposer's operator: getminedblocks of the Etherscan API.
  '0010_block_miner': `
    create index block_miner on block (miner, height);
  `,
  // For how often a validator was slashed, of its many events.
  '0011_slashes': `
    create index staking_event_slash on staking_event (validator) where kind = 'slash';
  `,
  // For the transactions whose calls are not known (FIRST_UNTRACED of evmTables.ts), which are few of many.
  '0012_untraced': `
    create index tx_run_untraced on tx_run (position) where trace >= 2;
  `,
}
