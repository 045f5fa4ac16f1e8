import { bytes, defineTable, int, nullable, text } from '../database/defineTable.ts'

/* Validators, delegations, staking events, and the blocks that validators did not sign. */

export const STAKE_TABLES = {
  /** Validators, removed ones too. */
  validator: defineTable({
    since: '0008_staking',
    columns: {
      /** 20 bytes: the account of its operator */
      operator: bytes,
      /** 20 bytes: the address of its consensus key */
      consensus_address: bytes,
      /** delegated acoin */
      tokens: bytes,
      /** 10^-18 shares, of all its delegations */
      shares: bytes,
      /** accounts that delegate to it */
      delegators: int,
      /** bonded, unbonding or unbonded; removed: the validator no longer exists */
      status: text,
      is_jailed: int,
      /** 1: permanently jailed, because it signed two blocks of one height */
      is_tombstoned: int,
      /** when its unbonding ends */
      unbonding_time: int,
      /** lower case, as bytes, which every database sorts alike */
      moniker_key: bytes,
      /** JSON: as `/cosmos/staking/v1beta1/validators/{operator}` shows description, commission and its smallest self-delegation */
      detail: text,
    },
    key: ['operator'],
    indexes: {
      validator_consensus_address: { columns: ['consensus_address'] },
      validator_tokens: { columns: ['tokens', 'operator'] },
      validator_moniker_key: { columns: ['moniker_key'] },
    },
  }),
  delegation: defineTable({
    since: '0008_staking',
    columns: {
      delegator: bytes,
      /** the operator's account */
      validator: bytes,
      /** 10^-18 shares */
      shares: bytes,
    },
    key: ['delegator', 'validator'],
    indexes: {
      delegation_validator: { columns: ['validator', 'shares', 'delegator'] },
    },
  }),
  /** Events of validators and stake, in the order of the chain. */
  staking_event: defineTable({
    since: '0008_staking',
    columns: {
      position: int,
      /** order within the position */
      ordinal: int,
      /** one of {@link STAKING_EVENT_KINDS} */
      kind: text,
      /** the operator's account; the address of its consensus key where the index knows no such validator */
      validator: bytes,
      /** where a redelegation goes to */
      destination: nullable(bytes),
      delegator: nullable(bytes),
      /** acoin */
      amount: nullable(bytes),
      /** why it was slashed */
      reason: nullable(text),
    },
    key: ['position', 'ordinal'],
    indexes: {
      staking_event_validator: { columns: ['validator', 'position', 'ordinal'] },
      staking_event_delegator: { columns: ['delegator', 'position', 'ordinal'] },
      staking_event_destination: { columns: ['destination', 'position', 'ordinal'] },
      // To count a validator's slashes among its many events.
      staking_event_slash: { columns: ['validator'], where: "kind = 'slash'", since: '0011_slashes' },
    },
  }),
  /** Runs of consecutive blocks that a validator should have signed and did not. */
  absence: defineTable({
    since: '0008_staking',
    columns: {
      /** address of the consensus key */
      validator: bytes,
      first_height: int,
      last_height: int,
      /** see {@link ABSENCE_KINDS} */
      kind: int,
    },
    key: ['validator', 'first_height'],
    indexes: {
      absence_validator: { columns: ['validator', 'last_height'] },
    },
  }),
  /** The power that a validator has from a block on, until a later one changes it. 0: it is not in the validator set. */
  validator_power: defineTable({
    since: '0008_staking',
    columns: {
      /** address of the consensus key */
      validator: bytes,
      height: int,
      /** a count of 10^18 acoin */
      power: int,
    },
    key: ['validator', 'height'],
  }),
} as const

/** Events of a validator or of an account's stake. */
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

/** absent: no vote came in time; nil: it voted nil. */
export const ABSENCE_KINDS = { absent: 1, nil: 2 } as const
