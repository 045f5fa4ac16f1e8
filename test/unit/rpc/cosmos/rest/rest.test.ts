import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../../../../src/primitives/protoScalars.ts'
import {
  CONSENSUS,
  coin,
  coins,
  HOLDER,
  makeHistory,
  type NativeHistory,
  NOBODY,
  ONE_COIN,
  OPERATOR,
  OTHER,
} from '../../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../../support/rpc/cosmos/nativeNode.ts'

let node: NativeNode
let history: NativeHistory

beforeAll(async () => {
  node = await createNativeNode()
  history = await makeHistory(node)
})
afterAll(async () => {
  expect(node.logged).toEqual([])
  await node.close()
})

async function ok(url: string, height?: number): Promise<Json> {
  const answer = await node.get(url, height === undefined ? {} : { height })
  expect(answer, url).toMatchObject({ status: 200, height: height ?? 4 })
  return answer.json
}

const NO_PAGE = { next_key: null, total: '0' }
const ONE = { next_key: null, total: '1' }

const VALIDATOR = {
  operator_address: OPERATOR,
  consensus_pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: Buffer.alloc(32, 7).toString('base64') },
  jailed: false,
  status: 'BOND_STATUS_BONDED',
  tokens: (10n ** 24n + 2n * ONE_COIN).toString(),
  delegator_shares: `${10n ** 24n + 2n * ONE_COIN}.000000000000000000`,
  description: { moniker: 'test', identity: '', website: '', security_contact: '', details: '' },
  unbonding_height: '0',
  unbonding_time: '1970-01-01T00:00:00Z',
  commission: {
    commission_rates: {
      rate: '0.100000000000000000',
      max_rate: '0.200000000000000000',
      max_change_rate: '0.010000000000000000',
    },
    update_time: '2023-11-14T22:13:20Z',
  },
  min_self_delegation: '1',
  unbonding_on_hold_ref_count: '0',
  unbonding_ids: [],
}
const DELEGATION = {
  delegation: { delegator_address: HOLDER, validator_address: OPERATOR, shares: VALIDATOR.delegator_shares },
  balance: { denom: 'acoin', amount: VALIDATOR.tokens },
}
const UNBONDING = {
  delegator_address: HOLDER,
  validator_address: OPERATOR,
  entries: [
    {
      creation_height: '2',
      completion_time: '2023-12-05T22:13:20.800Z',
      initial_balance: '1000000000000000000',
      balance: '1000000000000000000',
      unbonding_id: '1',
      unbonding_on_hold_ref_count: '0',
    },
  ],
}
const DESCRIBED = {
  description: 'The native token of the chain',
  denom_units: [
    { denom: 'acoin', exponent: 0, aliases: [] },
    { denom: 'COIN', exponent: 18, aliases: [] },
  ],
  base: 'acoin',
  display: 'COIN',
  name: 'COIN',
  symbol: 'COIN',
  uri: '',
  uri_hash: '',
}
const json = (value: ReturnType<typeof coins>) => value.map(({ denom, amount }) => ({ denom, amount: String(amount) }))

