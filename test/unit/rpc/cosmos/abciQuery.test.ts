import {
  accountFromAny,
  QueryClient,
  setupAuthExtension,
  setupAuthzExtension,
  setupBankExtension,
  setupDistributionExtension,
  setupFeegrantExtension,
  setupGovExtension,
  setupMintExtension,
  setupSlashingExtension,
  setupStakingExtension,
  setupTxExtension,
} from '@cosmjs/stargate'
import { Comet38Client } from '@cosmjs/tendermint-rpc'
import { ServiceClientImpl } from 'cosmjs-types/cosmos/base/tendermint/v1beta1/query'
import { QueryParamsResponse } from 'cosmjs-types/cosmos/consensus/v1/query'
import { QueryCurrentPlanResponse } from 'cosmjs-types/cosmos/upgrade/v1beta1/query'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAbciMethods } from '../../../../src/rpc/comet/abci.ts'
import { answerCometGet, answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { type CometTable, createCometTable } from '../../../../src/rpc/comet/method.ts'
import { abciQuery } from '../../../../src/rpc/cosmos/abciQuery.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import {
  CONSENSUS,
  HOLDER,
  makeHistory,
  NOBODY,
  ONE_COIN,
  OPERATOR,
  OTHER,
} from '../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../support/rpc/cosmos/nativeNode.ts'

let node: NativeNode
let table: CometTable
let client: ReturnType<typeof clientOf>

const LOG = { log: { error: () => expect.fail('a fault of the node') }, responseBytes: 1_000_000 }

/** CosmJS on the methods of a socket thread. */
function clientOf(comet: Comet38Client) {
  return QueryClient.withExtensions(
    comet,
    setupAuthExtension,
    setupBankExtension,
    setupStakingExtension,
    setupDistributionExtension,
    setupGovExtension,
    setupMintExtension,
    setupSlashingExtension,
    setupAuthzExtension,
    setupFeegrantExtension,
    setupTxExtension,
  )
}

beforeAll(async () => {
  node = await createNativeNode()
  await makeHistory(node)
  const headHash = await node.read(({ chain }) => chain.hash(4)!)
  const chain = { headHeight: 4, hash: () => headHash }
  const options = { queries: QUERIES, port: node.port, version: '1.2.3' }
  table = createCometTable(createAbciMethods(options, (read) => read(chain as never)))
  const rpc = {
    execute: async (request: unknown) => {
      const { json } = await answerCometPost(table, JSON.stringify(request), OWN_SCOPE, LOG)
      const answer = JSON.parse(json)
      if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
      return answer
    },
    disconnect: () => undefined,
  }
  client = clientOf(Comet38Client.create(rpc as never))
})
afterAll(async () => {
  expect(node.logged).toEqual([])
  await node.close()
})

async function get(query: Record<string, string>) {
  const { status, json } = await answerCometGet(table.get('abci_query')!, query, OWN_SCOPE, LOG)
  const { result, error } = JSON.parse(json)
  return { status, response: result?.response, error }
}

