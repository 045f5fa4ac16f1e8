/* The tables of stake: validators, delegations, what happened to them, and the blocks that validators did not sign. As in schema.ts. */

/** A validator that there is, or was. */
interface ValidatorTable {
  /** 20 bytes: the account of its operator */
  operator: Uint8Array
  /** 20 bytes: the address of its consensus key */
  consensus_address: Uint8Array
  /** acoin that are delegated to it */
  tokens: Uint8Array
  /** 10^-18 shares, of all its delegations */
  shares: Uint8Array
  /** accounts that delegate to it */
  delegators: number
  /** bonded, unbonding or unbonded; removed: there is no such validator any more */
  status: string
  is_jailed: number
  /** 1: it signed twice and can never come back */
  is_tombstoned: number
  /** when its stake is free, where it is unbonding */
  unbonding_time: number
  /** in lower case, as bytes: they sort in the same way in every database */
  moniker_key: Uint8Array
  /** JSON: as `/cosmos/staking/v1beta1/validators/{operator}` shows description, commission and its smallest self-delegation */
  detail: string
}

interface DelegationTable {
  delegator: Uint8Array
  /** the operator's account */
  validator: Uint8Array
  /** 10^-18 shares */
  shares: Uint8Array
}

/** What may happen to a validator or to somebody's stake. */
export const STAKING_EVENT_KINDS = [
  'create',
  'edit',
  'delegate',
  'undelegate',
  'redelegate',
  'cancelUndelegation',
  'completeUndelegation',
  'completeRedelegation',
  'withdrawRewards',
  'withdrawCommission',
  'slash',
  'jail',
  'unjail',
] as const

/** What happened to validators and stake, in the order of the chain. */
interface StakingEventTable {
  position: number
  /** order within the position */
  ordinal: number
  /** one of {@link STAKING_EVENT_KINDS} */
  kind: string
  /** the operator's account; the address of its consensus key where the index knows no such validator */
  validator: Uint8Array
  /** where a redelegation goes to */
  destination: Uint8Array | null
  delegator: Uint8Array | null
  /** acoin */
  amount: Uint8Array | null
  /** why it was slashed */
  reason: string | null
}

/** The power that a validator has from a block on, until a later one changes it. 0: it is not in the validator set. */
interface ValidatorPowerTable {
  /** address of the consensus key */
  validator: Uint8Array
  height: number
  /** a count of 10^18 acoin */
  power: number
}

/** Blocks one after the other that a validator should have signed and did not. */
interface AbsenceTable {
  /** address of the consensus key */
  validator: Uint8Array
  first_height: number
  last_height: number
  /** see {@link ABSENCE_KINDS} */
  kind: number
}

/** No vote came in time, or one for no block. */
export const ABSENCE_KINDS = { absent: 1, nil: 2 } as const

export interface StakingTables {
  validator: ValidatorTable
  delegation: DelegationTable
  staking_event: StakingEventTable
  absence: AbsenceTable
  validator_power: ValidatorPowerTable
}

/** As COLUMNS in indexDatabase.ts. */
export const STAKING_COLUMNS = {
  validator: {
    key: 1,
    columns: [
      'operator',
      'consensus_address',
      'tokens',
      'shares',
      'delegators',
      'status',
      'is_jailed',
      'is_tombstoned',
      'unbonding_time',
      'moniker_key',
      'detail',
    ],
  },
  delegation: { key: 2, columns: ['delegator', 'validator', 'shares'] },
  staking_event: {
    key: 2,
    columns: ['position', 'ordinal', 'kind', 'validator', 'destination', 'delegator', 'amount', 'reason'],
  },
  absence: { key: 2, columns: ['validator', 'first_height', 'last_height', 'kind'] },
  validator_power: { key: 2, columns: ['validator', 'height', 'power'] },
} as const

export const STAKING_MIGRATION = `
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
`