/** The literal JSON of the SDK's gateway. */
const SHAPES: readonly (readonly [url: string, expected: unknown])[] = [
  [
    `/cosmos/auth/v1beta1/accounts/${OTHER.bech32}`,
    {
      account: {
        '@type': '/cosmos.auth.v1beta1.BaseAccount',
        address: OTHER.bech32,
        pub_key: null,
        account_number: '0',
        sequence: '0',
      },
    },
  ],
  [
    `/cosmos/auth/v1beta1/account_info/${OTHER.bech32}`,
    { info: { address: OTHER.bech32, pub_key: null, account_number: '0', sequence: '0' } },
  ],
  [
    '/cosmos/auth/v1beta1/module_accounts/gov',
    {
      account: {
        '@type': '/cosmos.auth.v1beta1.ModuleAccount',
        base_account: {
          address: 'coin10d07y265gmmuvt4z0w9aw880jnsr700j3035cq',
          pub_key: null,
          account_number: '0',
          sequence: '0',
        },
        name: 'gov',
        permissions: ['burner'],
      },
    },
  ],
  [
    '/cosmos/auth/v1beta1/params',
    {
      params: {
        max_memo_characters: '256',
        tx_sig_limit: '7',
        tx_size_cost_per_byte: '10',
        sig_verify_cost_ed25519: '590',
        sig_verify_cost_secp256k1: '1000',
      },
    },
  ],
  ['/cosmos/auth/v1beta1/bech32', { bech32_prefix: 'coin' }],
  [`/cosmos/auth/v1beta1/bech32/${OTHER.bech32}`, { address_bytes: Buffer.from(OTHER.address).toString('base64') }],
  [`/cosmos/bank/v1beta1/balances/${OTHER.bech32}`, { balances: json(coins(5n * ONE_COIN + 7n)), pagination: ONE }],
  [`/cosmos/bank/v1beta1/balances/${NOBODY.bech32}`, { balances: [], pagination: NO_PAGE }],
  [
    `/cosmos/bank/v1beta1/spendable_balances/${OTHER.bech32}`,
    { balances: json(coins(5n * ONE_COIN + 7n)), pagination: ONE },
  ],
  [
    `/cosmos/bank/v1beta1/balances/${OTHER.bech32}/by_denom?denom=acoin`,
    { balance: { denom: 'acoin', amount: '5000000000000000007' } },
  ],
  [`/cosmos/bank/v1beta1/balances/${OTHER.bech32}/by_denom?denom=other`, { balance: { denom: 'other', amount: '0' } }],
  [
    `/cosmos/bank/v1beta1/spendable_balances/0x${Buffer.from(OTHER.address).toString('hex')}/by_denom?denom=acoin`,
    { balance: { denom: 'acoin', amount: '5000000000000000007' } },
  ],
  ['/cosmos/bank/v1beta1/supply', { supply: json(coins(10n ** 27n + 10n ** 24n)), pagination: ONE }],
  [
    '/cosmos/bank/v1beta1/supply/by_denom?denom=acoin',
    { amount: { denom: 'acoin', amount: (10n ** 27n + 10n ** 24n).toString() } },
  ],
  ['/cosmos/bank/v1beta1/denoms_metadata', { metadatas: [DESCRIBED], pagination: ONE }],
  ['/cosmos/bank/v1beta1/denoms_metadata/acoin', { metadata: DESCRIBED }],
  ['/cosmos/bank/v1beta1/denoms_metadata_by_query_string?denom=acoin', { metadata: DESCRIBED }],
  ['/cosmos/bank/v1beta1/params', { params: { send_enabled: [], default_send_enabled: true } }],
  ['/cosmos/bank/v1beta1/send_enabled', { send_enabled: [], pagination: NO_PAGE }],
  ['/cosmos/staking/v1beta1/validators?status=BOND_STATUS_BONDED', { validators: [VALIDATOR], pagination: ONE }],
  ['/cosmos/staking/v1beta1/validators?status=BOND_STATUS_UNBONDED', { validators: [], pagination: NO_PAGE }],
  [`/cosmos/staking/v1beta1/validators/${OPERATOR}`, { validator: VALIDATOR }],
  [
    `/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations`,
    { delegation_responses: [DELEGATION], pagination: ONE },
  ],
  [`/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations/${HOLDER}`, { delegation_response: DELEGATION }],
  [`/cosmos/staking/v1beta1/delegations/${HOLDER}`, { delegation_responses: [DELEGATION], pagination: ONE }],
  [
    `/cosmos/staking/v1beta1/delegators/${HOLDER}/unbonding_delegations`,
    { unbonding_responses: [UNBONDING], pagination: ONE },
  ],
  [
    `/cosmos/staking/v1beta1/validators/${OPERATOR}/unbonding_delegations`,
    { unbonding_responses: [UNBONDING], pagination: ONE },
  ],
  [`/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations/${HOLDER}/unbonding_delegation`, { unbond: UNBONDING }],
  [`/cosmos/staking/v1beta1/delegators/${HOLDER}/redelegations`, { redelegation_responses: [], pagination: NO_PAGE }],
  [`/cosmos/staking/v1beta1/delegators/${HOLDER}/validators`, { validators: [VALIDATOR], pagination: ONE }],
  [`/cosmos/staking/v1beta1/delegators/${HOLDER}/validators/${OPERATOR}`, { validator: VALIDATOR }],
  [
    '/cosmos/staking/v1beta1/pool',
    { pool: { not_bonded_tokens: '1000000000000000000', bonded_tokens: VALIDATOR.tokens } },
  ],
  [
    '/cosmos/staking/v1beta1/params',
    {
      params: {
        unbonding_time: '1814400s',
        max_validators: 50,
        max_entries: 7,
        historical_entries: 10000,
        bond_denom: 'acoin',
        min_commission_rate: '0.000000000000000000',
        key_rotation_fee: { denom: 'acoin', amount: '1000000000000000000' },
      },
    },
  ],
  [
    '/cosmos/distribution/v1beta1/params',
    {
      params: {
        community_tax: '0.020000000000000000',
        base_proposer_reward: '0.000000000000000000',
        bonus_proposer_reward: '0.000000000000000000',
        withdraw_addr_enabled: true,
      },
    },
  ],
  [`/cosmos/distribution/v1beta1/delegators/${HOLDER}/withdraw_address`, { withdraw_address: OTHER.bech32 }],
  [`/cosmos/distribution/v1beta1/delegators/${OTHER.bech32}/withdraw_address`, { withdraw_address: OTHER.bech32 }],
  [`/cosmos/distribution/v1beta1/delegators/${HOLDER}/validators`, { validators: [OPERATOR] }],
  [`/cosmos/distribution/v1beta1/delegators/${OTHER.bech32}/rewards`, { rewards: [], total: [] }],
  [`/cosmos/distribution/v1beta1/validators/${OPERATOR}/slashes?ending_height=9`, { slashes: [], pagination: NO_PAGE }],
  [
    '/cosmos/slashing/v1beta1/params',
    {
      params: {
        signed_blocks_window: '10000',
        min_signed_per_window: '0.500000000000000000',
        downtime_jail_duration: '600s',
        slash_fraction_double_sign: '0.050000000000000000',
        slash_fraction_downtime: '0.010000000000000000',
      },
    },
  ],
  ['/cosmos/mint/v1beta1/inflation', { inflation: '0.000000000000000000' }],
  ['/cosmos/mint/v1beta1/annual_provisions', { annual_provisions: '0.000000000000000000' }],
  [
    '/cosmos/gov/v1/proposals/1/votes',
    {
      votes: [
        {
          proposal_id: '1',
          voter: HOLDER,
          options: [{ option: 'VOTE_OPTION_YES', weight: '1.000000000000000000' }],
          metadata: '',
        },
      ],
      pagination: ONE,
    },
  ],
  [
    `/cosmos/gov/v1/proposals/1/deposits/${HOLDER}`,
    { deposit: { proposal_id: '1', depositor: HOLDER, amount: json(coins(10n * ONE_COIN)) } },
  ],
  [
    '/cosmos/gov/v1/proposals/1/tally',
    { tally: { yes_count: VALIDATOR.tokens, abstain_count: '0', no_count: '0', no_with_veto_count: '0' } },
  ],
  [
    '/cosmos/gov/v1beta1/proposals/1/tally',
    { tally: { yes: VALIDATOR.tokens, abstain: '0', no: '0', no_with_veto: '0' } },
  ],
  [
    `/cosmos/gov/v1beta1/proposals/1/votes/${HOLDER}`,
    {
      vote: {
        proposal_id: '1',
        voter: HOLDER,
        option: 'VOTE_OPTION_YES',
        options: [{ option: 'VOTE_OPTION_YES', weight: '1.000000000000000000' }],
      },
    },
  ],
  [
    '/cosmos/gov/v1beta1/params/voting',
    {
      voting_params: { voting_period: '172800s' },
      deposit_params: { min_deposit: [], max_deposit_period: '0s' },
      tally_params: {
        quorum: '0.000000000000000000',
        threshold: '0.000000000000000000',
        veto_threshold: '0.000000000000000000',
      },
    },
  ],
  ['/cosmos/gov/v1/constitution', { constitution: '' }],
  [
    `/cosmos/authz/v1beta1/grants/granter/${HOLDER}`,
    {
      grants: [
        {
          granter: HOLDER,
          grantee: OTHER.bech32,
          authorization: {
            '@type': '/cosmos.authz.v1beta1.GenericAuthorization',
            msg: '/cosmos.bank.v1beta1.MsgSend',
          },
          expiration: null,
        },
      ],
      pagination: ONE,
    },
  ],
  [`/cosmos/authz/v1beta1/grants/grantee/${HOLDER}`, { grants: [], pagination: NO_PAGE }],
  [
    `/cosmos/authz/v1beta1/grants?granter=${HOLDER}&grantee=${OTHER.bech32}`,
    {
      grants: [
        {
          authorization: {
            '@type': '/cosmos.authz.v1beta1.GenericAuthorization',
            msg: '/cosmos.bank.v1beta1.MsgSend',
          },
          expiration: null,
        },
      ],
      pagination: ONE,
    },
  ],
  [
    `/cosmos/feegrant/v1beta1/allowance/${HOLDER}/${OTHER.bech32}`,
    {
      allowance: {
        granter: HOLDER,
        grantee: OTHER.bech32,
        allowance: {
          '@type': '/cosmos.feegrant.v1beta1.BasicAllowance',
          spend_limit: [{ denom: 'acoin', amount: '9' }],
          expiration: null,
        },
      },
    },
  ],
  ['/cosmos/upgrade/v1beta1/current_plan', { plan: null }],
  ['/cosmos/upgrade/v1beta1/applied_plan/v2', { height: '0' }],
  ['/cosmos/upgrade/v1beta1/module_versions?module_name=bank', { module_versions: [{ name: 'bank', version: '4' }] }],
  ['/cosmos/upgrade/v1beta1/authority', { address: 'coin10d07y265gmmuvt4z0w9aw880jnsr700j3035cq' }],
  [
    '/cosmos/params/v1beta1/params?subspace=staking&key=MaxValidators',
    { param: { subspace: 'staking', key: 'MaxValidators', value: '50' } },
  ],
  ['/cosmos/evidence/v1beta1/evidence', { evidence: [], pagination: NO_PAGE }],
  ['/cosmos/base/tendermint/v1beta1/syncing', { syncing: false }],
  ['/cosmos/evm/feemarket/v1/base_fee', { base_fee: '1000000000.000000000000000000' }],
  ['/cosmos/evm/feemarket/v1/block_gas', { gas: '0' }],
  ['/cosmos/evm/vm/v1/base_fee', { base_fee: '1000000000' }],
  ['/ethermint/evm/v1/base_fee', { base_fee: '1000000000' }],
  ['/feemarket/evm/v1/base_fee', { base_fee: '1000000000' }],
  ['/feemarket/evm/v1/block_gas', { gas: '0' }],
  [`/ethermint/evm/v1/storage/${OTHER.bech32}/0x1`, { value: `0x${'0'.repeat(64)}` }],
  ['/cosmos/evm/vm/v1/min_gas_price', { min_gas_price: '1000000000' }],
  [
    `/cosmos/evm/vm/v1/account/${OTHER.bech32}`,
    {
      balance: '5000000000000000007',
      code_hash: '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
      nonce: '0',
    },
  ],
  [
    `/cosmos/evm/vm/v1/cosmos_account/0x${Buffer.from(OTHER.address).toString('hex')}`,
    { cosmos_address: OTHER.bech32, sequence: '0', account_number: '0' },
  ],
  [`/cosmos/evm/vm/v1/validator_account/${CONSENSUS}`, { account_address: HOLDER, sequence: '4', account_number: '0' }],
  [`/cosmos/evm/vm/v1/storage/${OTHER.bech32}/0x1`, { value: `0x${'0'.repeat(64)}` }],
  [`/cosmos/evm/vm/v1/codes/${OTHER.bech32}`, { code: null }],
  [
    '/cosmos/evm/erc20/v1/token_pairs/acoin',
    {
      token_pair: {
        erc20_address: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
        denom: 'acoin',
        enabled: true,
        contract_owner: 'OWNER_MODULE',
      },
    },
  ],
]

