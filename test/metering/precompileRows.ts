import { bank } from '../../src/modules/bank/precompile/bank.ts'
import { nativeToken } from '../../src/modules/bank/precompile/nativeToken.ts'
import { distribution } from '../../src/modules/distribution/precompile/distribution.ts'
import { GOV_AUTHORITY } from '../../src/modules/gov/authority.ts'
import { governance } from '../../src/modules/gov/precompile/governance.ts'
import type { TabledPrecompile } from '../../src/modules/precompileFunctions/dispatch.ts'
import { slashing } from '../../src/modules/slashing/precompile/slashing.ts'
import { staking } from '../../src/modules/staking/precompile/staking.ts'
import { consensusAddressOf, getValidator } from '../../src/modules/staking/validators.ts'
import { bech32 } from '../../src/precompiles/bech32.ts'
import type { Address } from '../../src/primitives/address.ts'
import { ACTOR, JAILED, lastProposal, OTHER, STRANGERS, VOTED } from './grow.ts'
import { account, COIN, consensusKey, operator, type Stage, text, VALIDATORS } from './stage.ts'

/** Every contract of the registry; a test compares them. */
export const CONTRACTS: Readonly<Record<string, TabledPrecompile>> = {
  bank,
  bech32,
  distribution,
  gov: governance,
  slashing,
  staking,
  nativeToken,
}

/** A call of a function on a grown state. */
export interface CallRow {
  readonly variant?: string
  readonly caller?: Address
  readonly value?: bigint
  /** by the names of the function's inputs */
  readonly inputs: (size: number, stage: Stage) => Readonly<Record<string, unknown>>
  readonly fails?: true
}

const FIRST = VALIDATORS[0]!
const SECOND = VALIDATORS[1]!
const actor = account(ACTOR)
const first = operator(FIRST)
const nothing = (): Record<string, unknown> => ({})
const page = (limit: bigint, offset = 0n, more: object = {}) => ({
  key: new Uint8Array(0),
  offset,
  limit,
  countTotal: false,
  reverse: false,
  ...more,
})
/** The pages that read most for least: all items, all but one that are skipped, a total, from the end. */
const pages = (name: string, rest: (size: number) => Record<string, unknown> = nothing): readonly CallRow[] => [
  { inputs: (size) => ({ ...rest(size), [name]: page(BigInt(size)) }) },
  { variant: 'far offset', inputs: (size) => ({ ...rest(size), [name]: page(1n, BigInt(size - 1)) }) },
  { variant: 'a total', inputs: (size) => ({ ...rest(size), [name]: page(1n, 0n, { countTotal: true }) }) },
  { variant: 'reverse', inputs: (size) => ({ ...rest(size), [name]: page(1n, 0n, { reverse: true }) }) },
]
const coinTuples = (amount: bigint) => [{ denom: 'acoin', amount }]
const one = (inputs: Record<string, unknown>): readonly CallRow[] => [{ inputs: () => inputs }]
const description = { moniker: 'm', identity: '', website: '', securityContact: '', details: 'd'.repeat(280) }

function proposalJson(messages: number): Uint8Array {
  const text = JSON.stringify({
    title: 't',
    summary: 's',
    metadata: '',
    messages: Array.from({ length: messages }, () => ({
      '@type': '/cosmos.distribution.v1beta1.MsgCommunityPoolSpend',
      authority: GOV_AUTHORITY,
      recipient: accountText,
      amount: [{ denom: 'acoin', amount: '1' }],
    })),
  })
  return new TextEncoder().encode(text)
}
const accountText = text(OTHER)

