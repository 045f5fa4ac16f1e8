import { beforeEach, describe, expect, it } from 'vitest'
import { nextBaseFee } from '../../../../src/chain/block/baseFee.ts'
import { AUTH_PARAMS } from '../../../../src/modules/auth/params.ts'
import { BANK_PARAMS } from '../../../../src/modules/bank/params.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { CONSENSUS_PARAMS, maxBlockGas } from '../../../../src/modules/consensus/params.ts'
import { DISTRIBUTION_PARAMS } from '../../../../src/modules/distribution/params.ts'
import { FEEMARKET_PARAMS, feeMarketOf } from '../../../../src/modules/feemarket/params.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { GOV_PARAMS } from '../../../../src/modules/gov/params.ts'
import { FAILED, MsgVote, PASSED, VOTE_OPTIONS } from '../../../../src/modules/gov/types.ts'
import {
  MsgSubmitProposalResponseV1beta1,
  MsgSubmitProposalV1beta1,
  ParameterChangeProposal,
} from '../../../../src/modules/gov/typesV1beta1.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { MINT_PARAMS } from '../../../../src/modules/mint/params.ts'
import type { ParamsStore } from '../../../../src/modules/params.ts'
import { SLASHING_PARAMS } from '../../../../src/modules/slashing/params.ts'
import { STAKING_PARAMS } from '../../../../src/modules/staking/params.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import {
  anyOf,
  COIN,
  codeOf,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const NO_ANY = { typeOf: () => undefined }
const SECOND = 1_000_000_000n

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

/** The validator with half of the stake votes yes, voting ends. */
function decide(id: bigint): void {
  succeeded(
    chain.send(MsgVote, {
      proposalId: id,
      voter: toBech32(VALIDATORS[0]),
      option: VOTE_OPTIONS.VOTE_OPTION_YES,
    }),
  )
  chain.endBlock(VOTING_MS)
}

function json<T>(store: ParamsStore<T>): { readonly [name: string]: Json } {
  return store.type.toJson(store.get(chain.native) as never, NO_ANY) as { readonly [name: string]: Json }
}

function fromJson(typeUrl: string, message: { readonly [name: string]: Json }): AnyValue {
  const { type } = MESSAGES.get(typeUrl)!
  return { typeUrl, value: type.encode(type.fromJson({ authority: GOV_AUTHORITY, ...message }, NO_ANY)) }
}

/** Each module's parameters, the message that sets them, and a change. */
const MODULES: readonly {
  readonly module: string
  readonly typeUrl: string
  readonly store: ParamsStore<never>
  readonly change: { readonly [name: string]: Json }
}[] = [
  {
    module: 'auth',
    typeUrl: '/cosmos.auth.v1beta1.MsgUpdateParams',
    store: AUTH_PARAMS as never,
    change: { max_memo_characters: '512' },
  },
  {
    module: 'bank',
    typeUrl: '/cosmos.bank.v1beta1.MsgUpdateParams',
    store: BANK_PARAMS as never,
    change: { default_send_enabled: false },
  },
  {
    module: 'staking',
    typeUrl: '/cosmos.staking.v1beta1.MsgUpdateParams',
    store: STAKING_PARAMS as never,
    change: { max_entries: 9 },
  },
  {
    module: 'distribution',
    typeUrl: '/cosmos.distribution.v1beta1.MsgUpdateParams',
    store: DISTRIBUTION_PARAMS as never,
    change: { community_tax: '0.100000000000000000' },
  },
  {
    module: 'slashing',
    typeUrl: '/cosmos.slashing.v1beta1.MsgUpdateParams',
    store: SLASHING_PARAMS as never,
    change: { downtime_jail_duration: '60s' },
  },
  {
    module: 'gov',
    typeUrl: '/cosmos.gov.v1.MsgUpdateParams',
    store: GOV_PARAMS as never,
    change: { voting_period: '100000s' },
  },
  {
    module: 'mint',
    typeUrl: '/cosmos.mint.v1beta1.MsgUpdateParams',
    store: MINT_PARAMS as never,
    change: { blocks_per_year: '1000' },
  },
  {
    module: 'feemarket',
    typeUrl: '/cosmos.evm.feemarket.v1.MsgUpdateParams',
    store: FEEMARKET_PARAMS as never,
    change: { elasticity_multiplier: 4 },
  },
]