describe('REST', () => {
  it.each(SHAPES)('%s', async (url, expected) => {
    expect(await ok(url)).toEqual(expected)
  })

  it('shows the key of who has signed, under the name that Keplr looks for', async () => {
    expect(await ok(`/cosmos/auth/v1beta1/accounts/${HOLDER}`)).toEqual({
      account: {
        '@type': '/cosmos.auth.v1beta1.BaseAccount',
        address: HOLDER,
        pub_key: {
          '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
          key: 'A4MYU1tUEF1Keq5gwI/EX5aHGBtP38YlvRp1P6c5f+11',
        },
        account_number: '0',
        sequence: '4',
      },
    })
  })

  it('shows proposals in both versions', async () => {
    const { proposal } = (await ok('/cosmos/gov/v1/proposals/1')) as { proposal: Json }
    const content = { '@type': '/cosmos.gov.v1beta1.TextProposal', title: 'T', description: 'D' }
    const times = {
      submit_time: '2023-11-14T22:13:20.800Z',
      deposit_end_time: '2023-11-16T22:13:20.800Z',
      voting_start_time: '2023-11-14T22:13:20.800Z',
      voting_end_time: '2023-11-16T22:13:20.800Z',
    }
    expect(proposal).toEqual({
      id: '1',
      messages: [
        {
          '@type': '/cosmos.gov.v1.MsgExecLegacyContent',
          content,
          authority: 'coin10d07y265gmmuvt4z0w9aw880jnsr700j3035cq',
        },
      ],
      status: 'PROPOSAL_STATUS_VOTING_PERIOD',
      final_tally_result: { yes_count: '0', abstain_count: '0', no_count: '0', no_with_veto_count: '0' },
      ...times,
      total_deposit: json(coins(10n * ONE_COIN)),
      metadata: '',
      title: 'T',
      summary: 'S',
      proposer: HOLDER,
      expedited: false,
      failed_reason: '',
    })
    expect(await ok('/cosmos/gov/v1/proposals?proposal_status=PROPOSAL_STATUS_VOTING_PERIOD')).toEqual({
      proposals: [proposal],
      pagination: ONE,
    })
    expect(await ok('/cosmos/gov/v1/proposals?proposal_status=3')).toEqual({ proposals: [], pagination: NO_PAGE })
    expect(await ok(`/cosmos/gov/v1/proposals?voter=${OTHER.bech32}`)).toEqual({ proposals: [], pagination: NO_PAGE })
    expect(await ok('/cosmos/gov/v1beta1/proposals/1')).toEqual({
      proposal: {
        proposal_id: '1',
        content,
        status: 'PROPOSAL_STATUS_VOTING_PERIOD',
        final_tally_result: { yes: '0', abstain: '0', no: '0', no_with_veto: '0' },
        ...times,
        total_deposit: json(coins(10n * ONE_COIN)),
      },
    })
  })

  it('lets others run between the delegations whose rewards it adds up', async () => {
    const before = node.pauses()
    const { rewards } = (await ok(`/cosmos/distribution/v1beta1/delegators/${HOLDER}/rewards`)) as { rewards: Json[] }
    expect(node.pauses() - before).toBe(rewards.length)
    expect(rewards).toHaveLength(1)
  })

  it('shows what fees brought to validator and delegator', async () => {
    const rewards = (await ok(`/cosmos/distribution/v1beta1/delegators/${HOLDER}/rewards`)) as {
      rewards: { validator_address: string; reward: { denom: string; amount: string }[] }[]
      total: { amount: string }[]
    }
    expect(rewards.rewards[0]?.validator_address).toBe(OPERATOR)
    expect(rewards.rewards[0]?.reward[0]?.amount).toMatch(/^[1-9]\d*\.\d{18}$/)
    expect(rewards.total).toEqual(rewards.rewards[0]?.reward)
    const one = await ok(`/cosmos/distribution/v1beta1/delegators/${HOLDER}/rewards/${OPERATOR}`)
    expect(one).toEqual({ rewards: rewards.total })
    const { commission } = (await ok(`/cosmos/distribution/v1beta1/validators/${OPERATOR}/commission`)) as {
      commission: { commission: Json }
    }
    expect(await ok(`/cosmos/distribution/v1beta1/validators/${OPERATOR}`)).toEqual({
      operator_address: HOLDER,
      self_bond_rewards: rewards.total,
      commission: commission.commission,
    })
    expect(await ok(`/cosmos/distribution/v1beta1/validators/${OPERATOR}/outstanding_rewards`)).toMatchObject({
      rewards: { rewards: [{ denom: 'acoin' }] },
    })
    expect(await ok('/cosmos/distribution/v1beta1/community_pool')).toMatchObject({ pool: [{ denom: 'acoin' }] })
  })

  it('shows who signs', async () => {
    const info = {
      address: CONSENSUS,
      start_height: '0',
      index_offset: expect.any(String),
      jailed_until: '1970-01-01T00:00:00Z',
      tombstoned: false,
      missed_blocks_counter: '0',
    }
    expect(await ok(`/cosmos/slashing/v1beta1/signing_infos/${CONSENSUS}`)).toEqual({ val_signing_info: info })
    expect(await ok('/cosmos/slashing/v1beta1/signing_infos')).toEqual({ info: [info], pagination: ONE })
  })

  it('shows blocks and validators', async () => {
    const latest = (await ok('/cosmos/base/tendermint/v1beta1/blocks/latest')) as {
      block_id: { hash: string; part_set_header: { total: number } }
      block: { header: Record<string, Json>; data: Json; evidence: Json; last_commit: Json }
      sdk_block: { header: Record<string, Json> }
    }
    const { proposer_address: bytes, ...header } = latest.block.header
    const { proposer_address: text, ...sdkHeader } = latest.sdk_block.header
    expect(sdkHeader).toEqual(header)
    expect(text).toBe(CONSENSUS)
    expect(Buffer.from(bytes as string, 'base64')).toHaveLength(20)
    expect(header).toMatchObject({ chain_id: 'coin_76287-1', height: '4', time: '2023-11-14T22:13:21.600Z' })
    expect(latest.block).toMatchObject({ data: { txs: [] }, evidence: { evidence: [] } })
    expect(latest.block.last_commit).toMatchObject({
      height: '3',
      round: 0,
      signatures: [{ block_id_flag: 'BLOCK_ID_FLAG_COMMIT', signature: Buffer.alloc(64, 1).toString('base64') }],
    })
    expect(await ok('/cosmos/base/tendermint/v1beta1/blocks/4')).toEqual(latest)
    expect(await ok('/cosmos/base/tendermint/v1beta1/blocks/1')).toMatchObject({
      block: { data: { txs: [Buffer.from(history.send).toString('base64')] } },
    })
    expect(await ok('/cosmos/base/tendermint/v1beta1/validatorsets/latest')).toEqual({
      block_height: '5',
      validators: [
        {
          address: CONSENSUS,
          pub_key: VALIDATOR.consensus_pubkey,
          voting_power: '1000002',
          proposer_priority: '0',
        },
      ],
      pagination: ONE,
    })
    expect(await ok('/cosmos/base/tendermint/v1beta1/validatorsets/1')).toMatchObject({
      block_height: '1',
      validators: [{ voting_power: '1000000' }],
    })
    for (const height of ['latest', '1']) {
      const page = await ok(`/cosmos/base/tendermint/v1beta1/validatorsets/${height}?pagination.limit=1`)
      expect(page).toMatchObject({ pagination: { total: '1' } })
    }
    expect(await ok('/cosmos/staking/v1beta1/historical_info/3')).toMatchObject({
      hist: { header: { height: '3' }, valset: [VALIDATOR] },
    })
  })

  it('describes the node in the dialect that explorers look for', async () => {
    expect(await ok('/cosmos/base/tendermint/v1beta1/node_info')).toMatchObject({
      default_node_info: {
        network: 'coin_76287-1',
        version: expect.stringMatching(/^0\.38\./),
        protocol_version: { p2p: '8', block: '11', app: '0' },
        other: { tx_index: 'on' },
      },
      application_version: {
        cosmos_sdk_version: expect.stringMatching(/^v0\.50\./),
        build_deps: [
          { path: 'github.com/cosmos/cosmos-sdk', version: expect.stringMatching(/^v0\.50\./) },
          { path: 'github.com/cometbft/cometbft', version: expect.stringMatching(/^v0\.38\./) },
        ],
      },
    })
    expect(await ok('/cosmos/base/node/v1beta1/config')).toEqual({
      minimum_gas_price: '1000000000.000000000000000000acoin',
      pruning_keep_recent: '0',
      pruning_interval: '0',
      halt_height: '0',
    })
    expect(await ok('/cosmos/base/node/v1beta1/status')).toMatchObject({
      earliest_store_height: '0',
      height: '4',
      timestamp: '2023-11-14T22:13:21.600Z',
    })
  })

  it('answers an abci_query inside of REST', async () => {
    const path = encodeURIComponent('/cosmos.auth.v1beta1.Query/Bech32Prefix')
    expect(await ok(`/cosmos/base/tendermint/v1beta1/abci_query?path=${path}`)).toEqual({
      code: 0,
      log: '',
      info: '',
      index: '0',
      key: null,
      value: Buffer.from([0x0a, 4, ...Buffer.from('coin')]).toString('base64'),
      proof_ops: null,
      height: '4',
      codespace: '',
    })
  })

  it('turns transactions from amino’s JSON into bytes and back', async () => {
    const empty = '{"type":"cosmos-sdk/StdTx","value":{"fee":{"amount":[],"gas":"0"},"memo":"hi"}}'
    const { json } = await node.post('/cosmos/tx/v1beta1/encode/amino', { amino_json: empty })
    expect(json).toEqual({ amino_binary: Buffer.from('282816a922026869', 'hex').toString('base64') })
    const { json: back } = await node.post('/cosmos/tx/v1beta1/decode/amino', json)
    expect(JSON.parse((back as { amino_json: string }).amino_json)).toMatchObject({ value: { memo: 'hi', msg: null } })
  })

  it('calls contracts', async () => {
    const args = Buffer.from(
      JSON.stringify({ to: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', data: '0x313ce567' }),
    ).toString('base64')
    const query = `args=${encodeURIComponent(args)}&gas_cap=1000000`
    const called = (await ok(`/cosmos/evm/vm/v1/eth_call?${query}`)) as { ret: string }
    expect(Buffer.from(called.ret, 'base64').toString('hex')).toBe('12'.padStart(64, '0'))
    expect(await ok(`/cosmos/evm/vm/v1/estimate_gas?${query}`)).toMatchObject({
      gas: expect.stringMatching(/^2\d{4}$/),
    })
  })
})

it('Ethermint’s parameters', async () => {
  expect(await ok('/ethermint/evm/v1/params')).toMatchObject({
    params: { evm_denom: 'acoin', enable_call: true, chain_config: { london_block: '0', cancun_block: '0' } },
  })
  expect(await ok('/feemarket/evm/v1/params')).toMatchObject({
    params: { base_fee: '1000000000', elasticity_multiplier: 2 },
  })
})

describe('heights', () => {
  const balance = `/cosmos/bank/v1beta1/balances/${OTHER.bech32}/by_denom?denom=acoin`

  it.each([
    [0, '0'],
    [1, '5000000000000000000'],
    [2, '5000000000000000000'],
    [3, '5000000000000000007'],
  ])('%d', async (height, amount) => {
    const answer = await node.get(balance, { height })
    expect(answer).toEqual({
      status: 200,
      // 0 is the newest, as for the SDK.
      height: height === 0 ? 4 : height,
      json: { balance: { denom: 'acoin', amount: height === 0 ? '5000000000000000007' : amount } },
    })
  })

  it.each(['-1', '5', 'abc', '99999999999999999999', '1.5', '0x1'])('refuse %s', async (height) => {
    const answer = await node.get(balance, { height })
    expect(answer).toMatchObject({ status: 400, json: { code: 3, details: [] } })
  })

  it('are those of validators, votes and accounts too', async () => {
    expect(await ok('/cosmos/staking/v1beta1/pool', 1)).toEqual({
      pool: { not_bonded_tokens: '0', bonded_tokens: (10n ** 24n).toString() },
    })
    expect(await node.get('/cosmos/gov/v1/proposals/1', { height: 1 })).toMatchObject({ status: 404 })
    expect(await ok(`/cosmos/auth/v1beta1/account_info/${HOLDER}`, 2)).toMatchObject({ info: { sequence: '2' } })
  })
})

describe('requests that have no answer', () => {
  it.each([
    // Keplr takes a chain for unsupported that does not answer 400 here.
    ['/cosmos/bank/v1beta1/spendable_balances/test', 400, 3],
    ['/ibc/apps/transfer/v1/params', 501, 12],
    ['/cosmos/nothing/v1', 501, 12],
    ['/cosmos/', 501, 12],
    [`/cosmos/auth/v1beta1/accounts/${NOBODY.bech32}`, 404, 5],
    [`/cosmos/auth/v1beta1/accounts/${OPERATOR}`, 400, 3],
    ['/cosmos/auth/v1beta1/module_accounts/nobody', 404, 5],
    ['/cosmos/auth/v1beta1/address_by_id/0', 404, 5],
    ['/cosmos/bank/v1beta1/denoms_metadata/other', 404, 5],
    ['/cosmos/bank/v1beta1/supply/by_denom', 400, 3],
    [`/cosmos/bank/v1beta1/balances/${HOLDER}?pagination.key=AAAA&pagination.offset=1`, 400, 3],
    ['/cosmos/staking/v1beta1/validators?status=BONDED', 400, 3],
    [`/cosmos/staking/v1beta1/validators/${OTHER.operator}`, 404, 5],
    [`/cosmos/staking/v1beta1/validators/${HOLDER}`, 400, 3],
    [`/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations/${OTHER.bech32}`, 404, 5],
    [`/cosmos/staking/v1beta1/validators/${OPERATOR}/delegations/${OTHER.bech32}/unbonding_delegation`, 404, 5],
    ['/cosmos/staking/v1beta1/historical_info/9', 404, 5],
    ['/cosmos/staking/v1beta1/historical_info/-1', 400, 3],
    [`/cosmos/distribution/v1beta1/validators/${OTHER.operator}/commission`, 404, 5],
    ['/cosmos/gov/v1/proposals/2', 404, 5],
    ['/cosmos/gov/v1/proposals/0', 400, 3],
    ['/cosmos/gov/v1/proposals/-1', 400, 3],
    ['/cosmos/gov/v1/params/other', 400, 3],
    [`/cosmos/gov/v1/proposals/1/votes/${OTHER.bech32}`, 400, 3],
    ['/cosmos/params/v1beta1/params?subspace=ibc&key=x', 400, 3],
    ['/cosmos/evidence/v1beta1/evidence/zz', 400, 3],
    ['/cosmos/evidence/v1beta1/evidence/00', 404, 5],
    ['/cosmos/base/tendermint/v1beta1/blocks/5', 400, 3],
    ['/cosmos/base/tendermint/v1beta1/blocks/0', 400, 3],
    ['/cosmos/base/tendermint/v1beta1/blocks/x', 400, 3],
    [`/cosmos/feegrant/v1beta1/allowance/${OTHER.bech32}/${HOLDER}`, 404, 5],
    ['/cosmos/evm/vm/v1/eth_call?args=e30%3D&overrides=MQ%3D%3D', 400, 3],
    ['/cosmos/upgrade/v1beta1/module_versions?module_name=ibc', 404, 5],
  ])('%s', async (url, status, code) => {
    const answer = await node.get(url)
    expect(answer).toEqual({ status, height: undefined, json: { code, message: expect.any(String), details: [] } })
  })

  it('are told so by POST as well', async () => {
    for (const body of [{ amino_json: '{"type":"x"}' }, {}]) {
      expect(await node.post('/cosmos/tx/v1beta1/encode/amino', body)).toMatchObject({ status: 400, json: { code: 3 } })
    }
    expect(await node.post('/cosmos/tx/v1beta1/decode/amino', { amino_binary: 'KCgWAA==' })).toMatchObject({
      status: 400,
    })
    expect(await node.post('/cosmos/bank/v1beta1/params', {})).toMatchObject({ status: 501, json: { code: 12 } })
    for (const body of ['{', '[]', '"x"', '{"unknown":1}', '{"tx_bytes":5}', '{"tx_bytes":"*"}', 'null', '']) {
      expect(await node.post('/cosmos/tx/v1beta1/simulate', body), body).toMatchObject({
        status: 400,
        json: { code: 3 },
      })
    }
    const deep = `{"tx":${'{"body":'.repeat(100_000)}1${'}'.repeat(100_000)}}`
    expect(await node.post('/cosmos/tx/v1beta1/simulate', deep)).toMatchObject({ status: 400, json: { code: 3 } })
  })
})

describe('pages', () => {
  it('go on from the key that the one before gave', async () => {
    const seen: string[] = []
    let key = ''
    for (let page = 0; page < 50; page++) {
      const url = `/cosmos/auth/v1beta1/accounts?pagination.limit=3&pagination.key=${encodeURIComponent(key)}`
      const { accounts, pagination } = (await ok(url)) as {
        accounts: { address?: string; base_account?: { address: string } }[]
        pagination: { next_key: string | null; total: string }
      }
      expect(accounts.length).toBeLessThanOrEqual(3)
      seen.push(...accounts.map((account) => account.address ?? account.base_account!.address))
      if (pagination.next_key === null) break
      key = pagination.next_key
    }
    const all = (await ok('/cosmos/auth/v1beta1/accounts')) as { accounts: Json[]; pagination: { total: string } }
    expect(seen).toHaveLength(all.accounts.length)
    expect(new Set(seen).size).toBe(seen.length)
    expect(all.pagination.total).toBe(String(seen.length))
    expect(seen).toContain(HOLDER)
    expect(seen).toContain(OTHER.bech32)
    expect(seen).not.toContain(NOBODY.bech32)
  })

  it('list owners with their balances', async () => {
    const { denom_owners: owners } = (await ok('/cosmos/bank/v1beta1/denom_owners/acoin')) as {
      denom_owners: { address: string; balance: { amount: string } }[]
    }
    expect(owners.find(({ address }) => address === OTHER.bech32)?.balance.amount).toBe('5000000000000000007')
    const sum = owners.reduce((total, { balance }) => total + BigInt(balance.amount), 0n)
    expect(sum).toBe(10n ** 27n + 10n ** 24n)
    expect(await ok('/cosmos/bank/v1beta1/denom_owners_by_query?denom=other')).toEqual({
      denom_owners: [],
      pagination: NO_PAGE,
    })
    expect(coin(1n)).toEqual({ denom: 'acoin', amount: 1n })
  })
})