/** Rows by `contract.function`. Each function of each contract has one at least. */
export const CALL_ROWS: { readonly [name: string]: readonly CallRow[] } = {
  'bank.balances': one({ account: actor }),
  'bank.totalSupply': one({}),
  'bank.supplyOf': one({ erc20Address: nativeToken.address }),
  'bech32.hexToBech32': one({ addr: actor, prefix: 'coin' }),
  'bech32.bech32ToHex': [
    { inputs: () => ({ bech32Address: accountText }) },
    { variant: 'a long text', fails: true, inputs: (size) => ({ bech32Address: 'a'.repeat(size * 50) }) },
  ],
  'distribution.claimRewards': [
    { inputs: (size) => ({ delegatorAddress: actor, maxRetrieve: BigInt(Math.min(size, 50)) }) },
  ],
  'distribution.setWithdrawAddress': one({ delegatorAddress: actor, withdrawerAddress: text(OTHER) }),
  'distribution.withdrawDelegatorRewards': one({ delegatorAddress: actor, validatorAddress: first }),
  'distribution.withdrawValidatorCommission': [
    { caller: FIRST, fails: true, inputs: () => ({ validatorAddress: first }) },
  ],
  'distribution.fundCommunityPool': [
    { inputs: () => ({ depositor: actor, amount: coinTuples(1n) }) },
    {
      variant: 'many coins',
      fails: true,
      inputs: (size) => ({
        depositor: actor,
        amount: Array.from({ length: size * 5 }, (_, index) => ({ denom: `denom${index}`, amount: 1n })),
      }),
    },
  ],
  'distribution.depositValidatorRewardsPool': one({
    depositor: actor,
    validatorAddress: first,
    amount: coinTuples(1n),
  }),
  'distribution.validatorDistributionInfo': one({ validatorAddress: first }),
  'distribution.validatorOutstandingRewards': one({ validatorAddress: first }),
  'distribution.validatorCommission': one({ validatorAddress: first }),
  'distribution.validatorSlashes': pages('pageRequest', () => ({
    validatorAddress: first,
    startingHeight: 0n,
    endingHeight: 1_000n,
  })),
  'distribution.delegationRewards': one({ delegatorAddress: actor, validatorAddress: first }),
  'distribution.delegationTotalRewards': one({ delegatorAddress: actor }),
  'distribution.delegatorValidators': one({ delegatorAddress: actor }),
  'distribution.delegatorWithdrawAddress': one({ delegatorAddress: actor }),
  'distribution.communityPool': one({}),
  'gov.submitProposal': [
    {
      inputs: (size) => ({
        proposer: actor,
        jsonProposal: proposalJson(Math.min(size, 60)),
        deposit: coinTuples(10n * COIN),
      }),
    },
    {
      variant: 'many empty objects',
      fails: true,
      inputs: (size) => ({
        proposer: actor,
        jsonProposal: new TextEncoder().encode(`{"messages":[${'{},'.repeat(size * 10)}{}]}`),
        deposit: coinTuples(10n * COIN),
      }),
    },
    {
      variant: 'deep JSON',
      fails: true,
      inputs: (size) => ({
        proposer: actor,
        jsonProposal: new TextEncoder().encode(`${'['.repeat(size * 10)}${']'.repeat(size * 10)}`),
        deposit: coinTuples(10n * COIN),
      }),
    },
  ],
  'gov.cancelProposal': [{ inputs: (size) => ({ proposer: actor, proposalId: BigInt(lastProposal(size)) }) }],
  'gov.deposit': one({ depositor: actor, proposalId: BigInt(VOTED), amount: coinTuples(COIN) }),
  'gov.vote': one({ voter: actor, proposalId: BigInt(VOTED), option: 1n, metadata: '' }),
  'gov.voteWeighted': one({
    voter: actor,
    proposalId: BigInt(VOTED),
    options: [1n, 2n, 3n, 4n].map((option) => ({ option, weight: '0.25' })),
    metadata: '',
  }),
  'gov.getVote': one({ proposalId: BigInt(VOTED), voter: account(STRANGERS) }),
  'gov.getVotes': pages('pagination', () => ({ proposalId: BigInt(VOTED) })),
  'gov.getDeposit': one({ proposalId: BigInt(VOTED), depositor: account(STRANGERS) }),
  'gov.getDeposits': pages('pagination', () => ({ proposalId: BigInt(VOTED) })),
  'gov.getTallyResult': one({ proposalId: BigInt(VOTED) }),
  'gov.getProposal': one({ proposalId: BigInt(VOTED) }),
  'gov.getProposals': [
    ...pages('pagination', () => ({ proposalStatus: 0n, voter: new Uint8Array(20), depositor: new Uint8Array(20) })),
    {
      variant: 'of a voter',
      inputs: () => ({
        proposalStatus: 0n,
        voter: account(STRANGERS),
        depositor: new Uint8Array(20),
        pagination: page(10n),
      }),
    },
    {
      variant: 'of a status that none has',
      inputs: () => ({
        proposalStatus: 3n,
        voter: new Uint8Array(20),
        depositor: new Uint8Array(20),
        pagination: page(10n),
      }),
    },
  ],
  'gov.getParams': one({}),
  'gov.getConstitution': one({}),
  'slashing.unjail': [{ caller: account(JAILED), fails: true, inputs: () => ({ validatorAddress: account(JAILED) }) }],
  'slashing.getSigningInfo': [
    {
      inputs: (_, stage) => {
        let address = new Uint8Array(20)
        stage.change((world) => {
          address = new Uint8Array(consensusAddressOf(getValidator(world.native, FIRST)!))
        })
        return { consAddress: address }
      },
    },
  ],
  'slashing.getSigningInfos': pages('pagination'),
  'slashing.getParams': one({}),
  'staking.createValidator': [
    {
      caller: account(OTHER),
      inputs: () => ({
        description,
        commissionRates: { rate: COIN / 10n, maxRate: COIN / 2n, maxChangeRate: COIN / 10n },
        minSelfDelegation: 1n,
        validatorAddress: account(OTHER),
        pubkey: Buffer.from(consensusKey(OTHER)).toString('base64'),
        value: COIN,
      }),
    },
  ],
  'staking.editValidator': [
    {
      caller: FIRST,
      inputs: () => ({ description, validatorAddress: FIRST, commissionRate: -1n, minSelfDelegation: -1n }),
    },
  ],
  'staking.delegate': one({ delegatorAddress: actor, validatorAddress: first, amount: COIN }),
  'staking.undelegate': one({ delegatorAddress: actor, validatorAddress: first, amount: COIN }),
  'staking.redelegate': one({
    delegatorAddress: actor,
    validatorSrcAddress: operator(VALIDATORS[2]!),
    validatorDstAddress: first,
    amount: COIN,
  }),
  'staking.cancelUnbondingDelegation': one({
    delegatorAddress: actor,
    validatorAddress: first,
    amount: 1n,
    creationHeight: 4n,
  }),
  'staking.delegation': one({ delegatorAddress: actor, validatorAddress: first }),
  'staking.unbondingDelegation': one({ delegatorAddress: actor, validatorAddress: first }),
  'staking.validator': one({ validatorAddress: FIRST }),
  'staking.validators': [
    ...pages('pageRequest', () => ({ status: 'BOND_STATUS_BONDED' })),
    {
      variant: 'of a status that none has',
      inputs: () => ({ status: 'BOND_STATUS_UNBONDING', pageRequest: page(10n) }),
    },
  ],
  'staking.redelegation': one({
    delegatorAddress: actor,
    srcValidatorAddress: first,
    dstValidatorAddress: operator(SECOND),
  }),
  'staking.redelegations': [
    ...pages('pageRequest', () => ({
      delegatorAddress: new Uint8Array(20),
      srcValidatorAddress: first,
      dstValidatorAddress: '',
    })),
  ],
  'nativeToken.name': one({}),
  'nativeToken.symbol': one({}),
  'nativeToken.decimals': one({}),
  'nativeToken.totalSupply': one({}),
  'nativeToken.balanceOf': one({ account: actor }),
  'nativeToken.allowance': one({ owner: actor, spender: account(OTHER) }),
  'nativeToken.transfer': one({ to: account(OTHER), value: 1n }),
  'nativeToken.approve': one({ spender: account(OTHER), value: 1n }),
  'nativeToken.transferFrom': [{ fails: true, inputs: () => ({ from: account(OTHER), to: actor, value: 1n }) }],
  'nativeToken.deposit': one({}),
  'nativeToken.withdraw': one({ wad: 1n }),
}