describe('MsgUpdateParams', () => {
  it.each(MODULES)('of $module is for governance alone, which changes what it says', ({ typeUrl, store, change }) => {
    const before = json(store)
    const wanted = { ...before, ...change }
    const message = fromJson(typeUrl, { params: wanted })
    expect(chain.run(message)).not.toHaveProperty('code')
    expect(json(store)).toEqual(wanted)

    const intruder = fromJson(typeUrl, { params: before, authority: toBech32(HOLDERS[0]!) })
    expect(codeOf(chain.run(intruder))).toBe('gov/13')
    expect(json(store)).toEqual(wanted)

    const id = chain.propose({ messages: [fromJson(typeUrl, { params: before })] })
    decide(id)
    expect(chain.proposal(id)).toMatchObject({ status: PASSED, failedReason: '' })
    expect(json(store)).toEqual(before)
  })

  it('of gov acts on proposals after it', () => {
    const params = { ...GOV_PARAMS.get(chain.native), votingPeriod: 90_000n * SECOND, minDeposit: coinsOf(3n * COIN) }
    const message = fromJson('/cosmos.gov.v1.MsgUpdateParams', {
      params: GOV_PARAMS.type.toJson(params as never, NO_ANY),
    })
    decide(chain.propose({ messages: [message] }))
    const id = chain.propose({ initialDeposit: coinsOf(3n * COIN) })
    const { votingStartTime, votingEndTime } = chain.proposal(id)
    expect(votingEndTime! - votingStartTime!).toBe(90_000n * SECOND)
  })

  it('of feemarket and consensus gives the next block its base fee and gas limit', () => {
    const genesis = { initialBaseFee: 10n ** 9n }
    const parent = { baseFeePerGas: 10n ** 9n, gasUsed: 100_000_000n, gasLimit: maxBlockGas(chain.native) }
    expect(parent.gasLimit).toBe(100_000_000n)
    expect(nextBaseFee(parent, feeMarketOf(chain.native, genesis))).toBe(1_004_166_666n)
    const feemarket = fromJson('/cosmos.evm.feemarket.v1.MsgUpdateParams', {
      params: { ...json(FEEMARKET_PARAMS), base_fee_change_denominator: 8, min_gas_price: '2000000000' },
    })
    const { version: _, ...sections } = json(CONSENSUS_PARAMS)
    const block = { ...(sections['block'] as object), max_gas: '60000000' }
    const consensus = fromJson('/cosmos.consensus.v1.MsgUpdateParams', { ...sections, block })
    decide(chain.propose({ messages: [feemarket, consensus] }))
    expect(maxBlockGas(chain.native)).toBe(60_000_000n)
    const market = feeMarketOf(chain.native, genesis)
    expect(nextBaseFee(parent, market)).toBe(2_000_000_000n)
    expect(nextBaseFee({ ...parent, baseFeePerGas: 4_000_000_000n }, market)).toBe(4_500_000_000n)
  })
})

