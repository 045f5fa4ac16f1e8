/**
 * A command below `coind query` with the name, and the order of arguments, that the Cosmos SDK's programs have for a query. Where a query's own
 * command has that name already, this one takes its place.
 */
export interface SdkQuery {
  /** e.g. `bank balances` */
  readonly command: string
  /** the query's own command, e.g. `bank all-balances` */
  readonly query: string
  /** fields of the request in the order of the arguments; one with a question mark may be left out, or be an option */
  readonly arguments?: readonly string[]
  /** the query's command when all arguments are given */
  readonly narrowed?: string
  /** what fields are when they are not given */
  readonly defaults?: Readonly<Record<string, string>>
  /** other names of options: that of the option, by field */
  readonly options?: Readonly<Record<string, string>>
}

/** All of them. What has the same name and arguments in both is not here. */
export const SDK_QUERIES: readonly SdkQuery[] = [
  { command: 'account', query: 'auth account', arguments: ['address'] },
  { command: 'auth module-account', query: 'auth module-account-by-name', arguments: ['name'] },
  { command: 'bank balance', query: 'bank balance', arguments: ['address', 'denom?'] },
  { command: 'bank balances', query: 'bank all-balances', arguments: ['address', 'denom?'], narrowed: 'bank balance' },
  {
    command: 'bank spendable-balance',
    query: 'bank spendable-balance-by-denom',
    arguments: ['address', 'denom?'],
  },
  { command: 'bank total', query: 'bank total-supply', arguments: ['denom?'], narrowed: 'bank supply-of' },
  { command: 'bank total-supply-of', query: 'bank supply-of', arguments: ['denom'] },
  {
    command: 'staking delegation',
    query: 'staking delegation',
    arguments: ['delegator_addr', 'validator_addr'],
  },
  { command: 'staking delegations', query: 'staking delegator-delegations', arguments: ['delegator_addr'] },
  { command: 'staking delegations-to', query: 'staking validator-delegations', arguments: ['validator_addr'] },
  {
    command: 'staking unbonding-delegation',
    query: 'staking unbonding-delegation',
    arguments: ['delegator_addr', 'validator_addr'],
  },
  {
    command: 'staking unbonding-delegations',
    query: 'staking delegator-unbonding-delegations',
    arguments: ['delegator_addr'],
  },
  {
    command: 'staking unbonding-delegations-from',
    query: 'staking validator-unbonding-delegations',
    arguments: ['validator_addr'],
  },
  {
    command: 'staking redelegation',
    query: 'staking redelegations',
    arguments: ['delegator_addr', 'src_validator_addr?', 'dst_validator_addr?'],
  },
  { command: 'gov proposals', query: 'gov proposals', options: { proposal_status: '--status' } },
  { command: 'gov tally', query: 'gov tally-result', arguments: ['proposal_id'] },
  { command: 'gov params', query: 'gov params', arguments: ['params_type?'], defaults: { params_type: 'deposit' } },
  { command: 'gov param', query: 'gov params', arguments: ['params_type'] },
  {
    command: 'distribution commission',
    query: 'distribution validator-commission',
    arguments: ['validator_address'],
  },
  {
    command: 'distribution rewards',
    query: 'distribution delegation-total-rewards',
    arguments: ['delegator_address', 'validator_address?'],
    narrowed: 'distribution delegation-rewards',
  },
  {
    command: 'distribution rewards-by-validator',
    query: 'distribution delegation-rewards',
    arguments: ['delegator_address', 'validator_address'],
  },
  { command: 'distribution slashes', query: 'distribution validator-slashes', arguments: ['validator_address'] },
  {
    command: 'authz grants',
    query: 'authz grants',
    arguments: ['granter?', 'grantee?', 'msg_type_url?'],
  },
  { command: 'authz grants-by-grantee', query: 'authz grantee-grants', arguments: ['grantee'] },
  { command: 'authz grants-by-granter', query: 'authz granter-grants', arguments: ['granter'] },
  { command: 'feegrant grant', query: 'feegrant allowance', arguments: ['granter', 'grantee'] },
  { command: 'feegrant grants-by-grantee', query: 'feegrant allowances', arguments: ['grantee'] },
  { command: 'feegrant grants-by-granter', query: 'feegrant allowances-by-granter', arguments: ['granter'] },
  { command: 'upgrade plan', query: 'upgrade current-plan' },
  { command: 'upgrade applied', query: 'upgrade applied-plan', arguments: ['name'] },
  { command: 'evidence list', query: 'evidence all-evidence' },
  { command: 'tx', query: 'tx tx', arguments: ['hash'] },
  { command: 'txs', query: 'tx txs-event' },
  ...['comet-validator-set', 'tendermint-validator-set'].map((command) => ({
    command,
    query: 'tendermint latest-validator-set',
    arguments: ['height?'],
    narrowed: 'tendermint validator-set-by-height',
  })),
]

/** Other names of groups of queries. */
export const SDK_GROUPS: Readonly<Record<string, string>> = { vm: 'evm', tendermint: 'comet' }

/** Words before the values of enums, which may be left out: `voting-period` is PROPOSAL_STATUS_VOTING_PERIOD. */
export const ENUM_PREFIXES: Readonly<Record<string, string>> = {
  status: 'BOND_STATUS_',
  proposal_status: 'PROPOSAL_STATUS_',
}
