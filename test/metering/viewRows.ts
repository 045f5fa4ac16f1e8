import { consensusAddressOf, getValidator } from '../../src/modules/staking/validators.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../src/primitives/address.ts'
import type { Json } from '../../src/primitives/protoScalars.ts'
import { ACTOR, lastProposal, OTHER, STRANGERS, VOTED } from './grow.ts'
import { operator, type Stage, text, VALIDATORS } from './stage.ts'

/** A view of the native layer, by REST, gRPC and `abci_query` alike. */
export interface ViewRow {
  readonly variant?: string
  /** JSON of the request */
  readonly request: (size: number, stage: Stage) => Json
  /**
   * It reads as much as there is, up to the work of one page (`WALK_GAS` of src/modules/query/paginate.ts) or of a call: a total, a far offset,
   * items that are not shown. Other views do not read more of a larger state.
   */
  readonly isWalk?: true
  readonly fails?: true
}

const FIRST = operator(VALIDATORS[0]!)
const actor = text(ACTOR)
const one = (request: Json = {}): readonly ViewRow[] => [{ request: () => request }]
const stranger = text(STRANGERS)

/** A page of few items, from both ends; and those that read most: a total, a far offset. */
function pages(rest: Json = {}): readonly ViewRow[] {
  const page = (pagination: Json): Json => ({ ...(rest as object), pagination }) as Json
  return [
    { request: () => page({ limit: '5' }) },
    { variant: 'reverse', request: () => page({ limit: '5', reverse: true }) },
    { variant: 'a total', isWalk: true, request: () => page({ limit: '1', count_total: true }) },
    { variant: 'far offset', isWalk: true, request: (size) => page({ limit: '1', offset: `${size - 1}` }) },
    { variant: 'a large page', isWalk: true, request: () => page({ limit: '1000000' }) },
  ]
}

const consensusAddress = (stage: Stage): string => {
  let address = ''
  stage.change((world) => {
    address = toBech32(consensusAddressOf(getValidator(world.native, VALIDATORS[0]!)!), BECH32_CONSENSUS)
  })
  return address
}

function govRows(service: string): { readonly [path: string]: readonly ViewRow[] } {
  const id = `${VOTED}`
  return {
    [`/${service}/Proposal`]: one({ proposal_id: id }),
    [`/${service}/Proposals`]: [
      ...pages(),
      {
        variant: 'of a voter',
        isWalk: true,
        request: (size) => ({ voter: text(STRANGERS + size - 1), pagination: { limit: '5' } }),
      },
      {
        variant: 'of a depositor',
        isWalk: true,
        request: () => ({ depositor: text(OTHER), pagination: { limit: '5' } }),
      },
      {
        variant: 'of a status that none has',
        isWalk: true,
        request: () => ({ proposal_status: 3, pagination: { limit: '5' } }),
      },
    ],
    [`/${service}/Vote`]: one({ proposal_id: id, voter: stranger }),
    [`/${service}/Votes`]: pages({ proposal_id: id }),
    [`/${service}/Deposit`]: one({ proposal_id: id, depositor: stranger }),
    [`/${service}/Deposits`]: pages({ proposal_id: id }),
    [`/${service}/TallyResult`]: [
      { isWalk: true, request: () => ({ proposal_id: id }) },
      { variant: 'without votes', request: (size) => ({ proposal_id: `${lastProposal(size)}` }) },
    ],
    [`/${service}/Params`]: one({ params_type: 'voting' }),
  }
}