describe('a ParameterChangeProposal', () => {
  function propose(changes: readonly { subspace: string; key: string; value: string }[]): bigint | string {
    const outcome = chain.send(MsgSubmitProposalV1beta1, {
      content: anyOf(ParameterChangeProposal, { title: 'change', description: 'of parameters', changes }),
      initialDeposit: coinsOf(10n * COIN),
      proposer: toBech32(HOLDERS[0]!),
    })
    return 'answer' in outcome ? MsgSubmitProposalResponseV1beta1.decode(outcome.answer).proposalId : codeOf(outcome)
  }

  it.each([
    {
      subspace: 'staking',
      key: 'UnbondingTime',
      value: '"1000000000000"',
      store: STAKING_PARAMS,
      field: 'unbonding_time',
      after: '1000s',
    },
    {
      subspace: 'staking',
      key: 'MaxValidators',
      value: '40',
      store: STAKING_PARAMS,
      field: 'max_validators',
      after: 40,
    },
    {
      subspace: 'distribution',
      key: 'communitytax',
      value: '"0.03"',
      store: DISTRIBUTION_PARAMS,
      field: 'community_tax',
      after: '0.030000000000000000',
    },
    {
      subspace: 'slashing',
      key: 'DowntimeJailDuration',
      value: '"90s"',
      store: SLASHING_PARAMS,
      field: 'downtime_jail_duration',
      after: '90s',
    },
    { subspace: 'auth', key: 'TxSigLimit', value: '"5"', store: AUTH_PARAMS, field: 'tx_sig_limit', after: '5' },
    {
      subspace: 'mint',
      key: 'GoalBonded',
      value: '"0.5"',
      store: MINT_PARAMS,
      field: 'goal_bonded',
      after: '0.500000000000000000',
    },
    {
      subspace: 'gov',
      key: 'votingparams',
      value: '{"voting_period":"90000000000000"}',
      store: GOV_PARAMS,
      field: 'voting_period',
      after: '90000s',
    },
    {
      subspace: 'gov',
      key: 'tallyparams',
      value: '{"quorum":"0.4"}',
      store: GOV_PARAMS,
      field: 'quorum',
      after: '0.4',
    },
    {
      subspace: 'feemarket',
      key: 'MinGasPrice',
      value: '"3000000000"',
      store: FEEMARKET_PARAMS,
      field: 'min_gas_price',
      after: '3000000000.000000000000000000',
    },
    {
      subspace: 'baseapp',
      key: 'BlockParams',
      value: '{"max_bytes":"2000000","max_gas":"50000000"}',
      store: CONSENSUS_PARAMS,
      field: 'block',
      after: { max_bytes: '2000000', max_gas: '50000000' },
    },
  ] as const)('$subspace/$key acts', ({ store, field, after, ...change }) => {
    const before = json<never>(store as never)
    const id = propose([change])
    expect(id).toBe(1n)
    expect(json<never>(store as never)).toEqual(before)
    decide(1n)
    expect(chain.proposal(1n)).toMatchObject({ status: PASSED, title: 'change', summary: 'of parameters' })
    expect(json<never>(store as never)).toEqual({ ...before, [field]: after })
  })

  it('is refused when its value has members of no parameter, however many', () => {
    const members = Array.from({ length: 7_000 }, (_, index) => `"${index.toString(36)}x":1`)
    const change = (names: readonly string[]) => [
      { subspace: 'baseapp', key: 'BlockParams', value: `{${names.join()}}` },
    ]
    expect(propose(change(members))).toBe('params/3')
    expect(propose(change(members.slice(0, 300)))).toBe('gov/5')
    expect(propose(change(['"__proto__":{"max_gas":"1"}']))).toBe('gov/5')
    expect(propose(change(['"max_gas":"20000000"', members[0]!]))).toBe('gov/5')
    expect(propose([{ subspace: 'gov', key: 'tallyparams', value: '{"quorum":"0.4","other":1}' }])).toBe('gov/5')
  })

  it('pays for its bytes before they are read', () => {
    const workOf = (value: string) => {
      const { work } = chain.native
      const before = work.done
      expect(propose([{ subspace: 'auth', key: 'TxSigLimit', value }])).toBe('gov/5')
      return work.done - before
    }
    // Twice as many characters cost their own part more, nothing quadratic.
    const [short, middle, long] = [1_000, 2_000, 4_000].map((length) => workOf(`"${'x'.repeat(length - 2)}"`))
    expect(middle! - short!).toBeGreaterThanOrEqual(10 * 1_000)
    expect(long! - middle!).toBe(2 * (middle! - short!))
  })

  it('changes all parameters or none', () => {
    const changes = [
      { subspace: 'staking', key: 'MaxEntries', value: '8' },
      { subspace: 'staking', key: 'MaxValidators', value: '30' },
      { subspace: 'auth', key: 'MaxMemoCharacters', value: '"100"' },
    ]
    expect(propose(changes)).toBe(1n)
    // What it would change is not there any more when it runs.
    AUTH_PARAMS.set(chain.native, { ...AUTH_PARAMS.get(chain.native), txSigLimit: 0n })
    decide(1n)
    expect(chain.proposal(1n).status).toBe(FAILED)
    expect(json(STAKING_PARAMS)).toMatchObject({ max_entries: 7, max_validators: 50 })
  })

  it.each([
    { name: 'no changes', changes: [], code: 'params/4' },
    {
      name: 'more changes than parameters',
      changes: Array(65).fill({ subspace: 'auth', key: 'TxSigLimit', value: '"5"' }),
      code: 'params/3',
    },
    { name: 'a long key', changes: [{ subspace: 'auth', key: 'a'.repeat(65), value: '1' }], code: 'params/3' },
    {
      name: 'a value with many values',
      changes: [{ subspace: 'auth', key: 'TxSigLimit', value: `[${'0,'.repeat(300)}0]` }],
      code: 'gov/5',
    },
    { name: 'no subspace', changes: [{ subspace: '', key: 'a', value: '1' }], code: 'params/5' },
    { name: 'no key', changes: [{ subspace: 'auth', key: '', value: '1' }], code: 'params/6' },
    { name: 'no value', changes: [{ subspace: 'auth', key: 'a', value: '' }], code: 'params/7' },
    { name: 'an unknown subspace', changes: [{ subspace: 'ibc', key: 'a', value: '1' }], code: 'gov/5' },
    { name: 'an unknown key', changes: [{ subspace: 'auth', key: 'Nothing', value: '1' }], code: 'gov/5' },
    { name: 'a value that is not JSON', changes: [{ subspace: 'auth', key: 'TxSigLimit', value: '{' }], code: 'gov/5' },
    {
      name: 'a value that is nested very deeply',
      changes: [{ subspace: 'gov', key: 'tallyparams', value: `${'{"a":'.repeat(9)}1${'}'.repeat(9)}` }],
      code: 'gov/5',
    },
    {
      name: 'a value of another type',
      changes: [{ subspace: 'auth', key: 'TxSigLimit', value: 'true' }],
      code: 'gov/5',
    },
    { name: 'a value out of range', changes: [{ subspace: 'auth', key: 'TxSigLimit', value: '"0"' }], code: 'gov/5' },
    {
      name: 'a parameter that cannot change',
      changes: [{ subspace: 'feemarket', key: 'NoBaseFee', value: 'true' }],
      code: 'gov/5',
    },
  ])('with $name is refused', ({ changes, code }) => {
    expect(propose(changes)).toBe(code)
    expect(chain.world.getBalance(HOLDERS[0]!)).toBe(1_000n * COIN)
  })
})

