import { readFileSync } from 'node:fs'
import { makeSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { Registry } from '@cosmjs/proto-signing'
import { AminoTypes, createDefaultAminoConverters, defaultRegistryTypes } from '@cosmjs/stargate'
import { TextProposal } from 'cosmjs-types/cosmos/gov/v1beta1/gov'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANY_TYPES, MESSAGES } from '../../../../src/modules/messageTable.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { AMINO_TYPES, messageToAmino } from '../../../../src/modules/tx/aminoJson.ts'
import { Ed25519PubKey } from '../../../../src/modules/tx/publicKey.ts'
import { createAminoSignDoc, sortedJson } from '../../../../src/modules/tx/signDocuments.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { ProtobufError } from '../../../../src/primitives/protobuf.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { codePoint } from '../../../codePoint.ts'
import { signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { runs } from '../../../propertyRuns.ts'

const registry = new Registry(defaultRegistryTypes)
const aminoTypes = new AminoTypes(createDefaultAminoConverters())

/** CosmJS writes what is empty where the SDK leaves it out, so texts are never empty here. */
const text = fc
  .string({ minLength: 1, maxLength: 20, unit: codePoint })
  .filter((given) => !/[\u2028\u2029\ud800-\udfff]/.test(given))
const amount = fc.bigInt(0n, 2n ** 255n).map(String)
const coin = fc.record({ denom: fc.constantFrom('acoin', 'other'), amount })
const coins = fc.array(coin, { maxLength: 3 })
const id = fc.bigInt(1n, 2n ** 31n - 1n)
const decimal = fc.bigInt(0n, 10n ** 18n).map(String)
const account = fc.integer({ min: 1, max: 5 }).map((number) => testAccount(number).bech32)
const operator = fc.integer({ min: 1, max: 5 }).map((number) => testAccount(number).operator)
const description = fc.record({ moniker: text, identity: text, website: text, securityContact: text, details: text })
const party = fc.record({ address: account, coins })
const ed25519Key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((key) => ({ typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key }) }))

/** Every message that CosmJS knows in amino JSON and this chain handles. */
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  '/cosmos.bank.v1beta1.MsgSend': fc.record({ fromAddress: account, toAddress: account, amount: coins }),
  // CosmJS writes an empty list where the SDK writes null; it is no valid message.
  '/cosmos.bank.v1beta1.MsgMultiSend': fc.record({
    inputs: fc.array(party, { minLength: 1 }),
    outputs: fc.array(party, { minLength: 1 }),
  }),
  '/cosmos.staking.v1beta1.MsgDelegate': fc.record({
    delegatorAddress: account,
    validatorAddress: operator,
    amount: coin,
  }),
  '/cosmos.staking.v1beta1.MsgUndelegate': fc.record({
    delegatorAddress: account,
    validatorAddress: operator,
    amount: coin,
  }),
  '/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation': fc.record({
    delegatorAddress: account,
    validatorAddress: operator,
    amount: coin,
    creationHeight: fc.bigInt(1n, 2n ** 31n - 1n),
  }),
  '/cosmos.staking.v1beta1.MsgBeginRedelegate': fc.record({
    delegatorAddress: account,
    validatorSrcAddress: operator,
    validatorDstAddress: operator,
    amount: coin,
  }),
  '/cosmos.staking.v1beta1.MsgEditValidator': fc.record({
    description,
    validatorAddress: operator,
    commissionRate: decimal,
    minSelfDelegation: amount,
  }),
  '/cosmos.staking.v1beta1.MsgCreateValidator': fc.record({
    description,
    commission: fc.record({ rate: decimal, maxRate: decimal, maxChangeRate: decimal }),
    minSelfDelegation: amount,
    delegatorAddress: account,
    validatorAddress: operator,
    pubkey: ed25519Key,
    value: coin,
  }),
  '/cosmos.distribution.v1beta1.MsgSetWithdrawAddress': fc.record({
    delegatorAddress: account,
    withdrawAddress: account,
  }),
  '/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward': fc.record({
    delegatorAddress: account,
    validatorAddress: operator,
  }),
  '/cosmos.distribution.v1beta1.MsgFundCommunityPool': fc.record({ amount: coins, depositor: account }),
  '/cosmos.gov.v1beta1.MsgDeposit': fc.record({ proposalId: id, depositor: account, amount: coins }),
  '/cosmos.gov.v1beta1.MsgVote': fc.record({ proposalId: id, voter: account, option: fc.integer({ min: 1, max: 4 }) }),
  '/cosmos.gov.v1beta1.MsgVoteWeighted': fc.record({
    proposalId: id,
    voter: account,
    options: fc.array(
      fc.record({ option: fc.integer({ min: 1, max: 4 }), weight: fc.constantFrom('1', '3', '5', '9').map(tenths) }),
      { minLength: 1 },
    ),
  }),
  '/cosmos.gov.v1beta1.MsgSubmitProposal': fc.record({
    content: fc.record({ title: text, description: text }).map((value) => ({
      typeUrl: '/cosmos.gov.v1beta1.TextProposal',
      value: TextProposal.encode(value).finish(),
    })),
    initialDeposit: coins,
    proposer: account,
  }),
  // CosmJS writes `delayed` also when it is false.
  '/cosmos.vesting.v1beta1.MsgCreateVestingAccount': fc.record({
    fromAddress: account,
    toAddress: account,
    amount: coins,
    endTime: fc.bigInt(1n, 2n ** 62n),
    delayed: fc.constant(true),
  }),
}