describe('abci_query, as CosmJS asks', () => {
  it('reads accounts', async () => {
    const account = await client.auth.account(HOLDER)
    expect(accountFromAny(account!)).toMatchObject({ address: HOLDER, accountNumber: 0n, sequence: 4 })
    // StargateClient takes this text for an account that is not there.
    await expect(client.auth.account(NOBODY.bech32)).rejects.toThrow(/rpc error: code = NotFound desc = account coin1/)
  })

  it('reads coins', async () => {
    expect(await client.bank.balance(OTHER.bech32, 'acoin')).toEqual({ denom: 'acoin', amount: '5000000000000000007' })
    expect(await client.bank.allBalances(OTHER.bech32)).toEqual([{ denom: 'acoin', amount: '5000000000000000007' }])
    expect(await client.bank.supplyOf('acoin')).toEqual({
      denom: 'acoin',
      amount: (10n ** 27n + 10n ** 24n).toString(),
    })
    expect((await client.bank.totalSupply()).supply).toHaveLength(1)
    expect((await client.bank.denomMetadata('acoin')).display).toBe('COIN')
    expect(await client.bank.denomsMetadata()).toHaveLength(1)
  })

  it('reads staking', async () => {
    const { validators } = await client.staking.validators('BOND_STATUS_BONDED')
    expect(validators).toMatchObject([{ operatorAddress: OPERATOR, status: 3, description: { moniker: 'test' } }])
    expect((await client.staking.validator(OPERATOR)).validator.commission?.commissionRates?.rate).toBe(
      '100000000000000000',
    )
    expect((await client.staking.delegation(HOLDER, OPERATOR)).delegationResponse?.balance?.amount).toBe(
      (10n ** 24n + 2n * ONE_COIN).toString(),
    )
    expect((await client.staking.delegatorDelegations(HOLDER)).delegationResponses).toHaveLength(1)
    expect((await client.staking.delegatorUnbondingDelegations(HOLDER)).unbondingResponses[0]?.entries).toHaveLength(1)
    expect((await client.staking.redelegations(HOLDER, '', '')).redelegationResponses).toEqual([])
    expect((await client.staking.params()).params?.unbondingTime?.seconds).toBe(1814400n)
    expect((await client.staking.pool()).pool?.notBondedTokens).toBe(ONE_COIN.toString())
    expect((await client.staking.historicalInfo(3)).hist?.header?.height).toBe(3n)
  })

  it('reads distribution, slashing and mint', async () => {
    expect((await client.distribution.delegationTotalRewards(HOLDER)).total).toHaveLength(1)
    expect((await client.distribution.delegatorWithdrawAddress(HOLDER)).withdrawAddress).toBe(OTHER.bech32)
    expect((await client.distribution.validatorCommission(OPERATOR)).commission?.commission).toHaveLength(1)
    expect((await client.distribution.communityPool()).pool).toHaveLength(1)
    expect((await client.slashing.signingInfo(CONSENSUS)).valSigningInfo?.address).toBe(CONSENSUS)
    expect((await client.slashing.params()).params?.signedBlocksWindow).toBe(10_000n)
    expect((await client.mint.inflation()).toString()).toBe('0')
    expect((await client.mint.params()).mintDenom).toBe('acoin')
  })

  it('reads governance, grants and allowances', async () => {
    expect((await client.gov.proposal(1)).proposal).toMatchObject({ proposalId: 1n, status: 2 })
    expect((await client.gov.vote(1, HOLDER)).vote).toMatchObject({ voter: HOLDER, option: 1 })
    expect((await client.gov.tally(1)).tally?.yes).toBe((10n ** 24n + 2n * ONE_COIN).toString())
    expect((await client.gov.params('deposit')).depositParams?.minDeposit).toHaveLength(1)
    expect((await client.authz.grants(HOLDER, OTHER.bech32, '')).grants).toHaveLength(1)
    expect((await client.feegrant.allowance(HOLDER, OTHER.bech32)).allowance?.granter).toBe(HOLDER)
  })

  it('reads what CosmJS has no extension for', async () => {
    const asked = await client.queryAbci('/cosmos.consensus.v1.Query/Params', new Uint8Array())
    expect(QueryParamsResponse.decode(asked.value).params?.block?.maxBytes).toBe(2_000_000n)
    const plan = await client.queryAbci('/cosmos.upgrade.v1beta1.Query/CurrentPlan', new Uint8Array())
    expect(QueryCurrentPlanResponse.decode(plan.value).plan).toBeUndefined()
    const service = new ServiceClientImpl({
      request: async (name, method, data) => (await client.queryAbci(`/${name}/${method}`, data)).value,
    })
    expect((await service.GetNodeInfo({})).defaultNodeInfo?.network).toBe('coin_76287-1')
    const { block, sdkBlock } = await service.GetLatestBlock({})
    expect(block?.header?.height).toBe(4n)
    expect(sdkBlock?.header?.proposerAddress).toBe(CONSENSUS)
  })

  it('reads a height', async () => {
    const { value, height } = await client.queryAbci('/cosmos.staking.v1beta1.Query/Pool', new Uint8Array(), 1)
    expect(height).toBe(1)
    const head = await client.queryAbci('/cosmos.staking.v1beta1.Query/Pool', new Uint8Array())
    expect(head.height).toBe(4)
    expect(head.value).not.toEqual(value)
  })
})

