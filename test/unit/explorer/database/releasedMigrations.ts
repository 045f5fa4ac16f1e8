/*
 * The migrations of the explorer's databases as releases have them, by their names. Databases have run them: a release adds some and changes
 * none. BYTES, INT, KEYED and NUMBERED as in explorer/database/migrate.ts.
 */

export const RELEASED_INDEX: Readonly<Record<string, string>> = {
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
  '0008_staking': `
    create table validator (
      operator BYTES primary key,
      consensus_address BYTES not null,
      tokens BYTES not null,
      shares BYTES not null,
      delegators INT not null,
      status text not null,
      is_jailed INT not null,
      is_tombstoned INT not null,
      unbonding_time INT not null,
      moniker_key BYTES not null,
      detail text not null
    ) KEYED;
    create index validator_consensus_address on validator (consensus_address);
    create index validator_tokens on validator (tokens, operator);
    create index validator_moniker_key on validator (moniker_key);
    create table delegation (
      delegator BYTES not null,
      validator BYTES not null,
      shares BYTES not null,
      primary key (delegator, validator)
    ) KEYED;
    create index delegation_validator on delegation (validator, shares, delegator);
    create table staking_event (
      position INT not null,
      ordinal INT not null,
      kind text not null,
      validator BYTES not null,
      destination BYTES,
      delegator BYTES,
      amount BYTES,
      reason text,
      primary key (position, ordinal)
    ) KEYED;
    create index staking_event_validator on staking_event (validator, position, ordinal);
    create index staking_event_delegator on staking_event (delegator, position, ordinal);
    create index staking_event_destination on staking_event (destination, position, ordinal);
    create table absence (
      validator BYTES not null,
      first_height INT not null,
      last_height INT not null,
      kind INT not null,
      primary key (validator, first_height)
    ) KEYED;
    create index absence_validator on absence (validator, last_height);
    create table validator_power (
      validator BYTES not null,
      height INT not null,
      power INT not null,
      primary key (validator, height)
    ) KEYED;
  `,
  '0010_block_miner': `
    create index block_miner on block (miner, height);
  `,
  '0011_slashes': `
    create index staking_event_slash on staking_event (validator) where kind = 'slash';
  `,
  '0012_untraced': `
    create index tx_run_untraced on tx_run (position) where trace >= 2;
  `,
}

export const RELEASED_SERVICES: Readonly<Record<string, string>> = {
  '0001_network': `
    create table node (
      number NUMBERED primary key,
      node_id BYTES not null unique,
      is_verified INT not null,
      signed_at INT not null,
      first_seen INT not null,
      last_seen INT not null,
      moniker text not null,
      version text not null,
      height INT not null,
      block_hash BYTES not null,
      block_time INT not null,
      peers INT not null,
      lag INT not null,
      rpc_address text,
      probed_at INT not null,
      rpc_latency INT,
      rpc_problem text
    );
    create index node_last_seen on node (is_verified, last_seen);
    create table heartbeat (
      node_id BYTES not null,
      hour INT not null,
      reports INT not null,
      height INT not null,
      lag INT not null,
      peers INT not null,
      primary key (node_id, hour)
    ) KEYED;
    create index heartbeat_hour on heartbeat (hour);
  `,
  '0002_faucet': `
    create table faucet_grant (
      number NUMBERED primary key,
      address BYTES not null,
      amount BYTES not null,
      created INT not null,
      state text not null,
      nonce INT,
      raw BYTES,
      hash BYTES,
      signed_height INT,
      height INT,
      problem text
    );
    create index faucet_grant_state on faucet_grant (state, number);
    create table faucet_limit (
      subject text primary key,
      since INT not null,
      count INT not null
    ) KEYED;
    create index faucet_limit_since on faucet_limit (since);
  `,
  '0003_verification': `
    create table verified_contract (
      number NUMBERED primary key,
      address BYTES not null unique,
      position INT,
      block_hash BYTES,
      runtime_match INT not null,
      creation_match INT not null,
      score INT not null,
      verified_at INT not null,
      interface BYTES not null,
      content BYTES not null
    );
    create table verification_job (
      id text not null primary key,
      address BYTES not null,
      started_at INT not null,
      alive_at INT not null,
      finished_at INT,
      compile_ms INT,
      runtime_match INT,
      creation_match INT,
      error_code text,
      error_message text
    );
    create index verification_job_started on verification_job (started_at);
  `,
  '0004_proxies': `
    create table proxy_link (
      address BYTES not null primary key,
      implementation BYTES not null,
      linked_at INT not null
    ) KEYED;
  `,
}