/** CosmJS shows a weight of 1 as `1000…`. */
function tenths(digits: string): string {
  return (BigInt(digits) * 10n ** 17n).toString()
}

describe('amino JSON', () => {
  it('covers what CosmJS has', () => {
    const known = Object.keys(createDefaultAminoConverters()).filter((typeUrl) => MESSAGES.has(typeUrl))
    const others = known.filter((typeUrl) => !(typeUrl in VALUES))
    // CosmJS calls that one otherwise than the SDK, cosmos-sdk/MsgWithdrawValidatorCommission.
    expect(others).toEqual(['/cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission'])
    expect(known.length).toBe(Object.keys(VALUES).length + 1)
  })

  it.each(Object.entries(VALUES))('of %s is what CosmJS signs', (typeUrl, values) => {
    const { type, aminoName } = MESSAGES.get(typeUrl)!
    fc.assert(
      fc.property(values, (value) => {
        const theirs = aminoTypes.toAmino({ typeUrl, value })
        expect(aminoName).toBe(theirs.type)
        const decoded = type.decode(registry.encode({ typeUrl, value }))
        const doc = makeSignDoc([theirs], { amount: [], gas: '1' }, 'chain', '', 0, 0)
        const ours = { ...doc, msgs: [{ type: aminoName!, value: messageToAmino(type, decoded, MESSAGES) }] }
        expect(sortedJson(ours as never)).toBe(new TextDecoder().decode(serializeSignDoc(doc)))
      }),
      { numRuns: runs(25) },
    )
  })
})