describe('a pruned node', () => {
  it('says that a state is gone', async () => {
    const pruned = await createNativeNode({ pruning: 2 })
    for (let i = 0; i < 6; i++) await pruned.chain.produce()
    const { oldest, head } = await pruned.read(({ oldestState, chain }) => ({
      oldest: oldestState,
      head: chain.headHeight,
    }))
    expect(oldest).toBeGreaterThan(1)
    const path = '/cosmos.staking.v1beta1.Query/Pool'
    const reason = `historical state of block 1 is not available: the oldest block with state is ${oldest}`
    const options = { queries: QUERIES, port: pruned.port, version: '' }
    const query = { path, data: new Uint8Array(), prove: false }
    expect(await abciQuery(options, { ...query, height: 1n }, OWN_SCOPE)).toMatchObject({
      codespace: 'sdk',
      code: 38,
      log: `failed to load state at height 1; ${reason}: not found`,
    })
    expect(await pruned.get('/cosmos/staking/v1beta1/pool', { height: 1 })).toMatchObject({
      status: 400,
      json: { code: 9, message: reason },
    })
    expect(await abciQuery(options, { ...query, height: BigInt(head) }, OWN_SCOPE)).toMatchObject({
      code: 0,
      height: head,
    })
    await pruned.close()
  })
})

describe('abci_query, by itself', () => {
  const PREFIX = '/cosmos.auth.v1beta1.Query/Bech32Prefix'
  const VALUE = Buffer.from([0x0a, 4, ...Buffer.from('coin')]).toString('base64')
  const plain = { info: '', index: '0', key: null, proofOps: null }

  it.each([
    [{ path: `"${PREFIX}"` }],
    [{ path: PREFIX }],
    [{ path: `"${PREFIX}"`, data: '0x', height: '4', prove: 'false' }],
    [{ path: `"${PREFIX}"`, height: '"0"', prove: 'true' }],
  ])('takes %j in a query', async (query) => {
    expect(await get(query)).toEqual({
      status: 200,
      response: { code: 0, log: '', value: VALUE, height: '4', codespace: '', ...plain },
      error: undefined,
    })
  })

  it('gives the version of the software', async () => {
    expect((await get({ path: '"/app/version"' })).response).toMatchObject({
      code: 0,
      value: Buffer.from('1.2.3').toString('base64'),
    })
  })

  it.each<[query: Record<string, string>, code: number, log: RegExp]>([
    [{ path: '""' }, 6, /^no query path provided: unknown request$/],
    [{}, 6, /no query path/],
    [{ path: '"/store/bank/key"' }, 6, /^unknown query path: unknown request$/],
    [{ path: '"/app/nothing"' }, 6, /^unknown query: \/app\/nothing: unknown request$/],
    [{ path: '"/cosmos.bank.v1beta1.Query/Nothing"' }, 6, /unknown query path/],
    [{ path: '"/cosmos.tx.v1beta1.Service/BroadcastTx"' }, 18, /can't route a broadcast tx message/],
    [{ path: `"${PREFIX}"`, height: '-1' }, 18, /height < 0/],
    [
      { path: `"${PREFIX}"`, height: '5' },
      26,
      /^cannot query with height in the future; please provide a valid height: invalid height$/,
    ],
    [{ path: `"${PREFIX}"`, height: '9223372036854775807' }, 26, /height in the future/],
    [{ path: `"${PREFIX}"`, height: '1', prove: 'true' }, 18, /proof when height <= 1/],
    [{ path: `"${PREFIX}"`, data: '0xff' }, 18, /code = InvalidArgument .*: invalid request$/],
    [{ path: '"/cosmos.auth.v1beta1.Query/Account"', data: '0x0a0178' }, 18, /invalid address/],
    [
      { path: '"/cosmos.gov.v1.Query/Proposal"', data: '0x0809' },
      22,
      /^rpc error: code = NotFound desc = proposal 9 doesn't exist: key not found$/,
    ],
  ])('refuses %j with the code of the SDK', async (query, code, log) => {
    const { status, response } = await get(query)
    expect(status).toBe(200)
    expect(response).toMatchObject({ code, codespace: 'sdk', log: expect.stringMatching(log), value: null })
  })

  it.each<[query: Record<string, string>]>([
    [{ path: `"${PREFIX}"`, height: 'x' }],
    [{ path: `"${PREFIX}"`, height: '9223372036854775808' }],
    [{ path: `"${PREFIX}"`, data: 'xyz' }],
    [{ path: `"${PREFIX}"`, prove: 'yes' }],
  ])('refuses what no parameter can be, %j', async (query) => {
    expect((await get(query)).error.code).toBe(-32602)
  })

  it('goes with abci_info', async () => {
    const { json } = await answerCometGet(table.get('abci_info')!, {}, OWN_SCOPE, LOG)
    const hash = await node.read(({ chain }) => Buffer.from(chain.hash(4)!).toString('base64'))
    expect(JSON.parse(json).result).toEqual({
      response: { data: 'coind', version: '1.2.3', last_block_height: '4', last_block_app_hash: hash },
    })
  })
})