describe('validation of governance parameters', () => {
  it.each([
    { change: { min_deposit: [] }, because: /minimum deposit/ },
    { change: { min_deposit: [{ denom: 'other', amount: '1' }] }, because: /in acoin/ },
    { change: { expedited_min_deposit: [{ denom: 'acoin', amount: '1' }] }, because: /greater than minimum deposit/ },
    { change: { max_deposit_period: '0s' }, because: /deposit period must be positive/ },
    { change: { max_deposit_period: null }, because: /must not be nil/ },
    { change: { voting_period: '1.0000001s' }, because: /whole milliseconds/ },
    { change: { expedited_voting_period: '0.999s' }, because: /shorter than a second/ },
    { change: { min_deposit: [{ denom: 'acoin', amount: `1${'0'.repeat(34)}` }] }, because: /at most 10*acoin/ },
    { change: { quorum: '0.95' }, because: /quorum too large/ },
    { change: { threshold: '1' }, because: /threshold too large/ },
    { change: { expedited_threshold: '1' }, because: /threshold too large/ },
    { change: { veto_threshold: '0.001' }, because: /veto threshold must be at least 0.01/ },
    { change: { voting_period: '300000000000s' }, because: /366 days/ },
    { change: { expedited_voting_period: '172800s' }, because: /less than the regular/ },
    { change: { quorum: '1.1' }, because: /quorum too large/ },
    { change: { quorum: 'half' }, because: /invalid quorum/ },
    { change: { quorum: '-0.1' }, because: /quorum must be positive/ },
    { change: { threshold: '0' }, because: /threshold must be positive/ },
    { change: { expedited_threshold: '0.5' }, because: /greater than the regular threshold/ },
    { change: { veto_threshold: '2' }, because: /veto threshold too large/ },
    { change: { min_deposit_ratio: '' }, because: /minimum deposit ratio/ },
    { change: { min_initial_deposit_ratio: '1.01' }, because: /minimum initial deposit ratio/ },
    { change: { proposal_cancel_ratio: '-1' }, because: /burn rate/ },
    { change: { proposal_cancel_dest: 'coin1nobody' }, because: /destination address is invalid/ },
  ] as readonly { change: { [name: string]: Json }; because: RegExp }[])('refuses $change', ({ change, because }) => {
    const before = json(GOV_PARAMS)
    const refused = chain.run(fromJson('/cosmos.gov.v1.MsgUpdateParams', { params: { ...before, ...change } }))
    expect(codeOf(refused)).toBe('sdk/18')
    expect(refused).toMatchObject({ message: expect.stringMatching(because) })
    expect(json(GOV_PARAMS)).toEqual(before)
  })
})