/** What the SDK's encoder gives (x/tx/signing/aminojson) for messages that CosmJS cannot write in amino JSON. */
const GOLDEN: readonly [string, unknown, unknown][] = [
  [
    '/cosmos.bank.v1beta1.MsgSend',
    { from_address: '', to_address: '', amount: [] },
    // Only coins are written when they are empty.
    { amount: [] },
  ],
  [
    '/cosmos.gov.v1.MsgVote',
    { proposal_id: '0', voter: 'v', option: 'VOTE_OPTION_UNSPECIFIED' },
    { proposal_id: '0', voter: 'v' },
  ],
  [
    '/cosmos.gov.v1.MsgVoteWeighted',
    {
      proposal_id: '3',
      voter: 'v',
      options: [{ option: 'VOTE_OPTION_NO', weight: '0.500000000000000000' }],
      metadata: 'm',
    },
    { proposal_id: '3', voter: 'v', options: [{ option: 3, weight: '0.500000000000000000' }], metadata: 'm' },
  ],
  [
    '/cosmos.gov.v1.MsgSubmitProposal',
    {
      messages: [
        {
          '@type': '/cosmos.bank.v1beta1.MsgSend',
          from_address: 'a',
          to_address: 'b',
          amount: [{ denom: 'acoin', amount: '1' }],
        },
      ],
      initial_deposit: [],
      proposer: 'p',
      title: 't',
      expedited: true,
    },
    {
      messages: [
        {
          type: 'cosmos-sdk/MsgSend',
          value: { from_address: 'a', to_address: 'b', amount: [{ denom: 'acoin', amount: '1' }] },
        },
      ],
      initial_deposit: [],
      proposer: 'p',
      title: 't',
      expedited: true,
    },
  ],
  [
    '/cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission',
    { validator_address: 'v' },
    { validator_address: 'v' },
  ],
  ['/cosmos.gov.v1.MsgCancelProposal', { proposal_id: '5', proposer: 'p' }, { proposal_id: '5', proposer: 'p' }],
  [
    '/cosmos.staking.v1beta1.MsgEditValidator',
    { description: { moniker: 'm' }, validator_address: 'v', commission_rate: null, min_self_delegation: null },
    { description: { moniker: 'm' }, validator_address: 'v' },
  ],
  [
    '/cosmos.authz.v1beta1.MsgGrant',
    {
      granter: 'a',
      grantee: 'b',
      grant: {
        authorization: {
          '@type': '/cosmos.bank.v1beta1.SendAuthorization',
          spend_limit: [{ denom: 'acoin', amount: '7' }],
        },
        expiration: '2027-01-02T03:04:05.600Z',
      },
    },
    {
      granter: 'a',
      grantee: 'b',
      grant: {
        authorization: {
          type: 'cosmos-sdk/SendAuthorization',
          value: { spend_limit: [{ denom: 'acoin', amount: '7' }] },
        },
        expiration: '2027-01-02T03:04:05.6Z',
      },
    },
  ],
  [
    '/cosmos.authz.v1beta1.MsgGrant',
    {
      granter: 'a',
      grantee: 'b',
      grant: {
        authorization: {
          '@type': '/cosmos.staking.v1beta1.StakeAuthorization',
          allow_list: { address: ['v'] },
          authorization_type: 'AUTHORIZATION_TYPE_DELEGATE',
        },
      },
    },
    {
      granter: 'a',
      grantee: 'b',
      grant: {
        authorization: {
          type: 'cosmos-sdk/StakeAuthorization',
          value: {
            Validators: { type: 'cosmos-sdk/StakeAuthorization/AllowList', value: { allow_list: { address: ['v'] } } },
            authorization_type: 1,
          },
        },
      },
    },
  ],
  [
    '/cosmos.authz.v1beta1.MsgExec',
    { grantee: 'g', msgs: [{ '@type': '/cosmos.slashing.v1beta1.MsgUnjail', validator_addr: 'v' }] },
    // Its .proto file names the field of MsgUnjail `address` for amino.
    { grantee: 'g', msgs: [{ type: 'cosmos-sdk/MsgUnjail', value: { address: 'v' } }] },
  ],
  [
    '/cosmos.feegrant.v1beta1.MsgGrantAllowance',
    {
      granter: 'a',
      grantee: 'b',
      allowance: {
        '@type': '/cosmos.feegrant.v1beta1.AllowedMsgAllowance',
        allowance: {
          '@type': '/cosmos.feegrant.v1beta1.PeriodicAllowance',
          basic: { spend_limit: [] },
          period: '3600s',
          period_spend_limit: [{ denom: 'acoin', amount: '9' }],
          period_can_spend: [],
          period_reset: '2027-01-02T03:04:05Z',
        },
        allowed_messages: ['/cosmos.bank.v1beta1.MsgSend'],
      },
    },
    {
      granter: 'a',
      grantee: 'b',
      allowance: {
        type: 'cosmos-sdk/AllowedMsgAllowance',
        value: {
          allowance: {
            type: 'cosmos-sdk/PeriodicAllowance',
            value: {
              basic: { spend_limit: [] },
              period: '3600000000000',
              period_spend_limit: [{ denom: 'acoin', amount: '9' }],
              period_can_spend: [],
              period_reset: '2027-01-02T03:04:05Z',
            },
          },
          allowed_messages: ['/cosmos.bank.v1beta1.MsgSend'],
        },
      },
    },
  ],
]