/** Rows by gRPC path: of all views that read native entries. */
export const VIEW_ROWS: { readonly [path: string]: readonly ViewRow[] } = {
  '/cosmos.auth.v1beta1.Query/Account': one({ address: actor }),
  '/cosmos.auth.v1beta1.Query/Params': one(),
  '/cosmos.auth.v1beta1.Query/ModuleAccounts': one(),
  '/cosmos.auth.v1beta1.Query/ModuleAccountByName': one({ name: 'gov' }),
  '/cosmos.auth.v1beta1.Query/Bech32Prefix': one(),
  '/cosmos.auth.v1beta1.Query/AddressBytesToString': one({ address_bytes: 'AQIDBAUGBwgJCgsMDQ4PEBESExQ=' }),
  '/cosmos.auth.v1beta1.Query/AddressStringToBytes': one({ address_string: actor }),
  '/cosmos.auth.v1beta1.Query/AccountInfo': one({ address: actor }),
  '/cosmos.bank.v1beta1.Query/Balance': one({ address: actor, denom: 'acoin' }),
  '/cosmos.bank.v1beta1.Query/AllBalances': one({ address: actor }),
  '/cosmos.bank.v1beta1.Query/SpendableBalances': one({ address: actor }),
  '/cosmos.bank.v1beta1.Query/SpendableBalanceByDenom': one({ address: actor, denom: 'acoin' }),
  '/cosmos.bank.v1beta1.Query/TotalSupply': one(),
  '/cosmos.bank.v1beta1.Query/SupplyOf': one({ denom: 'acoin' }),
  '/cosmos.bank.v1beta1.Query/Params': one(),
  '/cosmos.bank.v1beta1.Query/DenomMetadata': one({ denom: 'acoin' }),
  '/cosmos.bank.v1beta1.Query/DenomMetadataByQueryString': one({ denom: 'acoin' }),
  '/cosmos.bank.v1beta1.Query/DenomsMetadata': one(),
  '/cosmos.bank.v1beta1.Query/SendEnabled': one(),
  '/cosmos.staking.v1beta1.Query/Validators': [
    ...pages(),
    {
      variant: 'of a status that none has',
      isWalk: true,
      request: () => ({ status: 'BOND_STATUS_UNBONDING', pagination: { limit: '5' } }),
    },
  ],
  '/cosmos.staking.v1beta1.Query/Validator': one({ validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/ValidatorDelegations': pages({ validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/ValidatorUnbondingDelegations': pages({ validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/Delegation': one({ delegator_addr: actor, validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/UnbondingDelegation': one({ delegator_addr: actor, validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/DelegatorDelegations': pages({ delegator_addr: actor }),
  '/cosmos.staking.v1beta1.Query/DelegatorUnbondingDelegations': pages({ delegator_addr: actor }),
  '/cosmos.staking.v1beta1.Query/Redelegations': [
    ...pages({ src_validator_addr: FIRST }),
    { variant: 'of a delegator', request: () => ({ delegator_addr: actor, pagination: { limit: '5' } }) },
  ],
  '/cosmos.staking.v1beta1.Query/DelegatorValidators': pages({ delegator_addr: actor }),
  '/cosmos.staking.v1beta1.Query/DelegatorValidator': one({ delegator_addr: actor, validator_addr: FIRST }),
  '/cosmos.staking.v1beta1.Query/Pool': one(),
  '/cosmos.staking.v1beta1.Query/Params': one(),
  '/cosmos.distribution.v1beta1.Query/Params': one(),
  '/cosmos.distribution.v1beta1.Query/ValidatorDistributionInfo': one({ validator_address: FIRST }),
  '/cosmos.distribution.v1beta1.Query/ValidatorOutstandingRewards': one({ validator_address: FIRST }),
  '/cosmos.distribution.v1beta1.Query/ValidatorCommission': one({ validator_address: FIRST }),
  '/cosmos.distribution.v1beta1.Query/ValidatorSlashes': pages({
    validator_address: FIRST,
    starting_height: '0',
    ending_height: '1000',
  }),
  '/cosmos.distribution.v1beta1.Query/DelegationRewards': one({ delegator_address: actor, validator_address: FIRST }),
  '/cosmos.distribution.v1beta1.Query/DelegationTotalRewards': [
    { isWalk: true, request: () => ({ delegator_address: actor }) },
  ],
  '/cosmos.distribution.v1beta1.Query/DelegatorValidators': [
    { isWalk: true, request: () => ({ delegator_address: actor }) },
  ],
  '/cosmos.distribution.v1beta1.Query/DelegatorWithdrawAddress': one({ delegator_address: actor }),
  '/cosmos.distribution.v1beta1.Query/CommunityPool': one(),
  '/cosmos.slashing.v1beta1.Query/Params': one(),
  '/cosmos.slashing.v1beta1.Query/SigningInfo': [
    { request: (_, stage) => ({ cons_address: consensusAddress(stage) }) },
  ],
  '/cosmos.slashing.v1beta1.Query/SigningInfos': pages(),
  '/cosmos.evidence.v1beta1.Query/Evidence': [{ fails: true, request: () => ({ hash: '00'.repeat(32) }) }],
  '/cosmos.evidence.v1beta1.Query/AllEvidence': pages(),
  '/cosmos.mint.v1beta1.Query/Params': one(),
  '/cosmos.mint.v1beta1.Query/Inflation': one(),
  '/cosmos.mint.v1beta1.Query/AnnualProvisions': one(),
  ...govRows('cosmos.gov.v1.Query'),
  '/cosmos.gov.v1.Query/Constitution': one(),
  ...govRows('cosmos.gov.v1beta1.Query'),
  '/cosmos.authz.v1beta1.Query/Grants': pages({ granter: stranger, grantee: actor }),
  '/cosmos.authz.v1beta1.Query/GranterGrants': pages({ granter: actor }),
  '/cosmos.authz.v1beta1.Query/GranteeGrants': pages({ grantee: actor }),
  '/cosmos.feegrant.v1beta1.Query/Allowance': one({ granter: stranger, grantee: actor }),
  '/cosmos.feegrant.v1beta1.Query/Allowances': pages({ grantee: actor }),
  '/cosmos.feegrant.v1beta1.Query/AllowancesByGranter': pages({ granter: actor }),
  '/cosmos.upgrade.v1beta1.Query/CurrentPlan': one(),
  '/cosmos.upgrade.v1beta1.Query/AppliedPlan': one({ name: 'none' }),
  '/cosmos.upgrade.v1beta1.Query/UpgradedConsensusState': one({ last_height: '1' }),
  '/cosmos.upgrade.v1beta1.Query/ModuleVersions': one(),
  '/cosmos.upgrade.v1beta1.Query/Authority': one(),
  '/cosmos.params.v1beta1.Query/Params': one({ subspace: 'staking', key: 'UnbondingTime' }),
  '/cosmos.params.v1beta1.Query/Subspaces': one(),
  '/cosmos.consensus.v1.Query/Params': one(),
  '/cosmos.evm.feemarket.v1.Query/Params': one(),
  '/cosmos.evm.erc20.v1.Query/TokenPairs': one(),
  '/cosmos.evm.erc20.v1.Query/TokenPair': one({ token: 'acoin' }),
  '/cosmos.evm.erc20.v1.Query/Params': one(),
}

/**
 * Views that read blocks, accounts of the EVM, or what the node knows of itself, by what bounds them. Native entries of strangers do not make
 * them longer.
 */
const OTHER_VIEWS: { readonly [bound: string]: readonly string[] } = {
  'the work of a page, over the accounts of the state': [
    '/cosmos.auth.v1beta1.Query/Accounts',
    '/cosmos.bank.v1beta1.Query/DenomOwners',
    '/cosmos.bank.v1beta1.Query/DenomOwnersByQuery',
  ],
  'one account, slot or code': [
    '/cosmos.auth.v1beta1.Query/AccountAddressByID',
    ...['cosmos.evm.vm.v1', 'ethermint.evm.v1'].flatMap((service) =>
      ['Account', 'CosmosAccount', 'ValidatorAccount', 'Balance', 'Storage', 'Code'].map(
        (name) => `/${service}.Query/${name}`,
      ),
    ),
  ],
  'the gas of a call and its time (RPC_GAS_CAP, RPC_EVM_TIMEOUT_MS)': [
    '/cosmos.evm.vm.v1.Query/EthCall',
    '/cosmos.evm.vm.v1.Query/EstimateGas',
    '/ethermint.evm.v1.Query/EthCall',
    '/ethermint.evm.v1.Query/EstimateGas',
  ],
  'the configuration, or the header of a block': [
    '/cosmos.staking.v1beta1.Query/HistoricalInfo',
    '/cosmos.evm.feemarket.v1.Query/BaseFee',
    '/cosmos.evm.feemarket.v1.Query/BlockGas',
    '/cosmos.evm.vm.v1.Query/Params',
    '/cosmos.evm.vm.v1.Query/BaseFee',
    '/cosmos.evm.vm.v1.Query/Config',
    '/cosmos.evm.vm.v1.Query/GlobalMinGasPrice',
    '/ethermint.evm.v1.Query/BaseFee',
    '/ethermint.evm.v1.Query/Params',
    '/ethermint.feemarket.v1.Query/BlockGas',
    '/ethermint.feemarket.v1.Query/Params',
    '/ethermint.feemarket.v1.Query/BaseFee',
    '/cosmos.base.node.v1beta1.Service/Config',
    '/cosmos.base.node.v1beta1.Service/Status',
    '/cosmos.base.tendermint.v1beta1.Service/GetNodeInfo',
    '/cosmos.base.tendermint.v1beta1.Service/GetSyncing',
  ],
  'the validators of a block': [
    '/cosmos.base.tendermint.v1beta1.Service/GetLatestValidatorSet',
    '/cosmos.base.tendermint.v1beta1.Service/GetValidatorSetByHeight',
  ],
  'one block, or a page of found ones': [
    '/cosmos.tx.v1beta1.Service/GetTx',
    '/cosmos.tx.v1beta1.Service/GetTxsEvent',
    '/cosmos.tx.v1beta1.Service/GetBlockWithTxs',
    '/cosmos.base.tendermint.v1beta1.Service/GetLatestBlock',
    '/cosmos.base.tendermint.v1beta1.Service/GetBlockByHeight',
  ],
  'the bytes of the request': [
    '/cosmos.tx.v1beta1.Service/BroadcastTx',
    '/cosmos.tx.v1beta1.Service/TxDecode',
    '/cosmos.tx.v1beta1.Service/TxEncode',
    '/cosmos.tx.v1beta1.Service/TxEncodeAmino',
    '/cosmos.tx.v1beta1.Service/TxDecodeAmino',
  ],
  'the view that it asks for': ['/cosmos.base.tendermint.v1beta1.Service/ABCIQuery'],
}

/** Simulated transactions have rows of their own: what they use must be in the gas that they have. */
export const SIMULATE = '/cosmos.tx.v1beta1.Service/Simulate'

/** Every view that has a row, or a bound that is named. */
export const COVERED_VIEWS: readonly string[] = [
  ...Object.keys(VIEW_ROWS),
  ...Object.values(OTHER_VIEWS).flat(),
  SIMULATE,
]