describe('amino JSON that CosmJS does not have', () => {
  it.each(GOLDEN)('of %s', (typeUrl, json, amino) => {
    const { type } = MESSAGES.get(typeUrl)!
    const typeOf = (url: string) => MESSAGES.get(url)?.type ?? ANY_TYPES.get(url)?.type
    const value = type.fromJson(json as never, { typeOf })
    expect(messageToAmino(type, value, MESSAGES)).toEqual(amino)
  })

  it('ends where an Any is nothing known, is garbage or goes too deep', () => {
    const { type } = MESSAGES.get('/cosmos.authz.v1beta1.MsgExec')!
    const exec = (msgs: readonly AnyValue[]): AnyValue => ({
      typeUrl: type.typeUrl,
      value: type.encode({ grantee: 'g', msgs }),
    })
    let nested = exec([])
    for (let i = 0; i < 500; i++) nested = exec([nested])
    const unknown = { typeUrl: '/cosmos.nowhere.v1.Msg', value: new Uint8Array(0) }
    for (const any of [nested, exec([unknown]), exec([{ ...exec([]), value: Uint8Array.of(1, 2, 3) }])]) {
      expect(() => messageToAmino(type, type.decode(any.value), MESSAGES)).toThrow(ProtobufError)
    }
  })
})

/** Messages in Anys and what the SDK's own encoder writes for them: values are random, most messages are not valid. */
const VECTORS: {
  readonly vectors: readonly { readonly type: string; readonly value: string; readonly json: string }[]
} = JSON.parse(readFileSync(new URL('../../../support/modules/tx/vectors/aminoJson.json', import.meta.url), 'utf8'))

describe("the SDK's amino JSON", () => {
  const typeUrls = [...MESSAGES.keys(), ...AMINO_TYPES.keys()].filter((url) => !url.startsWith('/cosmos.evm.'))

  it('is compared for every message and what messages hold, except keys', () => {
    const compared = new Set(VECTORS.vectors.map(({ type }) => `/${type}`))
    expect(typeUrls.filter((url) => !compared.has(url) && !url.endsWith('PubKey'))).toEqual([])
  })

  it.each([...new Set(VECTORS.vectors.map(({ type }) => type))])('of %s', (name) => {
    const exec = MESSAGES.get('/cosmos.authz.v1beta1.MsgExec')!.type
    for (const { value, json } of VECTORS.vectors.filter(({ type }) => type === name)) {
      const msgs = [{ typeUrl: `/${name}`, value: Buffer.from(value, 'hex') }]
      const written = messageToAmino(exec, { grantee: '', msgs }, MESSAGES) as { readonly msgs: readonly Json[] }
      expect(sortedJson(written.msgs[0]!)).toBe(json)
    }
  })
})

describe('the sign document', () => {
  const alice = testAccount(1)
  const send = {
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: { fromAddress: alice.bech32, toAddress: alice.bech32, amount: [{ denom: 'acoin', amount: '1' }] },
  }
  const raw = (options: object) =>
    signTestTransaction({ messages: [{ ...send, value: registry.encode(send) }], signers: [alice], ...options })
  const document = (options: object) => {
    const decoded = createTransactionDecoder(TEST_CHAIN).decodeParts(raw(options))
    if (isSdkError(decoded)) throw new Error(decoded.message)
    const document = createAminoSignDoc(decoded, 'coin_7628-1', MESSAGES)
    if (isSdkError(document)) return document
    const bytes = new TextDecoder().decode(document.bytes(7n))
    expect(bytes).toBe(sortedJson(document.json(7n)))
    return bytes
  }

  it('is that of CosmJS, with payer, granter, memo and timeout', () => {
    const feePayer = alice.bech32
    const feeGranter = testAccount(2).bech32
    const fee = { amount: [{ denom: 'acoin', amount: '5' }], gas: '1000000', payer: feePayer, granter: feeGranter }
    const theirs = makeSignDoc([aminoTypes.toAmino(send)], fee, 'coin_7628-1', '<a> & b', 0, 7, 99n)
    expect(document({ feeAcoin: 5n, feePayer, feeGranter, memo: '<a> & b', timeoutHeight: 99n })).toBe(
      new TextDecoder().decode(serializeSignDoc(theirs)),
    )
  })

  it('has the sequence of the signer', () => {
    expect(document({ memo: '"sequence":"' })).toContain('"sequence":"7"}')
    expect(document({ timeoutHeight: 5n })).toContain('"sequence":"7","timeout_height":"5"}')
  })

  it("escapes line separators as Go's encoder does", () => {
    expect(document({ memo: '\u2028\u2029' })).toContain(String.raw`"memo":"\u2028\u2029"`)
  })

  it('has no place for extension options', () => {
    const extensionOptions = [{ typeUrl: '/cosmos.evm.ante.v1.ExtensionOptionDynamicFeeTx', value: new Uint8Array(0) }]
    expect(document({ extensionOptions })).toMatchObject({ codespace: 'sdk', code: 18 })
  })
})
